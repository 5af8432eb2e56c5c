"""Assignments: found, moved from state to state by the table in `states`, swept when due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select, update

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import assignment, judging_set, place
from qrowd.collection.database.states import MOVES, Move
from qrowd.collection.database.store import Found, Work, new_id
from qrowd.collection.plan.sections import DAY, HOUR, MINUTE
from qrowd.errors import RuleError


def by_key(work: Work, worker_id: int, key: str) -> Found:
    """A worker's own assignment by its random name."""
    query = select(assignment).where(assignment.c.key == key, assignment.c.worker_id == worker_id)
    return _one(work.db.execute(query).one_or_none())


def by_id(work: Work, number: int) -> Found:
    """An assignment of this campaign by its number."""
    own = assignment.c.campaign_id == work.campaign
    return _one(
        work.db.execute(select(assignment).where(assignment.c.id == number, own)).one_or_none()
    )


def _one(row: Found | None) -> Found:
    if row is None:
        raise RuleError("not-found", "there is no such batch here")
    return row


def move(work: Work, row: Found, act: str, **values: int | None) -> Found:
    """Do `act` to an assignment: state, places and promise change together, as the table says.

    `values` are columns that an undo sets as they were.
    """
    step = MOVES[act]
    if row.state not in step.sources:
        raise RuleError("wrong-state", f"cannot {act} a batch that is {row.state}")
    if step.target == "active":  # reopened: the state first, for a void one holds no place
        _set_state(work, row, step, **_fresh_lease(work, row), **values)
        _hold(work, row)
    else:
        if step.places == "free":
            _free(work, row)
        _set_state(work, row, step, **values)
        if step.places == "hold":
            _hold(work, row)
    _keep_promise(work, row, step.promise)
    return by_id(work, row.id)


def _set_state(work: Work, row: Found, step: Move, **more: int | None) -> None:
    when: dict[str, dict[str, Any]] = {
        "finished": {"finished_at": row.finished_at or work.now},
        "active": {"finished_at": None, "ended_at": None},
    }
    times = when.get(step.target, {"ended_at": work.now})
    values = {"state": step.target, **times, **more}
    work.db.execute(update(assignment).where(assignment.c.id == row.id).values(**values))


def _fresh_lease(work: Work, row: Found) -> dict[str, int]:
    lease, longest = lease_of(work, row.kind)
    return {"expires_at": work.now + lease, "latest_end": work.now + longest}


def lease_of(work: Work, kind: str) -> tuple[int, int]:
    """How long an assignment is leased at a time, and at most, in milliseconds."""
    if (work.plan.owner and kind == "judge") or kind == "expert":
        return (round(work.plan.hit.owner_days * DAY),) * 2
    return (
        round(work.plan.hit.lease_minutes * MINUTE),
        round(work.plan.hit.longest_minutes * MINUTE),
    )


def late_until(work: Work, row: Found) -> int:
    """Until when late answers to an expired assignment are taken."""
    return int(row.expires_at + work.plan.hit.late_hours * HOUR)


def _free(work: Work, row: Found) -> None:
    held = (place.c.assignment_id == row.id) & (place.c.held == 1)
    work.db.execute(update(place).where(held).values(held=0))


def _hold(work: Work, row: Found) -> None:
    """Hold each counted place again where its set is open; else its answers are surplus."""
    counted = (place.c.assignment_id == row.id) & (place.c.kind == "count") & (place.c.held == 0)
    query = select(place.c.id, judging_set.c.held, judging_set.c.target)
    joined = query.join_from(place, judging_set, judging_set.c.id == place.c.set_id).where(counted)
    for one in work.db.execute(joined.order_by(place.c.id)).all():
        room = one.held < one.target
        values = {"held": int(room), "surplus": int(not room)}
        work.db.execute(update(place).where(place.c.id == one.id).values(**values))


def _keep_promise(work: Work, row: Found, what: str) -> None:
    if what == "release":
        ledger.release(work, row)
    elif what == "earn":
        ledger.earn(work, row)
        _repromise_for_restored(work, row)
    elif what == "screen out":
        ledger.earn(work, row, work.plan.pay.minor(work.plan.pay.screen_out))
    elif what == "make" and not row.promised:
        if not ledger.affordable(work, row.pay):
            raise RuleError("no-budget", "the budget does not allow another batch")
        ledger.promise(work, row, row.pay)


def _repromise_for_restored(work: Work, row: Found) -> None:
    """A refusal whose promise was given back already is paid from what is free."""
    if row.state == "refused" and not row.promised and row.pay:
        if not ledger.affordable(work, row.pay):
            raise RuleError("no-budget", "add to the budget first: this pay was released")
        ids = {"worker_id": row.worker_id, "assignment_id": row.id}
        ledger.post(work, "earned", row.pay, "free", "owed", **ids)


# --- what time does -------------------------------------------------------------------------------


def kept(row: Found) -> dict[str, Any]:
    """What is needed to take back a step of a batch."""
    money = {"promised": row.promised, "earned": row.earned, "paid": row.paid}
    return {"assignment": row.id, "before": row.state, "ended_at": row.ended_at, **money}


def lease(
    work: Work,
    worker_id: int,
    kind: str,
    sets: Sequence[tuple[Found, str]],
    reviews: Sequence[int | None] = (),
) -> Found:
    """A new assignment with these sets, each of a kind of place; its pay is promised."""
    term, longest = lease_of(work, kind)
    times = {"leased_at": work.now, "expires_at": work.now + term, "latest_end": work.now + longest}
    values = {"campaign_id": work.campaign, "worker_id": worker_id, "key": work.key(), "kind": kind}
    pay = work.plan.pay_of(kind)
    made = work.db.execute(insert(assignment).values(**values, **times, pay=pay))
    number = new_id(made)
    rows = [
        _place(work, number, worker_id, ordinal, row, what)
        for ordinal, (row, what) in enumerate(sets, 1)
    ]
    for one, reviewed in zip(rows, reviews, strict=False):
        one["reviews_id"] = reviewed
    work.db.execute(insert(place), rows)
    found = by_id(work, number)
    ledger.promise(work, found, pay)
    return by_id(work, number)


def _place(
    work: Work, number: int, worker_id: int, ordinal: int, row: Found, kind: str
) -> dict[str, Any]:
    order = work.random.sample(range(1, row.size + 1), row.size)
    return {
        "assignment_id": number,
        "worker_id": worker_id,
        "set_id": row.id,
        "kind": kind,
        "ordinal": ordinal,
        "key": work.key(),
        "shown": " ".join(map(str, order)),
        "held": int(kind == "count"),
        "surplus": 0,
        "reviews_id": None,
    }
