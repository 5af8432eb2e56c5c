"""The checks when a batch is finished. The formulas are `quality`'s.

Gold sets: binary score, and NDCG score where sets are ranked. Every set: active seconds per
document. "Cannot tell" on gold is wrong, "broken" is left out of both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.database.schema import Assignment, event, outcome
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold
from qrowd.collection.judging.offer import PlacedSet, answers_of, order_of, places_of
from qrowd.collection.people.topic_questions import failed_topics
from qrowd.collection.plan.pass_rates import level_of
from qrowd.collection.plan.sections import Check
from qrowd.collection.plan.way import Opinion
from qrowd.quality.against_gold import binary_score, ndcg_score


@dataclass(frozen=True)
class Missed:
    """A check question that was missed: own answer (None: cannot tell), the expert's, and why.

    `value` is the number that was said, where numbers are.
    """

    place: str
    position: int
    said: int | None
    value: float | None
    expert: int
    reason: str
    passage: str


def places_to_judge(work: Work, assigned: Assignment) -> list[PlacedSet]:
    """The places of an assignment that must be judged: those of failed topics are left out."""
    failed = failed_topics(work, assigned.worker_id)
    return [row for row in places_of(work, assigned) if row.topic_id not in failed]


def problems(work: Work, assigned: Assignment) -> list[str]:
    """What must be mended before *finish*, once each."""
    sentences = {
        work.plan.way.missing(work.plan, answers_of(work, row.id), row.size)
        for row in places_to_judge(work, assigned)
    }
    return sorted(sentences - {""})


def run_checks(work: Work, assigned: Assignment) -> list[dict[str, Any]]:
    """All checks of an assignment, stored: the rows of their outcomes."""
    outcomes: list[dict[str, Any]] = []
    for row in places_to_judge(work, assigned):
        if row.kind == "gold":
            outcomes += _check_gold(work, row)
        if row.kind in ("count", "gold", "repeat"):
            spent = select(func.sum(event.c.milliseconds)).where(event.c.place_id == row.id)
            seconds = work.number(spent) / 1000 / row.size
            outcomes.append(_outcome("seconds", row, seconds, work.plan.checks.seconds))
    work.insert_all(outcome, outcomes)
    return outcomes


def _check_gold(work: Work, row: PlacedSet) -> list[dict[str, Any]]:
    checks, rel = work.plan.checks, work.plan.scale.relevant_from
    experts, answers = gold.grades_of(work, row.set_id), answers_of(work, row.id)
    counted = [at for at in sorted(experts) if at in answers and answers[at].kind != "broken"]
    if not counted:
        return []
    levels = [level_of(work.plan, experts[at].grade) for at in counted]
    relevant = [int(says_relevant(answers[at], experts[at].grade, rel)) for at in counted]
    outcomes = [_outcome("binary", row, binary_score(levels, relevant), checks.binary)]
    if "ndcg" in work.plan.way.checks and 0 in answers:
        ranks = [answers[0].ranks[at - 1] for at in counted]
        dense = [sorted(ranks).index(rank) + 1 for rank in ranks]
        score = ndcg_score(levels, dense, checks.ideal)
        if score == score:  # without a positive grade there is no score
            outcomes.append(_outcome("ndcg", row, score, checks.ndcg))
    return outcomes


def _outcome(name: str, row: PlacedSet, value: float, check: Check) -> dict[str, Any]:
    return {
        "assignment_id": row.assignment_id,
        "set_id": row.set_id,
        "check": name,
        "value": value,
        "at_least": check.at_least,
        "passed": int(value >= check.at_least - 1e-12),
        "action": check.action,
    }


def says_relevant(answered: Opinion, expert: int, rel: int) -> bool:
    """Whether an answer says relevant; "cannot tell" says the opposite of the expert."""
    if answered.grade is not None:
        return answered.grade >= rel
    return expert < rel


def missed_gold(work: Work, assigned: Assignment) -> list[Missed]:
    """The check questions that were missed; asked for only when answers are closed."""
    rel = work.plan.scale.relevant_from
    missed = []
    for row in places_to_judge(work, assigned):
        if row.kind not in ("gold", "qualification"):
            continue
        answers, shown = answers_of(work, row.id), order_of(row.shown)
        for at, expert in gold.grades_of(work, row.set_id).items():
            answered = answers.get(at)
            if answered is None or answered.kind == "broken":
                continue
            if says_relevant(answered, expert.grade, rel) != (expert.grade >= rel):
                missed.append(
                    Missed(
                        place=row.key,
                        position=shown.index(at) + 1,
                        said=answered.grade,
                        value=answered.value,
                        expert=expert.grade,
                        reason=expert.reason,
                        passage=expert.passage,
                    )
                )
    return missed
