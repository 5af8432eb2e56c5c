"""Why a campaign does not go as it should: the causes that the evidence names, the first one first.

    causes_of(work, pace) -> [Cause(name, text, act, details, page), ...]

Each cause is a function of the `Facts`, in the order of `CAUSES`: what spoils answers comes before
what is missing, and money last, because people who click through batches also fail check questions,
agree with nobody and use up the budget. For the same reason those below look only at batches that
were not answered too fast. Whatever tells against a campaign must be sure: a test at `LEVEL`
against the worst that a healthy campaign may be (not a ratio), corrected where many things are
looked at. What was before the last launch or resume is not held against it: pausing, doing
something about it and resuming starts afresh.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Select, exists, func, select

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    PLACED_ANSWERS,
    STANDING_OUTCOME,
    TypedRow,
    answer,
    assignment,
    audit,
    consent,
    document,
    event,
    judging_set,
    member,
    outcome,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.states import OPEN, VALID
from qrowd.collection.database.store import Work
from qrowd.collection.office.pace import Pace
from qrowd.collection.people.workers import worker_by_number
from qrowd.collection.plan.sections import DAY, HOUR
from qrowd.collection.record.act import act_named
from qrowd.data.arrays import Floats
from qrowd.quality.copies import copies
from qrowd.rendering import spaced_percent
from qrowd.texts import Text, listed

LEVEL = 0.002  # of every test: a dozen of them accuse a healthy campaign once in forty times
LATEST = 500  # batches that are looked at
NAMED = 5  # people or topics in a sentence

TOO_FAST = 0.25  # of batches, in a campaign that is still healthy
MOST = 0.5  # who leave at once, fail the test, are paid too little; batches that fail gold
BROKEN = 0.05  # of documents
ONE_PERSON, SHARE_OF_ONE = 0.25, 0.4  # of batches: surely above the first, and at least the second
PEOPLE = 5  # fewer do large shares each, which is no wonder
PAID = 0.8  # of the wage that was promised
HARD, APART = 0.2, 0.3  # kappa of a topic that is too hard, and how far below the others
TOPIC_DOCUMENTS = 8  # with two answers, before a topic's agreement says something
GAP, RECENT = 6 * HOUR, 3 * DAY  # of a server that was away, and how long it is told afterwards
WAIT = HOUR  # before somebody who came has left
PAST = 28 * DAY  # whose days a silent one is held against
LONG_SILENCE = 7 * DAY
_WIDER, _USUAL_DAYS = 1.5, 5  # the variance of a day's batches over their mean, and its weight


@dataclass(frozen=True)
class Cause:
    """What is in the way: its name (permanent: programs ask for it) and the sentence that says it,
    the act that helps and the page to look at.
    """

    name: str
    text: Text
    act: str = ""
    details: tuple[tuple[str, int | str], ...] = ()
    page: str = ""

    def told(self) -> dict[str, Any]:
        """All of it for programs, its sentence in English."""
        return {
            "name": self.name,
            "text": str(self.text),
            "act": self.act,
            "details": dict(self.details),
            "page": self.page,
        }


def causes_of(work: Work, pace: Pace) -> list[Cause]:
    """What surely goes wrong; nothing of a draft or a campaign that is over."""
    if work.state not in ("running", "paused"):
        return []
    facts = Facts(work, pace)
    causes = [cause for look in CAUSES for cause in look(facts)]
    return [cause if _possible(work, cause) else replace(cause, act="") for cause in causes]


def _possible(work: Work, cause: Cause) -> bool:
    """Whether the act that helps can still be done: nobody is stopped twice."""
    states = act_named(cause.act).states if cause.act else ()
    number = dict(cause.details).get("worker")
    state = work.state if number is None else worker_by_number(work, int(number)).state
    return not states or "in use" in states or state in states


def surely_above(hits: int, of: int, share: float, level: float = LEVEL) -> bool:
    """Whether so many hits are too many for this share: the exact binomial test."""
    from scipy.special import bdtrc

    return hits > 0 and bool(bdtrc(hits - 1, of, share) < level)


# --- facts ----------------------------------------------------------------------------------------


class Batch(TypedRow):
    """A batch whose answers are closed."""

    id: int
    worker_id: int
    number: int  # of its worker
    kind: str
    state: str
    leased_at: int
    pay: int


class CheckResult(TypedRow):
    """What a check said of a batch."""

    assignment_id: int
    set_id: int | None
    check: str
    passed: int
    action: str


class GivenAnswer(TypedRow):
    """An answer that stands, and what it is about."""

    assignment_id: int
    worker_id: int
    place_kind: str
    topic_id: int
    pair_id: int
    kind: str
    grade: int | None


class Arrival(TypedRow):
    """Somebody who came, and how far they got."""

    number: int
    state: str
    agreed: bool
    batches: int
    finished: int
    answered: bool


@dataclass(frozen=True)
class Facts:
    """What the causes are decided on; asked for when a cause needs it, from the latest batches."""

    work: Work
    pace: Pace

    @cached_property
    def since(self) -> int:
        """When the campaign was last launched or resumed."""
        started = audit.c.act.in_(("launch", "resume"))
        return self.work.number(select(func.max(audit.c.at)).where(self.work.own(audit), started))

    @cached_property
    def _latest(self) -> Select[tuple[int]]:
        """The numbers of the latest batches whose answers are closed."""
        a = assignment.c
        closed = (a.leased_at >= self.since) & a.finished_at.is_not(None)
        own = self.work.own(assignment) & a.kind.in_(("judge", "qualification"))
        return select(a.id).where(own, closed).order_by(a.id.desc()).limit(LATEST)

    @cached_property
    def batches(self) -> list[Batch]:
        """The latest batches of judging."""
        return [batch for batch in self.closed if batch.kind == "judge"]

    @cached_property
    def closed(self) -> list[Batch]:
        """The latest batches, tests included."""
        a = assignment.c
        columns = (a.id, a.worker_id, worker.c.number, a.kind, a.state, a.leased_at, a.pay)
        query = select(*columns).join_from(assignment, worker, worker.c.id == a.worker_id)
        return self.work.rows(query.where(a.id.in_(self._latest)).order_by(a.id), Batch)

    @cached_property
    def checks(self) -> list[CheckResult]:
        """What checks said of the latest batches."""
        o = outcome.c
        columns = (o.assignment_id, o.set_id, o.check, o.passed, o.action)
        mine = o.assignment_id.in_(self._latest)
        query = select(*columns).where(mine, STANDING_OUTCOME)
        return self.work.rows(query.order_by(o.id), CheckResult)

    @cached_property
    def too_fast(self) -> dict[int, str]:
        """Batches with a set that was answered too fast, and what the plan does about that."""
        return {
            row.assignment_id: row.action
            for row in self.checks
            if row.check == "seconds" and not row.passed
        }

    @cached_property
    def gold_tries(self) -> dict[int, list[bool]]:
        """Of each gold set, whether each batch passed it, without those that were too fast."""
        passed: dict[tuple[int, int], bool] = {}
        for row in self.checks:
            if row.check != "seconds" and row.set_id and row.assignment_id not in self.too_fast:
                key = (row.set_id, row.assignment_id)
                passed[key] = passed.get(key, True) and bool(row.passed)
        tries: dict[int, list[bool]] = defaultdict(list)
        for (number, _), well in passed.items():
            tries[number].append(well)
        return tries

    @cached_property
    def answers(self) -> list[GivenAnswer]:
        """The answers of the latest batches that were not too fast."""
        p = place.c
        columns = (
            p.assignment_id,
            p.worker_id,
            p.kind.label("place_kind"),
            pair.c.topic_id,
            pair.c.id.label("pair_id"),
            event.c.kind,
            event.c.grade,
        )
        joined = PLACED_ANSWERS.join(pair, pair.c.id == member.c.pair_id)
        latest = p.assignment_id.in_(self._latest) & (assignment.c.kind == "judge")
        query = select(*columns).select_from(joined).where(latest)
        rows = self.work.rows(query.order_by(p.id, answer.c.position), GivenAnswer)
        return [row for row in rows if row.assignment_id not in self.too_fast]

    @cached_property
    def seconds(self) -> dict[int, float]:
        """Active seconds of each of the latest batches."""
        spent = func.sum(event.c.milliseconds)
        mine = place.c.assignment_id.in_(self._latest)
        query = select(place.c.assignment_id, spent).join_from(
            event, place, place.c.id == event.c.place_id
        )
        rows = self.work.db.execute(query.where(mine).group_by(place.c.assignment_id))
        return {number: float(milliseconds) / 1000 for number, milliseconds in rows}

    @cached_property
    def arrivals(self) -> list[Arrival]:
        """People who came since the start, long enough ago to have begun."""
        a, mine = assignment.c, assignment.c.worker_id == worker.c.id
        batches = select(func.count()).where(mine).correlate(worker).scalar_subquery()
        closed = mine & a.finished_at.is_not(None)
        finished = select(func.count()).where(closed).correlate(worker).scalar_subquery()
        columns = (
            worker.c.number,
            worker.c.state,
            exists().where(consent.c.worker_id == worker.c.id).label("agreed"),
            batches.label("batches"),
            finished.label("finished"),
            exists().where(event.c.worker_id == worker.c.id).label("answered"),
        )
        came = (worker.c.made_at >= self.since) & (worker.c.made_at <= self.work.now - WAIT)
        people = self.work.own(worker) & (worker.c.kind == "human")
        query = select(*columns).where(people, came).order_by(worker.c.id.desc()).limit(LATEST)
        return self.work.rows(query, Arrival)

    @cached_property
    def begun(self) -> Floats:
        """When batches were leased, in order."""
        return self._times(assignment.c.leased_at)

    @cached_property
    def alive(self) -> Floats:
        """When batches were leased or finished, in order: every sign of life."""
        return np.sort(np.concatenate([self.begun, self._times(assignment.c.finished_at)]))

    def _times(self, moment: ColumnElement[int]) -> Floats:
        after = max(self.since, self.work.now - PAST)
        query = select(moment).where(self.work.own(assignment), moment >= after)
        times = self.work.db.scalars(query.order_by(moment.desc()).limit(20 * LATEST)).all()
        return np.sort(np.array(times, dtype=np.float64))

    @property
    def can_pay(self) -> bool:
        """Whether another batch can be promised."""
        return ledger.affordable(self.work, self.work.plan.pay_of("judge"))

    @property
    def open_work(self) -> bool:
        """Whether there is something left to give out."""
        return self.pace.held < self.pace.wanted

    def title_of(self, pair_id: int) -> str:
        """What a document is called."""
        query = select(document.c.title, document.c.name).join_from(
            document, pair, pair.c.document_id == document.c.id
        )
        title, name = self.work.db.execute(query.where(pair.c.id == pair_id)).one()
        return str(title or name)

    def names_of(self, topics: Sequence[int]) -> list[str]:
        """The topics' names."""
        rows = self.work.db.execute(select(topic.c.id, topic.c.name).where(topic.c.id.in_(topics)))
        names: dict[int, str] = dict(rows.all())
        return [names[number] for number in topics]


