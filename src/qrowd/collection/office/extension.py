"""More pool, topics, runs or judgements while a campaign runs, each with its cost first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, func, select

from qrowd.collection.books.ledger import balance
from qrowd.collection.database.schema import NAMED_PAIRS, PAIR_NAMES, judging_set, pair, topic
from qrowd.collection.database.store import Work
from qrowd.collection.material.campaign_rows import Added, add, highest
from qrowd.collection.plan.forecast import gold_problem, set_sizes, unpassable
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.record import audit
from qrowd.errors import RuleError


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
    pairs = work.rows(select(*PAIR_NAMES).select_from(NAMED_PAIRS).where(work.own(pair)))
    present = {(row.topic, row.doc) for row in pairs}
    fresh = [names for names in dict.fromkeys(rows.pool) if names not in present]
    sizes, target = set_sizes(work.plan, fresh), work.plan.sets.target
    return _cost(work, len(fresh), len(sizes) * target, sum(sizes) * target)


def cost_of_target(work: Work, target: int, topic_name: str | None = None) -> Cost:
    """What a raised target (of one topic) would cost."""
    s = judging_set.c
    added = target - s.target
    lower = and_(pool_sets(work, topic_name), s.target < target)
    query = select(func.sum(added), func.sum(added * s.size), func.sum(s.size)).where(lower)
    sets, judgements, pairs = (int(total or 0) for total in work.db.execute(query).one())
    return _cost(work, pairs, sets, judgements)


def pool_sets(work: Work, topic_name: str | None = None) -> ColumnElement[bool]:
    """The pool's sets that are offered (of one topic, where it is named)."""
    s = judging_set.c
    offered = and_(work.own(judging_set), s.role == "pool", s.open == 1)
    if topic_name is None:
        return offered
    named = select(topic.c.id).where(work.own(topic), topic.c.name == topic_name)
    return and_(offered, s.topic_id.in_(named))


def _cost(work: Work, pairs: int, sets: int, judgements: int) -> Cost:
    batches = math.ceil(sets / work.plan.counted_per_hit)
    amount = batches * work.plan.pay_of("judge")
    return Cost(pairs, judgements, batches, amount, balance(work).free)


def extend(work: Work, who: str, rows: CampaignRows, seen: int | None = None) -> Added:
    """Add topics, documents, gold and pool; the new pairs get sets of their own.

    `seen` is as in `audit.perform`.
    """
    audit.refuse_unseen(work, "extend", {}, seen)
    problem = gold_problem(work.plan, rows.gold) or unpassable(work.plan, rows.gold)
    if problem:
        raise RuleError("bad-value", f"gold: {problem}")
    before = {f"after_{name}": last for name, last in highest(work).items()}
    added = add(work, rows)
    after = {f"last_{name}": last for name, last in highest(work).items()}
    audit.record(work, who, "extend", {**vars(added), **before, **after})
    return added


def raise_target(work: Work, who: str, target: int) -> int:
    """More judgements of every document; the act's number, for undo."""
    return audit.perform(work, who, "raise target", {"target": target})
