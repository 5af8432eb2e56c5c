"""Assignments: leased to a worker, found, moved from state to state by the table in `states`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, func, select

from qrowd.collection.books import ledger
from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    PLACED_SETS,
    Assignment,
    answer,
    assignment,
    event,
    judging_set,
    place,
)
from qrowd.collection.database.states import MOVES, VALID
from qrowd.collection.database.store import Work
from qrowd.collection.plan.sections import DAY, HOUR, MINUTE
from qrowd.errors import RuleError

_MISSING = "there is no such batch here"
# statements of every batch, built once: building them anew takes longer than running them
_BY_KEY = select(assignment).where(
    assignment.c.key == bindparam("key"), assignment.c.worker_id == bindparam("worker")
)
_BY_ID = select(assignment).where(
    assignment.c.id == bindparam("number"), assignment.c.campaign_id == bindparam("campaign")
)


def by_key(work: Work, worker_id: int, key: str) -> Assignment:
    """A worker's own assignment by its random name."""
    return work.existing(_BY_KEY, _MISSING, Assignment, {"key": key, "worker": worker_id})


def by_id(work: Work, number: int) -> Assignment:
    """An assignment of this campaign by its number."""
    values = {"number": number, "campaign": work.campaign}
    return work.existing(_BY_ID, _MISSING, Assignment, values)


# --- leases ---------------------------------------------------------------------------------------


def lease(
    work: Work,
    worker_id: int,
    kind: str,
    sets: Sequence[tuple[schema.JudgingSet, str]],
    reviews: Sequence[int] = (),
    shown: Sequence[Sequence[int]] = (),
) -> Assignment:
    """A new assignment with these sets, each of a kind of place; its pay is promised.

    `reviews` are the places that a reviewer looks at, one for each set; `shown` the positions that
    are asked for, where it is not all of a set.
    """
    term, longest = lease_of(work, kind)
    number = work.insert(
        assignment,
        worker_id=worker_id,
        key=work.key(),
        kind=kind,
        leased_at=work.now,
        expires_at=work.now + term,
        latest_end=work.now + longest,
        pay=work.plan.pay_of(kind),
    )
    places = []
    for at, (row, place_kind) in enumerate(sets):
        positions = shown[at] if shown else range(1, row.size + 1)
        order = work.random.sample(positions, len(positions))
        places.append(
            {
                "assignment_id": number,
                "worker_id": worker_id,
                "set_id": row.id,
                "kind": place_kind,
                "ordinal": at + 1,
                "key": work.key(),
                "shown": " ".join(map(str, order)),
                "held": int(place_kind == "count"),
                "reviews_id": reviews[at] if reviews else None,
            }
        )
    work.insert_all(place, places)
    assigned = by_id(work, number)
    ledger.promise(work, assigned, assigned.pay)
    return by_id(work, number)


def lease_of(work: Work, kind: str) -> tuple[int, int]:
    """How long an assignment is leased at a time, and at most, in milliseconds."""
    hit = work.plan.hit
    if (work.plan.owner and kind == "judge") or kind == "expert":
        return round(hit.owner_days * DAY), round(hit.owner_days * DAY)
    return round(hit.lease_minutes * MINUTE), round(hit.longest_minutes * MINUTE)


def late_until(work: Work, assigned: Assignment) -> int:
    """Until when late answers to an expired assignment are taken."""
    return int(assigned.expires_at + work.plan.hit.late_hours * HOUR)


# --- moves ----------------------------------------------------------------------------------------


