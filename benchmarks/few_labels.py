"""Few human labels beside many machine labels: do intervals hold, how wide are they, who is first?

    QROWD_DATA=folder python -m benchmarks.few_labels [--only PART ...]

DL 2021: 63 runs, 53 topics, 10,828 pairs; the machine is the share of 82 machine assessors who say
relevant, or one that answers at random (in `ranking` also the opposite, and always yes); gold is
NIST's, grades 2 and 3 relevant. Samples of pairs (at random, by weight) and of topics; coverage is
that of 90 % intervals, widths are over those of human-only intervals from as many random pairs, or
from the same topics. Then coverage by the effective number of labelled pairs, here and on two made
collections; other ways: five judges at once, one of whom covers a sixth of the pool; bootstrap
quantiles; Rogan and Gladen's formula. Then the order of systems.

`steps`: P, DCG, AP and nDCG from pairs sampled by weight for all four at once: runs and differences
of runs, graded; from pairs at random; grade 3 only; a made pool in which topics have few relevant
documents; and TREC-8 with three made machines, whose errors differ by topic. Widths are over those
of human labels alone from the same pairs (Hajek's estimate; for AP and nDCG one step without the
machine), in every tenth sample. Claims are differences whose 95 % interval leaves out 0 (alone);
and those of all runs against one together (`better` and `worse` of `compare --baseline`, at 95 %),
each run being the baseline once, so that a couple counts twice.

`population`: the same where topics are a sample, too: as many as there are drawn with replacement
from those of DL 2021, the truth being the scores on all of these; intervals over topics, and for
comparison those for the pool.

`needed`: how far the number of topics that shows a difference is from what true scores ask for,
each run being the baseline in turn; beside it, what expected scores would ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import stdtrit

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import dl21, folder
from qrowd.aggregation.correction import labels_for_ranking
from qrowd.aggregation.one_step import FEWEST_EFFECTIVE, FEWEST_RELEVANT, OneStep
from qrowd.budget.sampling_design import (
    EVEN_BY_VARIANCE,
    probabilities,
    systematic,
    variance_shares,
)
from qrowd.comparison.prediction_powered import (
    EQUAL,
    Estimate,
    PairSample,
    topic_means,
    weighted_sums,
)
from qrowd.data.arrays import Array, Floats
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample
from qrowd.evaluation.linear import is_linear, pair_gains, pair_weights
from qrowd.evaluation.measure import measures_of

LINEAR, ALL = ("P@10", "DCG@10"), ("P@10", "DCG@10", "nDCG@10", "AP")
ALONE = "human only"
OF_ONE_MACHINE = ("pairs", "effective", "topics", "ways", "ranking")
PARTS = (*OF_ONE_MACHINE, "steps", "population", "needed")
SIZES = {  # of samples in the part `steps`
    "dl21": (100, 200, 300, 700),
    "dl21, at random": (300,),
    "dl21, grade 3": (300,),
    "made": (300,),
    "trec8": (300, 700),
}
CLAIMED = ("dl21", "trec8")  # whose claims are counted
PAIRS = 300  # in the parts `population` and `needed`
COVERAGE = (
    *("no interval", "runs", "worst run", "couples", "5th percentile", "neighbours"),
    *("bias", "half width", "couples' half width", "over human only"),
)
CLAIMS = (
    *("alone: wrong", "alone, neighbours: wrong", "together: wrong"),
    *("together, neighbours: wrong", "tables with a wrong one"),
)
SHOWN = ("mv", "random", "opposite", "always yes")
ORDERS = (ALONE, "ppi: mv", "recalibrated: random", *(f"shown: {name}" for name in SHOWN))
EFFECTIVE = (1, 3, 5, 7, 10, 15, 20, 30, 50)
FIVE = (
    "cmp-gpt4o-binary",
    "cmp-llama3.2-binary",
    "gpt-4o-binary-p0",
    "llama3.2-binary-p0",
    "mistral-binary-p0",
)


@dataclass(frozen=True)
class Options:
    samples: int = 1000  # a tenth of it for each row of `effective`
    seed: int = 0
    collection: int = 53  # topics of DL 2021
    pairs: tuple[int, ...] = (300, 700, 1400)
    topics: tuple[int, ...] = (5, 10, 20)
    draws: int = 80  # samples in parts that take long; half of them of TREC-8 and of `ways`
    collections: tuple[str, ...] = option(tuple(SIZES), choices=tuple(SIZES))
    only: tuple[str, ...] = option(PARTS, choices=PARTS)


SHORT = Options(
    samples=2, collection=8, pairs=(300,), topics=(5,), draws=2, collections=("dl21", "made")
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
        return {"mv": p, "random": coin}

    def worse(self) -> dict[str, Floats]:
        """Two more, of no use."""
        p = self.merged.relevant
        return {"opposite": 1 - p, "always yes": np.ones(len(p))}

    def believed(self, p: Floats) -> Merged:
        """A machine as a merged belief."""
        return replace(self.merged, posterior=np.stack([1 - p, p], axis=1), decided=None)


class Tally:
    """Coverage and width of 90 % intervals, summed over samples."""

    def __init__(self) -> None:
        self.held: dict[str, list[float]] = {}
        self.width: dict[str, list[float]] = {}

    def add(self, name: str, estimate: Estimate, truth: Floats) -> None:
        """One sample's intervals."""
        low, high = estimate.interval(0.9)
        known = ~np.isnan(low)
        inside = (low <= truth) & (truth <= high)
        self.held.setdefault(name, []).append(float(inside[known].mean()))
        self.width.setdefault(name, []).append(float((high - low)[known].mean()))

    def mean_width(self) -> float:
        """Of human-only intervals."""
        return float(np.mean(self.width[ALONE]))


