"""What the database knows of workers: a page of them, and all evidence on one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select

from qrowd.collection.adjudication import appeals
from qrowd.collection.books import ledger
from qrowd.collection.database import schema
from qrowd.collection.database.schema import Outcome, assignment, event, note, outcome, worker
from qrowd.collection.database.store import Work
from qrowd.collection.judging.gold import right_answer
from qrowd.collection.office.causes import TOO_FAST, surely_above
from qrowd.collection.people import workers
from qrowd.collection.people.workers import WorkerLine
from qrowd.texts import Text

BATCHES = 50  # that are shown, the newest
REASONS = 20
MISSED = 50
LATEST_ANSWERS = 5_000
SAME = 0.9  # of the answers: one and the same
ERRORS = 0.25  # of check questions that good people miss at most

_OPINIONS = event.c.kind.not_in(("ranking", "clear"))


class Reason(schema.Note):
    """A reason that was given for a grade, or a passage that was marked."""

    topic: str
    doc: str
    title: str
    grade: int | None


class CheckedAnswer(schema.TypedRow):
    """An answer to a check question, and the expert's grade; missed is the other side of relevance,
    where "broken" is on none.
    """

    topic: str
    doc: str
    title: str
    kind: str
    grade: int | None
    expert: int
    missed: bool
    at: int


@dataclass(frozen=True)
class Standing:
    """All evidence on one worker that the database has.

    `confusion` counts check questions: (expert's grade, own answer); an answer is a grade as text,
    "cannot tell" or "broken". `seconds` is the middle of the active seconds per answer. `checks`
    are those of the batches, by their numbers. `sentence` says what stands out.
    """

    line: WorkerLine
    sentence: Text
    answers: int
    seconds: float | None
    confusion: dict[tuple[int, str], int]
    batches: list[schema.Assignment]
    checks: dict[int, list[Outcome]]
    missed: list[CheckedAnswer]
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
    """Numbers of workers (in one state), a page of them; experts and machines are none."""
    query = select(worker.c.number).where(workers.people(work)).order_by(worker.c.number)
    if state:
        query = query.where(worker.c.state == state)
    return list(work.db.scalars(query.offset(start).limit(limit)))


def standing(work: Work, number: int) -> Standing:
    """All evidence on one worker."""
    worker_id = workers.worker_by_number(work, number).id
    seconds = _seconds(work, worker_id)
    mine = select(assignment).where(assignment.c.worker_id == worker_id)
    batches = work.rows(mine.order_by(assignment.c.id.desc()).limit(BATCHES), schema.Assignment)
    checked = _checked(work, worker_id)
    confusion = Counter((row.expert, _said(row.kind, row.grade)) for row in checked)
    return Standing(
        line=lines(work, [number])[0],
        sentence=_sentence(work, worker_id, checked),
        answers=work.count(schema.CURRENT_ANSWERS, event.c.worker_id == worker_id, _OPINIONS),
        seconds=seconds[len(seconds) // 2] if seconds else None,
        confusion=dict(confusion),
        missed=[row for row in checked if row.missed][:MISSED],
        batches=batches,
        checks=outcomes(work, batches),
        reasons=_reasons(work, worker_id),
        messages=workers.messages(work, worker_id),
        appeals=appeals.appeals_of(work, worker_id),
        unsettled=ledger.unsettled(work, worker_id, ("owed",)),
    )


def _sentence(work: Work, worker_id: int, checked: Sequence[CheckedAnswer]) -> Text:
    """What stands out of a worker, if that is sure; else what is known."""
    answers = _answers(work, event.c.worker_id == worker_id)
    n = sum(answers.values())
    if not n:
        return Text("office.worker.says.nothing")
    (kind, grade), most = answers.most_common(1)[0]
    # by number, and not by the index of workers: the latest are wanted, not all of theirs
    own = (event.c.worker_id + 0).in_(select(worker.c.id).where(workers.people(work)))
    others = _answers(work, own & (event.c.worker_id != worker_id))
    usual = min(0.9, others[kind, grade] / (sum(others.values()) or 1))
    said = _said(kind, grade)
    if most >= SAME * n and surely_above(most, n, max(usual, 0.5)):
        if most == n:
            return Text("office.worker.says.always", answer=said, n=n)
        return Text("office.worker.says.same", answer=said, k=most, n=n)
    fast, batches = _fast_batches(work, worker_id)
    if surely_above(fast, batches, TOO_FAST, 0.02):
        seconds = f"{work.plan.checks.seconds.at_least:g}"
        return Text("office.worker.says.fast", k=fast, of=batches, seconds=seconds)
    wrong = sum(row.missed for row in checked)
    asked = sum(row.kind != "broken" for row in checked)
    if surely_above(wrong, asked, ERRORS, 0.02):
        return Text("office.worker.says.misses", k=wrong, of=asked)
    if asked:
        return Text("office.worker.says.well", k=asked - wrong, of=asked, n=n)
    return Text("office.worker.says.unknown", n=n)


def _said(kind: str, grade: int | None) -> str:
    return str(grade) if grade is not None else kind.replace("-", " ")


def _answers(work: Work, whose: ColumnElement[bool]) -> Counter[tuple[str, int | None]]:
    """How often each answer was given lately; those that stand, not what was changed."""
    answer = schema.answer
    at = (answer.c.place_id == event.c.place_id) & (answer.c.position == event.c.position)
    query = select(event.c.kind, event.c.grade).select_from(schema.CURRENT_ANSWERS).where(at)
    latest = query.where(whose, _OPINIONS).order_by(event.c.id.desc())
    rows = work.db.execute(latest.limit(LATEST_ANSWERS))
    return Counter((kind, grade) for kind, grade in rows)


def _fast_batches(work: Work, worker_id: int) -> tuple[int, int]:
    """How many batches had a set that was answered too fast, of those that were checked."""
    mine = (assignment.c.worker_id == worker_id) & (outcome.c.check == "seconds")
    joined = assignment.join(outcome, outcome.c.assignment_id == assignment.c.id)
    batches = func.count(assignment.c.id.distinct())
    query = select(batches.filter(outcome.c.passed == 0), batches).select_from(joined).where(mine)
    fast, checked = work.db.execute(query).one()
    return fast, checked


def _checked(work: Work, worker_id: int) -> list[CheckedAnswer]:
    """Answers to check questions of batches whose answers are closed, the newest first."""
    gold, place, pair, rel = schema.gold, schema.place, schema.pair, work.plan.scale.relevant_from
    expert = right_answer(work.plan)
    columns = (*schema.PAIR_NAMES, schema.document.c.title, event.c.kind, event.c.grade)
    wrong = event.c.grade.is_(None) | ((event.c.grade >= rel) != (expert >= rel))
    missed = (wrong & (event.c.kind != "broken")).label("missed")
    joined = schema.NAMED_PAIRS.join(
        schema.PLACED_ANSWERS, schema.member.c.pair_id == pair.c.id
    ).join(gold, gold.c.pair_id == pair.c.id)
    query = (
        select(*columns, expert.label("expert"), missed, event.c.at)
        .select_from(joined)
        .where(
            place.c.worker_id == worker_id,
            place.c.kind.in_(("gold", "qualification")),
            assignment.c.finished_at.is_not(None),
        )
    )
    return work.rows(query.order_by(event.c.id.desc()), CheckedAnswer)


def _seconds(work: Work, worker_id: int) -> list[float]:
    """Active seconds of the answers that count, in order."""
    mine = (event.c.worker_id == worker_id) & schema.has_grade()
    query = select(event.c.milliseconds).select_from(schema.CURRENT_ANSWERS).where(mine)
    return sorted(milliseconds / 1000 for milliseconds in work.db.scalars(query))


def outcomes(work: Work, batches: Sequence[schema.Assignment]) -> dict[int, list[Outcome]]:
    """What checks said of these batches, by their numbers."""
    checks: dict[int, list[Outcome]] = {batch.id: [] for batch in batches}
    query = select(outcome).where(outcome.c.assignment_id.in_(checks), schema.STANDING_OUTCOME)
    for row in work.rows(query.order_by(outcome.c.id), Outcome):
        checks[row.assignment_id].append(row)
    return checks


def _reasons(work: Work, worker_id: int) -> list[Reason]:
    """The last reasons and marked passages."""
    query = (
        select(note, *schema.PAIR_NAMES, schema.document.c.title, event.c.grade)
        .select_from(schema.with_pairs(event).join(note, note.c.event_id == event.c.id))
        .where(event.c.worker_id == worker_id)
    )
    return work.rows(query.order_by(note.c.id.desc()).limit(REASONS), Reason)
