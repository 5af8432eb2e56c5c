"""Which sets a worker gets: one order for all, and nothing that comes first is passed over.

Order: the highest priority; the fewest held; a topic that the batch has least of; random. A set is
*allowed* to a worker who never had it and did not fail its topic's questions.
"""

from __future__ import annotations

from collections import Counter

from sqlalchemy import ColumnElement, and_, exists, func, literal_column, not_, select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import PLACED_SETS, JudgingSet, expertise, judging_set, place
from qrowd.collection.database.store import Work

S = judging_set.c
# written out, so that the index made for it is used
_ROOM: ColumnElement[bool] = literal_column(schema.OPEN_SETS)
_SETS = select(judging_set)


def open_to(work: Work, worker_id: int) -> ColumnElement[bool]:
    """The condition that a set of the pool is open and allowed."""
    had = exists().where(place.c.worker_id == worker_id, place.c.set_id == S.id)
    failed = exists().where(
        expertise.c.worker_id == worker_id,
        expertise.c.topic_id == S.topic_id,
        expertise.c.passed == 0,
    )
    return and_(work.own(judging_set), _ROOM, not_(had), not_(failed))


def pick(work: Work, worker_id: int, wanted: int) -> list[JudgingSet]:
    """The next sets of the pool for a worker, at most `wanted`."""
    allowed = open_to(work, worker_id)
    chosen: list[JudgingSet] = []
    while len(chosen) < wanted and (row := _next(work, allowed, chosen)) is not None:
        chosen.append(row)
    return chosen


def _next(work: Work, allowed: ColumnElement[bool], chosen: list[JudgingSet]) -> JudgingSet | None:
    free = _SETS.where(allowed, S.id.not_in([row.id for row in chosen]))
    best = work.row(free.order_by(S.priority.desc(), S.held, S.shuffle).limit(1), JudgingSet)
    uses = Counter(row.topic_id for row in chosen)
    if best is None or not uses[best.topic_id]:
        return best
    # among the equals of the best, one of a topic that the batch has least of
    equal = free.where(S.priority == best.priority, S.held == best.held).order_by(S.shuffle)
    for most in range(uses[best.topic_id]):
        used_more = [topic_id for topic_id, times in uses.items() if times > most]
        row = work.row(equal.where(S.topic_id.not_in(used_more)).limit(1), JudgingSet)
        if row is not None:
            return row
    return best


def pick_topic(work: Work, worker_id: int) -> list[JudgingSet]:
    """All sets of the next topic that nobody owns, for mode owner; else what came to an own one."""
    allowed = open_to(work, worker_id)
    owned = select(S.topic_id).where(work.pool_sets(), S.held > 0)
    unowned = select(S.topic_id).where(allowed, S.topic_id.not_in(owned.scalar_subquery()))
    best = (func.max(S.priority).desc(), func.min(S.shuffle))
    topic_id = work.db.scalar(unowned.group_by(S.topic_id).order_by(*best).limit(1))
    if topic_id is None:
        mine = (
            select(S.topic_id)
            .select_from(PLACED_SETS)
            .where(place.c.worker_id == worker_id, place.c.held == 1)
        )
        grown = select(S.topic_id).where(allowed, S.topic_id.in_(mine))
        topic_id = work.db.scalar(grown.order_by(S.topic_id).limit(1))
    if topic_id is None:
        return []
    return work.rows(_SETS.where(allowed, S.topic_id == topic_id).order_by(S.shuffle), JudgingSet)
