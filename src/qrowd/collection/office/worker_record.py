"""What the database knows of workers: a page of them, and all evidence on one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import and_, select

from qrowd.collection.adjudication import appeals
from qrowd.collection.books import ledger
from qrowd.collection.database.schema import (
    answer,
    assignment,
    document,
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
from qrowd.collection.database.store import Row, Work
from qrowd.collection.people import workers

BATCHES = 50  # that are shown, the newest
REASONS = 20


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
    "cannot tell" or "broken". `seconds` is the middle of the active seconds per answer; `line` is
    the worker's row of `workers.listed`.
    """

    line: Row
    answers: int
    seconds: float | None
    confusion: dict[tuple[int, str], int]
    batches: tuple[BatchLine, ...]
    reasons: tuple[Row, ...]
    messages: tuple[Row, ...]
    appeals: tuple[Row, ...]
    unsettled: int

    @property
    def right(self) -> tuple[int, int]:
        """Check questions with the expert's own grade, and all that were answered."""
        right = sum(n for (grade, answer), n in self.confusion.items() if answer == str(grade))
        return right, sum(self.confusion.values())


def lines(work: Work, numbers: Sequence[int]) -> list[Row]:
    """These workers, in this order: rows of `workers.listed`."""
    rows = {row.number: row for row in workers.listed(work, numbers=numbers)}
    return [rows[number] for number in numbers if number in rows]


def numbers(work: Work, start: int, limit: int, state: str = "") -> list[int]:
    """Numbers of workers (in one state), a page of them."""
    own = worker.c.campaign_id == work.campaign
    own = own & (worker.c.state == state) if state else own
    query = select(worker.c.number).where(own).order_by(worker.c.number)
    return list(work.db.scalars(query.offset(start).limit(limit)))


def standing(work: Work, number: int) -> Standing:
    """All evidence on one worker."""
    worker_id = workers.worker_by_number(work, number).id
    seconds = _seconds(work, worker_id)
    return Standing(
        line=lines(work, [number])[0],
        answers=len(seconds),
        seconds=seconds[len(seconds) // 2] if seconds else None,
        confusion=_confusion(work, worker_id),
        batches=tuple(_batches(work, worker_id)),
        reasons=tuple(_reasons(work, worker_id)),
        messages=tuple(workers.messages(work, worker_id)),
        appeals=tuple(appeals.appeals_of(work, worker_id)),
        unsettled=ledger.unsettled(work, worker_id, ("owed",)),
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
    return dict(
        Counter(
            (row.expert, str(row.grade) if row.kind == "grade" else row.kind.replace("-", " "))
            for row in work.db.execute(query.where(mine, closed))
        )
    )


def _batches(work: Work, worker_id: int) -> list[BatchLine]:
    a = assignment.c
    mine = select(assignment).where(a.worker_id == worker_id).order_by(a.id.desc()).limit(BATCHES)
    batches = list(work.db.execute(mine))
    checks: dict[int, list[tuple[str, float | None, float, bool]]] = defaultdict(list)
    of_these = outcome.c.assignment_id.in_([batch.id for batch in batches])
    for row in work.db.execute(select(outcome).where(of_these).order_by(outcome.c.id)):
        checks[row.assignment_id].append((row.check, row.value, row.at_least, bool(row.passed)))
    return [
        BatchLine(
            number=batch.id,
            kind=batch.kind,
            state=batch.state,
            leased_at=batch.leased_at,
            ended_at=batch.ended_at,
            earned=batch.earned + batch.paid,
            checks=tuple(checks[batch.id]),
        )
        for batch in batches
    ]


def _reasons(work: Work, worker_id: int) -> list[Row]:
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
