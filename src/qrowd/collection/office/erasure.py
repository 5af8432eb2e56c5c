"""A person's own data, all of it; and erasing it.

Erasing leaves answers under a number that means nothing, or voids them, which frees their places.
Names, ids, addresses, links, visits, messages, reasons, passages and appeals are overwritten:
SQLite deletes securely, its WAL is truncated and the file rebuilt; PostgreSQL rewrites the tables.
It waits until everything is settled. Consent (text, version, time) is kept.
"""

from __future__ import annotations

import contextlib
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, select, text

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    Person,
    Worker,
    assignment,
    event,
    listed_person,
    metadata,
    worker,
)
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging.assignments import by_id, move
from qrowd.collection.material import clarification
from qrowd.collection.people import entry, workers
from qrowd.collection.publishing.release import voided_by
from qrowd.collection.record import audit
from qrowd.errors import RuleError

_HIDDEN = ("key", "hash", "secret")  # columns by which somebody could act as this person
_PERSONAL = ("person", "listed_person", "visit", "message", "appeal")
_OWN = (*_PERSONAL, "submission", "consent", "assignment", "event", "entry", "expertise")
_ERASED = (
    *("note", "receipt", "letter", "link", "platform_call", "submission"),
    *(*_PERSONAL, "token"),
)


def my_data(work: Work, worker_id: int) -> dict[str, Any]:
    """Everything that is stored of a worker, as plain values for a JSON file."""

    def rows(table: Table, condition: ColumnElement[bool]) -> list[dict[str, Any]]:
        query = select(table).where(condition).order_by(*table.primary_key.columns)
        return [
            {name: value for name, value in row.items() if name not in _HIDDEN}
            for row in work.db.execute(query).mappings()
        ]

    row = workers.worker_of(work, worker_id)
    data: dict[str, Any] = {"worker": row.number, "ask_again_at": row.ask_again_at}
    for name in _OWN:
        table = metadata.tables[name]
        data[name] = rows(table, table.c.worker_id == worker_id)
    events = select(event.c.id).where(event.c.worker_id == worker_id)
    note, link, letter = (metadata.tables[name] for name in ("note", "link", "letter"))
    return {
        **data,
        "note": rows(note, note.c.event_id.in_(events)),
        "link": rows(link, link.c.person_id.in_(_listed(worker_id))),
        "letter": rows(letter, letter.c.person_id.in_(_listed(worker_id))),
    }


def _listed(worker_id: int) -> Select[int]:
    return select(listed_person.c.id).where(listed_person.c.worker_id == worker_id)


def ask(work: Work, worker_id: int) -> bool:
    """A worker asks to be forgotten; whether that can be done now (everything is settled)."""
    if workers.worker_of(work, worker_id).forget_asked is None:
        work.update(worker, worker.c.id == worker_id, forget_asked=work.now)
    return not _unsettled(work, worker_id)


def waiting(work: Work) -> list[Worker]:
    """Workers who asked to be forgotten and are not yet."""
    query = select(worker).where(work.own(worker), workers.TO_BE_FORGOTTEN)
    return work.rows(query.order_by(worker.c.id), Worker)


def released(work: Work, number: int) -> str:
    """What to say before the answers of a worker are voided who is in a release; "" if not."""
    releases = voided_by(work, workers.worker_by_number(work, number).id)
    if not releases:
        return ""
    days = ", ".join(dict.fromkeys(clarification.day(row.at) for row in releases))
    return (
        f"the release of {days} holds answers of w{number}, under a number that means nothing; it "
        "cannot be taken back, and would no longer agree with this campaign: make a new release "
        "afterwards, or erase the person and keep the answers"
    )


def forget(
    store: Store, name: str, number: int, *, who: str, void: bool = False, despite: bool = False
) -> None:
    """Erase the person behind worker `number`; `void` also takes the answers out of the results.

    Where a release holds these answers, voiding them must be asked for once more: `despite`.
    """
    with store.write(name) as work:
        warning = released(work, number) if void and not despite else ""
        if warning:
            raise RuleError("released", warning)
        erase(work, number, who=who, void=void)
    scrub(store)


def forget_listed(store: Store, name: str, number: int, *, who: str) -> None:
    """Erase somebody on the list who never came in; whoever did is a worker, to be forgotten."""
    with store.write(name) as work:
        row = entry.person_numbered(work, number)
        if row.worker_id is not None:
            worker_number = workers.worker_of(work, row.worker_id).number
            raise RuleError("not-allowed", f"p{number} is worker w{worker_number}: forget that")
        entry.remove(work, [number])
        audit.record(work, who, "forget", {"person": number})
    scrub(store)


def erase(work: Work, number: int, *, who: str, void: bool = False) -> None:
    """The rows' part of it; `scrub` must follow, which no transaction can do."""
    worker_id = workers.worker_by_number(work, number).id
    if _unsettled(work, worker_id):
        raise RuleError(
            "not-settled", "this person has open batches or money that is owed; settle it first"
        )
    if void:  # the places of these answers are open again
        mine = (assignment.c.worker_id == worker_id) & (assignment.c.state == "accepted")
        for assignment_id in work.db.scalars(select(assignment.c.id).where(mine)).all():
            move(work, by_id(work, assignment_id), "exclude")
    _erase_rows(work, worker_id)
    audit.record(work, who, "forget", {"worker": number, "void": void})


def scrub(store: Store) -> None:
    """Leave no erased bytes in the database's files."""
    if store.is_sqlite:
        with contextlib.closing(store.engine.raw_connection()) as raw:
            raw.cursor().execute("VACUUM")
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    with store.engine.connect() as db:
        bare = db.execution_options(isolation_level="AUTOCOMMIT")
        for name in (*_ERASED, "worker"):
            bare.execute(text(f"VACUUM FULL {name}"))
        bare.execute(text("CHECKPOINT"))


def _unsettled(work: Work, worker_id: int) -> bool:
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_((*OPEN, "submitted"))
    return work.count(assignment, mine) > 0 or ledger.unsettled(work, worker_id) > 0


def _erase_rows(work: Work, worker_id: int) -> None:
    columns: dict[str, Any] = {
        "forgotten_at": work.now,
        "key": work.key(),
        "name": None,
        "ask_again_at": None,
    }
    own = select(Person.table).where(Person.table.c.worker_id == worker_id)
    row = work.row(own, Person)
    if row is not None and work.plan.people.recognise:
        columns["recognised"] = workers.fingerprint(work, row.platform, row.platform_id)
    if row is not None:  # on the list under the same id, and came in by a door of before
        same = work.own(listed_person) & (listed_person.c.platform_id == row.platform_id)
        alone = listed_person.c.worker_id.is_(None) & ~_listed(worker_id).exists()
        work.update(listed_person, same, alone, worker_id=worker_id)
    events = select(event.c.id).where(event.c.worker_id == worker_id)
    for name in _ERASED:
        table = metadata.tables[name]
        mine: ColumnElement[bool]
        if "event_id" in table.c:
            mine = table.c.event_id.in_(events)
        elif "person_id" in table.c:
            mine = table.c.person_id.in_(_listed(worker_id))
        else:
            mine = table.c.worker_id == worker_id
        work.delete(table, mine)
    work.update(worker, worker.c.id == worker_id, **columns)
