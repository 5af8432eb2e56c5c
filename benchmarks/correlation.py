"""Rank correlations of 100,000 vectors of 129 systems with one truth, with ties; beside scipy's.

    python -m benchmarks.correlation

scipy takes one pair of vectors at a time; it is timed on fewer of them and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._measure import least
from qrowd.data.arrays import Floats

SYSTEMS = 129


@dataclass(frozen=True)
class Options:
    vectors: int = 100_000
    fewer: int = 500  # vectors for what takes one at a time


SHORT = Options(vectors=500, fewer=20)


def seconds(work: Callable[[], Any]) -> float:
    """The better of two runs."""
    return least(work, 2).seconds


def main(options: Options) -> None:
    """Print the table."""
    random = np.random.default_rng(0)
    x = np.round(random.random((options.vectors, SYSTEMS)), 2)
    y = np.round(random.random(SYSTEMS), 2)
    few = x[: options.fewer]

    def looped(function: Callable[[Floats, Floats], Any]) -> float:
        """Seconds per vector of a function that takes one at a time."""
        return seconds(lambda: [function(row, y) for row in few]) / len(few)

    ours: dict[str, Callable[..., Floats]] = {
        "tau_ap": q.tau_ap,
        "tau_ap (one order for both)": partial(q.tau_ap, ties="together"),
        "tau_a": q.tau_a,
        "tau_b": q.tau_b,
        "spearman": q.spearman,
        "rbo": q.rbo,
        "rmse": q.rmse,
        "max_drop": q.max_drop,
    }
    others = {
        "tau_ap": (
            "qrowd's, sampling 100 orders",
            seconds(lambda: q.tau_ap(few, y, samples=100)) / len(few),
        ),
        "tau_b": ("scipy.stats.kendalltau", looped(stats.kendalltau)),
        "spearman": ("scipy.stats.spearmanr", looped(stats.spearmanr)),
    }
    table = Table(
        "statistic",
        f"{options.vectors:,} vectors",
        "each",
        "other",
        "other, each",
        "ratio",
        optional=("other", "other, each", "ratio"),
    )
    for name, function in ours.items():
        function(x[:2], y)  # to compile
        spent = seconds(partial(function, x, y))
        each = spent / len(x)
        beside = ["", "", ""]
        if name in others:
            other, theirs = others[name]
            beside = [other, f"{theirs * 1e6:.0f} us", f"{theirs / each:.0f}"]
        table.row(name, f"{spent:.3g} s", f"{each * 1e6:.1f} us", *beside)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
