"""Ranks added to labels of simulated assessors, and coverage of the worths' 90 % intervals.

python -m benchmarks.orders_simulated
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

import qrowd as q
from benchmarks._benchmark import Table, run

KINDS: tuple[tuple[str, dict[str, object]], ...] = (
    ("informative, as the grades", {}),
    ("informative, whatever the grades", {"consistent": False}),
    ("random, whatever the grades", {"consistent": False, "insight": 0.0}),
    ("random within grades", {"insight": 0.0}),
)
DOCUMENTS = 10  # of a topic, for the coverage


@dataclass(frozen=True)
class Options:
    collections: int = 20
    worlds: int = 5  # for the coverage
    topics: int = 200  # of a world


SHORT = Options(collections=2, worlds=1, topics=3)


def gain(seed: int, changes: dict[str, object]) -> np.ndarray:
    """What ranks add to nDCG and AP of gauss-rank's consensus on one collection."""
    made = q.simulate(
        topics=10, documents=40, assessors=30, votes=3, runs=0, orders=True, seed=seed, **changes
    )
    assert made.orders is not None
    given = q.Given(judgements=made.judgements)
    none = q.Orders.none(made.judgements.pairs, made.judgements.assessors)
    with_ranks, without = (
        q.evaluate(q.GaussRank().fit(orders, given).runs(), made.truth, [q.nDCG, q.AP]).means()
        for orders in (made.orders, none)
    )
    return np.asarray(with_ranks - without)[:, 0, 0]


def covered(method: str, seed: int = 0, topics: int = 200, documents: int = DOCUMENTS) -> float:
    """The share of true worths in their 90 % intervals: 60 preferences in each topic."""
    random = np.random.default_rng(seed)
    worth = random.normal(size=(topics, documents))
    worth -= worth.mean(axis=1, keepdims=True)
    n, people = topics * 60, 50
    topic, left = random.integers(0, topics, n), random.integers(0, documents, n)
    right = (left + random.integers(1, documents, n)) % documents
    assessor = random.integers(0, people, n)
    p = 1 / (1 + np.exp(worth[topic, right] - worth[topic, left]))
    eta = random.beta(10, 1, people)[assessor] if method == "crowd-bt" else np.ones(n)
    wins = random.random(n) < eta * p + (1 - eta) * (1 - p)
    names = [
        q.Index(np.array([f"{letter}{at:03}" for at in range(size)], object))
        for letter, size in (("t", topics), ("d", documents), ("w", people))
    ]
    better, worse = np.where(wins, left, right), np.where(wins, right, left)
    codes = tuple(each.astype(np.int32) for each in (topic, better, worse, assessor))
    orders = q.Orders.from_couples((names[0], names[1], names[2]), codes)  # type: ignore[arg-type]
    consensus = q.get(method).fit(orders)
    true = worth[consensus.pairs.topic, consensus.pairs.document]
    return float((np.abs(consensus.worth - true) < 1.6449 * consensus.deviation).mean())


def main(options: Options) -> None:
    """Both tables."""
    table = Table("ranks", "nDCG", "AP", title="What ranks add")
    half = stats.t.ppf(0.975, options.collections - 1)
    for name, changes in KINDS:
        each = np.array([gain(seed, changes) for seed in range(options.collections)])
        widths = half * stats.sem(each, axis=0)
        means = zip(each.mean(axis=0), widths, strict=True)
        table.row(name, *(f"{mean:+.4f} ± {width:.4f}" for mean, width in means))
    table = Table("method", "worths", "covered", title="Worths")
    for method in ("plackett-luce", "crowd-bt"):
        shares = [covered(method, seed, options.topics) for seed in range(options.worlds)]
        worths = options.worlds * options.topics * DOCUMENTS
        table.row(method, f"{worths:,}", f"{np.mean(shares):.3f}")


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
