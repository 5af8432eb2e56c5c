"""What the database knows of workers: a page of them, and all evidence on one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, func, select

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.schema import (
    answer,
    assignment,
    document,
    entry,
    event,
    gold,
    member,
    note,
    outcome,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.store import Found, Work
from qrowd.collection.people import workers

BATCHES, REASONS = 50, 20


@dataclass(frozen=True)
class Line:
    """A worker in the list. Money in minor units."""

    number: int
    kind: str
    state: str
    batches: int
    failed: int
    earned: int


@dataclass(frozen=True)
class BatchLine:
    """A batch of a worker, with what each check said of it: (check, value, bound, passed)."""

    number: int
    kind: str
    state: str
    leased_at: int
    ended_at: int | None
    earned: int
    checks: tuple[tuple[str, float | None, float, bool], ...]


@dataclass(frozen=True)
class Standing:
    """All evidence on one worker that the database has.

    `confusion` counts check questions: (expert's grade, own answer); an answer is a grade as text,
    "cannot tell" or "broken". `seconds` is the middle of the active seconds per answer.
    """

    line: Line
    answers: int
    seconds: float | None
    confusion: dict[tuple[int, str], int]
    batches: tuple[BatchLine, ...]
    reasons: tuple[Found, ...]
    messages: tuple[Found, ...]
    appeals: tuple[Found, ...]
    unsettled: int

    @property
    def right(self) -> tuple[int, int]:
        """Check questions with the expert's own grade, and all that were answered."""
        right = sum(n for (expert, said), n in self.confusion.items() if said == str(expert))
        return right, sum(self.confusion.values())


def count(work: Work) -> int:
    """How many workers there are."""
    own = select(func.count()).select_from(worker).where(worker.c.campaign_id == work.campaign)
    return int(work.db.scalar(own) or 0)


def lines(work: Work, numbers: Sequence[int]) -> list[Line]:
    """These workers, in this order."""
    w, a = worker.c, assignment.c
    mine = and_(w.campaign_id == work.campaign, w.number.in_(list(numbers)))
    columns = (w.number, w.kind, w.state, w.failed_hits)
    sums = (func.count(a.id).label("batches"), func.sum(a.earned + a.paid).label("earned"))
    joined = worker.outerjoin(assignment, a.worker_id == w.id)
    query = select(*columns, *sums).select_from(joined).where(mine).group_by(w.id, *columns)
    found = {
        row.number: Line(
            row.number, row.kind, row.state, row.batches, row.failed_hits, int(row.earned or 0)
        )
        for row in work.db.execute(query)
    }
    return [found[number] for number in numbers if number in found]


def numbers(work: Work, start: int, limit: int, state: str = "") -> list[int]:
    """Numbers of workers (in one state), a page of them."""
    own = worker.c.campaign_id == work.campaign
    own = own & (worker.c.state == state) if state else own
    query = select(worker.c.number).where(own).order_by(worker.c.number)
    return list(work.db.scalars(query.offset(start).limit(limit)))


def standing(work: Work, number: int) -> Standing:
    """All evidence on one worker."""
    found = workers.worker_by_number(work, number)
    seconds = _seconds(work, found.id)
    return Standing(
        line=lines(work, [number])[0],
        answers=len(seconds),
        seconds=seconds[len(seconds) // 2] if seconds else None,
        confusion=_confusion(work, found.id),
        batches=tuple(_batches(work, found.id)),
        reasons=tuple(_reasons(work, found.id)),
        messages=tuple(workers.messages(work, found.id)),
        appeals=tuple(appeals.appeals_of(work, found.id)),
        unsettled=_unsettled(work, found.id),
    )


def _seconds(work: Work, worker_id: int) -> list[float]:
    """Active seconds of the answers that count, in order."""
    joined = answer.join(event, event.c.id == answer.c.event_id)
    query = select(event.c.milliseconds).select_from(joined)
    rows = work.db.scalars(query.where(event.c.worker_id == worker_id, event.c.kind == "grade"))
    return sorted(row / 1000 for row in rows)


def _confusion(work: Work, worker_id: int) -> dict[tuple[int, str], int]:
    """Answers to check questions of batches whose answers are closed."""
    e, p = event.c, place.c
    joined = (
        place.join(assignment, assignment.c.id == p.assignment_id)
        .join(answer, answer.c.place_id == p.id)
        .join(event, e.id == answer.c.event_id)
        .join(member, and_(member.c.set_id == p.set_id, member.c.position == answer.c.position))
        .join(gold, gold.c.pair_id == member.c.pair_id)
    )
    mine = and_(p.worker_id == worker_id, p.kind.in_(("gold", "qualification")))
    closed = assignment.c.finished_at.is_not(None)
    query = select(gold.c.grade.label("expert"), e.kind, e.grade).select_from(joined)
    rows = work.db.execute(query.where(mine, closed)).all()
    return dict(Counter((row.expert, _said(row)) for row in rows))


def _said(row: Found) -> str:
    return str(row.grade) if row.kind == "grade" else str(row.kind).replace("-", " ")


def _batches(work: Work, worker_id: int) -> list[BatchLine]:
    a = assignment.c
    mine = select(assignment).where(a.worker_id == worker_id).order_by(a.id.desc()).limit(BATCHES)
    rows = list(work.db.execute(mine))
    checks: dict[int, list[tuple[str, float | None, float, bool]]] = defaultdict(list)
    ids = [row.id for row in rows]
    query = select(outcome).where(outcome.c.assignment_id.in_(ids)).order_by(outcome.c.id)
    for one in work.db.execute(query):
        checks[one.assignment_id].append((one.check, one.value, one.at_least, bool(one.passed)))
    return [
        BatchLine(
            row.id,
            row.kind,
            row.state,
            row.leased_at,
            row.ended_at,
            row.earned + row.paid,
            tuple(checks[row.id]),
        )
        for row in rows
    ]


def _reasons(work: Work, worker_id: int) -> list[Found]:
    """The last reasons and marked passages: topic, doc, grade, kind, text."""
    e, p = event.c, place.c
    joined = (
        note.join(event, e.id == note.c.event_id)
        .join(place, p.id == e.place_id)
        .join(member, and_(member.c.set_id == p.set_id, member.c.position == e.position))
        .join(pair, pair.c.id == member.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )
    names = (topic.c.name.label("topic"), document.c.name.label("doc"))
    query = select(*names, e.grade, note.c.kind, note.c.text).select_from(joined)
    own = query.where(e.worker_id == worker_id).order_by(note.c.id.desc())
    return list(work.db.execute(own.limit(REASONS)))


def _unsettled(work: Work, worker_id: int) -> int:
    """What the worker is owed."""
    plus = func.sum(entry.c.amount).filter(entry.c.target == "owed")
    minus = func.sum(entry.c.amount).filter(entry.c.source == "owed")
    due = select(func.coalesce(plus, 0) - func.coalesce(minus, 0))
    return int(work.db.scalar(due.where(entry.c.worker_id == worker_id)) or 0)