# --- what spoils answers --------------------------------------------------------------------------


def documents_that_do_not_load(facts: Facts) -> Iterator[Cause]:
    """Documents that several people call broken; one person's browser is that person's matter."""
    seen = {row.pair_id for row in facts.answers}
    by_document: dict[int, set[int]] = defaultdict(set)
    for row in facts.answers:
        if row.kind == "broken":
            by_document[row.pair_id].add(row.worker_id)
    reports = Counter(who for people in by_document.values() for who in people)
    busiest = max(reports.values(), default=0)
    if len(reports) < 3 or busiest > sum(reports.values()) / 2:
        return
    if surely_above(len(by_document), len(seen), BROKEN):
        most = max(by_document, key=lambda number: (len(by_document[number]), -number))
        text = Text(
            "office.cause.broken",
            k=len(by_document),
            n=len(seen),
            people=len(reports),
            title=facts.title_of(most),
        )
        yield Cause("broken", text, "pause", page="/documents")


def fast_answers(facts: Facts) -> Iterator[Cause]:
    """More batches that were answered too fast than the odd one."""
    fast, batches = facts.too_fast, facts.batches
    if not surely_above(len(fast), len(batches), TOO_FAST):
        return
    people = sorted({batch.number for batch in batches if batch.id in fast})
    kept = all(action == "none" for action in fast.values())
    text = Text(
        "office.cause.fast-kept" if kept else "office.cause.fast",
        k=len(fast),
        of=len(batches),
        seconds=f"{facts.work.plan.checks.seconds.at_least:g}",
        n=len(people),
    )
    page = f"/workers/{people[0]}" if len(people) == 1 else "/workers?order=seconds"
    yield Cause("fast", text, "pause", page=page)