def add_rows(table: Table, design: tuple[str, ...], sizes: list[tuple[Tally, float]]) -> None:
    """Of each estimate: its coverage, and its width over the base, by the size of the sample."""
    for name in sizes[0][0].held:
        cells = [
            cell
            for tally, base in sizes
            for cell in (np.mean(tally.held[name]), np.mean(tally.width[name]) / base)
        ]
        table.row(*design, name, *(f"{cell:.3f}" for cell in cells))


def by_size(sizes: tuple[int, ...], what: str) -> list[str]:
    """Columns with coverage and width."""
    return [f"{n:,} {what}: {figure}" for n in sizes for figure in ("coverage", "width")]


def over_pairs(world: World, options: Options) -> None:
    """Pairs at random, and by weight."""
    truth, size = world.gold.grade.astype(np.float64), len(world.gold)
    columns = ("measure", "by", "machine", *by_size(options.pairs, "pairs"))
    title = "Pairs"
    table = Table(*columns, title=title)
    for measure in measures_of(LINEAR):
        weights = pair_weights(world.runs, world.gold.pairs, measure)
        found: dict[str, list[tuple[Tally, float]]] = {}
        for n in options.pairs:
            base = 0.0
            for by, chance in chances(weights, n, size).items():
                tally, random = Tally(), np.random.default_rng([n, len(by), world.seed])
                for _ in range(options.samples):
                    at = np.flatnonzero(systematic(chance, random))
                    add_sample(tally, weights, truth, at, chance, world.judges())
                base = base or tally.mean_width()
                found.setdefault(by, []).append((tally, base))
        for by, tallies in found.items():
            add_rows(table, (repr(measure), by), tallies)


def chances(weights: Any, n: int, size: int) -> dict[str, Floats]:
    """The probabilities of both designs; random first, being what the other is compared with."""
    worth = np.asarray(np.sqrt(weights.power(2).sum(axis=0))).ravel()
    return {"random": np.full(size, n / size), "weight": probabilities(worth, n, 0.05)}


def add_sample(
    tally: Tally, weights: Any, truth: Floats, at: Array, chance: Floats, judges: dict[str, Floats]
) -> None:
    """The human-only interval, and that of each machine."""
    target = weights @ truth
    nobody = PairSample(at, truth[at], chance[at], np.zeros((len(truth), 0)))
    tally.add(ALONE, weighted_sums(weights, nobody), target)
    for name, p in judges.items():
        tally.add(name, weighted_sums(weights, replace(nobody, machine=p[:, None])), target)


