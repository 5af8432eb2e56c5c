"""Submissions: what was heard of them, what the campaign decides, what follows for sets and money.

    hear(work, [Heard("5f...", "AWAITING REVIEW", participant="60...")])
    for decision in decisions(work): ...      approve, screen-out or return, by the campaign's rules

What was asked for is believed; what a webhook says only where it leads on (`contract.ORDER`). A
submission that is returned or timed out frees its lease; answers that come later are late answers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select

from qrowd.collection.books import ledger, notices
from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    Assignment,
    assignment,
    judging_set,
    person,
    platform_call,
    platform_event,
    study,
    submission,
    worker,
)
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import move
from qrowd.collection.people.entry import FREED
from qrowd.collection.prolific.contract import (
    ACTIVE,
    APPROVE,
    APPROVED,
    AWAITING,
    BONUS,
    ORDER,
    OVER,
    PARTLY,
    REJECT,
    REJECTED,
    RESERVED,
    RETURN,
    SCREEN_OUT,
    SCREENED_OUT,
)
from qrowd.errors import RuleError


@dataclass(frozen=True)
class Heard:
    """What the platform says of a submission."""

    platform_id: str
    state: str
    participant: str = ""


class KnownSubmission(schema.Submission):
    """A submission with its worker's number and state, where somebody has come in."""

    number: int | None
    worker_state: str | None


@dataclass(frozen=True)
class Decision:
    """What the campaign decided of a submission, and what that pays, in minor units."""

    submission: KnownSubmission
    kind: str
    amount: int


@dataclass(frozen=True)
class BonusDue:
    """What a worker has earned beyond what the platform was told."""

    submission: KnownSubmission
    amount: int


def study_of(work: Work) -> schema.Study | None:
    """The campaign's study, if there is one."""
    return work.row(select(study).where(work.own(study)), schema.Study)


def made_study(work: Work) -> schema.Study:
    """The campaign's study, which the platform has; an error where there is none."""
    row = study_of(work)
    if row is None or row.platform_id is None:
        raise RuleError(
            "wrong-state", "this campaign has no study at Prolific; make one: `prolific DB study`"
        )
    return row


def known(work: Work, *conditions: ColumnElement[bool]) -> list[KnownSubmission]:
    """All submissions, or some, in the order in which they were first heard of."""
    query = (
        select(submission, worker.c.number, worker.c.state.label("worker_state"))
        .select_from(submission.outerjoin(worker, worker.c.id == submission.c.worker_id))
        .where(work.own(submission), *conditions)
    )
    return work.rows(query.order_by(submission.c.id), KnownSubmission)


# --- heard ----------------------------------------------------------------------------------------


def hear(work: Work, said: Sequence[Heard], *, asked: bool) -> int:
    """Take in what the platform says, because it was `asked` or by a webhook; how much was new."""
    wanted = study_of(work)
    if wanted is None:
        return 0
    rows = {row.platform_id: row for row in known(work)}
    people = select(person.c.platform_id, person.c.worker_id).where(
        work.own(person), person.c.platform == work.plan.platform.preset
    )
    workers: dict[str, int] = dict(work.db.execute(people).all())
    new = 0
    for each in said:
        if each.state not in ORDER:
            notices.tell(work, "prolific-state", each.state[:100], state=each.state[:100])
            continue
        row = rows.get(each.platform_id)
        worker_id = row.worker_id if row and row.worker_id else workers.get(each.participant)
        if row is None:
            if worker_id is None and each.state in OVER:
                continue  # nobody came in, and nobody will: nothing of them is kept
            number = work.insert(
                submission,
                worker_id=worker_id,
                platform_id=each.platform_id,
                state=each.state,
                made_at=work.now,
                heard_at=work.now,
            )
            new += 1
            _tell_of_part(work, worker_id, each.state)
            _follow(work, number, worker_id, each.state, 0, wanted)
            continue
        mine = submission.c.id == row.id
        believed = asked or ORDER[each.state] > ORDER[row.state]
        if not believed:
            if each.state != row.state:
                work.update(submission, mine, doubtful=1)
            continue
        if (row.state, row.worker_id, row.doubtful) != (each.state, worker_id, 0):
            columns = {"state": each.state, "worker_id": worker_id, "heard_at": work.now}
            work.update(submission, mine, doubtful=0, **columns)
            new += row.state != each.state
            if (row.state, row.worker_id) != (each.state, worker_id):
                _tell_of_part(work, worker_id, each.state)
        _follow(work, row.id, worker_id, each.state, row.base, wanted)
    return new


