"""What must be true of a campaign's rows, recomputed from them the slow and plain way.

    broken(work) -> list of sentences, empty where everything holds

Nothing here uses a counter that the database keeps: each is compared with what it counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import ColumnElement, select

from qrowd.collection.database import schema
from qrowd.collection.database.states import OPEN, VALID, VOID
from qrowd.collection.database.store import R, Work
from qrowd.collection.plan.sections import SURELY
from qrowd.collection.plan.way import Opinion
from qrowd.quality.against_gold import good_p


def broken(work: Work) -> list[str]:
    """Every rule that the campaign's rows break."""
    rows = _Rows(work)
    rules = (
        _held,
        _places,
        _gold,
        _money,
        _promises,
        _answers,
        _tests,
        _sets,
        _listed,
        _forgotten,
    )
    return [problem for rule in rules for problem in rule(rows)]


class _Rows:
    """The campaign's rows, read once."""

    def __init__(self, work: Work) -> None:
        self.work = work
        own = select(schema.campaign).where(schema.campaign.c.id == work.campaign)
        self.campaign = work.existing(own, "there is no such campaign", schema.Campaign)
        self.sets = {row.id: row for row in self._own(schema.JudgingSet)}
        self.assignments = {row.id: row for row in self._own(schema.Assignment)}
        self.entries = self._own(schema.Entry)
        self.pairs = {row.id: row for row in self._own(schema.Pair)}
        self.workers = {row.id: row for row in self._own(schema.Worker)}
        sets = select(schema.judging_set.c.id).where(work.own(schema.judging_set))
        self.members = self._where(schema.Member, schema.member.c.set_id.in_(sets))
        assignments = select(schema.assignment.c.id).where(work.own(schema.assignment))
        in_campaign = schema.place.c.assignment_id.in_(assignments)
        self.places = {row.id: row for row in self._where(schema.Place, in_campaign)}
        places = select(schema.place.c.id).where(in_campaign)
        self.events = self._where(schema.Event, schema.event.c.place_id.in_(places))
        self.answers = self._where(schema.Answer, schema.answer.c.place_id.in_(places))
        self.outcomes = self._where(schema.Outcome, schema.outcome.c.assignment_id.in_(assignments))
        own_pairs = select(schema.pair.c.id).where(work.own(schema.pair))
        gold = self._where(schema.Gold, schema.gold.c.pair_id.in_(own_pairs))
        self.gold = {row.pair_id: row.grade for row in gold}

    def _own(self, kind: type[R]) -> list[R]:
        return self._where(kind, self.work.own(kind.table))

    def _where(self, kind: type[R], condition: ColumnElement[bool]) -> list[R]:
        query = select(kind.table).where(condition)
        return self.work.rows(query.order_by(*kind.table.primary_key.columns), kind)


def _held(rows: _Rows) -> Iterator[str]:
    held = Counter(row.set_id for row in rows.places.values() if row.held)
    for number, row in rows.sets.items():
        if row.held != held[number]:
            yield f"set {number} says {row.held} held, its places say {held[number]}"
        if held[number] > row.target:
            yield f"set {number} has {held[number]} held, its target is {row.target}"


def _places(rows: _Rows) -> Iterator[str]:
    met = Counter((row.worker_id, row.set_id, row.kind) for row in rows.places.values())
    yield from (f"given twice: worker, set, kind {key}" for key, n in met.items() if n > 1)
    for row in rows.places.values():
        state = rows.assignments[row.assignment_id].state
        if row.held and (row.kind != "count" or state in VOID or row.surplus):
            yield f"place {row.id} of kind {row.kind} is held while {state}"
        if rows.assignments[row.assignment_id].worker_id != row.worker_id:
            yield f"place {row.id} is another worker's than its assignment"
    open_now = Counter(
        (row.worker_id, row.kind)
        for row in rows.assignments.values()
        if row.state in OPEN and row.kind != "machine"
    )
    yield from (f"two open batches: worker, kind {key}" for key, n in open_now.items() if n > 1)


