"""Gold sets: which one next, how many are left for a worker, how many pass each."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Table, and_, case, exists, func, not_, select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import gold, judging_set, member, outcome, pair, place
from qrowd.collection.database.store import Work
from qrowd.collection.plan.sections import Plan

S = judging_set.c


def _usable(work: Work, role: str) -> ColumnElement[bool]:
    return and_(work.own(judging_set), S.role == role, S.open == 1)


def supply(work: Work) -> int:
    """How many gold sets are in use."""
    return work.count(judging_set, _usable(work, "gold"))


class GoldSet(schema.JudgingSet):
    """A gold set, and how many workers have met it."""

    met: int


def unmet(work: Work, worker_id: int, role: str = "gold") -> list[GoldSet]:
    """The gold sets that a worker has never met, in a random order, the least met first.

    So gold comes again about equally often, as sets of the pool do.
    """
    own = exists().where(place.c.worker_id == worker_id, place.c.set_id == S.id)
    times = select(func.count()).where(place.c.set_id == S.id).scalar_subquery().label("met")
    query = select(judging_set, times).where(_usable(work, role), not_(own))
    rows = work.rows(query.order_by(S.id), GoldSet)
    return sorted(work.random.sample(rows, len(rows)), key=lambda row: row.met)


def right_answer(plan: Plan) -> ColumnElement[int]:
    """The answer that a grade of `gold` counts as, as a column."""
    scale = plan.scale
    if not scale.gold_grades:
        return gold.c.grade
    cuts = zip(scale.cuts_of_gold, scale.grades[1:], strict=True)
    counted = [(gold.c.grade >= cut, grade) for cut, grade in cuts]
    return case(*reversed(counted), else_=scale.grades[0])


class MemberGold(schema.Gold):
    """An expert's grade of the pair at a position of a set."""

    position: int


def grades_of(work: Work, set_id: int) -> dict[int, MemberGold]:
    """The gold of a set by position."""
    query = (
        select(*gold.c, member.c.position)
        .join_from(member, gold, gold.c.pair_id == member.c.pair_id)
        .where(member.c.set_id == set_id)
    )
    return {row.position: row for row in work.rows(query, MemberGold)}


def named_grades(
    work: Work, table: Table = gold, *conditions: ColumnElement[bool]
) -> dict[tuple[str, str], int]:
    """The right answers to all check questions, by topic and document; or the grades of another
    table, where the last one of a pair stands.
    """
    grade = right_answer(work.plan) if table is gold else table.c.grade
    query = (
        select(*schema.PAIR_NAMES, grade)
        .select_from(schema.NAMED_PAIRS.join(table, table.c.pair_id == pair.c.id))
        .where(work.own(pair), *conditions)
        .order_by(*table.primary_key.columns)
    )
    return {(topic, doc): grade for topic, doc, grade in work.db.execute(query)}


class PassRate(schema.TypedRow):
    """How often a gold set (`open`: it is in use) was tried, and passed a check."""

    id: int
    topic_id: int
    open: int
    check: str
    tried: int
    passed: int


def pass_rates(work: Work) -> list[PassRate]:
    """How often each gold set passed, of those that were tried; time is another matter."""
    check = outcome.c["check"]
    tried = func.count().label("tried")
    passed = func.sum(outcome.c.passed).label("passed")
    query = (
        select(S.id, S.topic_id, S.open, check, tried, passed)
        .join_from(judging_set, outcome, outcome.c.set_id == S.id)
        .where(work.own(judging_set), S.role == "gold", check != "seconds")
        .where(schema.STANDING_OUTCOME)
        .group_by(S.id, S.topic_id, S.open, check)
        .order_by(S.id, check)
    )
    return work.rows(query, PassRate)
