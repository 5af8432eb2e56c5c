"""Mode hierarchy: experts above a crowd, a classifier of texts beside it (Piazzon 2019, 2.5.5).

Each topic goes through three phases, which follow from what is stored:

*training*   its first sets, by two people or more; experts settle what these disagree on
*judging*    everything, in the order that the last act *choose next* wrote
*revision*   people look once more at own answers that the text contradicts

What the classifier found (`web.hierarchy`) stands in the record of that act; `findings` reads it.
A revision is a review of one's own place, which shows only the documents in question. Once it is
handed in, what was said there is what counts (`assignments.move`); both stay stored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    bindparam,
    distinct,
    exists,
    func,
    or_,
    select,
    true,
)

from qrowd.collection.books import ledger, notices
from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    DECIDED,
    PLACED_ANSWERS,
    PLACED_SETS,
    TAKEN_BACK,
    answer,
    assignment,
    audit,
    decision,
    document,
    event,
    has_grade,
    judging_set,
    member,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.states import OPEN, VALID
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import lease, own_revisions
from qrowd.collection.judging.offer import order_of
from qrowd.collection.plan.sections import HOUR
from qrowd.errors import RuleError
from qrowd.texts import Text

ACT = "choose next"
TOP = (2.0, 1.0)  # priorities of a topic's first bucket: before and after the least judgements
HIGHEST = 2**62  # above all numbers of sets
S = judging_set.c


# --- what the classifier found --------------------------------------------------------------------


@dataclass(frozen=True)
class TopicText:
    """How well the texts tell a topic's relevant documents: the area under the curve, out of fold.

    None where there is too little to say. `since`: it has been used from then on.
    """

    auc: float | None = None
    low: float | None = None
    high: float | None = None
    tells: bool = False
    since: int | None = None

    @property
    def sentence(self) -> Text:
        """How well it tells, in words."""
        if self.auc is None or self.low is None or self.high is None:
            return Text("office.hierarchy.text.unknown")
        figures = {name: f"{getattr(self, name):.2f}" for name in ("auc", "low", "high")}
        name = "tells" if self.tells else "tells-not"
        return Text(f"office.hierarchy.text.{name}", **figures)


@dataclass(frozen=True)
class Findings:
    """What the last act wrote: `best` are the workers who were best in training, `asked` the
    answers that the text contradicts (place, position), by worker.

    `at` is when these were read: batches may come in while the texts are worked out.
    """

    at: int = 0
    topics: Mapping[str, TopicText] = field(default_factory=dict)
    best: frozenset[int] = frozenset()
    asked: Mapping[int, list[tuple[int, int]]] = field(default_factory=dict)
    blank: int = 0  # documents without text

    def stored(self) -> dict[str, Any]:
        """As the record has it."""
        return {
            "at": self.at,
            "topics": {name: vars(each) for name, each in self.topics.items()},
            "best": sorted(self.best),
            "asked": {str(number): answers for number, answers in self.asked.items()},
            "blank": self.blank,
        }


def findings(work: Work) -> Findings:
    """What the last act found that was not undone; nothing where there is none."""
    acts = select(audit).where(work.standing_acts(ACT))
    row = work.row(acts.order_by(audit.c.id.desc()).limit(1), schema.Audit)
    stored = json.loads(row.details).get("hierarchy") if row else None
    if row is None or stored is None:
        return Findings()
    return Findings(
        at=stored.get("at", row.at),  # earlier versions did not store it
        topics={name: TopicText(**each) for name, each in stored["topics"].items()},
        best=frozenset(stored["best"]),
        asked={
            int(number): [(at, position) for at, position in answers]
            for number, answers in stored["asked"].items()
        },
        blank=stored["blank"],
    )


# --- phases ---------------------------------------------------------------------------------------


def training_sets(work: Work) -> list[int]:
    """The numbers of the sets that come first in each topic.

    Sets are numbered in an order drawn by the plan's seed: the first ones are drawn at random, and
    an extension changes nothing about it.
    """
    mine = judging_set.alias()
    # by the index of topics: to number all sets would read them all, at every request
    last = (
        select(mine.c.id)
        .where(mine.c.topic_id == topic.c.id, mine.c.role == "pool")
        .order_by(mine.c.id)
        .offset(work.plan.hierarchy.training - 1)
        .limit(1)
        .correlate(topic)
        .scalar_subquery()
    )
    query = (
        select(S.id)
        .join_from(topic, judging_set, S.topic_id == topic.c.id)
        .where(work.own(topic), S.role == "pool", S.id <= func.coalesce(last, HIGHEST))
    )
    return list(work.db.scalars(query))


def _one_of(column: ColumnElement[int], numbers: Collection[int]) -> ColumnElement[bool]:
    """The condition that a number is one of these; written out, as engines take only so many
    parameters.
    """
    return column.in_(bindparam(None, list(numbers), expanding=True, literal_execute=True))


@dataclass(frozen=True)
class TopicPhase:
    """Where a topic is: judgements of training that are missing, documents of training that wait
    for an expert, places of any set that are open or not handed in yet.
    """

    id: int
    name: str
    training: int
    disputed: int
    open: int

    @property
    def phase(self) -> str:
        """Its name. The end of revision is seen by what is left to revise."""
        if self.training or self.disputed:
            return "training"
        return "judging" if self.open else "revision"


def phases(work: Work, training: Collection[int]) -> list[TopicPhase]:
    """Every topic with its phase; `training` are the sets of training."""
    votes = work.plan.hierarchy.votes
    handed_in = (
        select(func.count())
        .join_from(place, assignment, assignment.c.id == place.c.assignment_id)
        .where(place.c.set_id == S.id, place.c.held == 1, assignment.c.state.in_(VALID))
        .correlate(judging_set)
        .scalar_subquery()
    )
    first = select(S.topic_id, handed_in).where(_one_of(S.id, training), S.open == 1)
    missing: Counter[int] = Counter()
    for topic_id, done in work.db.execute(first):
        missing[topic_id] += max(0, votes - done)
    split = _training_disputes(work, training).subquery()
    disputed = (
        select(S.topic_id, func.count())
        .join_from(judging_set, split, split.c.set_id == S.id)
        .group_by(S.topic_id)
    )
    has_room = (S.open == 1) & (S.held < S.target)
    room = (
        select(S.topic_id, func.count().filter(has_room))
        .where(work.pool_sets())
        .group_by(S.topic_id)
    )
    pending = (
        select(S.topic_id, func.count())
        .select_from(PLACED_SETS.join(assignment, assignment.c.id == place.c.assignment_id))
        .where(work.own(assignment), assignment.c.state.in_(OPEN), place.c.held == 1)
        .group_by(S.topic_id)
    )
    waiting: dict[int, int] = dict(work.db.execute(disputed).all())
    is_open: Counter[int] = Counter(dict(work.db.execute(room).all()))
    judged = set(is_open)
    is_open.update(dict(work.db.execute(pending).all()))
    topics = select(topic.c.id, topic.c.name).where(work.own(topic))
    return [
        TopicPhase(number, name, missing[number], waiting.get(number, 0), is_open[number])
        for number, name in work.db.execute(topics.order_by(topic.c.id))
        if number in judged
    ]


def _training_disputes(work: Work, training: Collection[int]) -> Select[Any]:
    """Pairs of training (set_id, pair_id) whose judges disagree and that no expert has decided."""
    yes = func.count().filter(event.c.grade >= work.plan.scale.relevant_from)
    counted = (work.valid_batches(), place.c.kind == "count", place.c.held == 1, has_grade())
    return (
        select(place.c.set_id, member.c.pair_id)
        .select_from(PLACED_ANSWERS)
        .where(*counted, _one_of(place.c.set_id, training))
        .where(member.c.pair_id.not_in(DECIDED))
        .group_by(place.c.set_id, member.c.pair_id)
        .having(and_(yes > 0, yes < func.count()))
    )


def disputed_pairs(work: Work) -> list[int]:
    """Pairs of training that wait for an expert."""
    disputes = _training_disputes(work, training_sets(work))
    return [row.pair_id for row in work.db.execute(disputes)]


@dataclass(frozen=True)
class Standing:
    """What a request needs to know, read once: sets of training, phases, what the texts say."""

    training: list[int]
    topics: list[TopicPhase]
    texts: Findings

    @classmethod
    def of(cls, work: Work) -> Standing:
        """As it is now."""
        training = training_sets(work)
        return cls(training, phases(work, training), findings(work))


def open_now(work: Work, worker_id: int, now: Standing) -> ColumnElement[bool]:
    """The condition that a set's topic is so far, and the set not kept for others now."""
    training = [each.id for each in now.topics if each.phase == "training"]
    first = and_(_one_of(S.id, now.training), S.held < work.plan.hierarchy.votes)
    if len(training) == len(now.topics):
        so_far = first
    else:
        so_far = or_(S.topic_id.not_in(training), first) if training else true()
    kept = kept_topics(work, worker_id, now.texts)
    if not kept:
        return so_far
    of_these = select(topic.c.id).where(work.own(topic), topic.c.name.in_(kept))
    return and_(so_far, or_(S.priority.not_in(TOP), S.topic_id.not_in(of_these)))


