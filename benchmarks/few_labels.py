"""Few human labels beside many machine labels: do intervals hold, how wide are they, who is first?

    QROWD_DATA=folder python -m benchmarks.few_labels [samples] [seed]

DL 2021: 63 runs, 53 topics, 10,828 pairs; the machine is the share of 82 machine assessors who say
relevant, or one that answers the opposite, always yes, or at random; gold is NIST's, grades 2 and 3
relevant. Samples of pairs (at random, by weight) and of topics; coverage is that of 90 % intervals,
widths are over those of human-only intervals from as many random pairs, or from the same topics.
Then other ways: five judges at once, one of whom covers a sixth of the pool; recalibrated labels;
Rogan and Gladen's formula; bootstrap quantiles. Last, the order of systems.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import qrowd as q
from benchmarks.coverage_real import data
from qrowd.aggregation.correction import labels_for_ranking
from qrowd.budget.sampling_design import probabilities, systematic
from qrowd.comparison.prediction_powered import Estimate, PairSample, topic_means, weighted_sums
from qrowd.data.arrays import Array, Floats
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.evaluation.linear import pair_weights
from qrowd.evaluation.measure import measures_of

PAIRS, TOPICS = (300, 700, 1400), (5, 10, 20)
LINEAR, ALL = ("P@10", "DCG@10"), ("P@10", "DCG@10", "nDCG@10", "AP")
ALONE = "human only"
FIVE = (
    "cmp-gpt4o-binary",
    "cmp-llama3.2-binary",
    "gpt-4o-binary-p0",
    "llama3.2-binary-p0",
    "mistral-binary-p0",
)


@dataclass(frozen=True, eq=False)
class World:
    """The gold, the merged machine, the runs; and the machine's probabilities by name."""

    gold: Qrels
    merged: Merged
    runs: RunSet
    crowd: Judgements
    seed: int = 0

    def judges(self) -> dict[str, Floats]:
        """The probability of relevance that each machine states."""
        p = self.merged.relevant
        coin = (np.random.default_rng(self.seed).random(len(p)) < 0.5).astype(np.float64)
        return {"mv": p, "opposite": 1 - p, "always yes": np.ones(len(p)), "random": coin}

    def believed(self, p: Floats) -> Merged:
        """A machine as a merged belief."""
        return replace(self.merged, posterior=np.stack([1 - p, p], axis=1), decided=None)


def read(seed: int = 0) -> World:
    """The collection."""
    folder = data() / "dl21"
    crowd = q.read_judgements(folder / "judgements.tsv.gz")
    merged: Merged = q.get("mv").fit(crowd)
    gold = q.read_qrels(folder / "gold.qrels.gz").binary(2)
    assert gold.pairs == merged.pairs
    return World(gold, merged, q.read_runs(str(folder / "runs" / "*.gz")), crowd, seed)


class Tally:
    """Coverage and width, summed over samples."""

    def __init__(self) -> None:
        self.held: dict[str, list[float]] = {}
        self.width: dict[str, list[float]] = {}

    def add(self, name: str, found: Estimate, truth: Floats) -> None:
        """One sample's intervals."""
        low, high = found.interval(0.9)
        known = ~np.isnan(low)
        inside = (low <= truth) & (truth <= high)
        self.held.setdefault(name, []).append(float(inside[known].mean()))
        self.width.setdefault(name, []).append(float((high - low)[known].mean()))

    def line(self, base: float) -> Iterator[str]:
        """Each estimate's coverage, and its width over the base."""
        for name, held in self.held.items():
            yield f"{name} {np.mean(held):.3f} {np.mean(self.width[name]) / base:.3f}"


def over_pairs(world: World, samples: int) -> None:
    """Pairs at random, and by weight."""
    truth, size = world.gold.grade.astype(np.float64), len(world.gold)
    print("pairs: coverage, width over human only from random pairs")
    for measure in measures_of(LINEAR):
        weights = pair_weights(world.runs, world.gold.pairs, measure)
        for n in PAIRS:
            base = 0.0
            for by, chance in chances(weights, n, size).items():
                tally, random = Tally(), np.random.default_rng([n, len(by), world.seed])
                for _ in range(samples):
                    at = np.flatnonzero(systematic(chance, random))
                    one_sample(tally, weights, truth, at, chance, world.judges())
                base = base or float(np.mean(tally.width[ALONE]))
                print(f"{measure!r} {n} by {by}:", "; ".join(tally.line(base)), flush=True)


def chances(weights: Any, n: int, size: int) -> dict[str, Floats]:
    """The probabilities of both designs; random first, being what the other is compared with."""
    worth = np.asarray(np.sqrt(weights.power(2).sum(axis=0))).ravel()
    return {"random": np.full(size, n / size), "weight": probabilities(worth, n, 0.05)}


def one_sample(
    tally: Tally, weights: Any, truth: Floats, at: Array, chance: Floats, judges: dict[str, Floats]
) -> None:
    """The human-only interval, and that of each machine."""
    target = weights @ truth
    nobody = PairSample(at, truth[at], chance[at], np.zeros((len(truth), 0)))
    tally.add(ALONE, weighted_sums(weights, nobody), target)
    for name, p in judges.items():
        tally.add(name, weighted_sums(weights, replace(nobody, machine=p[:, None])), target)


