r"""How far the scores under one assessor are from those under another: the five gaps of AWARE.

With $M_k[t, s]$ the score of run $s$ on topic $t$ under assessor $k$, and $M$ a reference (a random
assessor, or gold), on topics $T$ and runs $S$ (Ferrante, Ferro & Maistro 2017; Piazzon 2019):

- `fro`: $\lVert M_k - M \rVert_F / \sqrt{|T||S|}$
- `rmse`: of each run's mean over topics; for one topic, of its row (there equal to `fro`)
- `kld`: Kullback-Leibler divergence of kernel densities (Gaussian, bandwidth 0.015, 100 points)
- `tau`: Kendall's tau_b of the means (of the row); `apc`: tau_AP, $M_k$ being the estimate

An assessor who judged nothing on a topic has NaN there; gaps are over the topics that were judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.kernels.gaps import density_sums, squared_distances
from qrowd.comparison.correlation import tau_ap, tau_b
from qrowd.data.arrays import Floats, Mask

GAPS = ("fro", "rmse", "kld", "tau", "apc")
RANKINGS = ("tau", "apc")
GRID = np.linspace(0.0, 1.0, 100)
BANDWIDTH = 0.015
FLOOR = 2.0**-52


@dataclass(frozen=True)
class Divergence:
    """The parts of `kld` that the papers leave open: floor of a density, and the direction."""

    floor: float = FLOOR
    reverse: bool = False


AS_IS = Divergence()


def judged_topics(scores: Floats) -> Mask:
    """Which assessor judged on which topic: [assessor, topic] of scores[assessor, topic, run]."""
    return np.asarray(~np.isnan(scores).all(axis=2), dtype=np.bool_)


def topic_means(scores: Floats, topics: Mask) -> Floats:
    """Means over the topics of a mask, of scores[column, topic, run]: [mask row, column, run]."""
    known = np.nan_to_num(scores)
    counts = np.maximum(topics.sum(axis=1), 1)
    sums = np.tensordot(topics.astype(np.float64), known, axes=(1, 1))
    return np.asarray(sums / counts[:, None, None])


def overall_gaps(
    gap: str, scores: Floats, references: Floats, divergence: Divergence = AS_IS
) -> Floats:
    """The gap of each assessor to each reference over all topics, [assessor, reference].

    Not normalised: `fro` comes divided by sqrt(|T||S|), `tau` and `apc` as correlations.
    """
    topics = judged_topics(scores)
    if gap == "fro":
        squares = np.nan_to_num(squared_distances(scores, references)).sum(axis=2)
        cells = np.maximum(topics.sum(axis=1), 1) * scores.shape[2]
        return np.asarray(np.sqrt(squares / cells[:, None]))
    if gap == "kld":
        return _overall_divergence(scores, references, topics, divergence)
    own, other = _own_means(scores, topics), topic_means(references, topics)
    if gap == "rmse":
        return np.asarray(np.sqrt(((own[:, None] - other) ** 2).mean(axis=2)))
    return _correlations(gap, own[:, None], other)


def topic_gaps(
    gap: str, scores: Floats, references: Floats, divergence: Divergence = AS_IS
) -> Floats:
    """The gap of each assessor to each reference on each topic, [assessor, reference, topic]."""
    if gap in ("fro", "rmse"):
        return np.asarray(np.sqrt(squared_distances(scores, references) / scores.shape[2]))
    if gap == "kld":
        return _topic_divergence(scores, references, divergence)
    return np.stack([_correlations(gap, own, references) for own in scores])


def _own_means(scores: Floats, topics: Mask) -> Floats:
    counts = np.maximum(topics.sum(axis=1), 1)
    return np.asarray(np.nan_to_num(scores).sum(axis=1) / counts[:, None])


def _correlations(gap: str, own: Floats, other: Floats) -> Floats:
    return tau_ap(own, other) if gap == "apc" else tau_b(own, other)


# --- Kullback-Leibler divergence ------------------------------------------------------------------


def _log_densities(sums: Floats, floor: float) -> Floats:
    """Logarithms of densities along the last axis: made to sum to 1, floored, made so again."""
    total = sums.sum(axis=-1, keepdims=True)
    even = np.full_like(sums, 1.0 / sums.shape[-1])
    density = np.divide(sums, total, out=even, where=total > 0)
    density = np.maximum(density, floor)
    return np.asarray(np.log(density / density.sum(axis=-1, keepdims=True)))


def _divergences(own: Floats, other: Floats, reverse: bool) -> Floats:
    """KL of log densities own[..., k, g] and other[..., h, g]: [..., k, h]."""
    first, second = (other, own) if reverse else (own, other)
    p = np.exp(first)
    entropy = (p * first).sum(axis=-1)
    found = entropy[..., :, None] - p @ np.swapaxes(second, -1, -2)
    return np.asarray(np.maximum(np.swapaxes(found, -1, -2) if reverse else found, 0.0))


def _sums(values: Floats) -> Floats:
    return density_sums(np.nan_to_num(values, nan=np.inf), GRID, BANDWIDTH)  # inf adds nothing


def _overall_divergence(
    scores: Floats, references: Floats, topics: Mask, divergence: Divergence
) -> Floats:
    own = _log_densities(_sums(scores).sum(axis=1), divergence.floor)
    sums = _sums(references)
    if topics.all():
        other = _log_densities(sums.sum(axis=1), divergence.floor)
        return _divergences(own, other, divergence.reverse)
    weighted = np.tensordot(topics.astype(np.float64), sums, axes=(1, 1))  # [k, h, g]
    other = _log_densities(weighted, divergence.floor)
    return _divergences(own[:, None], other, divergence.reverse)[:, 0]


def _topic_divergence(scores: Floats, references: Floats, divergence: Divergence) -> Floats:
    own = _log_densities(np.swapaxes(_sums(scores), 0, 1), divergence.floor)  # [t, k, g]
    other = _log_densities(np.swapaxes(_sums(references), 0, 1), divergence.floor)
    found = np.moveaxis(_divergences(own, other, divergence.reverse), 0, 2)
    return np.where(judged_topics(scores)[:, None], found, np.nan)