def kept_topics(work: Work, worker_id: int, texts: Findings) -> list[str]:
    """The topics whose first bucket is kept for others than this worker now."""
    if not texts.best or worker_id in texts.best:
        return []
    since = work.now - round(work.plan.hierarchy.hours * HOUR)
    return [name for name, each in texts.topics.items() if each.since and each.since > since]


def comes_later(work: Work, now: Standing) -> bool:
    """Whether there may be something to do later for somebody for whom there is nothing now."""
    return any(each.phase != "revision" for each in now.topics) or is_behind(work, now.texts)


def is_behind(work: Work, texts: Findings) -> bool:
    """Whether batches came in since it was worked out what the texts contradict."""
    judged = work.valid_batches() & (assignment.c.kind == "judge")
    return work.count(assignment, judged, assignment.c.ended_at > texts.at) > 0


# --- what experts say of training -----------------------------------------------------------------


@dataclass(frozen=True)
class Lesson:
    """A document of training that an expert decided otherwise than somebody, and why."""

    topic: str
    title: str
    said: int
    expert: int
    reason: str


def lessons(work: Work, assigned: schema.Assignment) -> list[Lesson]:
    """What experts decided since a worker's batch before this one, each once."""
    a, d, rel = assignment.c, decision.c, work.plan.scale.relevant_from
    earlier = (a.worker_id == assigned.worker_id) & (a.id < assigned.id)
    since = work.number(select(func.max(a.finished_at)).where(earlier))
    until = assigned.finished_at or 0
    standing = select(func.max(d.id)).where(d.at <= until).group_by(d.pair_id)
    query = (
        select(
            topic.c.query.label("topic"),
            document.c.title,
            event.c.grade.label("said"),
            d.grade.label("expert"),
            d.reason,
        )
        .select_from(
            PLACED_ANSWERS.join(decision, d.pair_id == member.c.pair_id)
            .join(pair, pair.c.id == member.c.pair_id)
            .join(document, document.c.id == pair.c.document_id)
            .join(topic, topic.c.id == pair.c.topic_id)
        )
        .where(place.c.worker_id == assigned.worker_id, place.c.kind == "count", has_grade())
        .where(a.finished_at < d.at, _one_of(place.c.set_id, training_sets(work)))
        .where(d.id.in_(standing), d.code != TAKEN_BACK, d.at > since, d.at <= until)
        .where((event.c.grade >= rel) != (d.grade >= rel))
    )
    return [Lesson(*row) for row in work.db.execute(query.order_by(d.id))]


