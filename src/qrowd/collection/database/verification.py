"""What must be true of a campaign's rows, recomputed from them the slow and plain way.

    broken(work) -> list of sentences, empty where everything holds

Nothing here uses a counter that the database keeps: each is compared with what it counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, select, true

from qrowd.collection.database.schema import (
    answer,
    appeal,
    assignment,
    campaign,
    entry,
    event,
    judging_set,
    member,
    message,
    note,
    pair,
    person,
    place,
    receipt,
    token,
    visit,
    worker,
)
from qrowd.collection.database.states import OPEN, VALID, VOID
from qrowd.collection.database.store import Found, Work


def broken(work: Work) -> list[str]:
    """Every rule that the campaign's rows break."""
    rows = _Rows(work)
    rules = (_held, _places, _gold, _money, _promises, _answers, _sets, _forgotten)
    return [problem for rule in rules for problem in rule(rows)]


class _Rows:
    """The campaign's rows, read once."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.campaign = work.db.execute(
            select(campaign).where(campaign.c.id == work.campaign)
        ).one()
        self.sets = {row.id: row for row in self._own(judging_set)}
        self.assignments = {row.id: row for row in self._own(assignment)}
        self.entries = self._own(entry)
        self.pairs = {row.id: row for row in self._own(pair)}
        sets, batches = self._ids(judging_set), self._ids(assignment)
        places = select(place.c.id).where(place.c.assignment_id.in_(batches))
        self.members = self._where(member, member.c.set_id.in_(sets))
        found = self._where(place, place.c.assignment_id.in_(batches))
        self.places = {row.id: row for row in found}
        self.events = self._where(event, event.c.place_id.in_(places))
        self.answers = self._where(answer, answer.c.place_id.in_(places))
        self.workers = {row.id: row for row in self._own(worker)}

    def _own(self, table: Table) -> list[Found]:
        return self._where(table, table.c.campaign_id == self.work.campaign)

    def _ids(self, table: Table) -> Select[Any]:
        return select(table.c.id).where(table.c.campaign_id == self.work.campaign)

    def of_workers(self, table: Table, workers: set[int]) -> list[Found]:
        """The rows of a table that belong to these workers."""
        return [row for row in self._where(table, true()) if row.worker_id in workers]

    def of_events(self, table: Table) -> list[Found]:
        """The rows of a table that belong to this campaign's events."""
        mine = select(event.c.id).where(event.c.worker_id.in_(self._ids(worker)))
        return self._where(table, table.c.event_id.in_(mine))

    def _where(self, table: Table, condition: ColumnElement[bool]) -> list[Found]:
        query = select(table).where(condition).order_by(*table.primary_key.columns)
        return list(self.work.db.execute(query))


def _held(rows: _Rows) -> Iterator[str]:
    held = Counter(row.set_id for row in rows.places.values() if row.held)
    for number, one in rows.sets.items():
        if one.held != held[number]:
            yield f"set {number} says {one.held} held, its places say {held[number]}"
        if held[number] > one.target:
            yield f"set {number} has {held[number]} held, its target is {one.target}"


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
    seen: dict[tuple[int, int], int] = Counter()
    for row in rows.places.values():
        if rows.sets[row.set_id].role != "pool":
            seen[row.worker_id, row.set_id] += 1
    yield from (f"gold met twice: worker, set {key}" for key, n in seen.items() if n > 1)
    planned = rows.work.plan.gold_per_hit
    kinds: dict[int, Counter[str]] = defaultdict(Counter)
    for row in rows.places.values():
        kinds[row.assignment_id][row.kind] += 1
    for number, one in rows.assignments.items():
        if one.kind == "judge" and kinds[number]["gold"] < planned:
            yield f"assignment {number} has {kinds[number]['gold']} gold sets, planned {planned}"


def _money(rows: _Rows) -> Iterator[str]:
    accounts: Counter[str] = Counter()
    for row in rows.entries:
        accounts[row.source] -= row.amount
        accounts[row.target] += row.amount
        if min(accounts[name] for name in ("free", "promised", "owed", "settled")) < 0:
            yield f"entry {row.id} overdraws an account"
    found = rows.campaign
    for name in ("free", "promised", "owed", "settled"):
        if getattr(found, name) != accounts[name]:
            yield f"account {name} says {getattr(found, name)}, entries say {accounts[name]}"
    if found.budget != found.free + found.promised + found.owed + found.settled:
        yield "budget is not free + promised + owed + settled"
    if found.budget != -accounts["outside"]:
        yield "the budget is not what came from outside"


def _promises(rows: _Rows) -> Iterator[str]:
    promised: Counter[int] = Counter()
    for row in rows.entries:
        if row.assignment_id is not None:
            promised[row.assignment_id] += row.amount * (row.target == "promised")
            promised[row.assignment_id] -= row.amount * (row.source == "promised")
    for number, one in rows.assignments.items():
        if one.promised != promised[number]:
            yield f"assignment {number} says {one.promised} promised, entries {promised[number]}"
        if one.state in (*OPEN, "submitted") and one.promised != one.pay:
            yield f"assignment {number} is {one.state}, its pay is not promised"
        if one.state in ("returned", "excluded", "accepted", "screened-out") and one.promised:
            yield f"assignment {number} is {one.state} with {one.promised} promised"
        if one.state == "accepted" and one.earned + one.paid < one.pay:
            yield f"assignment {number} is accepted, its pay was not earned"


def _answers(rows: _Rows) -> Iterator[str]:
    last: dict[tuple[int, int], int] = {}
    keys: Counter[tuple[int, str]] = Counter()
    for row in sorted(rows.events, key=lambda one: one.id):
        keys[row.worker_id, row.key] += 1
        if not row.stale:
            last[row.place_id, row.position] = row.id
        if row.worker_id != rows.places[row.place_id].worker_id:
            yield f"event {row.id} is by another worker than its place"
    if last != {(row.place_id, row.position): row.event_id for row in rows.answers}:
        yield "the answers are not the last events"
    yield from (f"key used twice: {key}" for key, n in keys.items() if n > 1)
    for row in rows.assignments.values():
        if row.state in VALID and row.finished_at is None and row.kind != "machine":
            yield f"assignment {row.id} is {row.state} and never was finished"


def _sets(rows: _Rows) -> Iterator[str]:
    sizes = Counter(row.set_id for row in rows.members)
    used: Counter[int] = Counter()
    for row in rows.members:
        used[row.pair_id] += 1
        one, two = rows.sets[row.set_id], rows.pairs[row.pair_id]
        if one.topic_id != two.topic_id or one.role != two.role:
            yield f"pair {two.id} is of another topic or role than its set {one.id}"
    for number, one in rows.sets.items():
        if sizes[number] != one.size:
            yield f"set {number} says {one.size} documents, it has {sizes[number]}"
    if not rows.work.plan.preferences:
        yield from (f"pair {key} is in {used[key]} sets" for key in rows.pairs if used[key] != 1)


def _forgotten(rows: _Rows) -> Iterator[str]:
    """Nothing of a person who was forgotten is left, and nothing of their free text."""
    erased = {number for number, one in rows.workers.items() if one.forgotten_at is not None}
    for table in (person, visit, message, appeal, token) if erased else ():
        kept = rows.of_workers(table, erased)
        yield from (f"worker {row.worker_id} is forgotten, {table.name} is not" for row in kept)
    said = {row.id for row in rows.events if row.worker_id in erased}
    for table in (note, receipt) if said else ():
        yield from (
            f"the {table.name} of event {row.event_id} is kept of somebody forgotten"
            for row in rows.of_events(table)
            if row.event_id in said
        )
