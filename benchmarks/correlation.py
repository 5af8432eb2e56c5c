"""Rank correlations of 100,000 vectors of 129 systems with one truth, with ties; beside scipy's.

    python -m benchmarks.correlation

scipy takes one pair of vectors at a time; it is timed on fewer of them and scaled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

import qrowd as q
from qrowd.data.arrays import Floats

VECTORS, SYSTEMS, FEWER = 100_000, 129, 500


def seconds(work: Callable[[], Any]) -> float:
    """The better of two runs."""
    found = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def looped(function: Callable[[Floats, Floats], Any], x: Floats, y: Floats) -> float:
    """Seconds per vector of a function that takes one at a time."""
    return seconds(lambda: [function(row, y) for row in x[:FEWER]]) / FEWER


def main() -> None:
    """Print the table."""
    random = np.random.default_rng(0)
    x = np.round(random.random((VECTORS, SYSTEMS)), 2)
    y = np.round(random.random(SYSTEMS), 2)
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
    others: dict[str, tuple[str, float]] = {
        "tau_ap": (
            "qrowd's, sampling 100 orders",
            seconds(lambda: q.tau_ap(x[:FEWER], y, samples=100)) / FEWER,
        ),
        "tau_b": ("scipy.stats.kendalltau", looped(stats.kendalltau, x, y)),
        "spearman": ("scipy.stats.spearmanr", looped(stats.spearmanr, x, y)),
    }
    print("| statistic | 100,000 vectors | per vector | other | per vector | ratio |")
    print("|---|---:|---:|---|---:|---:|")
    for name, function in ours.items():
        function(x[:2], y)
        spent = seconds(partial(function, x, y))
        other, theirs = others.get(name, ("", float("nan")))
        beside = f"{theirs * 1e6:.0f} us | {theirs / spent * VECTORS:.0f}" if other else "|"
        each = spent / VECTORS * 1e6
        print(f"| {name} | {spent:.2f} s | {each:.1f} us | {other} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
