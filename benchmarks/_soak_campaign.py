"""A made campaign of any size, for load tests; the size of a run and a line of its table."""

from __future__ import annotations

from dataclasses import dataclass

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, GoldRow, TopicRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.record import audit

NAME = "soak"
PLAN = """
[campaign]
name = "{name}"
[scale]
grades = [0, 1]
[sets]
target = {target}
[hit]
sets = 4
lease_minutes = {lease}
longest_minutes = {longest}
[pay]
hit = 0.10
budget = 1000000.00
[checks.seconds]
at_least = 0
"""
TOPICS, GOLD_SETS, SIZE = 20, 60, 5


@dataclass(frozen=True)
class Size:
    """How much of it: the figures of the table, or a short form for the tests."""

    workers: int
    requests: int
    kills: int
    pairs: int
    steady_seconds: float
    open_seconds: float
    events: int = 0


FULL = Size(200, 100_000, 100, 100_000, 300.0, 10.0, 1_000_000)
SHORT = Size(10, 400, 2, 300, 5.0, 2.0, 2_000)


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    wanted: str
    got: str


def make_campaign(
    database: str, name: str, *, pairs: int, target: int, lease_minutes: float
) -> Store:
    """A running campaign with so many pairs, in a new database."""
    store = open_store(database, new=True)
    longest = max(240.0, lease_minutes)
    text = PLAN.format(name=name, target=target, lease=lease_minutes, longest=longest)
    create_campaign(store, parse_plan(text), made_material(pairs))
    with store.write(name) as work:
        audit.launch(work, "load test")
    return store


def made_material(pairs: int, topics: int = TOPICS, times: int = 20) -> CampaignRows:
    """Topics, pairs, gold sets, and documents that say their name so many times."""
    queries = [TopicRow(f"t{at}", query=f"query {at}") for at in range(topics)]
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
