"""The gaps of AWARE against slow plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from qrowd.aggregation.gaps import GAPS, Divergence
from qrowd.comparison.correlation import tau_ap
from qrowd.data.arrays import Floats


def slow_density(values: list[float], floor: float) -> list[float]:
    density = [0.0] * 100
    for g in range(100):
        for value in values:
            z = (g / 99 - value) / 0.015
            density[g] += math.exp(-z * z / 2)
    total = sum(density)
    density = [max(d / total, floor) for d in density]
    total = sum(density)
    return [d / total for d in density]


def slow_gap(gap: str, own: Floats, other: Floats, divergence: Divergence) -> float:
    """Of own[topics, runs] to other[topics, runs]."""
    topics, runs = own.shape
    if gap == "fro":
        squares = sum((own[t, s] - other[t, s]) ** 2 for t in range(topics) for s in range(runs))
        return math.sqrt(squares) / math.sqrt(topics * runs)
    if gap == "kld":
        p, q = (slow_density(list(m.ravel()), divergence.floor) for m in (own, other))
        if divergence.reverse:
            p, q = q, p
        return sum(p[g] * math.log(p[g] / q[g]) for g in range(100))
    means = [
        [sum(m[t, s] for t in range(topics)) / topics for s in range(runs)] for m in (own, other)
    ]
    if gap == "rmse":
        return math.sqrt(sum((a - b) ** 2 for a, b in zip(*means, strict=True)) / runs)
    if gap == "tau":
        return float(stats.kendalltau(means[0], means[1]).statistic)
    return float(tau_ap(means[0], means[1]))


def made(seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    scores, references = random.random((4, 3, 7)).round(1), random.random((5, 3, 7)).round(1)
    scores[1, 2] = np.nan  # judged nothing on one topic
    return scores, references


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("divergence", [Divergence(), Divergence(1e-6, reverse=True)])
def test_overall(gap: str, divergence: Divergence) -> None:
    scores, references = made(1)
    found = GAPS[gap].overall(scores, references, divergence)
    for k in range(4):
        topics = [t for t in range(3) if not np.isnan(scores[k, t]).any()]
        for h in range(5):
            wanted = slow_gap(gap, scores[k, topics], references[h, topics], divergence)
            assert found[k, h] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("divergence", [Divergence(), Divergence(1e-6, reverse=True)])
def test_by_topic(gap: str, divergence: Divergence) -> None:
    scores, references = made(2)
    found = GAPS[gap].by_topic(scores, references, divergence)
    for k in range(4):
        for h in range(5):
            for t in range(3):
                if np.isnan(scores[k, t]).any():
                    assert np.isnan(found[k, h, t])
                    continue
                wanted = slow_gap(gap, scores[k, [t]], references[h, [t]], divergence)
                assert found[k, h, t] == pytest.approx(wanted, abs=1e-12)
