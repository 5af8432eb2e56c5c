"""The plan of a campaign: what an organiser decides, one class per section of the TOML file.

Every key has a default that most people want, its bounds, and a sentence; `toml` reads the file and
names the line of what is wrong.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, fields
from typing import get_type_hints

from qrowd.collection.plan.way import Way
from qrowd.data.scale import Scale
from qrowd.registry import param

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000  # in milliseconds
CHECKS = ("binary", "ndcg", "seconds")
SURELY = "screen-out-surely"
ENTRIES = ("links", "listed", "platform", "open")
_YEAR = {"minutes": 525_600, "hours": 8_760, "days": 365}


def _share(default: float, text: str) -> float:
    return param(default, text, at_least=0, at_most=1)


def _time(default: float, unit: str, text: str) -> float:
    return param(default, text, above=0, at_most=_YEAR[unit])


def _time_or_none(default: float, unit: str, text: str) -> float:
    return param(default, text, at_least=0, at_most=_YEAR[unit])


@dataclass(frozen=True, kw_only=True)
class About:
    """`[campaign]`: what it is, and how it is judged."""

    name: str = param("", "the campaign's name; it must have one")
    title: str = param("", "what workers read at the top; the name if empty")
    mode: str = param(
        "crowd",
        "who judges what: many people judge small batches; the same in the "
        "order of priorities; one assessor judges a whole topic; many people, with experts above "
        "them and a classifier of the texts beside them",
        choices=("crowd", "priorities", "owner", "hierarchy"),
    )
    way: str = param("grades", "how documents are judged", names=Way.names)
    language: str = param("en", "the language of the pages")
    seed: int = param(0, "random seed of what is made from the plan", at_least=0)
    instructions: str = param("", "what workers read before they start")
    examples: tuple[str, ...] = param((), "worked examples, shown with the instructions")
    hits_per_session: int = param(
        1,
        "batches per visit of somebody whom a platform sent; your own panel may do any number",
        at_least=1,
    )
    accept: str = param("automatic", "who accepts submitted work", choices=("automatic", "by hand"))


@dataclass(frozen=True, kw_only=True)
class Grades:
    """`[scale]`: the grades and their names."""

    grades: tuple[int, ...] = param((0, 1, 2), "the grades, lowest first")
    labels: tuple[str, ...] = param((), "a name for each grade")
    relevant_from: int = param(1, "the lowest grade that counts as relevant")
    cuts: tuple[int, ...] = param(
        (),
        "where documents get numbers from 0 to 100: the lowest number of each grade above the "
        "lowest grade; equal parts if empty",
    )
    gold_grades: tuple[int, ...] = param(
        (), "the grades of gold and of the qualification, lowest first; as the grades, if empty"
    )
    gold_cuts: tuple[int, ...] = param(
        (),
        "where gold has grades of its own: the lowest one that counts as each grade above the "
        "lowest; these grades themselves, if empty",
    )

    @property
    def of_gold(self) -> tuple[int, ...]:
        """The grades that gold may have."""
        return self.gold_grades or self.grades

    @property
    def cuts_of_gold(self) -> tuple[int, ...]:
        """The lowest grade of gold that counts as each grade above the lowest."""
        return self.gold_cuts or self.grades[1:]

    @property
    def gold_relevant_from(self) -> int:
        """The lowest grade of gold that counts as relevant; above all of them if none does."""
        if not self.gold_grades:
            return self.relevant_from
        relevant = (each for each in self.gold_grades if self.counts_as(each) >= self.relevant_from)
        return next(relevant, self.gold_grades[-1] + 1)

    def gold_of(self, answer: int) -> int:
        """The lowest grade of gold that counts as an answer; as the next lower one, if none."""
        counted = [each for each in self.of_gold if self.counts_as(each) <= answer]
        same = [each for each in counted if self.counts_as(each) == answer]
        return min(same, default=max(counted, default=self.of_gold[0]))

    def counts_as(self, gold: int) -> int:
        """The answer that is right where gold has this grade."""
        if not self.gold_grades:
            return gold
        at = bisect_right(self.cuts_of_gold, gold)
        return self.grades[min(at, len(self.grades) - 1)]

    @property
    def scale(self) -> Scale:
        """The scale as the library knows it."""
        return Scale(self.grades, self.relevant_from)

    @property
    def names(self) -> dict[int, str]:
        """The label of each grade; where there are none, the grade as text."""
        labels = self.labels or tuple(str(grade) for grade in self.grades)
        return dict(zip(self.grades, labels, strict=True))


@dataclass(frozen=True, kw_only=True)
class Files:
    """`[files]`: where things come from; paths are relative to the plan."""

    topics: str = param("", "topics (TREC, JSON lines, TSV)")
    documents: str = param("", "documents (JSON lines, TSV, TREC, a folder)")
    blank: str = param(
        "",
        "documents without a text: judged by their titles, or left out; as they are, if empty",
        choices=("", "title", "leave out"),
    )
    pool: str = param("", "pairs to judge: qrels, or two columns, topic and doc")
    runs: tuple[str, ...] = param((), "runs whose top documents are the pool")
    depth: int = param(20, "how many documents of each run enter the pool", at_least=1)
    gold: str = param("", "gold: TSV with topic, doc, grade, and if wanted reason, passage, set")
    qualification: str = param(
        "",
        "the qualification's pairs, in the form of gold; a pair without "
        "a grade is shown and not counted",
    )
    questions: str = param(
        "", "questions on topics: JSON lines with topic, question, choices, right"
    )
    priorities: str = param("", "priorities: TSV with topic, doc, priority; higher comes first")


@dataclass(frozen=True, kw_only=True)
class Sets:
    """`[sets]`: how the pool is cut up."""

    size: int = param(5, "documents per set at most", at_least=1, at_most=100)
    target: int = param(3, "judgements wanted of every document", at_least=1, at_most=1000)
    couples: int = param(4, "where two documents are compared: couples per document", at_least=2)


@dataclass(frozen=True, kw_only=True)
class Next:
    """`[next]`: which set is judged next, and when a document has judgements enough."""

    pick: str = param(
        "even",
        "which sets come first: those with the fewest judgements; those whose documents a vote may "
        "still change; those that tell the runs apart. With the last two, sets whose documents "
        "are decided give their open places back",
        choices=("even", "margin", "systems"),
    )
    risk: float = param(
        0.1,
        "a document is decided where its label changes with at most this probability, up to `most`",
        above=0,
        below=0.5,
    )
    least: int = param(2, "judgements that every document gets, before others get more", at_least=1)
    most: int = param(
        0, "judgements that a document gets at most; 0: as [sets] target", at_least=0, at_most=1000
    )
    refresh_minutes: float = _time(
        15, "minutes", "how often it is worked out again, where batches came in since"
    )


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """`[hierarchy]`: mode hierarchy, topic by topic in three phases (Piazzon 2019, 2.5.5)."""

    training: int = param(
        4, "sets of each topic that are judged first, drawn at random", at_least=1, at_most=1000
    )
    votes: int = param(
        2, "people who judge each of these, before experts settle what they disagree on", at_least=2
    )
    hours: float = _time_or_none(
        24,
        "hours",
        "how long the documents most likely relevant by their text are kept for those who were "
        "best in training; then they are open to all",
    )
    contradiction: float = param(
        0.6,
        "how probable the classifier must find the opposite of an answer for it to be looked at "
        "once more",
        at_least=0.5,
        below=1,
    )
    revisions: int = param(
        50, "answers that a person is asked to look at once more, at most", at_least=0
    )


@dataclass(frozen=True, kw_only=True)
class Hit:
    """`[hit]`: the batch that a worker gets."""

    sets: int = param(6, "sets in a batch, gold included", at_least=1, at_most=1000)
    gold: int = param(1, "gold sets in a batch", at_least=0)
    first_gold: int = param(0, "gold sets at the start of a new worker's first batch", at_least=0)
    repeats: float = _share(
        0.0,
        "how often a batch repeats one of the worker's own sets, to see "
        "whether the answers are the same",
    )
    lease_minutes: float = _time(60, "minutes", "how long a batch stays reserved without an answer")
    longest_minutes: float = _time(240, "minutes", "how long it stays reserved at most")
    warn_minutes: float = _time_or_none(5, "minutes", "how long before the end workers are warned")
    late_hours: float = _time_or_none(24, "hours", "how long late answers are still taken")
    owner_days: float = _time(14, "days", "mode owner: how long a topic stays reserved")
    second_share: float = _share(0.0, "mode owner: share of sets that a second assessor judges too")


@dataclass(frozen=True, kw_only=True)
class Pay:
    """`[pay]`: money, in the currency's units (1.50)."""

    currency: str = param("EUR", "the currency's code")
    digits: int = param(2, "digits behind the point", at_least=0, at_most=4)
    hit: float = param(0.0, "pay of a batch; 0 for volunteers", at_least=0)
    screen_out: float = param(0.0, "pay of a batch that ends by being screened out", at_least=0)
    qualification: float = param(0.0, "pay of a qualification", at_least=0)
    review: float = param(
        0.0,
        "pay of a batch of reviewing others' answers or, in mode hierarchy, one's own",
        at_least=0,
    )
    budget: float = param(0.0, "all that may be spent", at_least=0)
    appeal_days: float = _time_or_none(14, "days", "how long a refusal can be appealed")
    seconds_per_document: float = param(
        20, "how long a document takes, for the hourly wage that follows", above=0
    )

    def minor(self, amount: float) -> int:
        """An amount in minor units."""
        return round(amount * float(10**self.digits))

    def shown(self, minor: int) -> str:
        """An amount in minor units, for people."""
        return f"{minor / 10**self.digits:,.{self.digits}f} {self.currency}"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check: its bound, and what failing it does."""

    at_least: float = param(0.0, "the lowest value that passes", at_least=0)
    action: str = param(
        "exclude",
        "what a failed check does: the batch cannot be handed in; it is paid and does not count; "
        "the same, and after so many failed batches no more for this worker; the same, and no "
        "more once the answers to gold are surely worse than a good worker's; no more batches at "
        "once; nothing",
        choices=("return", "exclude", "screen-out", SURELY, "stop", "none"),
    )


@dataclass(frozen=True, kw_only=True)
class Checks:
    """`[checks]`: when a batch is finished. Bounds are those of Xia et al. (2011)."""

    binary: Check = field(default_factory=lambda: Check(at_least=0.85, action=SURELY))
    ndcg: Check = field(default_factory=lambda: Check(at_least=0.62, action=SURELY))
    seconds: Check = field(default_factory=lambda: Check(at_least=6.0, action="screen-out"))
    screen_out_after: int = param(
        2,
        "under the action screen-out: with which failed batch a worker is screened out. Failures "
        "of checks under screen-out-surely are not counted",
        at_least=1,
    )
    ideal: str = param("tied", "what an NDCG score of 1 is", choices=("tied", "standard"))
    seconds_for: str = param(
        "set",
        "what the seconds hold for: the mean of a set's documents, as in Xia et al.; every one of "
        "its documents, which fails good people more often",
        choices=("set", "document"),
    )


@dataclass(frozen=True, kw_only=True)
class Qualification:
    """`[qualification]`: the test before the first batch."""

    sets: int = param(0, "sets in a try; 0: no qualification", at_least=0)
    gold: str = param(
        "all",
        "which pairs count: all, or one of each set as in Xia et al. (2011)",
        choices=("all", "one"),
    )
    pass_share: float = param(0.75, "share of counted pairs that must be right", above=0, at_most=1)
    tries: int = param(2, "tries, each with other sets", at_least=1)
    ranks: str = param(
        "elsewhere",
        "where sets are ranked, and all pairs count: whether the mean NDCG score must reach the "
        "bound of the check, too; only in a test that is taken elsewhere, always, never",
        choices=("elsewhere", "always", "never"),
    )


@dataclass(frozen=True, kw_only=True)
class Techniques:
    """`[techniques]`: further controls (Piazzon 2019, 2.3), each a switch."""

    justification: str = param(
        "none", "what must come with a grade", choices=("none", "reason", "passage", "either")
    )
    expertise_share: float = _share(
        0.0, "share of a topic's questions that must be right before it is judged; 0: no questions"
    )
    review_share: float = _share(0.0, "share of submitted sets that other workers review")
    reviews: int = param(1, "how many others review a set at most", at_least=1, at_most=100)
    review_agreement: float = _share(
        0.6, "an organiser is told of workers who agree less with their reviewers"
    )
    expert_share: float = _share(0.0, "share of judgements that experts judge again")


@dataclass(frozen=True, kw_only=True)
class People:
    """`[people]`: who may come in, consent, and what is kept of whom."""

    entry: str = param(
        "",
        "who may come in: people with a signed link; people on the campaign's list; whom the "
        "platform sends, with its signature or at most as many as the study has places; anybody. "
        "Empty: links for a panel of your own, else the platform. A signed link always lets its "
        "person in",
        choices=("", *ENTRIES),
    )
    consent: str = param("", "the text that workers agree to; empty: none is asked")
    consent_version: str = param("1", "its version; a new one is asked again")
    recognise: bool = param(
        False, "whether a person who asked to be forgotten is recognised on return, by a keyed hash"
    )
    workers: int = param(0, "how many workers are expected; 0: unknown", at_least=0)


@dataclass(frozen=True, kw_only=True)
class Platform:
    """`[platform]`: where workers come from; the preset fills what is empty."""

    preset: str = param(
        "own",
        "your own panel, Prolific, Mechanical Turk, or any other",
        choices=("own", "prolific", "mturk", "generic"),
    )
    person: str = param("", "the URL parameter that names the person")
    keep: tuple[str, ...] = param((), "URL parameters to keep")
    redirect: str = param("", "where workers go at the end; {code} {worker} {session} {study}")
    codes: tuple[str, ...] = param(
        (), "completion codes, as outcome=code; outcomes: completed, failed, screened-out, no-work"
    )
    hosts: tuple[str, ...] = param((), "hosts that may show our pages in a frame, or be posted to")
    places: int = param(
        0,
        "how many people the study has places for, where the platform sends them unsigned",
        at_least=0,
        at_most=10**6,
    )
    shapes: tuple[str, ...] = param(
        (),
        "what unsigned ids look like, as name=pattern (a regular expression); a study's own id "
        "is a pattern, too",
    )
    jwks: str = param("", "a file with the platform's public keys (JWKS), where visits are signed")
    audience: str = param("", "whom signed visits must be meant for")


@dataclass(frozen=True, kw_only=True)
class Prolific:
    """`[prolific]`: the study that is made of this plan at Prolific, and what it costs there."""

    description: str = param(
        "", "what participants read before they come; the instructions, if empty"
    )
    project: str = param("", "the project that the study is made in; the account's usual one")
    fee: float = param(
        0.333,
        "the platform's fee, as a share of rewards and bonuses; look at your invoice",
        at_least=0,
        at_most=2,
    )
    tax: float = param(0.2, "tax on that fee, as a share of it", at_least=0, at_most=1)
    settle_minutes: float = _time(
        20,
        "minutes",
        "how long a bonus of whose payment no answer was seen may take to show, before it counts "
        "as not paid; twenty minutes at least",
    )
    names: tuple[str, ...] = param(
        (),
        "what the platform calls things, as ours=theirs, where it is not as `campaign prolific "
        "--help` says: its documentation was not seen to name them",
    )


@dataclass(frozen=True, kw_only=True)
class Releasing:
    """`[release]`: what a release holds, and what its datasheet says."""

    text: bool = param(
        False,
        "whether it holds the documents' titles, addresses and texts; only their ids otherwise",
    )
    runs: bool = param(True, "whether it holds the systems' runs")
    licence: str = param("", "under which licence the data may be used")
    purpose: str = param("", "why the judgements were collected")
    limits: str = param("", "what the data should not be used for")
    contact: str = param("", "whom to ask")


@dataclass(frozen=True, kw_only=True)
class Mail:
    """`[mail]`: letters to people on the campaign's list."""

    contact: str = param("", "the address that letters come from; nothing is sent without it")
    sender: str = param("", "who asks, in words; the contact if empty")
    per_minute: int = param(
        30, "how many letters are sent in a minute at most", at_least=1, at_most=10_000
    )
    subject: str = param("", "the subject in your own words; may hold {name}")
    text: str = param(
        "",
        "the letter in your own words, for invitations and reminders alike; must hold {link} and "
        "{decline}, and may hold {name}, {pay}, {minutes}, {until}, {sender}",
    )

    @property
    def who(self) -> str:
        """Who asks."""
        return self.sender or self.contact


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole plan; `text` is the file it was read from."""

    campaign: About = field(default_factory=About)
    scale: Grades = field(default_factory=Grades)
    files: Files = field(default_factory=Files)
    sets: Sets = field(default_factory=Sets)
    next: Next = field(default_factory=Next)
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    hit: Hit = field(default_factory=Hit)
    pay: Pay = field(default_factory=Pay)
    checks: Checks = field(default_factory=Checks)
    qualification: Qualification = field(default_factory=Qualification)
    techniques: Techniques = field(default_factory=Techniques)
    people: People = field(default_factory=People)
    platform: Platform = field(default_factory=Platform)
    prolific: Prolific = field(default_factory=Prolific)
    release: Releasing = field(default_factory=Releasing)
    mail: Mail = field(default_factory=Mail)
    text: str = ""

    @property
    def way(self) -> Way:
        """How documents are judged."""
        return Way.named(self.campaign.way)

    @property
    def entry(self) -> str:
        """Who may come in: what `[people]` says, or what is usual where people come from."""
        signed_or_sent = self.platform.preset != "own" or self.platform.jwks
        return self.people.entry or ("platform" if signed_or_sent else "links")

    @property
    def rule(self) -> str:
        """Who may come in, as texts on it are called: they tell apart what a platform can do."""
        signed = "signed" if self.platform.jwks else "unsigned"
        return self.entry if self.entry in ("links", "open") else f"{self.entry}.{signed}"

    @property
    def most_votes(self) -> int:
        """Judgements that a document gets at most."""
        return self.next.most or self.sets.target

    @property
    def paid(self) -> bool:
        """Whether anybody gets money for anything."""
        pay = self.pay
        return any((pay.hit, pay.screen_out, pay.qualification, pay.review))

    @property
    def owner(self) -> bool:
        """Whether one assessor judges a whole topic."""
        return self.campaign.mode == "owner"

    @property
    def in_phases(self) -> bool:
        """Whether topics go through the phases of a hierarchy."""
        return self.campaign.mode == "hierarchy"

    @property
    def is_reordered(self) -> bool:
        """Whether what comes next is worked out again and again."""
        return self.next.pick != "even" or self.in_phases

    @property
    def gold_per_hit(self) -> int:
        """Gold sets in a batch: none where topics have owners, or the way of judging has none."""
        return self.hit.gold if self.way.gold and not self.owner else 0

    @property
    def used_checks(self) -> dict[str, Check]:
        """The checks that batches go through: those of the way of judging, on gold where it is."""
        names = [name for name in self.way.checks if self.gold_per_hit or name == "seconds"]
        return {name: getattr(self.checks, name) for name in names}

    def acts(self, action: str) -> bool:
        """Whether failing a check that batches go through does this."""
        return any(check.action == action for check in self.used_checks.values())

    def test_ranks(self, *, elsewhere: bool = False) -> bool:
        """Whether ranks count in the qualification, where it is taken here or elsewhere."""
        test = self.qualification
        scored = "ndcg" in self.way.checks and self.checks.ndcg.action != "none"
        wanted = test.ranks == "always" or (elsewhere and test.ranks == "elsewhere")
        return scored and wanted and test.gold == "all"

    @property
    def counted_per_hit(self) -> int:
        """Sets in a batch that are not gold."""
        return self.hit.sets - self.gold_per_hit

    def pay_of(self, kind: str) -> int:
        """The pay of an assignment of this kind, in minor units."""
        amounts = {"qualification": self.pay.qualification, "review": self.pay.review}
        unpaid = kind in ("expert", "machine")
        return 0 if unpaid else self.pay.minor(amounts.get(kind, self.pay.hit))

    def seconds_of(self, documents: int) -> float:
        """How long a worker needs for so many documents."""
        return documents * self.pay.seconds_per_document


def sections() -> dict[str, type]:
    """The sections of a plan file by name, those of single checks too."""
    hints = get_type_hints(Plan)
    classes = {part.name: hints[part.name] for part in fields(Plan) if part.name != "text"}
    return classes | {f"checks.{name}": Check for name in CHECKS}