def hear_event(work: Work, number: str, said: Heard) -> bool:
    """Take in what a webhook says, once; whether it was new."""
    same = work.own(platform_event) & (platform_event.c.platform_id == number)
    if work.count(platform_event, same):
        return False
    work.insert(platform_event, platform_id=number, at=work.now)
    hear(work, [said], asked=False)
    return True


def _follow(
    work: Work, number: int, worker_id: int | None, state: str, base: int, of: schema.Study
) -> None:
    """What a state means for sets and money."""
    if worker_id is None:
        return
    if state in FREED:
        active = (assignment.c.worker_id == worker_id) & (assignment.c.state == "active")
        for assigned in work.rows(select(assignment).where(active), Assignment):
            move(work, assigned, "expire")
    due = {APPROVED: of.reward, SCREENED_OUT: of.screen_out}.get(state, 0) - base
    # what a bonus pays that is on its way is not free for this
    if due > 0 and book(work, worker_id, due, kept=under_way(work, worker_id)):
        work.update(submission, submission.c.id == number, base=base + due)


def _tell_of_part(work: Work, worker_id: int | None, state: str) -> None:
    if state == PARTLY and worker_id is not None:
        notices.tell(work, "prolific-part", f"w{worker_id}", worker=_name(work, worker_id))


def under_way(work: Work, worker_id: int) -> int:
    """What a worker is paid by bonuses that were sent, and of which no answer is known yet."""
    c = platform_call.c
    mine = (c.worker_id == worker_id) & (c.kind == BONUS) & (c.state == "sending")
    return work.number(select(func.sum(c.amount)).where(mine))


def book(work: Work, worker_id: int, amount: int, kept: int = 0) -> bool:
    """Write into the books what the platform has paid somebody, all but `kept` of what is owed
    first; whether that could be done: the budget may not have what is beyond it.
    """
    missing = amount - max(0, ledger.unsettled(work, worker_id, ("owed",)) - kept)
    if missing > 0:  # the platform has paid more than was earned here
        if not ledger.affordable(work, missing):
            shown = work.plan.pay.shown(missing)
            named = {"worker": _name(work, worker_id), "amount": shown}
            notices.tell(work, "prolific-paid", f"w{worker_id}", **named)
            return False
        ledger.post(work, "platform", missing, "free", "owed", worker_id=worker_id)
    ledger.pay_out(work, worker_id, amount)
    return True


def _name(work: Work, worker_id: int) -> str:
    return f"w{work.number(select(worker.c.number).where(worker.c.id == worker_id))}"


# --- decided --------------------------------------------------------------------------------------


def decisions(work: Work) -> list[Decision]:
    """What the campaign decided of submissions that wait for it, and the platform was not told.

    Nothing where the platform is being told of a submission already.
    """
    c = platform_call.c
    said = select(c.submission_id, c.kind, c.state).where(
        work.own(platform_call), c.submission_id.is_not(None), c.state != "refused"
    )
    told: dict[int, set[str]] = defaultdict(set)
    busy = set()
    for number, kind, state in work.db.execute(said):
        told[number].add(kind)
        if state != "done":
            busy.add(number)
    return [
        decision
        for decision in _decide(work, submission.c.state == AWAITING)
        if decision.submission.id not in busy
        and told[decision.submission.id].isdisjoint((decision.kind, REJECT))
    ]


def is_decided(work: Work, number: int, kind: str) -> bool:
    """Whether the campaign decides so of a submission, as things stand now."""
    return [each.kind for each in _decide(work, submission.c.id == number)] == [kind]


def _decide(work: Work, which: ColumnElement[bool]) -> list[Decision]:
    """What follows for some submissions from the batches of their people, and from the money."""
    of, owed = made_study(work), {row.id: row.amount for row in ledger.owed(work)}
    people = select(submission.c.worker_id).where(work.own(submission), which)
    batches: dict[int, list[Assignment]] = defaultdict(list)
    query = select(assignment).where(assignment.c.worker_id.in_(people))
    for batch in work.rows(query.order_by(assignment.c.id), Assignment):
        batches[batch.worker_id].append(batch)
    paid = ledger.settled(work)
    amounts = {APPROVE: of.reward, SCREEN_OUT: of.screen_out, RETURN: 0}
    found = []
    for row in known(work, which):
        who = row.worker_id or 0
        kind = _decided(row, batches[who], of)
        # who was paid before (by a bonus when their time had run out, or by hand) would be paid for
        # the same work again: what is left goes the same way
        if kind and paid.get(who, 0) > row.base and owed.get(who, 0) < amounts[kind]:
            kind = RETURN
        if kind:
            found.append(Decision(row, kind, amounts[kind]))
    return found


