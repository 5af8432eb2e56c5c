"""A merged belief with other probabilities of relevance, and the regression that finds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd.aggregation.counting import shares_of
from qrowd.data.arrays import Array, Floats, Grades
from qrowd.data.merged import Merged

RIDGE = 1e-2
_LEAST = 1e-300


def with_log_odds(merged: Merged, after: Floats, seed: int = 0) -> Merged:
    """The same belief with the log odds of relevance changed to `after`; its draws follow."""
    posterior = _rescaled(merged, after)
    samples = _moved(merged, posterior, seed) if merged.samples is not None else None
    return replace(merged, posterior=posterior, samples=samples, decided=None)


def _rescaled(merged: Merged, after: Floats) -> Floats:
    """The posterior with these log odds, relevant and other grades in the same proportions."""
    relevant = merged.scale.relevant
    result = merged.posterior.copy()
    for columns, new in ((relevant, expit(after)), (~relevant, expit(-after))):
        result[:, columns] = shares_of(result[:, columns]) * new[:, None]
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def _moved(merged: Merged, posterior: Floats, seed: int) -> Grades:
    """Draws with as few grades changed as this posterior wants: what they have in common stays."""
    random = np.random.default_rng(seed)
    assert merged.samples is not None
    samples, relevant = merged.samples.copy(), merged.scale.relevant
    low, high = int(np.flatnonzero(~relevant)[-1]), int(np.flatnonzero(relevant)[0])
    change = posterior - merged.posterior
    up, down = (
        change[:, to].sum(axis=1) / np.maximum(merged.posterior[:, ~to].sum(axis=1), _LEAST)
        for to in (relevant, ~relevant)
    )
    for draw in range(samples.shape[1]):
        column, coin = samples[:, draw], random.random(len(up))
        yes = relevant[column]
        samples[:, draw] = np.where(
            ~yes & (coin < up), high, np.where(yes & (coin < down), low, column)
        )
    return samples


def newton_step(
    design: Floats,
    topic: Array,
    target: Floats,
    beta: Floats,
    shift: Floats,
    centre: Floats,
    ridge: float = RIDGE,
) -> tuple[Floats, Floats]:
    """One Newton step of the logistic regression with a shift u ~ N(0, 1) per topic.

    The coefficients `beta` are drawn to `centre` with the precision `ridge`.
    """
    mean = expit(design @ beta + shift[topic])
    weight, miss = mean * (1 - mean), target - mean
    n = len(shift)
    per_topic = np.bincount(topic, weight, minlength=n) + 1.0
    mixed = np.stack([np.bincount(topic, weight * column, minlength=n) for column in design.T])
    gap = np.bincount(topic, miss, minlength=n) - shift
    inner = design.T @ (design * weight[:, None]) + ridge * np.eye(len(beta))
    slope = design.T @ miss - ridge * (beta - centre)
    left = inner - (mixed / per_topic) @ mixed.T
    change = np.linalg.solve(left, slope - mixed @ (gap / per_topic))
    moved = (gap - mixed.T @ change) / per_topic

    def objective(size: float) -> float:
        b, u = beta + size * change, shift + size * moved
        eta = design @ b + u[topic]
        fit = (target * eta - np.logaddexp(0.0, eta)).sum()
        return float(fit - ridge * ((b - centre) ** 2).sum() / 2 - (u**2).sum() / 2)

    size, now = 1.0, objective(0.0)
    while objective(size) < now and size > 1e-6:  # a full step may go too far
        size /= 2
    return beta + size * change, shift + size * moved


def logit(p: Floats) -> Floats:
    """Log odds."""
    return np.asarray(np.log(p) - np.log1p(-p))


def expit(x: Floats) -> Floats:
    """The probability of these log odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -700, 700))))