def a_test_that_nobody_passes(facts: Facts) -> Iterator[Cause]:
    """Most who take the test before the first batch do not pass it."""
    if not facts.work.plan.qualification.sets:
        return
    tested = [person for person in facts.arrivals if person.finished]
    failed = [person for person in tested if person.state in ("new", "failed")]
    if surely_above(len(failed), len(tested), MOST):
        passed = len(tested) - len(failed)
        text = Text("office.cause.test", k=passed, of=len(tested))
        yield Cause("test", text, "pause", page="/gold")


def a_topic_too_hard(facts: Facts) -> Iterator[Cause]:
    """A topic on which people agree hardly better than by chance, and far less than elsewhere."""
    agreement = _agreement_by_topic(facts.answers)
    if len(agreement) < 2:
        return
    sure = []
    for number, (kappa, error) in agreement.items():
        others = np.array([value for other, value in agreement.items() if other != number])
        rest, doubt = float(others[:, 0].mean()), float((others[:, 1] ** 2).mean())
        # topics differ by more than chance: some have few relevant documents
        between = max(0.05**2, float(others[:, 0].var()) - doubt)
        z = (rest - kappa) / math.sqrt(error**2 + between + doubt / len(others))
        p = math.erfc(z / math.sqrt(2)) / 2
        if p * len(agreement) < LEVEL and kappa < HARD and rest - kappa > APART:
            sure.append((p, number, kappa, rest))
    if sure:
        _, _, kappa, rest = min(sure)
        names = facts.names_of([number for _, number, _, _ in sorted(sure)][:NAMED])
        text = Text(
            "office.cause.topic",
            n=len(sure),
            topics=listed(names),
            kappa=f"{max(kappa, 0):.2f}",
            rest=f"{rest:.2f}",
        )
        yield Cause("topic", text, "pause", page="/coverage#topics")


