"""How well gold could be told: not where it has the pool's shapes, and said where it has not."""

from __future__ import annotations

import pytest

from qrowd.collection.plan.exposure import Exposure, exposure_of, roc_area
from qrowd.collection.plan.rows import CampaignRows, GoldRow
from qrowd.collection.plan.toml import parse_plan

PLAN = parse_plan('[campaign]\nname = "x"\n[people]\nworkers = 25\n')


def exposed(
    topics: int, documents: int, gold_sets: int, *, size: int = 5, gold_topics: int = 0
) -> Exposure:
    """A pool with so many documents and gold sets in each topic, or with gold in some topics."""
    pool = [(f"t{t}", f"d{d}") for t in range(topics) for d in range(documents)]
    gold = [
        GoldRow(f"t{t}", f"g{s}-{d}", d % 3, set=f"s{s}")
        for t in range(gold_topics or topics)
        for s in range(gold_sets)
        for d in range(size)
    ]
    found = exposure_of(PLAN, CampaignRows(pool=pool, gold=gold))
    assert found is not None
    return found


@pytest.mark.parametrize("topics", [4, 5, 12])
def test_gold_in_the_pools_shapes_is_hidden(topics: int) -> None:
    hidden = exposed(topics, 500 // topics, 12)
    assert hidden.told == ""
    assert hidden.area == pytest.approx(0.5, abs=0.02)
    assert "cannot be told" in str(hidden.sentences(PLAN)[0])


def test_what_tells_it_is_said() -> None:
    topics = exposed(12, 40, 12, gold_topics=4)
    assert topics.told == "topics"
    assert topics.area > 0.7
    sizes = exposed(5, 100, 12, size=3)  # too small, and sets do not grow
    assert sizes.told == "sizes"
    assert sizes.area > 0.7
    supply = exposed(5, 100, 1)  # five batches, one gold set in each topic
    assert supply.told == "supply"
    assert supply.area > 0.6
    for found in (topics, sizes, supply):
        assert f"{found.area:.2f}" in str(found.sentences(PLAN)[0])


def test_gold_that_comes_oftener_than_other_sets_is_said() -> None:
    often = exposed(5, 100, 2)
    assert (often.meets, often.enough) == (6, 20)  # 60 batches, 10 gold sets, a target of 3
    assert any("20 gold sets" in str(line) for line in often.sentences(PLAN))
    seldom = exposed(5, 100, 8)
    assert len(seldom.sentences(PLAN)) == 1


def test_without_hidden_gold_there_is_nothing_to_tell() -> None:
    rows = CampaignRows(pool=[("t", f"d{d}") for d in range(9)])
    assert exposure_of(PLAN, rows) is None


def test_the_area_by_hand() -> None:
    import numpy as np

    scores = np.array([3.0, 1.0, 1.0, 0.0])
    assert roc_area(scores, np.array([True, False, True, False])) == pytest.approx(3.5 / 4)
