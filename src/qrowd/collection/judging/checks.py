"""The checks when a batch is finished. The formulas are `quality`'s.

Gold sets: binary score, and NDCG score where sets are ranked. Every set: active seconds per
document. "Cannot tell" on gold is wrong, "broken" is left out of both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.database.schema import (
    PLACED_ANSWERS,
    PLACED_SETS,
    STANDING_OUTCOME,
    Assignment,
    assignment,
    event,
    judging_set,
    member,
    outcome,
    place,
)
from qrowd.collection.database.schema import gold as gold_table
from qrowd.collection.database.store import Work
from qrowd.collection.judging import gold
from qrowd.collection.judging.offer import PlacedSet, answers_of, order_of, places_of
from qrowd.collection.people.topic_questions import failed_topics
from qrowd.collection.people.workers import worker_of
from qrowd.collection.plan.pass_rates import level_of
from qrowd.collection.plan.sections import SURELY, Check, Plan
from qrowd.collection.plan.way import Opinion, Opinions
from qrowd.quality.against_gold import SURELY as SELDOM
from qrowd.quality.against_gold import binary_score, good_p, ndcg_score


@dataclass(frozen=True)
class Missed:
    """A check question that was missed: own answer (None: cannot tell), the expert's, and why.

    `value` is the number that was said, `bucket` the chosen topic, where there are such.
    """

    place: str
    position: int
    said: int | None
    value: float | None
    expert: int
    reason: str
    passage: str
    bucket: str | None = None


def places_to_judge(work: Work, assigned: Assignment) -> list[PlacedSet]:
    """The places of an assignment that must be judged: those of failed topics are left out."""
    failed = failed_topics(work, assigned.worker_id)
    return [row for row in places_of(work, assigned) if row.topic_id not in failed]


def problems(work: Work, assigned: Assignment) -> list[str]:
    """What must be mended before *finish*, once each."""
    sentences = set()
    for row in places_to_judge(work, assigned):
        answers, order = answers_of(work, row.id), order_of(row.shown)
        if len(order) < row.size:  # a revision, of some documents of a set
            answers = {at: answers[each] for at, each in enumerate(order, 1) if each in answers}
        sentences.add(work.plan.way.missing(work.plan, answers, len(order)))
    return sorted(sentences - {""})


def run_checks(work: Work, assigned: Assignment) -> list[dict[str, Any]]:
    """All checks of an assignment, stored: the rows of their outcomes."""
    outcomes: list[dict[str, Any]] = []
    for row in places_to_judge(work, assigned):
        if row.kind == "gold":
            grades = {at: each.grade for at, each in gold.grades_of(work, row.set_id).items()}
            outcomes += _check_gold(work, row, grades)
        if row.kind in ("count", "gold", "repeat"):
            outcomes.append(_outcome("seconds", row, _seconds(work, row), work.plan.checks.seconds))
    work.insert_all(outcome, outcomes)
    return outcomes


def _seconds(work: Work, row: PlacedSet) -> float:
    """Active seconds of a set's documents: their mean, or the least, as the plan wants.

    The least is of documents that were judged: a page that is broken is told at once. Where sets
    of a batch are mixed, or all of it is on the screen, the time is that of the whole batch.
    """
    spent = func.sum(event.c.milliseconds)
    if work.plan.way.buckets:
        batch = select(place.c.id, judging_set.c.size).select_from(PLACED_SETS)
        places = work.db.execute(batch.where(place.c.assignment_id == row.assignment_id)).all()
        total = select(spent).where(event.c.place_id.in_([number for number, _ in places]))
        return work.number(total) / 1000 / sum(int(size) for _, size in places)
    judged = [at for at, said in answers_of(work, row.id).items() if at and said.kind != "broken"]
    if work.plan.checks.seconds_for == "set" or not judged:  # of two that are compared, no one has
        return work.number(select(spent).where(event.c.place_id == row.id)) / 1000 / row.size
    query = select(spent).where(event.c.place_id == row.id, event.c.position.in_(judged))
    return min(map(int, work.db.scalars(query.group_by(event.c.position)))) / 1000


def checked_again(
    work: Work, set_id: int, experts: Mapping[int, int]
) -> dict[int, list[dict[str, Any]]]:
    """The failed checks of a gold set that pass if gold has these grades, by batch.

    What passed stays as it is: nobody fails by what was found out afterwards.
    """
    o, passing = outcome.c, defaultdict[int, list[dict[str, Any]]](list)
    failed = select(o.assignment_id, o.check).where(o.set_id == set_id, o.passed == 0)
    names = {(number, name) for number, name in work.db.execute(failed.where(STANDING_OUTCOME))}
    batches = select(assignment).where(assignment.c.id.in_({number for number, _ in names}))
    for assigned in work.rows(batches.order_by(assignment.c.id), Assignment):
        for row in places_of(work, assigned):
            again = _check_gold(work, row, experts) if row.set_id == set_id else []
            for each in again:
                if each["passed"] and (assigned.id, each["check"]) in names:
                    passing[assigned.id].append(each)
    return dict(passing)


def _check_gold(work: Work, row: PlacedSet, experts: Mapping[int, int]) -> list[dict[str, Any]]:
    """The outcomes of a gold set, whose documents have these grades by position."""
    checks, rel = work.plan.checks, work.plan.scale.relevant_from
    answers = answers_of(work, row.id)
    counted = [at for at in sorted(experts) if at in answers and answers[at].kind != "broken"]
    if not counted:
        return []
    levels = [level_of(work.plan, experts[at]) for at in counted]
    relevant = [
        int(says_relevant(answers[at], level > 0, rel))
        for at, level in zip(counted, levels, strict=True)
    ]
    outcomes = [_outcome("binary", row, binary_score(levels, relevant), checks.binary)]
    if "ndcg" in work.plan.way.checks and 0 in answers:
        ranks = {at: answers[0].ranks[at - 1] for at in counted}
        score = set_ndcg(work.plan, experts, ranks)
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


# --- all gold that a worker has met ---------------------------------------------------------------


@dataclass(frozen=True)
class GoldRecord:
    """How often a worker was wrong on check questions, relevant ones and others."""

    missed: int = 0
    relevant: int = 0
    false_alarms: int = 0
    other: int = 0

    @property
    def right(self) -> int:
        """How many were answered as the experts did, relevant or not."""
        return self.relevant + self.other - self.missed - self.false_alarms

    @property
    def asked(self) -> int:
        """How many there were."""
        return self.relevant + self.other

    @property
    def p(self) -> float:
        """How seldom a good worker's answers ever look as bad as these."""
        return float(good_p(self.missed, self.relevant, self.false_alarms, self.other))

    @property
    def is_surely_worse(self) -> bool:
        """Whether they are surely worse than a good worker's."""
        return self.p <= SELDOM


