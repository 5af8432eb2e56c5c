"""The simulated pools of TREC 2012: as many errors as printed; the printed figures on TREC-8."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.simulation.trec21 import TOPICS, printed_agreement, retrieved_share, simulate_pools

TABLE_1 = {
    "AP": (0.7023, 0.5802),
    "DCG(dcg='jk',base=10)": (0.7222, 0.5998),
    "RBP": (0.6732, 0.5341),
}


def test_printed_agreement_is_the_table() -> None:
    names, printed = printed_agreement()
    assert printed.shape == (31, 10)
    assert len(set(names)) == 31
    assert printed[names.index("SSEC3excl"), TOPICS.index("447")] == 0.9808
    assert printed.mean() == pytest.approx(0.81473, abs=1e-5)


def test_share_of_runs_by_loops(tiny_runs: q.RunSet) -> None:
    gold = q.Qrels.of(["t1", "t1", "t2", "t3"], ["d1", "d2", "d4", "d1"], [1, 0, 1, 0])
    np.testing.assert_allclose(retrieved_share(gold, tiny_runs, 1), [0.5, 0.5, 0.5, 0])
    np.testing.assert_allclose(retrieved_share(gold, tiny_runs, 3), [1, 1, 0.5, 0])


def test_agreement_is_as_printed_on_a_made_collection() -> None:
    made = q.simulate(topics=10, documents=600, assessors=2, votes=1, runs=20, seed=1)
    pools = simulate_pools(made.gold, made.runs, seed=3)
    assert len(pools.assessors) == 31
    said = pools.grade.reshape(len(made.gold), 31).T
    right = said == made.gold.grade
    names, printed = printed_agreement()
    order = np.argsort(names)
    shallow = retrieved_share(made.gold, made.runs, 20) > 0
    for topic in range(10):
        mask = shallow & (made.gold.pairs.topic == topic)
        seen = right[:, mask].mean(axis=1)
        assert np.abs(seen - printed[order, topic]).mean() < 0.04


def test_same_seed_same_pools() -> None:
    made = q.simulate(topics=2, documents=50, assessors=2, votes=1, runs=3, seed=1)
    one, other = (simulate_pools(made.gold, made.runs, seed=5) for _ in range(2))
    np.testing.assert_array_equal(one.grade, other.grade)
    assert (simulate_pools(made.gold, made.runs, seed=6).grade != one.grade).any()


def test_printed_figures_on_the_trec_8_runs(real_data: Path) -> None:
    gold = q.read_qrels(real_data / "trec8_t21" / "nist.qrels.gz")
    runs = q.read_runs(real_data / "trec8_t21" / "runs")
    truth = q.evaluate(runs, gold, list(TABLE_1)).values[:, 0].mean(axis=1)
    found = []
    for seed in range(2):
        each = simulate_pools(gold, runs, seed).by_assessor()
        means = q.evaluate(runs, each, list(TABLE_1), keep="means").values[:, :, 0]
        reference = np.broadcast_to(truth[:, None], means.shape)
        found.append([q.tau_b(means, reference).mean(1), q.tau_ap(means, reference).mean(1)])
    gap = np.mean(found, axis=0).T - np.array(list(TABLE_1.values()))
    assert np.sqrt((gap**2).mean()) < 0.015  # .011 over many seeds
