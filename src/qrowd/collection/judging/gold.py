"""Gold sets: which one next, how many are left for a worker, how many pass each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import and_, exists, func, not_, select

from qrowd.collection.database.schema import (
    document,
    gold,
    judging_set,
    member,
    outcome,
    pair,
    place,
    topic,
)
from qrowd.collection.database.store import Found, Work

S = judging_set.c


def unseen(work: Work, worker_id: int, role: str = "gold") -> list[Found]:
    """The gold sets in use that a worker has never met."""
    seen = exists().where(place.c.worker_id == worker_id, place.c.set_id == S.id)
    usable = and_(S.campaign_id == work.campaign, S.role == role, S.open == 1, not_(seen))
    query = select(S.id, S.topic_id, S.size).where(usable).order_by(S.shuffle, S.id)
    return list(work.db.execute(query))


def draw(
    work: Work, worker_id: int, wanted: int, role: str = "gold", topics: Iterable[int] = ()
) -> list[Found]:
    """So many unseen gold sets at random; fewer if there are fewer.

    `topics`: those of the batch's other sets. As long as these differ from one another, gold is of
    further topics where it can: a topic that comes twice would tell which sets are gold.
    """
    left = unseen(work, worker_id, role)
    mixed = work.random.sample(left, len(left))
    uses = Counter(topics)
    if any(times > 1 for times in uses.values()):
        return mixed[:wanted]
    chosen: list[Found] = []
    while mixed and len(chosen) < wanted:
        one = min(mixed, key=lambda row: uses[row.topic_id])
        mixed.remove(one)
        chosen.append(one)
        uses[one.topic_id] += 1
    return chosen


def grades_of(work: Work, set_id: int) -> dict[int, Found]:
    """The gold of a set by position: rows with grade, reason, passage."""
    joined = member.join(gold, gold.c.pair_id == member.c.pair_id)
    query = select(member.c.position, gold.c.grade, gold.c.reason, gold.c.passage)
    rows = work.db.execute(query.select_from(joined).where(member.c.set_id == set_id))
    return {row.position: row for row in rows}


def all_grades(work: Work) -> dict[tuple[str, str], int]:
    """The experts' grades of all check questions, by topic and document."""
    joined = (
        gold.join(pair, pair.c.id == gold.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )
    query = select(topic.c.name, document.c.name.label("doc"), gold.c.grade).select_from(joined)
    rows = work.db.execute(query.where(pair.c.campaign_id == work.campaign))
    return {(row.name, row.doc): row.grade for row in rows}


def supply(work: Work, role: str = "gold") -> int:
    """How many gold sets are in use."""
    usable = and_(S.campaign_id == work.campaign, S.role == role, S.open == 1)
    return int(work.db.scalar(select(func.count()).select_from(judging_set).where(usable)) or 0)


def pass_rates(work: Work) -> list[Found]:
    """Rows (set id, topic id, in use, check, tried, passed) of every gold set that was tried."""
    tried = func.count().label("tried")
    passed = func.sum(outcome.c.passed).label("passed")
    check = outcome.c["check"]
    query = (
        select(S.id, S.topic_id, S.open, check, tried, passed)
        .join_from(judging_set, outcome, outcome.c.set_id == S.id)
        .where(S.campaign_id == work.campaign, S.role == "gold")
        .group_by(S.id, S.topic_id, S.open, check)
        .order_by(S.id, check)
    )
    return list(work.db.execute(query))