def gold_record(work: Work, worker_id: int, but: int | None = None) -> GoldRecord:
    """A worker's answers to check questions (`but` of one set), of batches with closed answers.

    Not those of gold sets that were retired, nor those from before the worker was let in again.
    """
    since = worker_of(work, worker_id).readmitted_at or 0
    query = (
        select(gold.right_answer(work.plan), event.c.grade)
        .select_from(
            PLACED_ANSWERS.join(gold_table, gold_table.c.pair_id == member.c.pair_id).join(
                judging_set, judging_set.c.id == place.c.set_id
            )
        )
        .where(
            place.c.worker_id == worker_id,
            place.c.kind == "gold",
            judging_set.c.open == 1,
            judging_set.c.id.is_distinct_from(but),
            assignment.c.finished_at > since,
            event.c.kind.not_in(("broken", "clear")),
        )
    )
    rel = work.plan.scale.relevant_from
    counts = dict.fromkeys(("missed", "relevant", "false_alarms", "other"), 0)
    for expert, grade in work.db.execute(query):
        relevant = expert >= rel
        is_wrong = grade is None or (grade >= rel) != relevant
        counts["relevant" if relevant else "other"] += 1
        counts["missed" if relevant else "false_alarms"] += is_wrong
    return GoldRecord(**counts)


def is_surely_worse(work: Work, assigned: Assignment) -> bool:
    """Whether a worker's answers to gold are surely worse than a good worker's; it is stored."""
    record = gold_record(work, assigned.worker_id)
    work.insert(
        outcome,
        assignment_id=assigned.id,
        check="surely",
        value=record.p,
        at_least=SELDOM,
        passed=int(not record.is_surely_worse),
        action=SURELY,
    )
    return record.is_surely_worse


def says_relevant(answered: Opinion, is_relevant: bool, rel: int) -> bool:
    """Whether an answer says relevant; "cannot tell" says the opposite of what is true."""
    return not is_relevant if answered.grade is None else answered.grade >= rel


def counted_right(plan: Plan, experts: Mapping[int, int], answers: Opinions) -> tuple[int, int]:
    """How many counted pairs of a qualification's set are right, and how many count.

    Broken ones are left out on both sides; what was not answered is wrong.
    """
    rel, right, counted = plan.scale.relevant_from, 0, 0
    positions = sorted(experts)
    for at in positions[:1] if plan.qualification.gold == "one" else positions:
        answered, grade = answers.get(at), experts[at]
        if answered is not None and answered.kind == "broken":
            continue
        counted += 1
        if answered is not None:
            is_relevant = level_of(plan, grade) > 0
            right += says_relevant(answered, is_relevant, rel) == is_relevant
    return right, counted


def set_ndcg(plan: Plan, experts: Mapping[int, int], ranks: Mapping[int, int]) -> float:
    """The NDCG score of ranks by position; not a number where no positive grade is ranked."""
    levels = [level_of(plan, experts[at]) for at in ranks]
    dense = [sorted(ranks.values()).index(rank) + 1 for rank in ranks.values()]
    return ndcg_score(levels, dense, plan.checks.ideal)


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
            is_relevant = level_of(work.plan, expert.grade) > 0
            if says_relevant(answered, is_relevant, rel) != is_relevant:
                missed.append(
                    Missed(
                        place=row.key,
                        position=shown.index(at) + 1,
                        said=answered.grade,
                        value=answered.value,
                        expert=work.plan.scale.counts_as(expert.grade),
                        reason=expert.reason,
                        passage=expert.passage,
                        bucket=answered.bucket,
                    )
                )
    return missed
