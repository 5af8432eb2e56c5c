"""Gold cannot be told from the rest by its place, its topic, its size or its name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select
from tests.collection.making import Site, make_site, material

from qrowd.collection.database.schema import place
from qrowd.collection.judging.offer import Offer, ShownSet

PLAN = """
[campaign]
name = "tiny"
seed = 3
[sets]
size = 3
target = 3
[hit]
sets = 6
[checks.seconds]
at_least = 0
"""


def numbers(offer: Offer, at: int, one: ShownSet) -> list[float]:
    """What can be counted: the place, how often its topic comes, its size, its name."""
    uses = Counter(shown.topic.query for shown in offer.sets)
    return [at, uses[one.topic.query], len(one.documents), *map(ord, one.key[:4])]


@pytest.mark.parametrize("topics", [5, 12])
def test_nothing_that_can_be_counted_tells_gold(topics: int, tmp_path: Path) -> None:
    """Not the topic that comes twice where there are five, nor sets of two among those of three."""
    made = material(topics=topics, pool=350 // topics, gold_sets=8 * topics)
    site = make_site(f"sqlite:///{tmp_path / 'gold.db'}", PLAN, made)
    seen: dict[str, list[float]] = {}
    for name in range(25):
        for offer in batches(site, f"w{name}"):
            seen |= {one.key: numbers(offer, at, one) for at, one in enumerate(offer.sets)}
    with site.store.snapshot() as db:
        kinds = {row.key: row.kind for row in db.execute(select(place.c.key, place.c.kind))}
    gold = np.array([kinds[key] == "gold" for key in seen])
    x = np.array(list(seen.values()))
    assert gold.sum() >= 60
    assert {2, 3} <= set(x[:, 2])
    for column in x.T:
        if column.var():
            assert abs(difference(column, gold)) < 4
    site.store.engine.dispose()


def batches(site: Site, name: str) -> list[Offer]:
    """The first batches of a worker."""
    worker, found = site.worker(name), []
    for _ in range(3):
        offer = site.next(worker)
        if not isinstance(offer, Offer):
            break
        found.append(offer)
        site.whole(worker)
    return found


def difference(column: np.ndarray, gold: np.ndarray) -> float:
    """The difference of the means, in standard errors."""
    one, two = column[gold], column[~gold]
    return float((one.mean() - two.mean()) / np.sqrt(one.var() / len(one) + two.var() / len(two)))
