"""What the database knows of workers: a page of them, and all evidence on one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from qrowd.collection.adjudication import appeals
from qrowd.collection.books import ledger
from qrowd.collection.database import schema
from qrowd.collection.database.schema import Outcome, assignment, event, note, outcome, worker
from qrowd.collection.database.store import Work
from qrowd.collection.people import workers
from qrowd.collection.people.workers import WorkerLine

BATCHES = 50  # that are shown, the newest
REASONS = 20


class Reason(schema.Note):
    """A reason that was given for a grade, or a passage that was marked."""

    topic: str
    doc: str
    grade: int | None


@dataclass(frozen=True)
class Standing:
    """All evidence on one worker that the database has.

    `confusion` counts check questions: (expert's grade, own answer); an answer is a grade as text,
    "cannot tell" or "broken". `seconds` is the middle of the active seconds per answer. `checks`
    are those of the batches, by their numbers.
    """

    line: WorkerLine
    answers: int
    seconds: float | None
    confusion: dict[tuple[int, str], int]
    batches: list[schema.Assignment]
    checks: dict[int, list[Outcome]]
    reasons: list[Reason]
    messages: list[schema.Message]
    appeals: list[schema.Appeal]
    unsettled: int

    @property
    def right(self) -> tuple[int, int]:
        """Check questions with the expert's own grade, and all that were answered."""
        right = sum(n for (grade, answer), n in self.confusion.items() if answer == str(grade))
        return right, sum(self.confusion.values())


def lines(work: Work, numbers: Sequence[int]) -> list[WorkerLine]:
    """These workers, in this order."""
    rows = {row.number: row for row in workers.listed(work, numbers=numbers)}
    return [rows[number] for number in numbers if number in rows]


def numbers(work: Work, start: int, limit: int, state: str = "") -> list[int]:
    """Numbers of workers (in one state), a page of them."""
    query = select(worker.c.number).where(work.own(worker)).order_by(worker.c.number)
    if state:
        query = query.where(worker.c.state == state)
    return list(work.db.scalars(query.offset(start).limit(limit)))


def standing(work: Work, number: int) -> Standing:
    """All evidence on one worker."""
    worker_id = workers.worker_by_number(work, number).id
    seconds = _seconds(work, worker_id)
    mine = select(assignment).where(assignment.c.worker_id == worker_id)
    batches = work.rows(mine.order_by(assignment.c.id.desc()).limit(BATCHES), schema.Assignment)
    return Standing(
        line=lines(work, [number])[0],
        answers=len(seconds),
        seconds=seconds[len(seconds) // 2] if seconds else None,
        confusion=_confusion(work, worker_id),
        batches=batches,
        checks=outcomes(work, batches),
        reasons=_reasons(work, worker_id),
        messages=workers.messages(work, worker_id),
        appeals=appeals.appeals_of(work, worker_id),
        unsettled=ledger.unsettled(work, worker_id, ("owed",)),
    )


def _seconds(work: Work, worker_id: int) -> list[float]:
    """Active seconds of the answers that count, in order."""
    mine = (event.c.worker_id == worker_id) & schema.has_grade()
    query = select(event.c.milliseconds).select_from(schema.CURRENT_ANSWERS).where(mine)
    return sorted(milliseconds / 1000 for milliseconds in work.db.scalars(query))


def _confusion(work: Work, worker_id: int) -> dict[tuple[int, str], int]:
    """Answers to check questions of batches whose answers are closed."""
    gold, member, place = schema.gold, schema.member, schema.place
    query = (
        select(gold.c.grade, event.c.kind, event.c.grade)
        .select_from(schema.PLACED_ANSWERS.join(gold, gold.c.pair_id == member.c.pair_id))
        .where(
            place.c.worker_id == worker_id,
            place.c.kind.in_(("gold", "qualification")),
            assignment.c.finished_at.is_not(None),
        )
    )
    pairs = (
        (expert, str(grade) if grade is not None else kind.replace("-", " "))
        for expert, kind, grade in work.db.execute(query)
    )
    return dict(Counter(pairs))


def outcomes(work: Work, batches: Sequence[schema.Assignment]) -> dict[int, list[Outcome]]:
    """What checks said of these batches, by their numbers."""
    checks: dict[int, list[Outcome]] = {batch.id: [] for batch in batches}
    query = select(outcome).where(outcome.c.assignment_id.in_(checks))
    for row in work.rows(query.order_by(outcome.c.id), Outcome):
        checks[row.assignment_id].append(row)
    return checks


def _reasons(work: Work, worker_id: int) -> list[Reason]:
    """The last reasons and marked passages."""
    query = (
        select(note, *schema.PAIR_NAMES, event.c.grade)
        .select_from(schema.with_pairs(event).join(note, note.c.event_id == event.c.id))
        .where(event.c.worker_id == worker_id)
    )
    return work.rows(query.order_by(note.c.id.desc()).limit(REASONS), Reason)
