"""Which bootstrap over topics? How often 95 % intervals of rank correlations hold what they should.

    python -m benchmarks.coverage_topics [collections]

40 systems, a reference and an estimate that distorts it and adds noise to each topic's scores. What
an interval should hold: the mean of the statistic over collections with as many topics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

import qrowd as q
from benchmarks._benchmark import Table, option, run
from qrowd.comparison.significance import recentred, topic_weights, weighted_means
from qrowd.data.arrays import Floats

SYSTEMS, REPLICATES, TAILS = 40, 400, (0.025, 0.975)
STATISTICS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "tau_ap": q.tau_ap,
    "tau_b": q.tau_b,
    "rbo": q.rbo,
    "rmse": q.rmse,
    "max_drop": q.max_drop,
}
WAYS = ("percentile", "basic", "bias-corrected", "recentred")


def collection(random: np.random.Generator, topics: int, noise: float) -> tuple[Floats, Floats]:
    """Scores [topic, system] of the estimate and of the reference."""
    level = np.linspace(0.2, 0.5, SYSTEMS) + random.normal(0, 0.1, (topics, 1))
    reference = level + random.normal(0, 0.15, (topics, SYSTEMS))
    distorted = 0.8 * reference + 0.03 * np.sin(3 * np.arange(SYSTEMS))
    return distorted + random.normal(0, noise, reference.shape), reference


def ends(samples: Floats, value: float) -> dict[str, tuple[float, float]]:
    """The interval by each way of making one."""
    low, high = np.quantile(samples, TAILS)
    below = (np.mean(samples < value) + np.mean(samples <= value)) / 2
    z = ndtri(np.clip(below, 0.5 / REPLICATES, 1 - 0.5 / REPLICATES))
    corrected = np.quantile(samples, ndtr(2 * z + ndtri(TAILS)))
    moved = recentred(samples, np.array(value), 0.95, np.array(-1.0), np.array(np.inf))
    return {
        "percentile": (float(low), float(high)),
        "basic": (2 * value - float(high), 2 * value - float(low)),
        "bias-corrected": (float(corrected[0]), float(corrected[1])),
        "recentred": (float(moved[0]), float(moved[1])),
    }


def coverage(
    topics: int, noise: float, statistic: Callable[[Floats, Floats], Floats], collections: int
) -> dict[str, float]:
    """How often each way's interval holds the expected statistic."""
    random = np.random.default_rng(5)
    values, intervals = [], []
    for at in range(collections):
        left, right = collection(random, topics, noise)
        values.append(float(statistic(left.mean(0), right.mean(0))))
        weights = topic_weights(topics, REPLICATES, at)
        samples = statistic(weighted_means(weights, left), weighted_means(weights, right))
        intervals.append(ends(samples, values[-1]))
    expected = np.mean(values)
    shares = {}
    for way in WAYS:
        low, high = np.array([interval[way] for interval in intervals]).T
        shares[way] = float(((low <= expected) & (expected <= high)).mean())
    return shares


@dataclass(frozen=True)
class Options:
    collections: int = option(400, positional=True)


def main(options: Options) -> None:
    """Print the table."""
    table = Table("topics, noise of the estimate", "statistic", *WAYS)
    for topics, noise in ((10, 0.1), (30, 0.1), (30, 0.3), (100, 0.3)):
        for name, statistic in STATISTICS.items():
            shares = coverage(topics, noise, statistic, options.collections)
            table.row(f"{topics}, {noise}", name, *(f"{shares[way]:.2f}" for way in WAYS))


if __name__ == "__main__":
    run(main, Options(), Options(collections=2), __doc__)
