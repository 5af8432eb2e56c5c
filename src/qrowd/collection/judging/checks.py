"""The checks when a batch is finished. The formulas are `quality`'s.

Gold sets: binary score, and NDCG score where sets are ranked. Every set: active seconds per
document. "Cannot tell" on gold is wrong, "broken" is left out of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, insert, select

from qrowd.collection.database.schema import event, judging_set, outcome, place
from qrowd.collection.database.store import Found, Work
from qrowd.collection.judging import gold
from qrowd.collection.judging.events import rank_problem
from qrowd.collection.judging.offer import Answered, answers_of, order_of
from qrowd.collection.people.topic_questions import failed_topics
from qrowd.collection.plan.sections import Check
from qrowd.quality.against_gold import binary_score, ndcg_score

CHECK_NAMES = ("binary", "ndcg", "seconds")


@dataclass(frozen=True)
class Outcome:
    """What one check said of one set."""

    check: str
    set_id: int
    value: float
    at_least: float
    passed: bool
    action: str


@dataclass(frozen=True)
class Missed:
    """A check question that was missed: own answer (None: cannot tell), the expert's, and why."""

    place: str
    position: int
    said: int | None
    expert: int
    reason: str
    passage: str


def places_of(work: Work, row: Found) -> list[Found]:
    """The places of an assignment that must be judged: those of failed topics are left out."""
    p, s = place.c, judging_set.c
    joined = place.join(judging_set, s.id == p.set_id)
    columns = (
        p.id,
        p.key,
        p.shown,
        p.kind,
        p.set_id,
        p.worker_id,
        p.reviews_id,
        s.topic_id,
        s.size,
    )
    query = (
        select(*columns).select_from(joined).where(p.assignment_id == row.id).order_by(p.ordinal)
    )
    failed = failed_topics(work, row.worker_id)
    return [one for one in work.db.execute(query) if one.topic_id not in failed]


def missing(work: Work, row: Found) -> list[tuple[str, str]]:
    """What must be mended before *finish*: (a set's name, what is wrong)."""
    problems = []
    for one in places_of(work, row):
        given = answers_of(work, one.id)
        problem = _problem(work, given, one.size)
        problems += [(one.key, problem)] if problem else []
    return problems


def _problem(work: Work, given: dict[int, Answered], size: int) -> str:
    if work.plan.preferences:
        undecided = 0 not in given and not any(at in given for at in (1, 2))
        return "no document was chosen" if undecided else ""
    left = [at for at in range(1, size + 1) if at not in given]
    if left:
        return f"{len(left)} of {size} documents are not judged"
    if not work.plan.ranked:
        return ""
    if 0 not in given:
        return "the documents are not ranked"
    return rank_problem(work, given, list(given[0].ranks))


def run_checks(work: Work, row: Found) -> list[Outcome]:
    """All checks of an assignment, stored."""
    found = [one for each in places_of(work, row) for one in _check_place(work, each)]
    if found:
        rows = [
            {
                "assignment_id": row.id,
                "set_id": one.set_id,
                "check": one.check,
                "value": one.value,
                "at_least": one.at_least,
                "passed": int(one.passed),
                "action": one.action,
            }
            for one in found
        ]
        work.db.execute(insert(outcome), rows)
    return found


def _check_place(work: Work, one: Found) -> list[Outcome]:
    checks, found = work.plan.checks, []
    if one.kind == "gold":
        found += _check_gold(work, one)
    if one.kind in ("count", "gold", "repeat"):
        seconds = _seconds(work, one.id) / one.size
        found.append(_outcome("seconds", one.set_id, seconds, checks.seconds))
    return found


def _check_gold(work: Work, one: Found) -> list[Outcome]:
    known, given = gold.grades_of(work, one.set_id), answers_of(work, one.id)
    kept = [at for at in sorted(known) if at in given and given[at].kind != "broken"]
    if not kept:
        return []
    checks, rel = work.plan.checks, work.plan.scale.relevant_from
    grades = _levels(work, [known[at].grade for at in kept])
    said = [int(said_relevant(given[at], known[at].grade, rel)) for at in kept]
    found = [_outcome("binary", one.set_id, binary_score(grades, said), checks.binary)]
    if work.plan.ranked and 0 in given:
        ranks = [given[0].ranks[at - 1] for at in kept]
        dense = [sorted(ranks).index(rank) + 1 for rank in ranks]
        score = ndcg_score(grades, dense, checks.ideal)
        if score == score:  # without a positive grade there is no score
            found.append(_outcome("ndcg", one.set_id, score, checks.ndcg))
    return found


def _levels(work: Work, grades: list[int]) -> list[int]:
    """Gold grades counted from the first relevant one: 1 is relevant, 2 highly, 0 not."""
    return [max(0, grade - work.plan.scale.relevant_from + 1) for grade in grades]


def said_relevant(said: Answered, expert: int, rel: int) -> bool:
    """Whether an answer says relevant; "cannot tell" says the opposite of the expert."""
    if said.kind == "grade" and said.grade is not None:
        return said.grade >= rel
    return expert < rel


def _outcome(name: str, set_id: int, value: float, check: Check) -> Outcome:
    passed = value >= check.at_least - 1e-12
    return Outcome(name, set_id, value, check.at_least, passed, check.action)


def _seconds(work: Work, place_id: int) -> float:
    total = select(func.coalesce(func.sum(event.c.milliseconds), 0))
    return int(work.db.scalar(total.where(event.c.place_id == place_id)) or 0) / 1000


def missed_gold(work: Work, row: Found) -> list[Missed]:
    """The check questions that were missed; asked for only when answers are closed."""
    rel = work.plan.scale.relevant_from
    found = []
    for one in places_of(work, row):
        if one.kind not in ("gold", "qualification"):
            continue
        given, shown = answers_of(work, one.id), order_of(one.shown)
        for at, expert in gold.grades_of(work, one.set_id).items():
            said = given.get(at)
            if said is None or said.kind == "broken":
                continue
            if said_relevant(said, expert.grade, rel) != (expert.grade >= rel):
                where = (one.key, shown.index(at) + 1, said.grade)
                found.append(Missed(*where, expert.grade, expert.reason, expert.passage))
    return found
