"""What workers object to: a refusal, being screened out, or an expert's grade ("I disagree").

Each gets a reply. A refusal can be appealed while its pay is kept; being screened out at any time,
once. An objection to gold goes to adjudication: where the expert was wrong the organiser retires
the set.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from qrowd.collection.books import notices
from qrowd.collection.database.schema import (
    PAIR_NAMES,
    Appeal,
    Assignment,
    TypedRow,
    appeal,
    assignment,
    document,
    event,
    gold,
    pair,
    place,
    with_pairs,
    worker,
)
from qrowd.collection.database.schema import answer as answers
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import by_id, by_key
from qrowd.collection.judging.gold import right_answer
from qrowd.collection.judging.offer import place_and_position
from qrowd.collection.people.workers import name_of, worker_of
from qrowd.collection.plan.sections import DAY
from qrowd.errors import RuleError
from qrowd.rendering import thousands

LONGEST = 10_000  # characters of what is written by hand
APPEALS_BY_WORKERS = appeal.join(worker, worker.c.id == appeal.c.worker_id)
OWN_ANSWER = (answers.c.place_id == place.c.id) & (answers.c.position == appeal.c.position)
# Appeals with the check questions that they are about, and what their workers said of these.
DISPUTED = (
    with_pairs(appeal)
    .join(gold, gold.c.pair_id == pair.c.id)
    .outerjoin(answers, OWN_ANSWER)
    .outerjoin(event, event.c.id == answers.c.event_id)
)


class NumberedAppeal(Appeal):
    """An appeal and its worker's number."""

    number: int


class DisputedQuestion(TypedRow):
    """A check question: the expert's grade and reason, and what the worker said of it."""

    topic: str
    doc: str
    title: str
    set_id: int
    expert: int
    reason: str
    grade: int | None
    kind: str | None


def appeal_refusal(work: Work, worker_id: int, key: str, words: str) -> int:
    """Appeal against the refusal of a batch; the appeal's number."""
    refused = by_key(work, worker_id, key)
    if refused.state != "refused":
        raise RuleError("wrong-state", f"this batch was not refused: it is {refused.state}")
    if not in_time(work, refused):
        raise RuleError("too-late", "the time to appeal is over")
    return _open(work, worker_id, words, kind="refusal", assignment_id=refused.id)


def in_time(work: Work, assigned: Assignment) -> bool:
    """Whether the refusal of a batch can still be appealed."""
    until = (assigned.ended_at or 0) + work.plan.pay.appeal_days * DAY
    return bool(assigned.state == "refused" and work.now <= until)


def appeal_screen_out(work: Work, worker_id: int, words: str) -> int:
    """Appeal against being screened out; the appeal's number."""
    if worker_of(work, worker_id).state != "screened-out":
        raise RuleError("wrong-state", "you are not screened out: you can go on")
    batch = last_screened_out(work, worker_id)
    if any(row.kind == "screen-out" and row.won == 0 for row in appeals_of(work, worker_id)):
        raise RuleError("conflict", "your appeal was answered already; write a message instead")
    number = batch.id if batch else None
    return _open(work, worker_id, words, kind="screen-out", assignment_id=number)


def can_appeal_screen_out(work: Work, worker_id: int) -> bool:
    """Whether a worker is screened out and has not appealed yet."""
    appealed = any(row.kind == "screen-out" and not row.won for row in appeals_of(work, worker_id))
    return worker_of(work, worker_id).state == "screened-out" and not appealed


def last_screened_out(work: Work, worker_id: int) -> Assignment | None:
    """The batch with which a worker was screened out; None where it was between two."""
    mine = (assignment.c.worker_id == worker_id) & (assignment.c.state == "screened-out")
    query = select(assignment).where(mine).order_by(assignment.c.ended_at.desc()).limit(1)
    return work.row(query, Assignment)


def disagree(work: Work, worker_id: int, place_key: str, position: int, words: str) -> int:
    """Disagree with the expert on a check question of a batch whose answers are closed."""
    missing = "there is no such document in your batches"
    placed, in_set = place_and_position(work, worker_id, place_key, position, missing)
    assigned = by_id(work, placed.assignment_id)
    if assigned.finished_at is None or placed.kind not in ("gold", "qualification"):
        raise RuleError("wrong-state", "only a check question of a finished batch can be disputed")
    return _open(
        work,
        worker_id,
        words,
        kind="gold",
        place_id=placed.id,
        position=in_set,
        assignment_id=assigned.id,
    )


def _open(work: Work, worker_id: int, words: str, **about: Any) -> int:
    """An appeal about something; the one that is open already, if there is one."""
    if not words.strip() or len(words) > LONGEST or "\0" in words:
        raise RuleError(
            "malformed", f"please give a reason of 1 to {thousands(LONGEST)} characters"
        )
    a = appeal.c
    same = [
        a[name] == about.get(name) for name in ("kind", "assignment_id", "place_id", "position")
    ]
    waiting = select(a.id).where(a.worker_id == worker_id, a.answered_at.is_(None), *same)
    if number := work.number(waiting):
        return number
    number = work.insert(appeal, worker_id=worker_id, at=work.now, text=words, **about)
    notices.tell(work, "appeal", str(number), worker=name_of(work, worker_id))
    return number


def open_appeals(work: Work) -> list[NumberedAppeal]:
    """Appeals without a reply, the oldest first."""
    query = select(appeal, worker.c.number).select_from(APPEALS_BY_WORKERS)
    waiting = query.where(work.own(worker), appeal.c.answered_at.is_(None))
    return work.rows(waiting.order_by(appeal.c.id), NumberedAppeal)


def appeals_of(work: Work, worker_id: int) -> list[Appeal]:
    """A worker's own appeals with their replies."""
    mine = select(appeal).where(appeal.c.worker_id == worker_id)
    return work.rows(mine.order_by(appeal.c.id), Appeal)


def disputed_question(work: Work, number: int) -> DisputedQuestion:
    """The check question that an appeal is about."""
    expert = right_answer(work.plan).label("expert")
    grades = (expert, gold.c.reason, event.c.grade, event.c.kind)
    query = select(*PAIR_NAMES, document.c.title, place.c.set_id, *grades).select_from(DISPUTED)
    missing = f"appeal {number} is about no check question"
    return work.existing(query.where(appeal.c.id == number), missing, DisputedQuestion)


def answer(work: Work, number: int, *, won: bool, reply: str) -> Appeal:
    """Reply to an appeal, which is given back as it was; what follows from it is the act's."""
    row = appeal_numbered(work, number)
    if row.answered_at is not None:
        raise RuleError("conflict", "this appeal was answered already")
    work.update(appeal, appeal.c.id == number, answered_at=work.now, won=int(won), reply=reply)
    return row


def reopen(work: Work, number: int) -> None:
    """An appeal is without a reply again."""
    work.update(appeal, appeal.c.id == number, answered_at=None, won=None, reply="")


def appeal_numbered(work: Work, number: int) -> Appeal:
    """An appeal of this campaign by its number."""
    query = select(appeal).select_from(APPEALS_BY_WORKERS)
    own = query.where(appeal.c.id == number, work.own(worker))
    return work.existing(own, f"there is no appeal {number}", Appeal)