def over_topics(world: World, samples: int) -> None:
    """Whole topics at random."""
    truth = q.evaluate(world.runs, world.gold, ALL).values[:, 0]
    machines = {
        name: q.evaluate(world.runs, soft_of(world.gold, p), ALL).values[:, 0]
        for name, p in world.judges().items()
    }
    print("topics: coverage, width over human only from the same topics")
    for m, measure in enumerate(ALL):
        for n in TOPICS:
            tally, random = Tally(), np.random.default_rng([n, m, world.seed])
            for _ in range(samples):
                at = np.sort(random.choice(truth.shape[1], n, replace=False))
                none = np.zeros((truth.shape[1], 0, truth.shape[2]))
                every = {ALONE: none} | {k: v[m][:, None] for k, v in machines.items()}
                for name, values in every.items():
                    found = topic_means(truth[m][at], values, at)
                    tally.add(name, found, truth[m].mean(axis=0))
            line = tally.line(float(np.mean(tally.width[ALONE])))
            print(f"{measure} {n} topics:", "; ".join(line), flush=True)


def soft_of(gold: Qrels, p: Floats) -> SoftQrels:
    """Probabilities over the pool of the gold."""
    return SoftQrels(gold.pairs, gold.binary(1).soft().scale, np.stack([1 - p, p], axis=1))


def ranking(world: World, samples: int) -> None:
    """Kendall's tau of the systems with all gold: PPI++, recalibrated labels (all machines, and
    without those that are of no use, which is the order that is shown), human only.
    """
    truth, size = world.gold.grade.astype(np.float64), len(world.gold)
    print("ranking: tau with all gold by ppi, recalibrated, the order shown, human only")
    for measure in measures_of(LINEAR):
        weights = pair_weights(world.runs, world.gold.pairs, measure)
        for n in PAIRS:
            for by, chance in chances(weights, n, size).items():
                random = np.random.default_rng([n, len(by), world.seed])
                found: dict[str, list[list[float]]] = {}
                for _ in range(samples):
                    at = np.flatnonzero(systematic(chance, random))
                    for name, p in world.judges().items():
                        taus = one_ranking(world, weights, truth, at, chance, p)
                        found.setdefault(name, []).append(taus)
                text = (
                    f"{k} " + " ".join(f"{t:.3f}" for t in np.mean(v, axis=0))
                    for k, v in found.items()
                )
                print(f"{measure!r} {n} by {by}:", "; ".join(text), flush=True)


def one_ranking(
    world: World, weights: Any, truth: Floats, at: Array, chance: Floats, p: Floats
) -> list[float]:
    """The taus of one sample."""
    sample = PairSample(at, truth[at], chance[at], p[:, None])
    known = np.zeros(len(truth), np.bool_)
    known[at] = True
    labels, machine = world.gold.select(known), world.believed(p)
    plain = q.recalibrate(machine, labels).relevant
    shown = labels_for_ranking(machine, labels).relevant
    human = weighted_sums(weights, sample.alone()).value
    values = [weighted_sums(weights, sample).value, weights @ plain, weights @ shown, human]
    return [float(q.tau_b(np.nan_to_num(value), weights @ truth)) for value in values]


# --- other ways -----------------------------------------------------------------------------------


def other_ways(world: World, samples: int) -> None:
    """Intervals by `correct` itself, from random pairs: coverage, width over human only."""
    five = world.crowd.of_assessors(q.Index.of(FIVE)).with_pool(world.gold.pairs)
    ways: dict[str, tuple[Merged | Judgements, dict[str, Any], int]] = {
        "five judges": (five, {}, samples),
        "one judge, bootstrap": (world.merged, {"quantiles": "bootstrap"}, samples),
        "rg": (world.merged, {"method": "rg"}, samples),
        "recalibrate": (world.merged, {"method": "recalibrate"}, max(samples // 10, 5)),
    }
    print("other ways, random pairs: coverage, width over human only")
    for name, (machine, how, many) in ways.items():
        measures = LINEAR if name != "rg" else LINEAR[:1]
        truth = q.evaluate(world.runs, world.gold, measures).means()[:, 0]
        for n in PAIRS:
            found = [one_way(world, machine, truth, n, measures, at, how) for at in range(many)]
            for m, measure in enumerate(measures):
                held, width, alone = np.nanmean(np.array(found)[:, m], axis=0)
                print(f"{measure} {n}, {name}: {held:.3f} {width / alone:.3f}", flush=True)


def one_way(
    world: World,
    machine: Merged | Judgements,
    truth: Floats,
    n: int,
    measures: tuple[str, ...],
    number: int,
    how: dict[str, Any],
) -> list[list[float]]:
    """Coverage, width, width of human only, of each measure in one sample."""
    chosen = q.sample(world.merged, n, seed=10_000 * (world.seed + 1) + number)
    few = chosen.labelled(world.gold)
    found = q.correct(world.runs, machine, few, measures, seed=number, **how)
    inside = (found.low <= truth) & (truth <= found.high)
    return [
        [
            float(inside[m][known].mean()),
            float((found.high - found.low)[m][known].mean()),
            float((found.human_high - found.human_low)[m][known].mean()),
        ]
        for m, known in enumerate(~np.isnan(found.low))
    ]


def main(samples: int = 1000, seed: int = 0) -> None:
    """All tables; recalibrated intervals on a tenth of the samples."""
    if not (data() / "dl21").is_dir():
        print(f"no DL 2021 in {data()}; name the folder with QROWD_DATA")
        return
    world = read(seed)
    print(f"{samples} samples, seed {seed}")
    over_pairs(world, samples)
    over_topics(world, samples)
    other_ways(world, samples)
    ranking(world, samples)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