def _agreement_by_topic(answers: Sequence[GivenAnswer]) -> dict[int, tuple[float, float]]:
    """Of each topic with enough documents: kappa between two people, and its standard error.

    "Cannot tell" is an answer of its own. Documents are drawn: the answers to one hang together.
    """
    by_pair: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in answers:
        if row.place_kind == "count" and row.kind != "broken":
            by_pair[row.topic_id, row.pair_id].append(row.kind + str(row.grade))
    by_topic: dict[int, list[list[str]]] = defaultdict(list)
    for (number, _), said in by_pair.items():
        if len(said) > 1:
            by_topic[number].append(said)
    agreement = {}
    for number, documents in by_topic.items():
        whole = Counter(word for said in documents for word in said)
        size = sum(whole.values())
        by_chance = 1 - sum((n / size) ** 2 for n in whole.values())
        if len(documents) < TOPIC_DOCUMENTS or by_chance < 0.1:  # nearly all answers are the same
            continue
        apart = np.array(
            [
                1 - sum(n * (n - 1) for n in Counter(said).values()) / (len(said) * (len(said) - 1))
                for said in documents
            ]
        )
        error = float(apart.std(ddof=1)) / math.sqrt(len(documents)) / by_chance
        agreement[number] = 1 - float(apart.mean()) / by_chance, max(error, 0.02)
    return agreement


