"""A person's own data, all of it; and erasing it.

Erasing leaves answers under a number that means nothing, or voids them, which frees their places.
Names, ids, addresses, visits, messages, reasons, passages and appeals are overwritten: SQLite
deletes securely, its WAL is truncated and the file rebuilt; PostgreSQL rewrites the tables. It
waits until everything is settled. Consent (text, version, time) is kept.
"""

from __future__ import annotations

import contextlib
from typing import Any

from sqlalchemy import delete, select, text, update

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    appeal,
    assignment,
    consent,
    entry,
    event,
    expertise,
    message,
    note,
    person,
    receipt,
    token,
    visit,
    worker,
)
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Found, Store, Work
from qrowd.collection.judging.assignments import by_id, move
from qrowd.collection.material import clarification
from qrowd.collection.people.workers import fingerprint, worker_of
from qrowd.collection.publishing.release import voided_by
from qrowd.collection.record import audit
from qrowd.errors import RuleError

_ERASED = ("person", "visit", "message", "appeal", "note", "receipt", "token", "worker")


def my_data(work: Work, worker_id: int) -> dict[str, Any]:
    """Everything that is stored of a worker, as plain values for a JSON file."""
    found = worker_of(work, worker_id)
    mine = select(event.c.id).where(event.c.worker_id == worker_id)

    def rows(table: Any, condition: Any) -> list[dict[str, Any]]:
        hidden = {"key", "hash", "secret"}
        query = select(table).where(condition).order_by(*table.primary_key.columns)
        return [
            {name: value for name, value in row.items() if name not in hidden}
            for row in work.db.execute(query).mappings()
        ]

    own = {
        table.name: rows(table, table.c.worker_id == worker_id)
        for table in (person, visit, consent, assignment, event, entry, expertise, message, appeal)
    }
    return {"worker": found.number, **own, "note": rows(note, note.c.event_id.in_(mine))}


def ask(work: Work, worker_id: int) -> bool:
    """A worker asks to be forgotten; whether that can be done now (everything is settled)."""
    if worker_of(work, worker_id).forget_asked is None:
        _set(work, worker_id, forget_asked=work.now)
    return not _waiting(work, worker_id)


def _waiting(work: Work, worker_id: int) -> bool:
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_((*OPEN, "submitted"))
    busy = work.db.scalar(select(assignment.c.id).where(mine).limit(1)) is not None
    return busy or ledger.unsettled(work, worker_id) > 0


def waiting(work: Work) -> list[Found]:
    """Workers who asked to be forgotten and are not yet."""
    own = (worker.c.campaign_id == work.campaign) & worker.c.forget_asked.is_not(None)
    query = select(worker).where(own, worker.c.forgotten_at.is_(None)).order_by(worker.c.id)
    return list(work.db.execute(query))


def released(work: Work, number: int) -> str:
    """What to say before the answers of a worker are voided who is in a release; "" if not."""
    held = voided_by(work, _by_number(work, number).id)
    if not held:
        return ""
    days = ", ".join(dict.fromkeys(clarification.day(one.at) for one in held))
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
        told = released(work, number) if void and not despite else ""
        if told:
            raise RuleError("released", told)
        erase(work, number, who=who, void=void)
    scrub(store)


def erase(work: Work, number: int, *, who: str, void: bool = False) -> None:
    """The rows' part of it; `scrub` must follow, which no transaction can do."""
    found = _by_number(work, number)
    if _waiting(work, found.id):
        raise RuleError(
            "not-settled", "this person has open batches or money that is owed; settle it first"
        )
    if void:
        _void(work, found.id)
    _erase(work, found)
    audit.record(work, who, "forget", {"worker": number, "void": void})


def _by_number(work: Work, number: int) -> Found:
    own = (worker.c.number == number) & (worker.c.campaign_id == work.campaign)
    found = work.db.execute(select(worker).where(own)).one_or_none()
    if found is None:
        raise RuleError("not-found", f"there is no worker {number} in this campaign")
    return found


def _void(work: Work, worker_id: int) -> None:
    """Take accepted answers out of the results; their places are open again."""
    mine = (assignment.c.worker_id == worker_id) & (assignment.c.state == "accepted")
    for number in work.db.scalars(select(assignment.c.id).where(mine)).all():
        move(work, by_id(work, number), "exclude")


def _erase(work: Work, found: Found) -> None:
    values: dict[str, Any] = {"forgotten_at": work.now, "key": work.key(), "name": None}
    who = work.db.execute(select(person).where(person.c.worker_id == found.id)).one_or_none()
    if who is not None and work.plan.people.recognise:
        values["recognised"] = fingerprint(work, who.platform, who.platform_id)
    mine = select(event.c.id).where(event.c.worker_id == found.id)
    for table in (note, receipt):
        work.db.execute(delete(table).where(table.c.event_id.in_(mine)))
    for table in (person, visit, message, appeal, token):
        work.db.execute(delete(table).where(table.c.worker_id == found.id))
    _set(work, found.id, **values)


def _set(work: Work, worker_id: int, **values: Any) -> None:
    work.db.execute(update(worker).where(worker.c.id == worker_id).values(**values))


def scrub(store: Store) -> None:
    """Leave no erased bytes in the database's files."""
    if store.is_sqlite:
        with contextlib.closing(store.engine.raw_connection()) as raw:
            raw.cursor().execute("VACUUM")
            raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    with store.engine.connect() as db:
        bare = db.execution_options(isolation_level="AUTOCOMMIT")
        for name in _ERASED:
            bare.execute(text(f"VACUUM FULL {name}"))
        bare.execute(text("CHECKPOINT"))
