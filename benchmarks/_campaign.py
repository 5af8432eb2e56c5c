"""A made campaign of any size: what load tests and large pages run on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import select

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import JudgingSet, judging_set
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging import picks
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.exposure import Set
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit
from qrowd.data.topics import Topic

TOPICS, GOLD_SETS, SIZE = 20, 60, 5


def launched(database: str, plan: str, material: CampaignRows) -> Store:
    """A running campaign in a new database."""
    store = open_store(database, new=True)
    parsed = parse_plan(plan)
    create_campaign(store, parsed, material)
    with store.write(parsed.campaign.name) as work:
        audit.perform(work, "benchmark", "launch")
    return store


def made_material(pairs: int, topics: int = TOPICS, times: int = 20) -> CampaignRows:
    """Topics, pairs, gold sets, and documents that say their name so many times."""
    queries = [Topic(f"t{at}", query=f"query {at}") for at in range(topics)]
    pool = [(f"t{at % topics}", f"d{at}") for at in range(pairs)]
    gold = [
        GoldRow(f"t{s % topics}", f"g{s}-{d}", d % 2, "because", "", f"s{s}")
        for s in range(GOLD_SETS)
        for d in range(SIZE)
    ]
    names = [name for _, name in pool] + [row.document for row in gold]
    documents = (
        DocumentRow(name, f"The text of {name}. ".encode() * times, f"Page {name}")
        for name in names
    )
    return CampaignRows(queries, documents, pool, gold)


def passed_over(work: Work, worker_id: int, batch: Iterable[JudgingSet]) -> list[int]:
    """Sets that came before one of those picked, by the slow way: all open sets, one by one.

    Call it before the lease, with what `queue.compose` gave, gold among it; it must be empty.
    """
    rows = work.rows(select(judging_set).where(picks.open_to(work, worker_id)), JudgingSet)
    return left_behind(rows, batch)


def left_behind(rows: Iterable[JudgingSet | Set], batch: Iterable[JudgingSet | Set]) -> list[int]:
    """Of these sets, those that came before one of those picked, gold counted among its topics."""
    left = {row.id: row for row in rows}
    uses: Counter[int] = Counter()
    before: list[int] = []
    for row in batch:
        if row.role == "pool":
            del left[row.id]
            rank = (-row.priority, row.held, uses[row.topic_id])
            before += [
                other.id
                for other in left.values()
                if (-other.priority, other.held, uses[other.topic_id]) < rank
            ]
        uses[row.topic_id] += 1
    return before
