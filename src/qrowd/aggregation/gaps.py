"""How far the scores under one assessor are from those under another: the five gaps of AWARE."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from qrowd.comparison.correlation import tau_ap, tau_b
from qrowd.data.arrays import Floats, Mask
from qrowd.kernel import in_blocks, kernel

GRID = np.linspace(0.0, 1.0, 100)
BANDWIDTH = 0.015
_SQRT_2PI = math.sqrt(2 * math.pi)
FLOOR = 2.0**-52


@dataclass(frozen=True)
class Divergence:
    """The parts of `kld` that the papers leave open: floor of a density, and the direction."""

    floor: float = FLOOR
    reverse: bool = False


def judged_topics(scores: Floats) -> Mask:
    """Which assessor judged on which topic: [assessor, topic] of scores[assessor, topic, run]."""
    return np.asarray(~np.isnan(scores).all(axis=2), dtype=np.bool_)


def topic_means(scores: Floats, topics: Mask) -> Floats:
    """Means over the topics of a mask, of scores[column, topic, run]: [mask row, column, run]."""
    counts = np.maximum(topics.sum(axis=1), 1)
    sums = np.tensordot(topics.astype(np.float64), np.nan_to_num(scores), axes=(1, 1))
    return np.asarray(sums / counts[:, None, None])


@dataclass(frozen=True)
class Gap:
    """One way to hold the scores under an assessor against those under a reference.

    `overall` gives [assessor, reference] over all topics, `by_topic` [assessor, reference, topic];
    neither is normalised: `fro` comes divided by sqrt(|T||S|), `tau` and `apc` as correlations.
    `close` makes of a gap how near the reference is (1: equal), `far` how far (0: equal), both in
    [0, 1]; `close` takes the scale of a divergence and whether a reversed ranking counts as near.
    """

    overall: Callable[[Floats, Floats, Divergence], Floats]
    by_topic: Callable[[Floats, Floats, Divergence], Floats]
    close: Callable[[Floats, float, bool], Floats]
    far: Callable[[Floats, float], Floats]


def in_unit_range(
    scores: Floats, references: Floats, *, by_topic: bool = False
) -> tuple[Floats, Floats]:
    """Both divided by the largest score that occurs, if it exceeds 1 (DCG); else as they are.

    `by_topic`: on each topic by the largest one there, which stands for the topic's ideal.
    """
    both = np.nan_to_num(np.concatenate([scores, references]))
    top = both.max(axis=(0, 2), initial=0.0)[:, None]
    if top.max(initial=0.0) <= 1:
        return scores, references
    scale = np.where(top > 0, top, 1.0) if by_topic else top.max()
    return scores / scale, references / scale


def varies(scores: Floats) -> Mask:
    """Which columns of scores[column, topic, run] rank the runs at all, by their means."""
    defined = ~np.isnan(scores)
    means = np.where(defined, scores, 0.0).sum(axis=1) / np.maximum(defined.sum(axis=1), 1)
    return np.asarray(np.ptp(means, axis=-1) > 0)


def varies_by_topic(scores: Floats) -> Mask:
    """Which rows of scores[column, topic, run] rank the runs at all."""
    return np.asarray(np.ptp(np.nan_to_num(scores), axis=-1) > 0)


# --- loops over assessors and references ----------------------------------------------------------


@kernel
def _squared(scores: Floats, references: Floats, out: Floats, lo: int, hi: int) -> None:
    topics, runs = scores.shape[1], scores.shape[2]
    for k in range(lo, hi):
        for h in range(references.shape[0]):
            for t in range(topics):
                total = 0.0
                for s in range(runs):
                    difference = scores[k, t, s] - references[h, t, s]
                    total += difference * difference
                out[k, h, t] = total


@kernel
def _density(
    values: Floats, first: float, step: float, width: float, out: Floats, lo: int, hi: int
) -> None:
    """Add a normal density around each value; beyond 9.5 widths (1e-20 of its top) nothing."""
    reach = int(9.5 * width / step) + 1
    points = out.shape[2]
    top = 1.0 / (width * _SQRT_2PI)
    for c in range(lo, hi):
        for t in range(values.shape[1]):
            for s in range(values.shape[2]):
                value = values[c, t, s]
                if not -1e6 < value < 1e6:
                    continue
                nearest = round((value - first) / step)
                for g in range(max(0, nearest - reach), min(points, nearest + reach + 1)):
                    z = (first + g * step - value) / width
                    out[c, t, g] += top * math.exp(-0.5 * z * z)


# --- distances of scores --------------------------------------------------------------------------


def _squared_distances(scores: Floats, references: Floats) -> Floats:
    """sum_s (scores[k, t, s] - references[h, t, s])^2 as [k, h, t]."""
    out = np.empty((len(scores), len(references), scores.shape[1]))
    in_blocks(lambda lo, hi: _squared(scores, references, out, lo, hi), len(scores))
    return out


def _frobenius(scores: Floats, references: Floats, _: Divergence) -> Floats:
    squares = np.nan_to_num(_squared_distances(scores, references)).sum(axis=2)
    cells = np.maximum(judged_topics(scores).sum(axis=1), 1) * scores.shape[2]
    return np.asarray(np.sqrt(squares / cells[:, None]))


def _error_of_means(scores: Floats, references: Floats, _: Divergence) -> Floats:
    topics = judged_topics(scores)
    own, other = _own_means(scores, topics), topic_means(references, topics)
    return np.asarray(np.sqrt(((own[:, None] - other) ** 2).mean(axis=2)))


def _row_errors(scores: Floats, references: Floats, _: Divergence) -> Floats:
    return np.asarray(np.sqrt(_squared_distances(scores, references) / scores.shape[2]))


def _own_means(scores: Floats, topics: Mask) -> Floats:
    counts = np.maximum(topics.sum(axis=1), 1)
    return np.asarray(np.nan_to_num(scores).sum(axis=1) / counts[:, None])


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
    divergence = entropy[..., :, None] - p @ np.swapaxes(second, -1, -2)
    turned = np.swapaxes(divergence, -1, -2) if reverse else divergence
    return np.asarray(np.maximum(turned, 0.0))


def _sums(values: Floats) -> Floats:
    """Gaussian kernel sums of values[c, t, :] at the points of the grid, as [c, t, g]."""
    defined = np.nan_to_num(values, nan=np.inf)  # inf adds nothing
    out = np.zeros((len(values), values.shape[1], len(GRID)))
    first, step = float(GRID[0]), float(GRID[1] - GRID[0])
    in_blocks(lambda lo, hi: _density(defined, first, step, BANDWIDTH, out, lo, hi), len(out))
    return out


def _overall_divergence(scores: Floats, references: Floats, divergence: Divergence) -> Floats:
    topics = judged_topics(scores)
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
    by_topic = np.moveaxis(_divergences(own, other, divergence.reverse), 0, 2)
    return np.where(judged_topics(scores)[:, None], by_topic, np.nan)


# --- the five -------------------------------------------------------------------------------------


def _distance(overall: Callable[[Floats, Floats, Divergence], Floats]) -> Gap:
    return Gap(overall, _row_errors, lambda gap, *_: np.maximum(1.0 - gap, 0.0), lambda gap, _: gap)


def _ranking(correlation: Callable[[Floats, Floats], Floats]) -> Gap:
    def overall(scores: Floats, references: Floats, _: Divergence) -> Floats:
        topics = judged_topics(scores)
        return correlation(_own_means(scores, topics)[:, None], topic_means(references, topics))

    def by_topic(scores: Floats, references: Floats, _: Divergence) -> Floats:
        return np.stack([correlation(own, references) for own in scores])

    return Gap(
        overall,
        by_topic,
        lambda gap, _, reversed_too: np.abs(gap) if reversed_too else np.maximum(gap, 0.0),
        lambda gap, _: 1.0 - np.abs(gap),
    )


GAPS: dict[str, Gap] = {
    "fro": _distance(_frobenius),
    "rmse": _distance(_error_of_means),
    "kld": Gap(
        _overall_divergence,
        _topic_divergence,
        lambda gap, beta, _: np.exp(-beta * gap),
        lambda gap, beta: 1.0 - np.exp(-beta * gap),
    ),
    "tau": _ranking(tau_b),
    "apc": _ranking(tau_ap),
}
