"""More pool, topics, runs or judgements while a campaign runs, each with its cost first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import and_, func, select

from qrowd.collection.books.ledger import balance
from qrowd.collection.database.schema import document, judging_set, pair, topic
from qrowd.collection.database.store import Work
from qrowd.collection.material.campaign_rows import Added, add, highest
from qrowd.collection.office.acts import pool_sets
from qrowd.collection.plan.forecast import gold_problem, set_sizes, unpassable
from qrowd.collection.plan.rows import Material
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


def _cost(work: Work, pairs: int, sets: int, judgements: int) -> Cost:
    each = work.plan.hit.sets - work.plan.gold_per_hit
    batches = math.ceil(sets / each)
    amount = batches * work.plan.pay_of("judge")
    return Cost(pairs, judgements, batches, amount, balance(work).free)


def new_pairs(work: Work, material: Material) -> list[tuple[str, str]]:
    """The pairs of a pool that the campaign does not have yet."""
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    query = select(topic.c.name, document.c.name.label("doc")).select_from(joined)
    rows = work.db.execute(query.where(pair.c.campaign_id == work.campaign))
    known = {(row.name, row.doc) for row in rows}
    return [one for one in dict.fromkeys(material.pool) if one not in known]


def cost_of_pool(work: Work, material: Material) -> Cost:
    """What judging the new pairs would cost."""
    fresh = new_pairs(work, material)
    sizes, target = set_sizes(work.plan, fresh), work.plan.sets.target
    return _cost(work, len(fresh), len(sizes) * target, sum(sizes) * target)


def cost_of_target(work: Work, target: int, topic_name: str | None = None) -> Cost:
    """What a raised target (of one topic) would cost."""
    s = judging_set.c
    more = target - s.target
    own = and_(pool_sets(work, topic_name), s.target < target)
    query = select(func.sum(more), func.sum(more * s.size), func.sum(s.size)).where(own)
    sets, judgements, pairs = (int(one or 0) for one in work.db.execute(query).one())
    return _cost(work, pairs, sets, judgements)


def extend(work: Work, who: str, material: Material, seen: int | None = None) -> Added:
    """Add topics, documents, gold and pool; the new pairs get sets of their own.

    `seen` is as in `audit.perform`.
    """
    audit.refuse_unseen(work, "extend", {}, seen)
    problem = gold_problem(work.plan, material.gold) or unpassable(work.plan, material.gold)
    if problem:
        raise RuleError("bad-value", f"gold: {problem}")
    before = {f"after_{name}": last for name, last in highest(work).items()}
    done = add(work, material)
    after = {f"last_{name}": last for name, last in highest(work).items()}
    audit.record(work, who, "extend", {**vars(done), **before, **after})
    return done


def raise_target(work: Work, who: str, target: int, topic_name: str | None = None) -> int:
    """More judgements of every document (of one topic); the act's number, for undo."""
    details = {"target": target} | ({"topic": topic_name} if topic_name else {})
    return audit.perform(work, who, "raise target", details)
