"""The end of a batch: finish, review of missed gold, submit or return, and what follows.

finish(work, worker_id, key) -> Finished     answers closed, checks run
submit(work, worker_id, key) -> Ended        accepted, excluded, screened out, ... by the plan
give_back(work, worker_id, key) -> Ended     the worker returns it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, bindparam, distinct, func, select

from qrowd.collection.books import ledger, notices
from qrowd.collection.database.schema import (
    STANDING_OUTCOME,
    Assignment,
    Outcome,
    Worker,
    assignment,
    outcome,
    worker,
)
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Work
from qrowd.collection.judging import checks, gold, hierarchy, peer_review
from qrowd.collection.judging.assignments import by_key, move
from qrowd.collection.judging.offer import answers_of
from qrowd.collection.people.workers import name_of, worker_of
from qrowd.collection.plan.sections import DAY, HOUR, SURELY
from qrowd.collection.plan.way import Points
from qrowd.errors import RuleError


@dataclass(frozen=True)
class Finished:
    """A batch whose answers are closed. `failed` names the checks that failed; `can_submit` is
    false where one of them sends the batch back. `lessons`: what experts decided meanwhile on
    documents of training that this worker judged otherwise. `points`: where they are counted.
    """

    state: str
    passed: bool
    failed: tuple[str, ...]
    can_submit: bool
    missed: tuple[checks.Missed, ...]
    lessons: tuple[hierarchy.Lesson, ...] = ()
    points: Points | None = None

    @property
    def is_to_be_read(self) -> bool:
        """Whether there is something to tell before the batch is handed in, or why it cannot be."""
        return bool(self.failed or self.missed or self.lessons)


@dataclass(frozen=True)
class Ended:
    """How a batch ended; `earned` in minor units. `qualified` is None where nothing was tested.

    `warned`: the next batch that fails one of these checks is the last one.
    """

    state: str
    earned: int
    failed: tuple[str, ...]
    warned: bool = False
    qualified: bool | None = None
    tries_left: int = 0


def finish(work: Work, worker_id: int, key: str) -> Finished:
    """Close the answers and run the checks; again for a finished batch: the same result."""
    assigned = by_key(work, worker_id, key)
    if assigned.state == "active" and assigned.expires_at <= work.now:
        sweep(work)
        assigned = by_key(work, worker_id, key)
    if assigned.state == "expired":
        assigned = move(work, assigned, "late")
    if assigned.state != "active":
        return _finished(work, assigned)
    if incomplete := checks.problems(work, assigned):
        raise RuleError("incomplete", "; ".join(incomplete))
    assigned = move(work, assigned, "finish")
    if assigned.kind == "qualification":
        _qualify(work, assigned)
    outcomes = checks.run_checks(work, assigned) if assigned.kind == "judge" else []
    if any(not row["passed"] and row["action"] == "return" for row in outcomes):
        _count_failure(work, assigned)
        assigned = move(work, assigned, "return")
    return _finished(work, assigned)


def review(work: Work, worker_id: int, key: str) -> Finished:
    """The checks' result and the missed gold of a batch whose answers are closed."""
    return _finished(work, by_key(work, worker_id, key))


def _finished(work: Work, assigned: Assignment) -> Finished:
    if assigned.finished_at is None:
        raise RuleError("wrong-state", f"this batch is {assigned.state}, not finished")
    failed = _failed_checks(work, assigned)
    if assigned.kind == "qualification" and not _ranked_well(work, assigned):
        failed = ("ndcg",)
    missed = tuple(checks.missed_gold(work, assigned))
    lessons = tuple(hierarchy.lessons(work, assigned)) if work.plan.in_phases else ()
    return Finished(
        assigned.state,
        not failed,
        failed,
        assigned.state == "finished",
        missed,
        lessons,
        work.plan.way.points(work, assigned),
    )


def submit(work: Work, worker_id: int, key: str) -> Ended:
    """Hand in a finished batch; again for one that was handed in: the same result."""
    assigned = by_key(work, worker_id, key)
    if assigned.state == "active":
        raise RuleError("wrong-state", "finish the batch first")
    if assigned.state == "finished":
        assigned = apply_outcome(work, move(work, assigned, "submit"))
    return ended(work, assigned)


def give_back(work: Work, worker_id: int, key: str) -> Ended:
    """Return a batch: its places are open to others, its answers are void, nothing is paid."""
    assigned = by_key(work, worker_id, key)
    if assigned.state != "returned":
        assigned = move(work, assigned, "return")
    return ended(work, assigned)


