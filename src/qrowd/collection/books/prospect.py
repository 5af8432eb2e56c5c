"""What a campaign that is made was expected to come to: the size of its batches, its cost."""

from __future__ import annotations

import json
from collections import defaultdict

from sqlalchemy import func, select

from qrowd.collection.database.schema import gold, job, judging_set, member
from qrowd.collection.database.store import Work
from qrowd.collection.plan.forecast import (
    documents_in_batch,
    essentials,
    spend_of,
    spread_of,
    workload_of,
)
from qrowd.collection.plan.turnout import PER_HOUR, Workload


def batch_documents(work: Work) -> float:
    """How many documents a full batch has."""
    s = judging_set.c
    sizes = select(s.role, func.sum(s.size), func.count(), func.count(s.topic_id.distinct()))
    of_role = {
        role: (float(documents) / (topics if work.plan.owner else sets))
        for role, documents, sets, topics in work.db.execute(
            sizes.where(work.own(judging_set)).group_by(s.role)
        )
    }
    return documents_in_batch(work.plan, of_role.get("pool", 0.0), of_role.get("gold", 0.0))


def foreseen_cost(work: Work, given_back: int = 0) -> float:
    """What the whole campaign was expected to cost: by its dry run, else by numbers.

    So many judgements were wanted then, and are no more.
    """
    plan = work.plan
    if not plan.paid:
        return 0.0
    rehearsals = select(job.c.result).where(
        work.own(job), job.c.kind == "rehearsal", job.c.state == "done"
    )
    result = work.db.scalar(rehearsals.order_by(job.c.id.desc()).limit(1))
    if result and (spend := spend_of(json.loads(result))):
        return spend.items.total
    return spread_of(essentials(plan), _workload(work, given_back), "mixed", PER_HOUR)[0].total


def _workload(work: Work, given_back: int) -> Workload:
    """What was to be judged, in numbers, from the database."""
    plan, s = work.plan, judging_set.c
    wanted = work.number(select(func.sum(s.target)).where(work.pool_sets()))
    sets = work.count(judging_set, work.pool_sets())
    documents = work.number(select(func.sum(s.size)).where(work.pool_sets()))
    wanted += round(given_back * sets / max(1, documents))  # as judgements of whole sets
    topics = work.number(select(func.count(s.topic_id.distinct())).where(work.pool_sets()))
    grades: dict[str, dict[int, list[int]]] = {
        "gold": defaultdict(list),
        "qualification": defaultdict(list),
    }
    query = (
        select(s.role, s.id, gold.c.grade)
        .select_from(
            judging_set.join(member, member.c.set_id == s.id).join(
                gold, gold.c.pair_id == member.c.pair_id
            )
        )
        .where(work.own(judging_set), s.role.in_(grades))
        .order_by(s.id, member.c.position)
    )
    for role, number, grade in work.db.execute(query):
        grades[role][number].append(grade)
    gold_sets, tests = (tuple(map(tuple, grades[role].values())) for role in grades)
    batches = float(topics) if plan.owner else wanted / max(1, plan.counted_per_hit)
    return workload_of(plan, batches, sets, gold_sets, tests)
