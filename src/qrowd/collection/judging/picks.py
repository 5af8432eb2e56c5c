"""Which sets a worker gets: one order for all, and nothing that comes first is passed over.

Order: the highest priority; the fewest held; a topic that the batch has least of; random. A set is
*allowed* to a worker who never had it and did not fail its topic's questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import ColumnElement, and_, exists, func, literal_column, not_, select

from qrowd.collection.database.schema import OPEN_SETS, expertise, judging_set, place
from qrowd.collection.database.store import Found, Work

S = judging_set.c
_ROOM: ColumnElement[bool] = literal_column(
    OPEN_SETS
)  # written out, so that the index made for it is used


def open_to(work: Work, worker_id: int) -> ColumnElement[bool]:
    """The condition that a set of the pool is open and allowed."""
    had = exists().where(place.c.worker_id == worker_id, place.c.set_id == S.id)
    failed = exists().where(
        expertise.c.worker_id == worker_id,
        expertise.c.topic_id == S.topic_id,
        expertise.c.passed == 0,
    )
    return and_(S.campaign_id == work.campaign, _ROOM, not_(had), not_(failed))


def pick(work: Work, worker_id: int, wanted: int) -> list[Found]:
    """The next sets of the pool for a worker, at most `wanted`."""
    allowed = open_to(work, worker_id)
    chosen: list[Found] = []
    while len(chosen) < wanted:
        found = _next(work, allowed, chosen)
        if found is None:
            break
        chosen.append(found)
    return chosen


def _next(work: Work, allowed: ColumnElement[bool], chosen: list[Found]) -> Found | None:
    free = and_(allowed, S.id.not_in([row.id for row in chosen]))
    first = select(S.id, S.topic_id, S.size, S.priority, S.held).where(free)
    best = work.db.execute(
        first.order_by(S.priority.desc(), S.held, S.shuffle).limit(1)
    ).one_or_none()
    uses = Counter(row.topic_id for row in chosen)
    if best is None or not uses[best.topic_id]:
        return best
    return _mixed(work, free, best, uses) or best


def _mixed(work: Work, free: ColumnElement[bool], best: Found, uses: Counter[int]) -> Found | None:
    """Among the equals of `best`, one of a topic that the batch has least of."""
    equal = and_(free, S.priority == best.priority, S.held == best.held)
    query = select(S.id, S.topic_id, S.size, S.priority, S.held).where(equal).order_by(S.shuffle)
    for most in range(uses[best.topic_id]):
        used_more = [topic for topic, times in uses.items() if times > most]
        found = work.db.execute(query.where(S.topic_id.not_in(used_more)).limit(1)).one_or_none()
        if found is not None:
            return found
    return None


def pick_topic(work: Work, worker_id: int) -> list[Found]:
    """All sets of the next topic that nobody owns, for mode owner."""
    allowed = open_to(work, worker_id)
    owned = select(judging_set.c.topic_id).where(
        S.campaign_id == work.campaign, S.role == "pool", S.held > 0
    )
    first = select(S.topic_id).where(allowed, S.topic_id.not_in(owned.scalar_subquery()))
    grouped = first.group_by(S.topic_id).order_by(func.max(S.priority).desc(), func.min(S.shuffle))
    topic = work.db.scalar(grouped.limit(1))
    if topic is None:
        return _rest_of_own_topic(work, worker_id, allowed)
    return _sets_of(work, allowed, int(topic))


def _rest_of_own_topic(work: Work, worker_id: int, allowed: ColumnElement[bool]) -> list[Found]:
    """Sets that were added to a topic which this worker owns."""
    mine = (
        select(S.topic_id)
        .join_from(judging_set, place, place.c.set_id == S.id)
        .where(place.c.worker_id == worker_id, place.c.held == 1)
    )
    topic = work.db.scalar(
        select(S.topic_id).where(allowed, S.topic_id.in_(mine)).order_by(S.topic_id).limit(1)
    )
    return [] if topic is None else _sets_of(work, allowed, int(topic))


def _sets_of(work: Work, allowed: ColumnElement[bool], topic: int) -> list[Found]:
    query = select(S.id, S.topic_id, S.size, S.priority, S.held).where(allowed, S.topic_id == topic)
    return list(work.db.execute(query.order_by(S.shuffle)))


def passed_over(work: Work, worker_id: int, picked: Iterable[int]) -> list[int]:
    """Sets that came before one of those picked, by the slow way: all open sets, one by one.

    For tests and the soak: call it before the lease, with what `pick` gave; it must be empty.
    """
    query = select(S.id, S.topic_id, S.priority, S.held).where(open_to(work, worker_id))
    left = {row.id: row for row in work.db.execute(query)}
    uses: Counter[int] = Counter()
    before: list[int] = []
    for number in picked:
        got = left.pop(number)
        rank = (-got.priority, got.held, uses[got.topic_id])
        before += [
            other.id
            for other in left.values()
            if (-other.priority, other.held, uses[other.topic_id]) < rank
        ]
        uses[got.topic_id] += 1
    return before