def ended(work: Work, assigned: Assignment) -> Ended:
    """How a batch ended."""
    failed = _failed_checks(work, assigned)
    earned = assigned.earned + assigned.paid
    if assigned.kind != "qualification":
        return Ended(assigned.state, earned, failed, _warned(work, assigned))
    qualified = worker_of(work, assigned.worker_id).state not in ("new", "failed")
    left = work.plan.qualification.tries - _tries(work, assigned.worker_id)
    return Ended(assigned.state, earned, failed, qualified=qualified, tries_left=max(0, left))


def _warned(work: Work, assigned: Assignment) -> bool:
    """Whether one more failure of the checks that this batch failed screens its worker out."""
    if assigned.state != "excluded":
        return False
    actions = {row.action for row in failed_outcomes(work, assigned)}
    last = _failures(work, assigned.worker_id) + 1 >= work.plan.checks.screen_out_after
    return "screen-out" in actions and last


def apply_outcome(work: Work, assigned: Assignment) -> Assignment:
    """What follows a submission: qualification, review, or the plan's action for failed checks."""
    if assigned.kind == "qualification":
        return move(work, assigned, "accept")
    if assigned.kind == "review":
        peer_review.settle_review(work, assigned)
    actions = {row.action for row in failed_outcomes(work, assigned)}
    if actions & {"exclude", "screen-out", SURELY}:
        _count_failure(work, assigned)
    after = work.plan.checks.screen_out_after
    is_out = "screen-out" in actions and _failures(work, assigned.worker_id) >= after
    if assigned.kind == "judge" and work.plan.acts(SURELY):
        is_out = checks.is_surely_worse(work, assigned) or is_out
    if is_out:
        _set_worker(work, assigned.worker_id, state="screened-out")
        return move(work, assigned, "screen out")
    if actions & {"exclude", "screen-out", SURELY}:
        return move(work, assigned, "exclude")
    if "stop" in actions:
        _set_worker(work, assigned.worker_id, state="stopped")
        name = name_of(work, assigned.worker_id)
        # by its id, as in rows of earlier versions
        notices.tell(work, "stopped", f"w{assigned.worker_id}", worker=name)
    automatic = work.plan.campaign.accept == "automatic"
    return move(work, assigned, "accept") if automatic else assigned


_FAILED = select(outcome).where(
    outcome.c.assignment_id.in_(bindparam("batches", expanding=True)),
    outcome.c.passed == 0,
    outcome.c.set_id.is_not(None) | (outcome.c.action == SURELY),
    STANDING_OUTCOME,
)


def failed_outcomes(work: Work, *batches: Assignment) -> list[Outcome]:
    """The stored outcomes of checks that failed."""
    return work.rows(_FAILED, Outcome, {"batches": [batch.id for batch in batches]})


def _failed_checks(work: Work, assigned: Assignment) -> tuple[str, ...]:
    return tuple(failed_checks(work, [assigned]).get(assigned.id, ()))


def failed_checks(work: Work, batches: Sequence[Assignment]) -> dict[int, list[str]]:
    """The names of the checks that batches failed, by their numbers."""
    failed: dict[int, set[str]] = {}
    for row in failed_outcomes(work, *batches):
        failed.setdefault(row.assignment_id, set()).add(row.check)
    return {number: sorted(names) for number, names in failed.items()}


def _count_failure(work: Work, assigned: Assignment) -> None:
    failures = int(worker_of(work, assigned.worker_id).failed_hits) + 1
    _set_worker(work, assigned.worker_id, failed_hits=failures)


def _failures(work: Work, worker_id: int, but: int | None = None) -> int:
    """Failed batches that count for `screen_out_after`, since the worker was let in again.

    Not those that failed under `screen-out-surely` alone, nor those that the worker gave back.
    """
    a, since = assignment.c, worker_of(work, worker_id).readmitted_at or 0
    sent_back = (outcome.c.action == "return") & (a.state == "returned")
    void = outcome.c.action.in_(("exclude", "screen-out")) & (a.state != "returned")
    query = (
        select(func.count(distinct(a.id)))
        .join_from(assignment, outcome, outcome.c.assignment_id == a.id)
        .where(a.worker_id == worker_id, a.finished_at > since, outcome.c.passed == 0)
        .where(outcome.c.set_id.is_not(None), outcome.c.set_id.is_distinct_from(but))
        .where(sent_back | void, STANDING_OUTCOME)
    )
    return work.number(query)


