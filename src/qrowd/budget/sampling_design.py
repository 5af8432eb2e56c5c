r"""Which pairs should a human judge, where there is money for a few: `sample`.

Every pair has a known probability of being chosen, which is what makes estimates from the sample
unbiased. By `weight` the probability of a pair is proportional to how much the runs' scores depend
on it, $\pi_i \propto \sqrt{\sum_r w_{ri}^2}$; for AP, nDCG, and several measures at once, to the
root of the variance of the runs' expected scores that its grade is responsible for, each measure
counting the same. By `uncertainty` it is proportional to $\sqrt{p_i (1 - p_i)}$. A part of the
sample is spread evenly, so that every pair can be chosen: a twentieth by weight (a tenth where it
is by variance), and half by uncertainty, where pairs of which the machine is wrongly sure would
otherwise be so rare in the sample, and count so much, that intervals would hold too little.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from qrowd.aggregation.one_step import ScoredPool, can_step
from qrowd.data.arrays import Floats, Mask
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.runs import RunSet
from qrowd.data.sample import BY, Sample
from qrowd.errors import ParameterError, UsageError, require_choice
from qrowd.evaluation.linear import is_linear, pair_weights
from qrowd.evaluation.measure import Measure, measures_of

_EVEN = {"random": 1.0, "weight": 0.05, "uncertainty": 0.5}  # of the sample is spread evenly
EVEN_BY_VARIANCE = 0.1
_DOUBT = 0.1  # that is always left, however sure a machine is


def sample(
    source: Judgements | Merged | Pairs,
    pairs: int,
    by: str = "random",
    *,
    runs: RunSet | None = None,
    measure: Measure | str | Iterable[Measure | str] = "P@10",
    seed: int = 0,
) -> Sample:
    """Choose about so many pairs for a human to judge, each with a known probability.

    `random`: all pairs alike. `weight`: by how much the scores of the `runs` depend on them under
    P, DCG, RBP, AP or nDCG, one of them or several (about half the width of intervals on TREC DL
    2021). `uncertainty`: by how much the machine's probabilities leave open. `topic`: all pairs of
    topics that are chosen at random, from which every measure can be estimated.

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=40, assessors=6, votes=3, runs=4, seed=1)
    >>> chosen = q.sample(made.judgements, 30, by="weight", runs=made.runs)
    >>> chosen
    Sample(30 pairs of 5 topics by weight; not judged yet)
    >>> bool((chosen.probability > 0).all())
    True
    """
    pool = source if isinstance(source, Pairs) else source.pairs
    require_choice("by", by, BY)
    if not 1 <= pairs <= len(pool):
        raise ParameterError(
            f"pairs must be a number from 1 to {len(pool)}, the pool's pairs; got {pairs}"
        )
    random = np.random.default_rng(seed)
    if by == "topic":
        return _topics(pool, pairs, random)
    measures = measures_of(measure)
    if by == "weight" and (len(measures) > 1 or not is_linear(measures[0])):
        worth, even = variance_shares(source, runs, measures), EVEN_BY_VARIANCE
    else:
        worth, even = _worth(source, pool, by, runs, measures[0]), _EVEN[by]
    chance = probabilities(worth, pairs, even)
    chosen = systematic(chance, random)
    return Sample(pool.select(chosen), chance[chosen], by)


def _worth(
    source: Judgements | Merged | Pairs,
    pool: Pairs,
    by: str,
    runs: RunSet | None,
    measure: Measure,
) -> Floats:
    """What a pair's probability is proportional to."""
    if by == "random":
        return np.ones(len(pool))
    if by == "weight":
        if runs is None:
            raise UsageError("by weight needs runs")
        weights = pair_weights(runs, pool, measure)
        return np.asarray(np.sqrt(weights.power(2).sum(axis=0))).ravel()
    p = _believed(source)
    return np.sqrt(p * (1 - p))


def _believed(source: Judgements | Merged | Pairs) -> Floats:
    """The probability of relevance; the share of a pair's votes, a half where there is none."""
    if isinstance(source, Pairs):
        raise UsageError(
            "by uncertainty, and by weight under AP or nDCG, needs judgements or merged labels, "
            "not pairs alone"
        )
    if isinstance(source, Merged):
        return source.relevant
    says_relevant, pool = source.scale.relevant[source.grade].astype(np.float64), len(source.pairs)
    counts = np.bincount(source.pair, minlength=pool)
    relevant = np.bincount(source.pair, says_relevant, minlength=pool)
    return np.where(counts > 0, relevant / np.maximum(counts, 1), 0.5)


def variance_shares(
    source: Judgements | Merged | Pairs, runs: RunSet | None, measures: tuple[Measure, ...]
) -> Floats:
    """The root of the share that a pair has in the variance of the runs' expected scores."""
    for measure in measures:
        if runs is None or not can_step(measure):
            raise UsageError("by weight needs runs, and measures among P, DCG, RBP, AP and nDCG")
    p = _believed(source)
    assert runs is not None
    assert not isinstance(source, Pairs)
    p, scale = _DOUBT + (1 - 2 * _DOUBT) * p, source.scale
    sides = np.stack([1 - p, p], axis=1)  # each spread evenly over its grades
    beliefs = sides[:, scale.relevant.astype(np.int64)]
    beliefs = beliefs / np.where(scale.relevant, scale.relevant.sum(), (~scale.relevant).sum())
    pool, total = ScoredPool(runs, source.pairs, scale), np.zeros(len(p))
    for measure in measures:
        moved = pool.influence(measure, beliefs, np.arange(len(p)))
        away = moved - np.einsum("rpg,pg->rp", moved, beliefs)[:, :, None]
        variance = np.einsum("rpg,pg->p", np.square(away), beliefs)
        total += variance / max(float(variance.sum()), 1e-300)
    return np.sqrt(total)


def probabilities(worth: Floats, size: int, even: float) -> Floats:
    """Probabilities that add up to the sample's size, none above 1."""
    if worth.sum() <= 0:
        worth = np.ones(len(worth))
    share = (1 - even) * worth / worth.sum() + even / len(worth)
    certain = np.zeros(len(worth), np.bool_)
    while True:
        left = size - int(certain.sum())
        chance = np.where(certain, 1.0, share * left / max(share[~certain].sum(), 1e-300))
        if not (chance > 1 + 1e-12).any():
            return np.minimum(chance, 1.0)
        certain |= chance >= 1


def systematic(chance: Floats, random: np.random.Generator) -> Mask:
    """One sample of fixed size with these probabilities: every whole step along their sum."""
    order = random.permutation(len(chance))
    ends = np.cumsum(chance[order])
    ends = ends * (round(ends[-1]) / ends[-1]) + random.random()
    steps = np.floor(np.concatenate([[ends[0] - chance[order[0]]], ends]) + 1e-9)
    chosen = np.zeros(len(chance), np.bool_)
    chosen[order[np.diff(steps) > 0]] = True
    return chosen


def _topics(pool: Pairs, pairs: int, random: np.random.Generator) -> Sample:
    """All pairs of as many topics as make about so many pairs."""
    sizes = np.diff(pool.topic_starts)
    topics = np.flatnonzero(sizes)
    many = int(np.clip(round(pairs / sizes[topics].mean()), min(2, len(topics)), len(topics)))
    names = pool.topics.names[np.sort(random.choice(topics, many, replace=False))]
    chosen = pool.of_topics(Index(names))
    return Sample(pool.select(chosen), np.full(int(chosen.sum()), many / len(topics)), "topic")