def _gold(rows: _Rows) -> Iterator[str]:
    seen = Counter(
        (row.worker_id, row.set_id)
        for row in rows.places.values()
        if rows.sets[row.set_id].role != "pool"
    )
    yield from (f"gold met twice: worker, set {key}" for key, n in seen.items() if n > 1)
    planned = rows.work.plan.gold_per_hit
    golds = Counter(row.assignment_id for row in rows.places.values() if row.kind == "gold")
    for number, assigned in rows.assignments.items():
        if assigned.kind == "judge" and golds[number] < planned:
            yield f"assignment {number} has {golds[number]} gold sets, planned {planned}"


def _money(rows: _Rows) -> Iterator[str]:
    accounts: Counter[str] = Counter()
    balances = ("free", "promised", "owed", "settled")
    for row in rows.entries:
        accounts[row.source] -= row.amount
        accounts[row.target] += row.amount
        if min(accounts[name] for name in balances) < 0:
            yield f"entry {row.id} overdraws an account"
    stored = rows.campaign
    for name in balances:
        if getattr(stored, name) != accounts[name]:
            yield f"account {name} says {getattr(stored, name)}, entries say {accounts[name]}"
    if stored.budget != stored.free + stored.promised + stored.owed + stored.settled:
        yield "budget is not free + promised + owed + settled"
    if stored.budget != -accounts["outside"]:
        yield "the budget is not what came from outside"


def _promises(rows: _Rows) -> Iterator[str]:
    promised: Counter[int] = Counter()
    for line in rows.entries:
        if line.assignment_id is not None:
            promised[line.assignment_id] += line.amount * (line.target == "promised")
            promised[line.assignment_id] -= line.amount * (line.source == "promised")
    for number, row in rows.assignments.items():
        if row.promised != promised[number]:
            yield f"assignment {number} says {row.promised} promised, entries {promised[number]}"
        if row.state in (*OPEN, "submitted") and row.promised != row.pay:
            yield f"assignment {number} is {row.state}, its pay is not promised"
        if row.state in ("returned", "excluded", "accepted", "screened-out") and row.promised:
            yield f"assignment {number} is {row.state} with {row.promised} promised"
        if row.state == "accepted" and row.earned + row.paid < row.pay:
            yield f"assignment {number} is accepted, its pay was not earned"


def _answers(rows: _Rows) -> Iterator[str]:
    last: dict[tuple[int, int], int] = {}
    plan = rows.work.plan
    keys: Counter[tuple[int, str]] = Counter()
    for row in sorted(rows.events, key=lambda event: event.id):
        keys[row.worker_id, row.key] += 1
        if not row.stale:
            last[row.place_id, row.position] = row.id
        if row.worker_id != rows.places[row.place_id].worker_id:
            yield f"event {row.id} is by another worker than its place"
        said = Opinion(kind=row.kind, grade=row.grade, value=row.value)
        if row.value is not None and row.grade != plan.way.grade(plan, said):
            yield f"event {row.id} has the grade {row.grade}, which its value does not make"
    grades = {row.id: (row.grade or 0) >= plan.scale.relevant_from for row in rows.events}
    query = (
        select(schema.bucket, schema.judging_set.c.topic_id.label("own"))
        .join_from(schema.bucket, schema.event)
        .join(schema.place)
        .join(schema.judging_set)
        .where(rows.work.own(schema.judging_set))
    )
    for number, chosen, own in rows.work.db.execute(query):
        if grades[number] != (chosen == own):
            yield f"event {number} has a grade which its bucket does not make"
    for (number, position), then in list(last.items()):  # of an own answer once more
        revision = rows.places[number]
        first = rows.places.get(revision.reviews_id or 0)
        is_own = first is not None and first.worker_id == revision.worker_id
        if is_own and rows.assignments[revision.assignment_id].state in VALID:
            at = (revision.reviews_id or 0, position)
            last[at] = max(last.get(at, 0), then)
    if last != {(row.place_id, row.position): row.event_id for row in rows.answers}:
        yield "the answers are not the last events"
    yield from (f"key used twice: {key}" for key, n in keys.items() if n > 1)
    for number, assigned in rows.assignments.items():
        never = assigned.finished_at is None and assigned.kind != "machine"
        if assigned.state in VALID and never:
            yield f"assignment {number} is {assigned.state} and never was finished"