def move(work: Work, assigned: Assignment, act: str, **columns: int | None) -> Assignment:
    """Do `act` to an assignment: state, places and promise change together, as the table says.

    `columns` are those that an undo sets as they were.
    """
    step = MOVES[act]
    if assigned.state not in step.sources:
        raise RuleError("wrong-state", f"cannot {act} a batch that is {assigned.state}")
    if step.places == "free":
        held = (place.c.assignment_id == assigned.id) & (place.c.held == 1)
        work.update(place, held, held=0)
    times = _times(work, assigned, step.target)
    mine = assignment.c.id == assigned.id
    work.update(assignment, mine, **{"state": step.target, **times, **columns})
    if step.places == "hold":  # after the state: a void assignment holds no place
        _hold_again(work, assigned)
    _keep_promise(work, assigned, step.promise)
    if assigned.kind == "review":
        _count_revision(work, assigned.id, handed_in=step.target in VALID)
    return by_id(work, assigned.id)


def own_revisions(column: ColumnElement[Any], *conditions: ColumnElement[bool]) -> Select[Any]:
    """A column of the places in which somebody looked at an own place once more."""
    first = place.alias("first")
    return (
        select(column)
        .select_from(
            place.join(
                first, (first.c.id == place.c.reviews_id) & (first.c.worker_id == place.c.worker_id)
            ).join(assignment, assignment.c.id == place.c.assignment_id)
        )
        .where(*conditions)
    )


def _count_revision(work: Work, number: int, *, handed_in: bool) -> None:
    """What counts of answers that somebody looked at once more: the last that was said, there or
    in a revision that was handed in. So no answer counts twice, and none is lost.
    """
    mine = place.c.assignment_id == number
    query = own_revisions(place.c.id, mine).add_columns(place.c.reviews_id)
    for revision, first in work.db.execute(query).all():
        said = select(answer.c.position, answer.c.event_id).where(answer.c.place_id == revision)
        for position, then in work.db.execute(said).all():
            at = (event.c.place_id == first) & (event.c.position == position)
            before = work.number(select(func.max(event.c.id)).where(at, event.c.stale == 0))
            counts = max(before, then) if handed_in else before
            here = (answer.c.place_id == first) & (answer.c.position == position)
            work.update(answer, here, event_id=counts)


def _times(work: Work, assigned: Assignment, state: str) -> dict[str, int | None]:
    """What becomes of an assignment's times in a new state."""
    if state == "finished":
        return {"finished_at": assigned.finished_at or work.now}
    if state != "active":
        return {"ended_at": work.now}
    term, longest = lease_of(work, assigned.kind)  # reopened: a fresh lease
    return {
        "finished_at": None,
        "ended_at": None,
        "expires_at": work.now + term,
        "latest_end": work.now + longest,
    }


def _hold_again(work: Work, assigned: Assignment) -> None:
    """Hold each counted place again where its set is open; else its answers are surplus."""
    p = place.c
    freed = (p.assignment_id == assigned.id) & (p.kind == "count") & (p.held == 0)
    room = judging_set.c.held < judging_set.c.target
    query = select(p.id, room).select_from(PLACED_SETS).where(freed).order_by(p.id)
    for number, is_open in work.db.execute(query).all():
        work.update(place, p.id == number, held=int(is_open), surplus=int(not is_open))


def _keep_promise(work: Work, assigned: Assignment, promise: str) -> None:
    if promise == "release":
        ledger.release(work, assigned)
    elif promise == "earn":
        ledger.earn(work, assigned)
        if assigned.state in ("refused", "screened-out") and not assigned.promised:
            ledger.earn_released(work, assigned)
    elif promise == "screen out":
        ledger.earn(work, assigned, work.plan.pay.minor(work.plan.pay.screen_out))
    elif promise == "make" and not assigned.promised:
        if not ledger.affordable(work, assigned.pay):
            raise RuleError("no-budget", "the budget does not allow another batch")
        ledger.promise(work, assigned, assigned.pay)


def undo_details(assigned: Assignment) -> dict[str, Any]:
    """An assignment as it was before a step, for taking the step back."""
    return {
        "assignment": assigned.id,
        "before": assigned.state,
        "ended_at": assigned.ended_at,
        "promised": assigned.promised,
        "earned": assigned.earned,
        "paid": assigned.paid,
    }