def screened_out_by(work: Work, set_id: int) -> list[int]:
    """The numbers of workers who missed a gold set and would not be screened out without it."""
    a, plan = assignment.c, work.plan
    missed = (
        select(a.worker_id)
        .join_from(assignment, outcome, outcome.c.assignment_id == a.id)
        .where(outcome.c.set_id == set_id, outcome.c.passed == 0, STANDING_OUTCOME)
    )
    # not those whom an organiser screened out
    by_checks = select(a.worker_id).where(a.state == "screened-out", a.finished_at.is_not(None))
    people = work.own(worker) & (worker.c.state == "screened-out")
    query = select(worker).where(people, worker.c.id.in_(missed), worker.c.id.in_(by_checks))
    numbers = []
    for row in work.rows(query.order_by(worker.c.number), Worker):
        fails = plan.acts("screen-out") and _failures(work, row.id, but=set_id)
        worse = plan.acts(SURELY) and checks.gold_record(work, row.id, set_id).is_surely_worse
        if not worse and fails < plan.checks.screen_out_after:
            numbers.append(row.number)
    return numbers


def _set_worker(work: Work, worker_id: int, **columns: object) -> None:
    work.update(worker, worker.c.id == worker_id, **columns)


# --- qualification --------------------------------------------------------------------------------


def passed_test(work: Work, assigned: Assignment) -> bool:
    """Whether a finished qualification was passed."""
    right = counted = 0
    for row in checks.places_to_judge(work, assigned):
        experts = {at: each.grade for at, each in gold.grades_of(work, row.set_id).items()}
        of_set = checks.counted_right(work.plan, experts, answers_of(work, row.id))
        right, counted = right + of_set[0], counted + of_set[1]
    # whose pairs were all broken has shown nothing against them
    enough = not counted or right / counted >= work.plan.qualification.pass_share - 1e-12
    return enough and _ranked_well(work, assigned)


def _ranked_well(work: Work, assigned: Assignment) -> bool:
    """Whether the ranks of a qualification are good enough, where they count."""
    scores = []
    for row in checks.places_to_judge(work, assigned) if work.plan.test_ranks() else ():
        experts, answers = gold.grades_of(work, row.set_id), answers_of(work, row.id)
        if 0 in answers:
            whole = {at for at in experts if at in answers and answers[at].kind != "broken"}
            ranks = {at: answers[0].ranks[at - 1] for at in sorted(whole)}
            grades = {at: each.grade for at, each in experts.items()}
            scores.append(checks.set_ndcg(work.plan, grades, ranks))
    scores = [score for score in scores if score == score]  # some sets have none
    bound = work.plan.checks.ndcg.at_least
    return not scores or sum(scores) / len(scores) >= bound - 1e-12


def passed_here(work: Work, worker_id: int) -> bool:
    """Whether a worker has passed a qualification of this campaign's own."""
    tests = _tests(worker_id)
    rows = work.rows(select(assignment).where(tests), Assignment)
    return any(passed_test(work, row) for row in rows)


def _qualify(work: Work, assigned: Assignment) -> None:
    if worker_of(work, assigned.worker_id).state != "new":
        return  # passed elsewhere meanwhile: nothing is left to pass or to fail
    if passed_test(work, assigned):
        _set_worker(work, assigned.worker_id, state="qualified")
    elif _tries(work, assigned.worker_id) >= work.plan.qualification.tries:
        _set_worker(work, assigned.worker_id, state="failed")


def _tests(worker_id: int) -> ColumnElement[bool]:
    a = assignment.c
    return (a.worker_id == worker_id) & (a.kind == "qualification") & a.finished_at.is_not(None)


def _tries(work: Work, worker_id: int) -> int:
    return work.count(assignment, _tests(worker_id))


# --- what time does -------------------------------------------------------------------------------


_A = assignment.c
# asked with every batch, so built once
_OWN = select(assignment).where(_A.campaign_id == bindparam("campaign")).order_by(_A.id)
_DUE = _OWN.where(_A.expires_at <= bindparam("now"), _A.state.in_(OPEN))
# a promise is kept no longer where late answers or appeals are over
_LAPSED = _OWN.where(
    _A.promised > 0,
    ((_A.state == "expired") & (_A.expires_at <= bindparam("late")))
    | ((_A.state == "refused") & (_A.ended_at <= bindparam("appeals"))),
)


def sweep(work: Work) -> int:
    """Do what is due: expire, submit what was finished, give back promises; how many there were."""
    values = {"campaign": work.campaign, "now": work.now}
    due = work.rows(_DUE, Assignment, values)
    for assigned in due:
        if assigned.state == "active":
            move(work, assigned, "expire")
        else:
            apply_outcome(work, move(work, assigned, "submit"))
    values["late"] = work.now - round(work.plan.hit.late_hours * HOUR)
    values["appeals"] = work.now - round(work.plan.pay.appeal_days * DAY)
    lapsed = work.rows(_LAPSED, Assignment, values)
    for assigned in lapsed:
        ledger.release(work, assigned, "lapsed")
    return len(due) + len(lapsed)
