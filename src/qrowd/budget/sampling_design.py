r"""Which pairs should a human judge, where there is money for a few: `sample`.

Every pair has a known probability of being chosen, which is what makes estimates from the sample
unbiased. By `weight` the probability of a pair is proportional to how much the runs' scores depend
on it, $\pi_i \propto \sqrt{\sum_r w_{ri}^2}$; by `uncertainty` to $\sqrt{p_i (1 - p_i)}$. A part of
the sample is spread evenly, so that every pair can be chosen: a twentieth by weight, and half by
uncertainty, where pairs of which the machine is wrongly sure would otherwise be so rare in the
sample, and count so much, that intervals would hold too little.
"""

from __future__ import annotations

import numpy as np

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


def sample(
    source: Judgements | Merged | Pairs,
    pairs: int,
    by: str = "random",
    *,
    runs: RunSet | None = None,
    measure: Measure | str = "P@10",
    seed: int = 0,
) -> Sample:
    """Choose about so many pairs for a human to judge, each with a known probability.

    `random`: all pairs alike. `weight`: by how much the scores of the `runs` depend on them (under
    P, DCG or RBP; about half the width of intervals on TREC DL 2021). `uncertainty`: by how much
    the machine's probabilities leave open. `topic`: all pairs of topics that are chosen at random,
    as AP and nDCG need it.

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
    chance = probabilities(_worth(source, pool, by, runs, measure), pairs, _EVEN[by])
    chosen = systematic(chance, random)
    return Sample(pool.select(chosen), chance[chosen], by)


def _worth(
    source: Judgements | Merged | Pairs,
    pool: Pairs,
    by: str,
    runs: RunSet | None,
    measure: Measure | str,
) -> Floats:
    """What a pair's probability is proportional to."""
    if by == "random":
        return np.ones(len(pool))
    if by == "weight":
        (linear,) = measures_of(measure)
        if runs is None or not is_linear(linear):
            raise UsageError("by weight needs runs, and a measure like P@10, DCG@10 or RBP")
        weights = pair_weights(runs, pool, linear)
        return np.asarray(np.sqrt(weights.power(2).sum(axis=0))).ravel()
    if isinstance(source, Pairs):
        raise UsageError("by uncertainty needs judgements or merged labels, not pairs alone")
    if isinstance(source, Merged):
        p = source.relevant
    else:  # the share of each pair's votes that say relevant; a half where there is none
        says_relevant = source.scale.relevant[source.grade].astype(np.float64)
        counts = np.bincount(source.pair, minlength=len(pool))
        relevant = np.bincount(source.pair, says_relevant, minlength=len(pool))
        p = np.where(counts > 0, relevant / np.maximum(counts, 1), 0.5)
    return np.sqrt(p * (1 - p))


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