def a_bad_gold_set(facts: Facts) -> Iterator[Cause]:
    """A gold set that most miss who pass the others: Fisher's exact test against these."""
    tries = facts.gold_tries
    every = [well for results in tries.values() for well in results]
    sure = []
    for number, results in tries.items():
        missed, tried = results.count(False), len(results)
        p = _hypergeometric(missed, tried, every.count(False), len(every))
        if p * len(tries) < LEVEL and missed > MOST * tried:
            sure.append((p, number, missed, tried))
    open_sets = judging_set.c.open == 1
    for _, number, missed, tried in sorted(sure):
        rows = select(topic.c.name).join_from(
            judging_set, topic, topic.c.id == judging_set.c.topic_id
        )
        name = facts.work.db.scalar(rows.where(judging_set.c.id == number, open_sets))
        if name is not None:  # it is in use
            others = len(every) - tried
            passed = others - (every.count(False) - missed)
            text = Text(
                "office.cause.gold",
                set=str(number),
                topic=name,
                missed=missed,
                tried=tried,
                passed=passed,
                others=others,
            )
            yield Cause("gold", text, "retire gold", (("set", number),), "/gold")


def _hypergeometric(hits: int, drawn: int, good: int, of: int) -> float:
    """The chance of at least so many hits, if `drawn` of `of` with `good` among them are drawn."""
    ways = sum(
        math.comb(good, each) * math.comb(of - good, drawn - each)
        for each in range(hits, min(good, drawn) + 1)
    )
    return ways / math.comb(of, drawn)


def careless_answers(facts: Facts) -> Iterator[Cause]:
    """Most batches fail the check questions, whichever set they had."""
    results = [well for each in facts.gold_tries.values() for well in each]
    failed = results.count(False)
    if surely_above(failed, len(results), MOST):
        text = Text("office.cause.careless", k=failed, of=len(results))
        yield Cause("careless", text, "pause", page="/workers?order=accuracy")


def people_who_copy(facts: Facts) -> Iterator[Cause]:
    """Two who agree far better with each other than with everybody else."""
    rows = [row for row in facts.answers if row.kind != "broken"]
    if not rows:
        return
    answers = np.unique([row.kind + str(row.grade) for row in rows], return_inverse=True)[1]
    ids = sorted({row.worker_id for row in rows})
    code = {worker_id: at for at, worker_id in enumerate(ids)}
    who = np.array([code[row.worker_id] for row in rows], dtype=np.int32)
    pairs = np.array([row.pair_id for row in rows])
    found = copies(pairs, who, answers.astype(np.int32), LEVEL)
    if found:
        first = found[0]
        names = {batch.worker_id: batch.number for batch in facts.batches}
        one, other = sorted(names[ids[at]] for at in (first.one, first.other))
        text = Text(
            "office.cause.copies",
            one=f"w{one}",
            other=f"w{other}",
            same=first.same,
            shared=first.shared,
            expected=spaced_percent(first.expected),
        )
        yield Cause("copies", text, "stop", (("worker", other),), f"/workers/{one}")


# --- who works, and for what ----------------------------------------------------------------------


def one_person_does_half(facts: Facts) -> Iterator[Cause]:
    """One of several people does so much that the judgements are that person's."""
    if facts.work.plan.owner:  # one assessor judges a whole topic, as planned
        return
    good = Counter(batch.number for batch in facts.batches if batch.state in VALID)
    whole = sum(good.values())
    number, most = max(good.items(), key=lambda item: item[1], default=(0, 0))
    enough = len(good) >= PEOPLE and most >= SHARE_OF_ONE * whole
    if enough and surely_above(most, whole, ONE_PERSON):
        text = Text(
            "office.cause.one-person", worker=f"w{number}", k=most, of=whole, people=len(good)
        )
        yield Cause("one-person", text, "stop", (("worker", number),), f"/workers/{number}")


