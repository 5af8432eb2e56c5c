"""Ranks added to labels of simulated assessors, and coverage of the worths' 90 % intervals.

python -m benchmarks.orders_simulated
"""

from __future__ import annotations

import numpy as np

import qrowd as q

COLLECTIONS = 20
KINDS: tuple[tuple[str, dict[str, object]], ...] = (
    ("informative, as the grades", {}),
    ("informative, whatever the grades", {"consistent": False}),
    ("random, whatever the grades", {"consistent": False, "insight": 0.0}),
    ("random within grades", {"insight": 0.0}),
)


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


def covered(method: str, seed: int = 0, topics: int = 200, documents: int = 10) -> float:
    """The share of true worths in their 90 % intervals: 60 preferences in each topic."""
    random = np.random.default_rng(seed)
    worth = random.normal(size=(topics, documents))
    worth -= worth.mean(axis=1, keepdims=True)
    n, people = topics * 60, 50
    topic, one = random.integers(0, topics, n), random.integers(0, documents, n)
    other = (one + random.integers(1, documents, n)) % documents
    who = random.integers(0, people, n)
    p = 1 / (1 + np.exp(worth[topic, other] - worth[topic, one]))
    eta = random.beta(10, 1, people)[who] if method == "crowd-bt" else np.ones(n)
    wins = random.random(n) < eta * p + (1 - eta) * (1 - p)
    names = [
        q.Index(np.array([f"{letter}{at:03}" for at in range(size)], object))
        for letter, size in (("t", topics), ("d", documents), ("w", people))
    ]
    better, worse = np.where(wins, one, other), np.where(wins, other, one)
    codes = tuple(each.astype(np.int32) for each in (topic, better, worse, who))
    orders = q.Orders.from_couples((names[0], names[1], names[2]), codes)  # type: ignore[arg-type]
    found = q.get(method).fit(orders)
    pairs = found.pairs
    true = worth[pairs.topic, pairs.document]
    return float((np.abs(found.worth - true) < 1.6449 * found.deviation).mean())


def main() -> None:
    """Both tables."""
    print("| ranks | nDCG | AP |\n|---|---|---|")
    for name, changes in KINDS:
        each = np.array([gain(seed, changes) for seed in range(COLLECTIONS)])
        half = 2.093 * each.std(axis=0, ddof=1) / np.sqrt(COLLECTIONS)
        cells = [f"{m:+.4f} ± {h:.4f}" for m, h in zip(each.mean(axis=0), half, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |")
    print("| method | covered |\n|---|---|")
    for method in ("plackett-luce", "crowd-bt"):
        print(f"| {method} | {np.mean([covered(method, seed) for seed in range(5)]):.3f} |")


if __name__ == "__main__":
    main()