# --- revision -------------------------------------------------------------------------------------


class AskedPlace(schema.JudgingSet):
    """A set that somebody has judged, and the place in which that was."""

    place_id: int
    worker_id: int


def lease_revision(
    work: Work, worker_id: int, now: Standing, *, full: bool
) -> schema.Assignment | None:
    """A batch of own answers that the text contradicts; None where there is nothing or no money.

    With `full`, only as many documents as a batch has: pay is for a batch.
    """
    asked: dict[int, list[int]] = {}
    for place_id, position in now.texts.asked.get(worker_id, ()):
        asked.setdefault(place_id, []).append(position)
    if not asked:
        return None
    done = sum(
        len(order_of(shown))
        for shown in work.db.scalars(own_revisions(place.c.shown, place.c.worker_id == worker_id))
    )
    batch = work.plan.counted_per_hit * work.plan.sets.size
    most = min(batch, work.plan.hierarchy.revisions - done)
    rows = _to_revise(work, asked, now.topics)
    chosen: list[AskedPlace] = []
    for row in rows:
        if sum(len(asked[each.place_id]) for each in [*chosen, row]) <= most:
            chosen.append(row)
    size = sum(len(asked[row.place_id]) for row in chosen)
    if not chosen or (full and size < batch):
        return None
    if not ledger.affordable(work, work.plan.pay_of("review")):
        notices.tell(work, "no-budget")
        return None
    return lease(
        work,
        worker_id,
        "review",
        [(row, "review") for row in chosen],
        [row.place_id for row in chosen],
        [asked[row.place_id] for row in chosen],
    )