def pay_below_the_promise(facts: Facts) -> Iterator[Cause]:
    """Most people earn less an hour than the plan says, because batches take longer."""
    plan = facts.work.plan
    documents = plan.hit.sets * plan.sets.size
    promised = plan.pay_of("judge") / plan.seconds_of(documents)
    earned: Counter[int] = Counter()
    spent: dict[int, float] = defaultdict(float)
    for batch in facts.closed:
        if batch.state in (*VALID, "excluded"):  # paid in full
            earned[batch.number] += batch.pay
            spent[batch.number] += facts.seconds.get(batch.id, 0.0)
    judges = {batch.number for batch in facts.batches}  # who only took the test is no sign
    people = [number for number in judges if earned[number] and spent[number]]
    low = [number for number in people if earned[number] / spent[number] < PAID * promised]
    if surely_above(len(low), len(people), MOST):
        wage = sum(earned[number] for number in people) / sum(spent[number] for number in people)
        text = Text(
            "office.cause.pay",
            wage=plan.pay.shown(round(3600 * wage)),
            promised=plan.pay.shown(round(3600 * promised)),
            k=len(low),
            of=len(people),
        )
        yield Cause("pay", text, "pause", page="/money")


def a_time_without_a_server(facts: Facts) -> Iterator[Cause]:
    """Hours without any sign of life in which there always was one on other days."""
    times = facts.alive
    gaps = np.diff(times)
    late = times[1:] > facts.work.now - RECENT
    for at in np.flatnonzero((gaps >= GAP) & late)[::-1]:
        start, end = times[at], times[at + 1]
        usual = _usual(facts.begun, start, end, facts.work.now)
        if usual is not None and usual.p < LEVEL:
            text = Text(
                "office.cause.server",
                start=_time(start),
                end=_time(end),
                hours=round((end - start) / HOUR),
                usual=round(usual.mean),
            )
            yield Cause("server", text, page="/coverage")
            return


@dataclass(frozen=True)
class _Usual:
    """What is usual in a time of the day: batches begun, and the chance of none at all."""

    mean: float
    p: float


def _usual(begun: Floats, start: float, end: float, now: float) -> _Usual | None:
    """The same hours on other days of the week's same part; None where there are too few.

    The chance of none is that of a Poisson count whose mean is known from these days only; since
    people come in bursts, each of them counts for less.
    """
    weekend = _weekend(start, end)
    counts = []
    for days in range(1, round(PAST / DAY)):
        for shift in (-days * DAY, days * DAY):
            first, last = start + shift, end + shift
            inside = begun[0] <= first and last <= now
            if inside and not (first < end and start < last) and _weekend(first, last) == weekend:
                counts.append(int(((begun > first) & (begun < last)).sum()))
    if len(counts) < 2:
        return None
    mean, days = float(np.mean(counts)), len(counts)
    if not mean:
        return None
    # how much wider than chance: what was seen, and what is usual where few days were seen
    seen = float(np.var(counts, ddof=1)) / mean
    wider = max(1.0, ((days - 1) * seen + _USUAL_DAYS * _WIDER) / (days - 1 + _USUAL_DAYS))
    none = (days / (days + 1)) ** (mean * days / wider)
    # any of the days might have been the silent one
    return _Usual(mean, min(1.0, none * (days + 1)))


def _weekend(start: float, end: float) -> bool:
    return datetime.fromtimestamp((start + end) / 2000).astimezone().isoweekday() > 5


def _time(at: float) -> str:
    return datetime.fromtimestamp(at / 1000).astimezone().strftime("%Y-%m-%d %H:%M %Z")


# --- nobody there, no money -----------------------------------------------------------------------


