"""The end of a batch: finish, review of missed gold, submit or return, and what follows.

finish(work, worker_id, key) -> Finished     answers closed, checks run
submit(work, worker_id, key) -> Ended        accepted, excluded, screened out, ... by the plan
give_back(work, worker_id, key) -> Ended     the worker returns it
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import or_, select, update

from qrowd.collection.books import ledger, notices
from qrowd.collection.database.schema import assignment, outcome, worker
from qrowd.collection.database.store import Found, Work
from qrowd.collection.judging import gold, peer_review
from qrowd.collection.judging.assignments import by_key, move
from qrowd.collection.judging.checks import (
    Missed,
    Outcome,
    missed_gold,
    missing,
    places_of,
    run_checks,
    said_relevant,
)
from qrowd.collection.judging.offer import answers_of
from qrowd.collection.people.workers import worker_of
from qrowd.collection.plan.sections import DAY, HOUR
from qrowd.errors import RuleError


@dataclass(frozen=True)
class Finished:
    """A batch whose answers are closed. `failed` names the checks that failed; `can_submit` is
    false where one of them sends the batch back.
    """

    state: str
    passed: bool
    failed: tuple[str, ...]
    can_submit: bool
    missed: tuple[Missed, ...]


@dataclass(frozen=True)
class Ended:
    """How a batch ended; `earned` in minor units. `qualified` is None where nothing was tested."""

    state: str
    earned: int
    failed: tuple[str, ...]
    qualified: bool | None = None
    tries_left: int = 0


def finish(work: Work, worker_id: int, key: str) -> Finished:
    """Close the answers and run the checks; again for a finished batch: the same result."""
    row = by_key(work, worker_id, key)
    if row.state == "active" and row.expires_at <= work.now:
        sweep(work)
        row = by_key(work, worker_id, key)
    if row.state == "expired":
        row = move(work, row, "late")
    if row.state != "active":
        return _finished(work, row)
    problems = missing(work, row)
    if problems:
        raise RuleError("incomplete", "; ".join(sorted({what for _, what in problems})))
    row = move(work, row, "finish")
    if row.kind == "qualification":
        _qualify(work, row)
    found = run_checks(work, row) if row.kind == "judge" else []
    if any(not one.passed and one.action == "return" for one in found):
        _count_failure(work, row)
        row = move(work, row, "return")
    return _finished(work, row)


def review(work: Work, worker_id: int, key: str) -> Finished:
    """The checks' result and the missed gold of a batch whose answers are closed."""
    return _finished(work, by_key(work, worker_id, key))


def _finished(work: Work, row: Found) -> Finished:
    if row.finished_at is None:
        raise RuleError("wrong-state", f"this batch is {row.state}, not finished")
    failed = tuple(sorted({one.check for one in _stored(work, row) if not one.passed}))
    missed = tuple(missed_gold(work, row))
    return Finished(row.state, not failed, failed, row.state == "finished", missed)


def _stored(work: Work, row: Found) -> list[Outcome]:
    o = outcome.c
    columns = (o["check"], o.set_id, o.value, o.at_least, o.passed, o.action)
    query = select(*columns).where(o.assignment_id == row.id, o.set_id.is_not(None)).order_by(o.id)
    return [Outcome(*one) for one in work.db.execute(query)]


def submit(work: Work, worker_id: int, key: str) -> Ended:
    """Hand in a finished batch; again for one that was handed in: the same result."""
    row = by_key(work, worker_id, key)
    if row.state == "active":
        raise RuleError("wrong-state", "finish the batch first")
    if row.state == "finished":
        row = conclude(work, move(work, row, "submit"))
    return ended(work, row)


def give_back(work: Work, worker_id: int, key: str) -> Ended:
    """Return a batch: its places are open to others, its answers are void, nothing is paid."""
    row = by_key(work, worker_id, key)
    if row.state != "returned":
        row = move(work, row, "return")
    return ended(work, row)


def ended(work: Work, row: Found) -> Ended:
    """How a batch ended."""
    failed = tuple(sorted({one.check for one in _stored(work, row) if not one.passed}))
    if row.kind != "qualification":
        return Ended(row.state, row.earned + row.paid, failed)
    state = worker_of(work, row.worker_id).state
    left = work.plan.qualification.tries - _tries(work, row.worker_id)
    qualified = state not in ("new", "failed")
    return Ended(row.state, row.earned + row.paid, failed, qualified, max(0, left))


