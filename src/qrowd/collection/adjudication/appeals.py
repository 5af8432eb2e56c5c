"""What workers object to: a refusal, or an expert's grade ("I disagree"). Each gets a reply.

A refusal can be appealed while its pay is kept. An objection to gold goes to adjudication: where
the expert was wrong the organiser retires the set.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import insert, select, update

from qrowd.collection.books import notices
from qrowd.collection.database.schema import (
    answer,
    appeal,
    document,
    event,
    gold,
    member,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.store import Row, Work, new_id
from qrowd.collection.judging.assignments import by_id, by_key, kept, move
from qrowd.collection.judging.offer import order_of
from qrowd.collection.people.workers import worker_of
from qrowd.collection.plan.sections import DAY
from qrowd.collection.record import audit
from qrowd.errors import RuleError

LONGEST = 10_000  # characters of what is written by hand


def appeal_refusal(work: Work, worker_id: int, key: str, words: str) -> int:
    """Appeal against the refusal of a batch; the appeal's number."""
    row = by_key(work, worker_id, key)
    if row.state != "refused":
        raise RuleError("wrong-state", f"this batch was not refused: it is {row.state}")
    if not in_time(work, row):
        raise RuleError("too-late", "the time to appeal is over")
    return _open(work, worker_id, words, kind="refusal", assignment_id=row.id)


def in_time(work: Work, row: Row) -> bool:
    """Whether the refusal of a batch can still be appealed."""
    until = (row.ended_at or 0) + work.plan.pay.appeal_days * DAY
    return bool(row.state == "refused" and work.now <= until)


def disagree(work: Work, worker_id: int, place_key: str, position: int, words: str) -> int:
    """Disagree with the expert on a check question of a batch whose answers are closed."""
    mine = (place.c.key == place_key) & (place.c.worker_id == worker_id)
    placed = work.db.execute(select(place).where(mine)).one_or_none()
    order = order_of(placed.shown) if placed else []
    if placed is None or not 1 <= position <= len(order):
        raise RuleError("not-found", "there is no such document in your batches")
    row = by_id(work, placed.assignment_id)
    if row.finished_at is None or placed.kind not in ("gold", "qualification"):
        raise RuleError("wrong-state", "only a check question of a finished batch can be disputed")
    return _open(
        work,
        worker_id,
        words,
        kind="gold",
        place_id=placed.id,
        position=order[position - 1],
        assignment_id=row.id,
    )


def _open(work: Work, worker_id: int, words: str, **about: Any) -> int:
    """An appeal about something; the one that is open already, if there is one."""
    if not words.strip() or len(words) > LONGEST or "\0" in words:
        raise RuleError("malformed", f"please give a reason of 1 to {LONGEST:,} characters")
    a = appeal.c
    same = [
        a[name] == about.get(name) for name in ("kind", "assignment_id", "place_id", "position")
    ]
    waiting = select(a.id).where(a.worker_id == worker_id, a.answered_at.is_(None), *same)
    open_already = work.db.scalar(waiting)
    if open_already is not None:
        return int(open_already)
    row = insert(appeal).values(worker_id=worker_id, at=work.now, text=words, **about)
    number = new_id(work.db.execute(row))
    text = f"worker w{worker_of(work, worker_id).number} asks for an answer"
    notices.tell(work, "appeal", text, str(number))
    return number


def open_appeals(work: Work) -> list[Row]:
    """Appeals without a reply, the oldest first."""
    joined = appeal.join(worker, worker.c.id == appeal.c.worker_id)
    query = select(appeal, worker.c.number).select_from(joined)
    own = query.where(worker.c.campaign_id == work.campaign, appeal.c.answered_at.is_(None))
    return list(work.db.execute(own.order_by(appeal.c.id)))


def appeals_of(work: Work, worker_id: int) -> list[Row]:
    """A worker's own appeals with their replies."""
    mine = select(appeal).where(appeal.c.worker_id == worker_id).order_by(appeal.c.id)
    return list(work.db.execute(mine))


def disputed_question(work: Work, row: Row) -> Row:
    """The check question that an appeal is about: set, topic, doc, the expert's grade, the own."""
    joined = (
        place.join(
            member, (member.c.set_id == place.c.set_id) & (member.c.position == row.position)
        )
        .join(pair, pair.c.id == member.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
        .join(gold, gold.c.pair_id == pair.c.id)
        .outerjoin(answer, (answer.c.place_id == place.c.id) & (answer.c.position == row.position))
        .outerjoin(event, event.c.id == answer.c.event_id)
    )
    names = (topic.c.name.label("topic"), document.c.name.label("doc"), place.c.set_id)
    grades = (gold.c.grade.label("expert"), gold.c.reason, event.c.grade, event.c.kind)
    query = select(*names, *grades).select_from(joined).where(place.c.id == row.place_id)
    return work.db.execute(query).one()


def answer_appeal(work: Work, who: str, number: int, *, won: bool, reply: str) -> int:
    """Reply to an appeal; a refusal whose appeal is won is accepted, held where open, and paid.

    The number of the act, for undo.
    """
    joined = appeal.join(worker, worker.c.id == appeal.c.worker_id)
    own = (appeal.c.id == number) & (worker.c.campaign_id == work.campaign)
    row = work.db.execute(select(appeal).select_from(joined).where(own)).one_or_none()
    if row is None:
        raise RuleError("not-found", f"there is no appeal {number}")
    if row.answered_at is not None:
        raise RuleError("conflict", "this appeal was answered already")
    replied = update(appeal).values(answered_at=work.now, won=int(won), reply=reply)
    work.db.execute(replied.where(appeal.c.id == number))
    details: dict[str, Any] = {"appeal": number, "won": won}
    if won and row.kind == "refusal":
        refused = by_id(work, row.assignment_id)
        move(work, refused, "restore")
        details["batch"] = kept(refused)
    return audit.record(work, who, "answer appeal", details)