def a_budget_that_is_spent(facts: Facts) -> Iterator[Cause]:
    """No further batch can be promised, and there is work left."""
    if facts.open_work and not facts.can_pay:
        pay, pace = facts.work.plan.pay, facts.pace
        missing = max(pace.missing, facts.work.plan.pay_of("judge"))
        text = Text(
            "office.cause.spent", share=spaced_percent(pace.share), amount=pay.shown(missing)
        )
        yield Cause("spent", text, "fund", (("amount", missing),), "/money")


def people_who_leave_at_once(facts: Facts) -> Iterator[Cause]:
    """Most who come go before their first answer."""
    if not facts.open_work or not facts.can_pay or facts.work.state != "running":
        return  # they had nothing to do
    came = [person for person in facts.arrivals if person.state in ("new", "qualified")]
    left = [person for person in came if not person.answered]
    if not surely_above(len(left), len(came), MOST):
        return
    asked = bool(facts.work.plan.people.consent)

    def last_seen(person: Arrival) -> str:
        if asked and not person.agreed:
            return "terms"
        return "first-document" if person.batches else "instructions"

    [(place_left, _)] = Counter(map(last_seen, left)).most_common(1)
    text = Text(
        "office.cause.leaving",
        k=len(left),
        of=len(came),
        where=Text(f"office.cause.leaving.{place_left}"),
    )
    yield Cause("leaving", text, page="/people")


def nobody_there(facts: Facts) -> Iterator[Cause]:
    """Nobody came since the launch, or nobody works any more who did so day by day."""
    work, times = facts.work, facts.alive
    if work.state != "running" or not facts.open_work or not facts.can_pay:
        return
    quiet = work.now - (float(times[-1]) if len(times) else facts.since)
    values = {"n": round(quiet / DAY)}
    came = work.count(
        worker, work.own(worker), worker.c.kind == "human", worker.c.made_at >= facts.since
    )
    if quiet < DAY:
        return
    if not len(facts.begun):
        if not came and not facts.pace.held:
            yield Cause("nobody", Text("office.cause.nobody", **values), page="/people")
        elif facts.pace.held and quiet >= LONG_SILENCE:
            yield Cause("nobody", Text("office.cause.nobody-now", **values), page="/people")
        return
    usual = _usual(facts.begun, float(times[-1]), work.now, work.now)
    if quiet >= LONG_SILENCE or (usual is not None and usual.p < LEVEL):
        yield Cause("nobody", Text("office.cause.nobody-now", **values), page="/people")


def a_budget_too_short(facts: Facts) -> Iterator[Cause]:
    """What is left costs more than there is, even if all goes as well as it can."""
    pace, plan = facts.pace, facts.work.plan
    if not facts.open_work or not plan.pay_of("judge") or not facts.can_pay:
        return
    s = judging_set.c
    sets = facts.work.number(select(func.sum(s.target - s.held)).where(facts.work.pool_sets()))
    batches = math.ceil(sets / plan.counted_per_hit)
    void = sum(batch.state not in (*OPEN, *VALID) for batch in facts.batches)
    least = batches * plan.pay_of("judge") / (1 - _least(void, len(facts.batches)))
    surely_missing = math.ceil(pace.spent + pace.promised + least) - pace.budget
    if surely_missing > 0:
        missing = max(pace.missing, surely_missing)
        values = {"share": spaced_percent(pace.affordable), "amount": plan.pay.shown(missing)}
        text = Text("office.cause.budget", **values)
        yield Cause("budget", text, "fund", (("amount", missing),), "/money")


def _least(hits: int, of: int) -> float:
    """The smallest share that so many hits leave possible (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    return float(betaincinv(hits, of - hits + 1, LEVEL)) if hits else 0.0


CAUSES: tuple[Callable[[Facts], Iterator[Cause]], ...] = (
    documents_that_do_not_load,
    fast_answers,
    a_test_that_nobody_passes,
    a_topic_too_hard,
    a_bad_gold_set,
    careless_answers,
    people_who_copy,
    one_person_does_half,
    pay_below_the_promise,
    a_time_without_a_server,
    a_budget_that_is_spent,
    people_who_leave_at_once,
    nobody_there,
    a_budget_too_short,
)
