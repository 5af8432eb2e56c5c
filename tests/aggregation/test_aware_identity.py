"""AWARE and random relevance meet: across rooms."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation.panels import merge_scores
from qrowd.aggregation.scores.unsupervised import UniformAware

LINEAR = ["P@3", "DCG@4", "DCG(dcg='jk', base=2)", "RBP", "P@5"]


def whole_panel() -> tuple[q.Judgements, q.RunSet]:
    """Three assessors who judge everything, two runs."""
    random = np.random.default_rng(5)
    topics = np.repeat(["1", "2"], 8).tolist()
    documents = [f"d{i}" for i in range(8)] * 2
    assessors = ["a", "b", "c"]
    crowd = q.Judgements.of(
        topics * 3, documents * 3, np.repeat(assessors, 16), random.integers(0, 2, 48)
    )
    runs = q.RunSet.of(
        np.repeat(["x", "y"], 16), topics * 2, documents * 2, random.permutation(32).astype(float)
    )
    return crowd, runs


@pytest.mark.parametrize("name", LINEAR)
def test_uniform_is_the_expected_measure_under_the_votes(name: str) -> None:
    """For measures linear in relevance, everybody judging everything (Ferrante et al. 2019)."""
    crowd, runs = whole_panel()
    by_each = q.evaluate(runs, crowd.by_assessor(), [name])
    by_chance = q.evaluate(runs, q.get("binmv").fit(crowd).soft(), [name])
    assert UniformAware().fit(by_each).values == pytest.approx(by_chance.values, abs=1e-12)


@pytest.mark.parametrize("by", ["ds", "trust"])
@pytest.mark.parametrize("name", LINEAR)
def test_weighted_is_the_expected_measure_under_weighted_votes(name: str, by: str) -> None:
    """The same weights in each topic: AWARE's product, and `wbinmv`."""
    crowd, runs = whole_panel()
    merged = q.WeightedBinomialVote(by=by).fit(crowd)
    weight = merged.assessors["weight"]
    assert np.ptp(weight) > 0.05
    by_each = q.evaluate(runs, crowd.by_assessor(), [name])
    aware = merge_scores(by_each, np.repeat(weight[None, :, None], 2, axis=2), "these weights")
    by_chance = q.evaluate(runs, merged, [name])
    assert aware.values == pytest.approx(by_chance.values, abs=1e-12)