def by_effective(world: World, options: Options) -> None:
    """Coverage of runs' intervals by how many labelled pairs their scores rest on."""
    title = "Effective number"
    spans = [f"{a} to {b}" for a, b in pairwise(EFFECTIVE)]
    table = Table("collection", "measure", *spans, f"{EFFECTIVE[-1]} and more", title=title)
    collections = {"dl21": (world.runs, world.gold, world.merged.relevant)}
    for share in (0.1, 0.4):
        made = q.simulate(topics=40, documents=100, runs=15, prevalence=share, seed=world.seed + 11)
        machine = q.get("mv").fit(made.judgements)
        collections[f"made, {share:.0%} relevant"] = (made.runs, made.truth, machine.relevant)
    for name, (runs, gold, machine) in collections.items():
        for measure in measures_of((*LINEAR, "RBP")):
            weights, truth = pair_weights(runs, gold.pairs, measure), gold.grade.astype(np.float64)
            effective, held = [], []
            for n in (50, 100, 200, *options.pairs):
                for by, chance in chances(weights, n, len(gold)).items():
                    random = np.random.default_rng([n, len(by), world.seed])
                    for _ in range(max(options.samples // 10, 2)):
                        at = np.flatnonzero(systematic(chance, random))
                        sample = PairSample(at, truth[at], chance[at], machine[:, None])
                        found = weighted_sums(weights, sample)
                        low, high = found.interval(0.9)
                        assert found.effective is not None
                        known = ~np.isnan(low) & (found.error > 0)
                        inside = (np.maximum(low, 0) <= weights @ truth) & (weights @ truth <= high)
                        effective.append(found.effective[known])
                        held.append(inside[known])
            span = np.digitize(np.concatenate(effective), EFFECTIVE[1:])
            inside = np.concatenate(held)
            figures = [inside[span == at] for at in range(len(EFFECTIVE))]
            cells = [f"{f.mean():.3f}" if len(f) >= 200 else "few" for f in figures]
            table.row(name, repr(measure), *cells)


def over_topics(world: World, options: Options) -> None:
    """Whole topics at random."""
    truth = q.evaluate(world.runs, world.gold, ALL).values[:, 0]
    machines = {
        name: q.evaluate(world.runs, soft_of(world.gold, p), ALL).values[:, 0]
        for name, p in world.judges().items()
    }
    columns = ("measure", "machine", *by_size(options.topics, "topics"))
    title = "Whole topics"
    table = Table(*columns, title=title)
    for m, measure in enumerate(ALL):
        found = []
        for n in options.topics:
            tally, random = Tally(), np.random.default_rng([n, m, world.seed])
            for _ in range(options.samples):
                at = np.sort(random.choice(truth.shape[1], n, replace=False))
                none = np.zeros((truth.shape[1], 0, truth.shape[2]))
                every = {ALONE: none} | {k: v[m][:, None] for k, v in machines.items()}
                for name, values in every.items():
                    estimate = topic_means(truth[m][at], values, at)
                    tally.add(name, estimate, truth[m].mean(axis=0))
            found.append((tally, tally.mean_width()))
        add_rows(table, (measure,), found)


def soft_of(gold: Qrels, p: Floats) -> SoftQrels:
    """Probabilities over the pool of the gold."""
    return SoftQrels(gold.pairs, gold.binary(1).soft().scale, np.stack([1 - p, p], axis=1))


def ranking(world: World, options: Options) -> None:
    """Kendall's tau of the systems with all gold: PPI++, recalibrated labels (all machines, and
    without those that are of no use, which is the order that is shown), human only.
    """
    truth, size = world.gold.grade.astype(np.float64), len(world.gold)
    table = Table("measure", "pairs", "by", *ORDERS, title="Order")
    for measure in measures_of(LINEAR):
        weights = pair_weights(world.runs, world.gold.pairs, measure)
        for n in options.pairs:
            for by, chance in chances(weights, n, size).items():
                random = np.random.default_rng([n, len(by), world.seed])
                taus: dict[str, list[float]] = {name: [] for name in ORDERS}
                for _ in range(options.draws):
                    at = np.flatnonzero(systematic(chance, random))
                    for name, values in orders(world, weights, truth, at, chance).items():
                        tau = q.tau_b(np.nan_to_num(values), weights @ truth)
                        taus[name].append(float(tau))
                means = [f"{np.mean(each):.3f}" for each in taus.values()]
                table.row(repr(measure), f"{n:,}", by, *means)


def orders(
    world: World, weights: Any, truth: Floats, at: Array, chance: Floats
) -> dict[str, Floats]:
    """Scores by each way, from one sample."""
    machines = world.judges() | world.worse()
    sample = PairSample(at, truth[at], chance[at], machines["mv"][:, None])
    known = np.zeros(len(truth), np.bool_)
    known[at] = True
    labels = world.gold.select(known)
    values = [
        weighted_sums(weights, sample.alone()).value,
        weighted_sums(weights, sample).value,
        weights @ q.recalibrate(world.believed(machines["random"]), labels).relevant,
        *(
            weights @ labels_for_ranking(world.believed(machines[name]), labels).relevant
            for name in SHOWN
        ),
    ]
    return dict(zip(ORDERS, values, strict=True))


# --- other ways -----------------------------------------------------------------------------------


def other_ways(world: World, options: Options) -> None:
    """Intervals by `correct` itself, from random pairs."""
    five = world.crowd.of_assessors(q.Index.of(FIVE)).with_pool(world.gold.pairs)
    ways: dict[str, tuple[Merged | Judgements, dict[str, Any]]] = {
        "five judges": (five, {}),
        "one judge, bootstrap": (world.merged, {"quantiles": "bootstrap"}),
        "`rg`": (world.merged, {"method": "rg"}),
    }
    title = "Other ways"
    table = Table("way", "measure", *by_size(options.pairs, "pairs"), title=title)
    for name, (machine, how) in ways.items():
        measures = LINEAR if name != "`rg`" else LINEAR[:1]
        truth = q.evaluate(world.runs, world.gold, measures).means()[:, 0]
        cells: list[list[str]] = [[] for _ in measures]
        for n in options.pairs:
            samples = [
                by_correct(world, machine, truth, n, measures, number, how)
                for number in range(options.draws // 2)
            ]
            for row, figures in zip(cells, np.nanmean(samples, axis=0), strict=True):
                held, width, alone = figures
                row += [f"{held:.3f}", f"{width / alone:.3f}"]
        for measure, row in zip(measures, cells, strict=True):
            table.row(name, measure, *row)


def by_correct(
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
    corrected = q.correct(world.runs, machine, few, measures, seed=number, **how)
    inside = (corrected.low <= truth) & (truth <= corrected.high)
    width = corrected.high - corrected.low
    alone = corrected.human_high - corrected.human_low
    return [
        [float(figure[m][known].mean()) for figure in (inside, width, alone)]
        for m, known in enumerate(~np.isnan(width + alone))
    ]


# --- AP and nDCG too ------------------------------------------------------------------------------


def graded(name: str, topics: int) -> tuple[Merged, Qrels, RunSet, tuple[str, ...]]:
    """A machine, gold, runs and the measures of a collection."""
    plain = ("P@10", "DCG@10", "AP", "nDCG@10")
    if name.startswith("dl21"):
        crowd, gold, runs = dl21(topics)
        machine: Merged = q.get("mv").fit(crowd)
        if name != "dl21, grade 3":
            return machine, gold, runs, ("P(rel=2)@10", "DCG@10", "AP(rel=2)", "nDCG@10")
        return machine, gold.binary(3), runs, plain
    if name == "made":
        made = q.simulate(
            topics=50, documents=150, runs=20, prevalence=0.05, assessors=9, votes=3, seed=3
        )
        assert made.runs is not None
        return q.get("mv").fit(made.judgements), made.truth, made.runs, plain
    gold = q.read_qrels(folder("trec8_t21") / "nist.qrels.gz").binary(1)
    runs = q.read_runs(str(folder("trec8_t21") / "runs" / "*"))
    random, each = np.random.default_rng(1), (3, len(gold.topics))
    topic = gold.pairs.topic
    hits = random.uniform(0.5, 0.9, each)[:, topic]
    alarms = random.uniform(0.02, 0.15, each)[:, topic]
    says = random.random((3, len(gold))) < np.where(gold.grade > 0, hits, alarms)
    judge, pair = np.nonzero(np.ones_like(says))
    crowd = Judgements.of(
        gold.pairs.topic_names[pair],
        gold.pairs.document_names[pair],
        np.array(["one", "two", "three"])[judge],
        says[judge, pair].astype(np.int8),
    )
    return q.get("mv").fit(crowd), gold, runs, plain


def steps(options: Options) -> None:
    """Coverage of runs and of couples in one step, and claims."""
    found: list[tuple[str, str, int, int, Steps]] = []
    for name in options.collections:
        machine, gold, runs, names = graded(name, options.collection)
        truth = q.evaluate(runs, gold, names).means()[:, 0]
        by = "random" if name.endswith("random") else "weight"
        worth = variance_shares(machine, runs, measures_of(names))  # as q.sample has it
        draws = options.draws // 2 if name == "trec8" else options.draws
        for n in SIZES[name]:
            rows = [Steps(means) for means in truth]
            chance = probabilities(worth, n, EVEN_BY_VARIANCE if by == "weight" else 1.0)
            for number in range(draws):
                at = systematic(chance, np.random.default_rng([options.seed, n, number]))
                chosen = Sample(gold.pairs.select(at), chance[at], by, gold.grade[at])
                step = OneStep(runs, machine, chosen)
                for row, measure in zip(rows, measures_of(names), strict=True):
                    row.add(step, measure, alone=number % 10 == 0)
            found += [(name, label, n, draws, row) for row, label in zip(rows, names, strict=True)]
    columns = ("collection", "measure", "pairs", "samples", *COVERAGE)
    table = Table(*columns, title="Coverage and widths")
    for name, label, n, draws, row in found:
        table.row(name, label, n, draws, *row.coverage())
    table = Table("collection", "measure", "pairs", *CLAIMS, title="Claims")
    for name, label, n, _, row in found:
        if name in CLAIMED:
            table.row(name, label, n, *row.claims())


def population(options: Options) -> None:
    """Coverage of scores on a population of topics, from a sample of these."""
    table = Table("over", "measure", *COVERAGE[:-1], title="Topics drawn anew")
    machine, gold, runs, names = graded("dl21", options.collection)
    measures, truth = measures_of(names), q.evaluate(runs, gold, names).means()[:, 0]
    worth = variance_shares(machine, runs, measures)
    rows = {over: [Steps(means) for means in truth] for over in ("pool", "topics")}
    for number in range(options.draws):
        random = np.random.default_rng([options.seed, PAIRS, number])
        drawn, labels, ranked, share = resampled(machine, gold, runs, worth, random)
        chance = probabilities(share, PAIRS, EVEN_BY_VARIANCE)
        at = systematic(chance, random)
        chosen = Sample(labels.pairs.select(at), chance[at], "weight", labels.grade[at])
        for over, steps in rows.items():
            step = OneStep(ranked, drawn, chosen, over == "topics")
            for row, measure in zip(steps, measures, strict=True):
                row.add(step, measure, alone=False)
    for over, steps in rows.items():
        for row, name in zip(steps, names, strict=True):
            table.row(over, name, *row.coverage()[:-1])


def needed(options: Options) -> None:
    """How many topics are needed, over how many the true scores ask for."""
    columns = ("collection", "measure", "deviation", "topics", "topics by expected scores")
    table = Table(*columns, title="Topics needed")
    for name in ("dl21", "made"):
        machine, gold, runs, names = graded(name, options.collection)
        truth = q.evaluate(runs, gold, names).values[:, 0]
        worth = variance_shares(machine, runs, measures_of(names))
        chance, ratios = probabilities(worth, PAIRS, EVEN_BY_VARIANCE), []
        for number in range(max(options.draws // 8, 1)):
            at = systematic(chance, np.random.default_rng([options.seed, PAIRS, number]))
            chosen = Sample(gold.pairs.select(at), chance[at], "weight", gold.grade[at])
            found = q.correct(runs, machine, chosen, names)
            assert found.by_topic is not None
            base = number * 7 % len(runs)
            true, expected = (
                np.delete(scores - scores[:, :, [base]], base, axis=2).std(axis=1, ddof=1)
                for scores in (truth, found.by_topic.values[:, 0])
            )
            drawn = q.against(found, runs, runs.runs.names[base]).spread
            most = true.max(axis=1)
            ratios.append(
                [
                    np.median(drawn / true, axis=1),
                    (drawn.max(axis=1) / most) ** 2,
                    (expected.max(axis=1) / most) ** 2,
                ]
            )
        for label, cells in zip(names, np.mean(ratios, axis=0).T, strict=True):
            table.row(name, label, *(f"{cell:.2f}" for cell in cells))


def resampled(
    machine: Merged, gold: Qrels, runs: RunSet, worth: Floats, random: np.random.Generator
) -> tuple[Merged, Qrels, RunSet, Floats]:
    """A collection of as many topics, drawn with replacement and named anew."""
    topics = random.integers(0, len(gold.topics), len(gold.topics))
    names = np.array([f"{number:04}" for number in range(len(topics))], object)
    starts, ranked_at = gold.pairs.topic_starts, runs.topics.find(gold.topics)[topics]
    row = np.concatenate([np.arange(starts[t], starts[t + 1]) for t in topics])
    own = np.repeat(np.arange(len(topics)), np.diff(starts)[topics])
    cell = (ranked_at[:, None] * len(runs) + np.arange(len(runs))).ravel()
    lengths = np.diff(runs.starts)[cell]
    rank = np.concatenate([np.arange(runs.starts[c], runs.starts[c + 1]) for c in cell])
    made = RunSet(
        runs.runs,
        q.Index.of(names),
        runs.documents,
        np.concatenate([[0], np.cumsum(lengths)]),
        runs.document[rank],
        runs.score[rank],
    )
    # topics and the documents of each are sorted, so that rows stay as they are
    labels = Qrels.of(names[own], gold.pairs.document_names[row], gold.grade[row])
    assert (labels.grade == gold.grade[row]).all()
    drawn = replace(
        machine,
        pairs=labels.pairs,
        posterior=machine.posterior[row],
        given=machine.given[row],
        decided=None,
    )
    return drawn, labels, made, worth[row]


class Steps:
    """Figures of one measure, over samples."""

    def __init__(self, truth: Floats) -> None:
        self.truth = truth
        self.first, self.second = np.triu_indices(len(truth), 1)
        order = np.argsort(np.argsort(-truth, kind="stable"))
        self.near_by_table = np.abs(order[:, None] - order) == 1
        self.near = self.near_by_table[self.first, self.second]
        self.kept: dict[str, list[Any]] = {}

    def add(self, step: OneStep, measure: q.Measure, alone: bool) -> None:
        """One sample."""
        estimate = step.of(measure)
        miss = estimate.value - self.truth
        half = np.subtract(*estimate.interval(0.9)[::-1]) / 2
        assert estimate.effective is not None
        given = (estimate.effective >= FEWEST_EFFECTIVE) & ~np.isnan(half)
        given &= step.relevant(measure) >= FEWEST_RELEVANT
        error, freedom = (each[self.first, self.second] for each in estimate.couples())
        true = self.truth[:, None] - self.truth
        true[np.abs(true) < EQUAL] = 0
        apart = true[self.first, self.second]
        found = estimate.value[self.first] - estimate.value[self.second]
        sure = freedom >= 2 * FEWEST_EFFECTIVE
        claim = sure & (np.abs(found) > stdtrit(freedom, 0.975) * error)
        wrong = claim & (np.sign(found) != np.sign(apart))
        wide = np.where(sure, stdtrit(freedom, 0.95) * error, np.nan)
        by_table = estimate.told_apart(0.95)
        missed = (by_table != 0) & (by_table != np.sign(true))
        near = self.near_by_table
        figures = {
            "given": given,
            "held": np.where(np.isnan(half), np.nan, np.abs(miss) <= half),
            "miss": miss,
            "half": half,
            "couples": np.where(sure, np.abs(found - apart) <= wide, np.nan),
            "wide": wide,
            "claims": [claim.sum(), wrong.sum(), claim[self.near].sum(), wrong[self.near].sum()],
            "together": [
                *((by_table != 0).sum(), missed.sum(), (by_table != 0)[near].sum()),
                *(missed[near].sum(), missed.any(axis=1).mean()),
            ],
        }
        if alone:
            figures["over"] = np.nanmean(half) / np.nanmean(alone_half(step, measure))
        for name, figure in figures.items():
            self.kept.setdefault(name, []).append(figure)

    def figures(self) -> dict[str, Floats]:
        """By name, over samples."""
        return {name: np.array(figures, np.float64) for name, figures in self.kept.items()}

    def coverage(self) -> list[str]:
        """Of all intervals that can be computed, whether they are given or not."""
        kept = self.figures()
        known = ~np.isnan(kept["couples"]).all(axis=0)  # of some couples there is never an interval
        by_couple = np.nanmean(kept["couples"][:, known], axis=0)
        by_run = np.nanmean(kept["held"], axis=0)
        return [
            f"{1 - kept['given'].mean():.3f}",
            f"{np.nanmean(kept['held']):.3f}",
            f"{np.nanmin(by_run):.3f}",
            f"{np.nanmean(kept['couples']):.3f}",
            f"{np.percentile(by_couple, 5):.3f}",
            f"{np.nanmean(kept['couples'][:, self.near]):.3f}",
            f"{kept['miss'].mean():+.4f}",
            f"{np.nanmean(kept['half']):.4f}",
            f"{np.nanmean(kept['wide']):.4f}",
            f"{kept['over'].mean():.2f}" if "over" in kept else "",
        ]

    def claims(self) -> list[str]:
        """How many are wrong, and how many tables have a wrong one."""
        kept = self.figures()
        claims, wrong, close, wrong_close = kept["claims"].sum(axis=0)
        claimed, missed, near, missed_near, _ = kept["together"].sum(axis=0)
        return [
            f"{wrong:,.0f} of {claims:,.0f}",
            f"{wrong_close:,.0f} of {close:,.0f}",
            f"{missed:,.0f} of {claimed:,.0f}",
            f"{missed_near:,.0f} of {near:,.0f}",
            f"{kept['together'][:, 4].mean():.2%}",
        ]


def alone_half(step: OneStep, measure: q.Measure) -> Floats:
    """Half the width of intervals from human labels alone."""
    if is_linear(measure):
        gains = pair_gains(measure, step.sample.qrels.grade)
        nobody = np.zeros((len(step.machine.pairs), 0))
        sample = PairSample(step.at, gains, step.sample.probability, nobody)
        weights = pair_weights(step.runs, step.machine.pairs, measure)
        low, high = weighted_sums(weights, sample).interval(0.9)
    else:
        low, high = step.alone.of(measure).interval(0.9)
    return np.asarray((high - low) / 2)


def one_machine(options: Options) -> World:
    """DL 2021 with binary gold."""
    crowd, grades, runs = dl21(options.collection)
    merged: Merged = q.get("mv").fit(crowd)
    gold = grades.binary(2)
    assert gold.pairs == merged.pairs
    return World(gold, merged, runs, crowd, options.seed)


def main(options: Options) -> None:
    """All tables."""
    if set(options.only) & set(OF_ONE_MACHINE):
        world = one_machine(options)
        parts = (over_pairs, by_effective, over_topics, other_ways, ranking)
        for name, part in zip(OF_ONE_MACHINE, parts, strict=True):
            if name in options.only:
                part(world, options)
    for name, of_graded in (("steps", steps), ("population", population), ("needed", needed)):
        if name in options.only:
            of_graded(options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