def _tests(rows: _Rows) -> Iterator[str]:
    """Whether answers to gold were surely worse than a good worker's, after every batch.

    Recomputed for workers whose answers all count still: not where a gold set was retired since, or
    the worker let in again.
    """
    begun: dict[int, int] = {}  # the first outcome of a batch: those below a test's were known
    for row in rows.outcomes:
        if row.set_id is not None:
            begun.setdefault(row.assignment_id, row.id)
    for test in rows.outcomes:
        if test.set_id is not None or test.action != SURELY:
            continue
        assigned = rows.assignments[test.assignment_id]
        judge = rows.workers[assigned.worker_id]
        if bool(test.passed) != ((test.value or 0.0) > test.at_least):
            yield f"test {test.id} says passed = {test.passed} of {test.value}"
        if judge.readmitted_at is not None:
            continue
        if not test.passed and (assigned.state, judge.state) != ("screened-out", "screened-out"):
            yield f"worker {judge.id} is {judge.state}, batch {assigned.id} {assigned.state}: " + (
                f"test {test.id} failed"
            )
        places = [
            row
            for row in rows.places.values()
            if row.worker_id == judge.id
            and row.kind == "gold"
            and begun.get(row.assignment_id, test.id) < test.id
        ]
        if all(rows.sets[row.set_id].open for row in places):
            p = _good_p(rows, {row.id: row.set_id for row in places})
            if abs(p - (test.value or 0.0)) > 1e-9:
                yield f"test {test.id} says {test.value}, the answers {p}"


def _good_p(rows: _Rows, places: dict[int, int]) -> float:
    """How seldom a good worker's answers at these places (of which sets) ever look as bad."""
    pairs = {(row.set_id, row.position): row.pair_id for row in rows.members}
    events = {row.id: row for row in rows.events}
    scale, counts = rows.work.plan.scale, [0, 0, 0, 0]
    rel = scale.relevant_from
    for row in rows.answers:
        said = events[row.event_id]
        if row.place_id not in places or row.position == 0 or said.kind in ("broken", "clear"):
            continue
        grade = rows.gold[pairs[places[row.place_id], row.position]]
        relevant = grade >= scale.gold_relevant_from
        wrong = said.grade is None or (said.grade >= rel) != relevant
        counts[0 if relevant else 2] += wrong
        counts[1 if relevant else 3] += 1
    return float(good_p(*counts))


def _sets(rows: _Rows) -> Iterator[str]:
    sizes = Counter(row.set_id for row in rows.members)
    used = Counter(row.pair_id for row in rows.members)
    for within in rows.members:
        its_set, its_pair = rows.sets[within.set_id], rows.pairs[within.pair_id]
        if its_set.topic_id != its_pair.topic_id or its_set.role != its_pair.role:
            yield f"pair {its_pair.id} is of another topic or role than its set {its_set.id}"
    for number, row in rows.sets.items():
        if sizes[number] != row.size:
            yield f"set {number} says {row.size} documents, it has {sizes[number]}"
    if rows.work.plan.way.sole:
        yield from (f"pair {key} is in {used[key]} sets" for key in rows.pairs if used[key] != 1)


def _listed(rows: _Rows) -> Iterator[str]:
    """One person is one worker, of the same campaign."""
    listed = rows._own(schema.ListedPerson)
    for row in listed:
        if row.worker_id is not None and row.worker_id not in rows.workers:
            yield f"person {row.id} on the list is worker {row.worker_id} of another campaign"
    came = Counter(row.worker_id for row in listed if row.worker_id is not None)
    yield from (f"worker {key} is on the list {n} times" for key, n in came.items() if n > 1)


def _forgotten(rows: _Rows) -> Iterator[str]:
    """Nothing of a person who was forgotten is left, and nothing of their free text."""
    erased = {number for number, row in rows.workers.items() if row.forgotten_at is not None}
    tables = (
        schema.person,
        schema.listed_person,
        schema.visit,
        schema.message,
        schema.appeal,
        schema.token,
    )
    for table in tables if erased else ():
        kept = rows.work.db.scalars(select(table.c.worker_id).order_by(*table.primary_key.columns))
        for number in kept:
            if number in erased:
                yield f"worker {number} is forgotten, {table.name} is not"
    events = {row.id for row in rows.events if row.worker_id in erased}
    for table in (schema.note, schema.receipt) if events else ():
        kept = rows.work.db.scalars(select(table.c.event_id).order_by(*table.primary_key.columns))
        for number in kept:
            if number in events:
                yield f"the {table.name} of event {number} is kept of somebody forgotten"