def conclude(work: Work, row: Found) -> Found:
    """What follows a submission: qualification, review, or the plan's action for failed checks."""
    if row.kind == "qualification":
        return move(work, row, "accept")
    if row.kind == "review":
        peer_review.settle_review(work, row)
    actions = {one.action for one in _stored(work, row) if not one.passed}
    if actions & {"exclude", "screen-out"}:
        return _act_on_failure(work, row, "screen-out" in actions)
    if "stop" in actions:
        _set_worker(work, row.worker_id, state="stopped")
        notices.tell(work, "stopped", "a check stopped serving this worker", f"w{row.worker_id}")
    automatic = work.plan.campaign.accept == "automatic"
    return move(work, row, "accept") if automatic else row


def _act_on_failure(work: Work, row: Found, screening: bool) -> Found:
    failures = _count_failure(work, row)
    if screening and failures >= work.plan.checks.screen_out_after:
        _set_worker(work, row.worker_id, state="screened-out")
        return move(work, row, "screen out")
    return move(work, row, "exclude")


def _count_failure(work: Work, row: Found) -> int:
    failures = int(worker_of(work, row.worker_id).failed_hits) + 1
    _set_worker(work, row.worker_id, failed_hits=failures)
    return failures


def _set_worker(work: Work, worker_id: int, **values: object) -> None:
    work.db.execute(update(worker).where(worker.c.id == worker_id).values(**values))


# --- qualification --------------------------------------------------------------------------------


def right_share(work: Work, row: Found) -> float:
    """The share of the counted pairs of a qualification that were right; broken ones left out."""
    rel, right, counted = work.plan.scale.relevant_from, 0, 0
    for one in places_of(work, row):
        known, given = gold.grades_of(work, one.set_id), answers_of(work, one.id)
        asked = sorted(known)[:1] if work.plan.qualification.gold == "one" else sorted(known)
        for at in asked:
            said = given.get(at)
            if said is None or said.kind != "broken":
                expert = known[at].grade
                counted += 1
                right += said is not None and said_relevant(said, expert, rel) == (expert >= rel)
    return right / counted if counted else 1.0


def _qualify(work: Work, row: Found) -> None:
    if right_share(work, row) >= work.plan.qualification.pass_share - 1e-12:
        _set_worker(work, row.worker_id, state="qualified")
    elif _tries(work, row.worker_id) >= work.plan.qualification.tries:
        _set_worker(work, row.worker_id, state="failed")


def _tries(work: Work, worker_id: int) -> int:
    mine = (assignment.c.worker_id == worker_id) & (assignment.c.kind == "qualification")
    done = assignment.c.finished_at.is_not(None)
    return len(work.db.execute(select(assignment.c.id).where(mine, done)).all())


# --- what time does -------------------------------------------------------------------------------


def due(work: Work) -> list[Found]:
    """Open assignments whose lease is over."""
    late = (assignment.c.expires_at <= work.now) & (assignment.c.state.in_(("active", "finished")))
    mine = assignment.c.campaign_id == work.campaign
    return list(work.db.execute(select(assignment).where(mine, late).order_by(assignment.c.id)))


def lapsed(work: Work) -> list[Found]:
    """Assignments whose promise is kept no longer: late answers or appeals are over."""
    late = round(work.plan.hit.late_hours * HOUR)
    appeals = round(work.plan.pay.appeal_days * DAY)
    over = or_(
        (assignment.c.state == "expired") & (assignment.c.expires_at <= work.now - late),
        (assignment.c.state == "refused") & (assignment.c.ended_at <= work.now - appeals),
    )
    mine = (assignment.c.campaign_id == work.campaign) & (assignment.c.promised > 0)
    return list(work.db.execute(select(assignment).where(mine, over).order_by(assignment.c.id)))


def sweep(work: Work) -> int:
    """Do what is due: expire, submit what was finished, give back promises; how many there were."""
    rows = due(work)
    for row in rows:
        if row.state == "active":
            move(work, row, "expire")
        else:
            conclude(work, move(work, row, "submit"))
    kept = lapsed(work)
    for row in kept:
        ledger.release(work, row, "lapsed")
    return len(rows) + len(kept)