def _to_revise(
    work: Work, places: Collection[int], topics: Iterable[TopicPhase]
) -> list[AskedPlace]:
    """Of these places those whose topic is so far, and that their people never looked at again."""
    so_far = [each.id for each in topics if each.phase == "revision"]
    review = place.alias()
    seen = exists().where(
        review.c.worker_id == place.c.worker_id,
        review.c.set_id == place.c.set_id,
        review.c.kind == "review",
    )
    query = (
        select(judging_set, place.c.id.label("place_id"), place.c.worker_id)
        .select_from(PLACED_SETS.join(assignment, assignment.c.id == place.c.assignment_id))
        .where(work.valid_batches(), _one_of(place.c.id, places))
        .where(place.c.held == 1, S.topic_id.in_(so_far), ~seen)
    )
    return work.rows(query.order_by(place.c.id), AskedPlace)


class Revised(schema.TypedRow):
    """An answer that was looked at once more: what was said first, and then."""

    topic_id: int
    pair_id: int
    first: int | None
    second: int | None


def revised(work: Work) -> list[Revised]:
    """All answers that were looked at once more and handed in, the oldest first."""
    own, then, said = place.alias(), event.alias(), event.alias()
    before = (
        select(func.max(then.c.id))
        .where(then.c.place_id == own.c.id, then.c.position == answer.c.position)
        .where(then.c.stale == 0)
        .correlate(own, answer)
        .scalar_subquery()
    )
    first = event.alias()
    query = (
        select(
            S.topic_id, member.c.pair_id, first.c.grade.label("first"), said.c.grade.label("second")
        )
        .select_from(
            place.join(own, own.c.id == place.c.reviews_id)
            .join(assignment, assignment.c.id == place.c.assignment_id)
            .join(judging_set, S.id == place.c.set_id)
            .join(answer, answer.c.place_id == place.c.id)
            .join(said, said.c.id == answer.c.event_id)
            .join(first, first.c.id == before)
            .join(
                member,
                (member.c.set_id == place.c.set_id) & (member.c.position == answer.c.position),
            )
        )
        .where(work.valid_batches(), own.c.worker_id == place.c.worker_id)
    )
    return work.rows(query.order_by(said.c.id), Revised)


def is_kept(row: Revised, relevant_from: int) -> bool:
    """Whether somebody said the same again: relevant, or not."""
    if row.first is None or row.second is None:
        return row.first == row.second
    return (row.first >= relevant_from) == (row.second >= relevant_from)


def kept_pairs(work: Work) -> list[int]:
    """Pairs of which somebody kept an answer that the text contradicts: an expert decides."""
    decided = set(work.db.scalars(DECIDED))
    rel = work.plan.scale.relevant_from
    kept = [row.pair_id for row in revised(work) if is_kept(row, rel)]
    return [number for number in dict.fromkeys(kept) if number not in decided]


# --- how far it is --------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopicLine:
    """A topic on the page: its phase, what the text tells, and what came of revision.

    `waits` says for whom: "" (nobody), people, experts, or the next time it is worked out.
    """

    topic: str
    phase: str
    waits: str
    training: int  # judgements that training lacks
    disputed: int  # documents of training that wait for an expert
    open: int  # sets or batches that are not judged yet
    text: TopicText
    asked: int  # answers that wait for their person
    revised: int
    changed: int
    sent: int  # documents sent to experts because somebody kept the answer
    undecided: int  # of these, without a decision

    @property
    def sentence(self) -> Text:
        """What it waits for, in words."""
        if self.phase == "training" and self.training:
            return Text("office.hierarchy.waits.training", n=self.training)
        if self.phase == "judging":
            return Text("office.hierarchy.waits.judging", n=self.open)
        n = {"people": self.asked, "experts": self.disputed or self.undecided}.get(self.waits, 0)
        return Text(f"office.hierarchy.waits.{self.waits or 'nobody'}", n=n)


@dataclass(frozen=True)
class Hierarchy:
    """How far the topics are, and what there is to know of all of them."""

    topics: tuple[TopicLine, ...]
    blank: int
    best: int
    experts: int
    decisions: int
    minutes: float  # of experts

    @property
    def waits(self) -> str:
        """What to see to first: experts, people, or nothing."""
        waits = {line.waits for line in self.topics}
        if "experts" in waits:
            return "experts" if self.experts else "no-expert"
        return next((each for each in ("people", "text") if each in waits), "")

    @property
    def sentence(self) -> Text:
        """What to see to first, in words."""
        return Text(f"office.hierarchy.next.{self.waits or 'done'}")

    def count(self, column: str) -> int:
        """The sum of a column over topics."""
        return sum(int(getattr(line, column)) for line in self.topics)


