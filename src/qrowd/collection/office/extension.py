"""What more pool or more judgements would cost while a campaign runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, func, select

from qrowd.collection.books.ledger import balance
from qrowd.collection.database.schema import NAMED_PAIRS, PAIR_NAMES, judging_set, pair, topic
from qrowd.collection.database.store import Work
from qrowd.collection.plan.forecast import set_sizes
from qrowd.collection.plan.rows import CampaignRows


@dataclass(frozen=True)
class Cost:
    """What an extension comes to, in minor units, and what is free."""

    pairs: int
    judgements: int
    batches: int
    amount: int
    free: int


def cost_of_pool(work: Work, rows: CampaignRows) -> Cost:
    """What judging those pairs of a pool would cost that the campaign does not have yet."""
    pairs = select(*PAIR_NAMES).select_from(NAMED_PAIRS).where(work.own(pair))
    present = {(topic_name, doc) for topic_name, doc in work.db.execute(pairs)}
    fresh = [names for names in dict.fromkeys(rows.pool) if names not in present]
    sizes, target = set_sizes(work.plan, fresh), work.plan.sets.target
    return _cost(work, len(fresh), len(sizes) * target, sum(sizes) * target)


def cost_of_target(work: Work, target: int, topic_name: str = "") -> Cost:
    """What a raised target (of one topic) would cost."""
    s = judging_set.c
    added = target - s.target
    lower = and_(pool_sets(work, topic_name), s.target < target)
    query = select(func.sum(added), func.sum(added * s.size), func.sum(s.size)).where(lower)
    sets, judgements, pairs = (int(total or 0) for total in work.db.execute(query).one())
    return _cost(work, pairs, sets, judgements)


def pool_sets(work: Work, topic_name: str = "") -> ColumnElement[bool]:
    """The pool's sets that are offered (of one topic, where it is named)."""
    s = judging_set.c
    offered = and_(work.own(judging_set), s.role == "pool", s.open == 1)
    if not topic_name:
        return offered
    named = select(topic.c.id).where(work.own(topic), topic.c.name == topic_name)
    return and_(offered, s.topic_id.in_(named))


def _cost(work: Work, pairs: int, sets: int, judgements: int) -> Cost:
    batches = math.ceil(sets / work.plan.counted_per_hit)
    amount = batches * work.plan.pay_of("judge")
    return Cost(pairs, judgements, batches, amount, balance(work).free)
