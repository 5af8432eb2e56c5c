"""Simulation-based calibration of hier-bayes: parameters from the prior (constrained as the sampler
is), a crowd from them, and the rank of the truth among draws of the posterior, many times over.
"""

from __future__ import annotations

import numpy as np

import qrowd as q
from qrowd.data.arrays import Array, Offsets

BINS, DRAWS = 10, 99  # 100 ranks, ten to a bin
KINDS = ("prevalence", "specificity", "sensitivity")


def crowd_of(
    random: np.random.Generator, kappa_min: float, shape: tuple[int, int, int, int]
) -> tuple[q.Judgements, dict[str, float]]:
    """A crowd of (topics, documents per topic, assessors, votes per pair), and the truth.

    Of the topics and the assessors, the truth is that of the first.
    """
    topics, documents, assessors, votes = shape
    phi = random.random(3)
    while phi[1] + phi[2] <= 1:
        phi = random.random(3)
    kappa = kappa_min * random.random(3) ** (-1 / 1.5)
    sizes = (topics, assessors, assessors)
    members = [
        random.beta(k * p, k * (1 - p), n) for p, k, n in zip(phi, kappa, sizes, strict=True)
    ]
    topic = np.repeat(np.arange(topics), documents)
    z = random.random(len(topic)) < members[0][topic]
    pair = np.repeat(np.arange(len(topic)), votes)
    who = random.random((len(topic), assessors)).argsort(axis=1)[:, :votes].ravel()
    right = np.where(z[pair], members[2][who], members[1][who])
    grade = (random.random(len(pair)) < right) == z[pair]
    crowd = q.Judgements.of(
        [f"t{t:02d}" for t in topic[pair]],
        [f"d{i:04d}" for i in pair],
        [f"a{j:03d}" for j in who],
        grade.astype(int),
        scale=q.Scale((0, 1)),
    )
    truth = {f"phi_{kind}": float(x) for kind, x in zip(KINDS, phi, strict=True)}
    truth |= {f"kappa_{kind}": float(x) for kind, x in zip(KINDS, kappa, strict=True)}
    first = (0, who.min(), who.min())
    truth |= {k: float(m[i]) for k, m, i in zip(KINDS, members, first, strict=True)}
    return crowd, truth | {"relevant pairs": float(z.sum())}


def ranks(
    seed: int, kappa_min: float, shape: tuple[int, int, int, int], sweeps: int
) -> dict[str, int]:
    """The rank, 0 to DRAWS, of the truth of one crowd among draws far from each other."""
    random = np.random.default_rng([7, seed])
    crowd, truth = crowd_of(random, kappa_min, shape)
    method = q.HierBayes(sweeps=sweeps, draws=2 * sweeps, kappa_min=kappa_min, seed=seed)
    merged = method.fit(crowd)
    chains = merged.details["chains"]
    drawn: dict[str, Array] = {name: chains.pooled(name) for name in chains.values}
    assert merged.samples is not None
    drawn["relevant pairs"] = merged.samples.sum(axis=0)
    found = {}
    for name, true in truth.items():
        values = drawn[name].reshape(len(drawn[name]), -1)[:, 0]
        values = values[np.linspace(0, len(values) - 1, DRAWS).astype(int)]
        mark = values.dtype.type(true)  # as exact as the draws: near 1 there are ties
        ties = int(random.integers((values == mark).sum() + 1))
        found[name] = int((values < mark).sum()) + ties
    return found


def uniform(found: list[int]) -> tuple[Offsets, float, float]:
    """How many ranks fall into each bin, the chi-square of that, and its p value."""
    from scipy.stats import chi2

    seen = np.bincount(np.array(found) * BINS // (DRAWS + 1), minlength=BINS)
    expected = len(found) / BINS
    statistic = float(((seen - expected) ** 2 / expected).sum())
    return seen, statistic, float(chi2.sf(statistic, BINS - 1))