def hierarchy(work: Work) -> Hierarchy:
    """The page and the command: how far each topic is."""
    if not work.plan.in_phases:
        mode = work.plan.campaign.mode
        raise RuleError("not-allowed", f"the mode of this campaign is {mode}: it has no hierarchy")
    now, rel = Standing.of(work), work.plan.scale.relevant_from
    texts = now.texts
    behind = is_behind(work, texts)
    left = left_to_revise(work, now)
    rows, undecided = revised(work), set(kept_pairs(work))
    lines = []
    for each in now.topics:
        mine = [row for row in rows if row.topic_id == each.id]
        kept = {row.pair_id for row in mine if is_kept(row, rel)}
        phase, waits = each.phase, ""
        if phase == "training":
            waits = "people" if each.training else "experts"
        elif phase == "judging" or left[each.id]:
            waits = "people"
        elif behind:
            waits = "text"
        elif kept & undecided:
            waits = "experts"
        else:
            phase = "done"
        lines.append(
            TopicLine(
                topic=each.name,
                phase=phase,
                waits=waits,
                training=each.training,
                disputed=each.disputed,
                open=each.open,
                text=texts.topics.get(each.name, TopicText()),
                asked=left[each.id],
                revised=len(mine),
                changed=sum(not is_kept(row, rel) for row in mine),
                sent=len(kept),
                undecided=len(kept & undecided),
            )
        )
    number, minutes = _experts_time(work)
    roles = schema.member_role.c
    accounts = select(func.count(distinct(roles.account_id))).where(
        roles.campaign_id == work.campaign, roles.role == "expert"
    )
    return Hierarchy(
        topics=tuple(lines),
        blank=texts.blank,
        best=len(texts.best),
        experts=work.number(accounts),
        decisions=number,
        minutes=minutes,
    )


def left_to_revise(work: Work, now: Standing) -> Counter[int]:
    """How many answers of each topic wait for somebody who may still look at them.

    Where no review can be paid, these are in batches that somebody has open.
    """
    left: Counter[int] = Counter()
    can_pay = ledger.affordable(work, work.plan.pay_of("review"))
    asked = now.texts.asked if can_pay else {}
    out = worker.c.state.in_(("failed", "screened-out", "stopped"))
    gone = work.own(worker) & (out | worker.c.forgotten_at.is_not(None))
    away = set(work.db.scalars(select(worker.c.id).where(gone)))
    looked = Counter[int]()
    for number, shown in work.db.execute(
        own_revisions(place.c.worker_id, work.own(assignment)).add_columns(place.c.shown)
    ):
        looked[number] += len(order_of(shown))
    sizes = Counter(place_id for answers in asked.values() for place_id, _ in answers)
    for row in _to_revise(work, sizes, now.topics):
        who, size = row.worker_id, sizes[row.place_id]
        if who not in away and looked[who] + size <= work.plan.hierarchy.revisions:
            looked[who] += size
            left[row.topic_id] += size
    # batches of revision that somebody has open
    pending = own_revisions(S.topic_id, work.own(assignment), assignment.c.state.in_(OPEN))
    joined = pending.join(judging_set, S.id == place.c.set_id).add_columns(place.c.shown)
    for topic_id, shown in work.db.execute(joined):
        left[topic_id] += len(order_of(shown))
    return left


PAUSE = 10 * 60_000  # milliseconds between two decisions beyond which somebody was away


def _experts_time(work: Work) -> tuple[int, float]:
    """How many documents experts decided, and their minutes.

    Nobody looks at a clock: it is the time between an expert's decisions, where that is short; the
    first after a pause counts as much as the others do on average.
    """
    query = (
        select(decision.c.expert_id, decision.c.at)
        .join_from(decision, pair, pair.c.id == decision.c.pair_id)
        .where(work.own(pair))
        .order_by(decision.c.expert_id, decision.c.at)
    )
    rows = work.db.execute(query).all()
    gaps = [
        later.at - earlier.at
        for earlier, later in pairwise(rows)
        if earlier.expert_id == later.expert_id and later.at - earlier.at <= PAUSE
    ]
    number = work.count(pair, work.own(pair), pair.c.id.in_(DECIDED))
    typical = sum(gaps) / len(gaps) if gaps else 0.0
    return number, (sum(gaps) + typical * (len(rows) - len(gaps))) / 60_000