def _decided(row: KnownSubmission, batches: Sequence[Assignment], of: schema.Study) -> str:
    """What follows from the batches of a submission; "" while one of them is open or waits.

    Whoever did a batch that is paid is paid, also where its answers are left out. Nothing is ever a
    reason to reject.
    """
    if any(batch.state in (*OPEN, "submitted") for batch in batches):
        return ""
    judged = [batch for batch in batches if batch.kind != "qualification"]
    if any(batch.state in ("accepted", "excluded") for batch in judged):
        return APPROVE
    if row.worker_state == "screened-out" and of.screen_out:
        return SCREEN_OUT
    return RETURN


def bonuses_due(work: Work) -> list[BonusDue]:
    """What is owed to people whose submissions are over, beyond what these pay: to each once.

    Whoever was rejected is paid nothing there; of whom Prolific paid a part, somebody looks first.
    """
    made_study(work)
    owed = {row.id: row.amount for row in ledger.owed(work)}
    open_calls = select(platform_call.c.worker_id).where(
        work.own(platform_call), platform_call.c.state.in_(("waiting", "sending"))
    )
    busy = set(work.db.scalars(open_calls))
    unclear = {row.about for row in notices.notices(work) if row.kind == "prolific-part"}
    theirs: dict[int, list[KnownSubmission]] = defaultdict(list)
    for row in known(work):
        if row.worker_id in owed and row.worker_id not in busy:
            theirs[row.worker_id].append(row)
    return [
        BonusDue(rows[-1], owed[worker_id])
        for worker_id, rows in theirs.items()
        if all(row.state in OVER and row.state != REJECTED for row in rows)
        and f"w{worker_id}" not in unclear
    ]


def people_wanted(work: Work) -> int:
    """How many people more it takes for what is open and can be paid."""
    s, plan = judging_set.c, work.plan
    is_open = work.pool_sets() & (s.open == 1) & (s.held < s.target)
    free = work.number(select(func.sum(s.target - s.held)).where(is_open))
    batches = math.ceil(free / max(1, plan.counted_per_hit))
    pay = plan.pay_of("judge")
    if pay:
        batches = min(batches, ledger.balance(work).free // pay)
    return math.ceil(batches / plan.campaign.hits_per_session)


def places_taken(work: Work) -> int:
    """How many places of the study are taken: the platform gives those of some away again."""
    return work.count(submission, work.own(submission), submission.c.state.not_in(FREED))


def places_wanted(work: Work) -> int:
    """How many places the study should have: no fewer than now, and enough for what is open.

    Sets that come free (a batch that does not count, somebody who never came back) need somebody
    new. Those who have a place and have not begun are not asked for twice.
    """
    of = made_study(work)
    if work.state != "running":
        return of.places
    judged = select(assignment.c.worker_id).where(
        work.own(assignment), assignment.c.kind == "judge"
    )
    begun = submission.c.worker_id.in_(judged)
    coming = work.count(
        submission,
        work.own(submission),
        submission.c.state.in_((RESERVED, ACTIVE)),
        submission.c.worker_id.is_(None) | ~begun,
    )
    return max(of.places, places_taken(work) + max(0, people_wanted(work) - coming))


# --- counted --------------------------------------------------------------------------------------


def by_state(work: Work) -> dict[str, int]:
    """How many submissions are in each state, in the platform's order."""
    query = select(submission.c.state, func.count()).where(work.own(submission))
    counts: dict[str, int] = dict(work.db.execute(query.group_by(submission.c.state)).all())
    return {state: counts[state] for state in ORDER if state in counts}


def told_to_pay(work: Work) -> tuple[int, int]:
    """What the platform was told to pay: for submissions, and in bonuses; in minor units."""
    base = work.number(select(func.sum(submission.c.base)).where(work.own(submission)))
    bonus = work.number(select(func.sum(submission.c.bonuses)).where(work.own(submission)))
    return base, bonus
