"""What workers object to: a refusal, or an expert's grade ("I disagree"). Each gets a reply.

A refusal can be appealed while its pay is kept. An objection to gold goes to adjudication: where
the expert was wrong the organiser retires the set.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from qrowd.collection.books import notices
from qrowd.collection.database.schema import (
    PAIR_NAMES,
    answer,
    appeal,
    event,
    gold,
    pair,
    place,
    with_pairs,
    worker,
)
from qrowd.collection.database.store import Row, Work
from qrowd.collection.judging.assignments import by_id, by_key, move, undo_details
from qrowd.collection.judging.offer import place_and_position
from qrowd.collection.people.workers import worker_of
from qrowd.collection.plan.sections import DAY
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.rendering import thousands

LONGEST = 10_000  # characters of what is written by hand
APPEALS_BY_WORKERS = appeal.join(worker, worker.c.id == appeal.c.worker_id)


def appeal_refusal(work: Work, worker_id: int, key: str, words: str) -> int:
    """Appeal against the refusal of a batch; the appeal's number."""
    refused = by_key(work, worker_id, key)
    if refused.state != "refused":
        raise RuleError("wrong-state", f"this batch was not refused: it is {refused.state}")
    if not in_time(work, refused):
        raise RuleError("too-late", "the time to appeal is over")
    return _open(work, worker_id, words, kind="refusal", assignment_id=refused.id)


def in_time(work: Work, assigned: Row) -> bool:
    """Whether the refusal of a batch can still be appealed."""
    until = (assigned.ended_at or 0) + work.plan.pay.appeal_days * DAY
    return bool(assigned.state == "refused" and work.now <= until)


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
    name = f"w{worker_of(work, worker_id).number}"
    notices.tell(work, "appeal", str(number), worker=name)
    return number


def open_appeals(work: Work) -> list[Row]:
    """Appeals without a reply, the oldest first."""
    query = select(appeal, worker.c.number).select_from(APPEALS_BY_WORKERS)
    waiting = query.where(work.own(worker), appeal.c.answered_at.is_(None))
    return work.rows(waiting.order_by(appeal.c.id))


def appeals_of(work: Work, worker_id: int) -> list[Row]:
    """A worker's own appeals with their replies."""
    mine = select(appeal).where(appeal.c.worker_id == worker_id)
    return work.rows(mine.order_by(appeal.c.id))


def disputed_question(work: Work, row: Row) -> Row:
    """The check question that an appeal is about: set, topic, doc, the expert's grade, the own."""
    own_answer = (answer.c.place_id == place.c.id) & (answer.c.position == appeal.c.position)
    joined = (
        with_pairs(appeal)
        .join(gold, gold.c.pair_id == pair.c.id)
        .outerjoin(answer, own_answer)
        .outerjoin(event, event.c.id == answer.c.event_id)
    )
    grades = (gold.c.grade.label("expert"), gold.c.reason, event.c.grade, event.c.kind)
    query = select(*PAIR_NAMES, place.c.set_id, *grades).select_from(joined)
    return work.db.execute(query.where(appeal.c.id == row.id)).one()


def answer_appeal(work: Work, who: str, number: int, *, won: bool, reply: str) -> int:
    """Reply to an appeal; a refusal whose appeal is won is accepted, held where open, and paid.

    The number of the act, for undo.
    """
    query = select(appeal).select_from(APPEALS_BY_WORKERS)
    own = query.where(appeal.c.id == number, work.own(worker))
    row = work.existing(own, f"there is no appeal {number}")
    if row.answered_at is not None:
        raise RuleError("conflict", "this appeal was answered already")
    same = appeal.c.id == number
    work.update(appeal, same, answered_at=work.now, won=int(won), reply=reply)
    details: dict[str, Any] = {"appeal": number, "won": won}
    if won and row.kind == "refusal":
        refused = by_id(work, row.assignment_id)
        move(work, refused, "restore")
        details["batch"] = undo_details(refused)
    return audit.record(work, who, "answer appeal", details)
