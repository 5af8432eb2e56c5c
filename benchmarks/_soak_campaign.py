"""A made campaign of any size, for load tests."""

from __future__ import annotations

from collections.abc import Iterator

from qrowd.collection import audit
from qrowd.collection.building import DocumentRow, GoldRow, Material, TopicRow, create_campaign
from qrowd.collection.plan_reading import parse_plan
from qrowd.collection.store import Store, open_store

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


def make_campaign(
    database: str, name: str, *, pairs: int, target: int, lease_minutes: float
) -> Store:
    """A running campaign with so many pairs, in a new database."""
    store = open_store(database, new=True)
    longest = max(240.0, lease_minutes)
    text = PLAN.format(name=name, target=target, lease=lease_minutes, longest=longest)
    create_campaign(store, parse_plan(text), _material(pairs))
    with store.write(name) as work:
        audit.launch(work, "load test")
    return store


def _material(pairs: int) -> Material:
    topics = [TopicRow(f"t{at}", query=f"query {at}") for at in range(TOPICS)]
    pool = [(f"t{at % TOPICS}", f"d{at}") for at in range(pairs)]
    gold = [
        GoldRow(f"t{s % TOPICS}", f"g{s}-{d}", d % 2, "because", "", f"s{s}")
        for s in range(GOLD_SETS)
        for d in range(SIZE)
    ]
    return Material(topics, list(_documents(pairs)), pool, gold)


def _documents(pairs: int) -> Iterator[DocumentRow]:
    names = [f"d{at}" for at in range(pairs)]
    names += [f"g{s}-{d}" for s in range(GOLD_SETS) for d in range(SIZE)]
    for name in names:
        yield DocumentRow(name, f"The text of {name}. ".encode() * 20, f"Page {name}")
