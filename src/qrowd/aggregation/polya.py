"""Populations of distributions over grades, seen through their members' expected counts.

A population has the Dirichlet parameters alpha = kappa * phi; the evidence of counts[member, grade]
is Dirichlet-multinomial (Polya's). Climbing it is one Newton step at a time.
"""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats, Mask

_LEAST, _HALVINGS = 1e-6, 30


class Populations:
    """alpha[population, grade] of prevalence (0) and of the assessors' rows (1 + true grade)."""

    def __init__(self, alpha: Floats, pareto: float, kappa_min: float) -> None:
        self.alpha, self.pareto, self.kappa_min = alpha, pareto, kappa_min
        self.evidence = np.zeros(len(alpha))

    @property
    def kappa(self) -> Floats:
        """The size of each population."""
        return np.asarray(self.alpha.sum(axis=1))

    @property
    def phi(self) -> Floats:
        """The mean of each population."""
        return np.asarray(self.alpha / self.kappa[:, None])

    def climb(self, population: int, counts: Floats) -> None:
        """One Newton step up the evidence and the prior; never down, never into the mirror."""
        seen = counts[counts.sum(axis=1) > 0]
        old = self.alpha[population].copy()
        height = self._height(population, old, seen)
        step = _newton(old, seen, self.pareto)
        for _ in range(_HALVINGS):
            new = np.maximum(old * np.exp(step), _LEAST)
            reached = self._height(population, new, seen)
            if reached >= height and self._allowed(population, new):
                self.alpha[population], height = new, reached
                break
            step = step / 2
        self.evidence[population] = height

    def _height(self, population: int, alpha: Floats, counts: Floats) -> float:
        return log_evidence(alpha, counts) - self.pareto * float(np.log(alpha.sum()))

    def _allowed(self, population: int, alpha: Floats) -> bool:
        """Large enough, and no two true grades would do better with their names swapped."""
        if alpha.sum() < self.kappa_min:
            return False
        rows = self.phi[1:]
        if population:
            rows[population - 1] = alpha / alpha.sum()
        right = np.diag(rows)
        swapped = rows + rows.T
        other: Mask = ~np.eye(len(rows), dtype=np.bool_)
        return bool((right[:, None] + right[None, :] > swapped)[other].all())


def log_evidence(alpha: Floats, counts: Floats) -> float:
    """The log probability of counts[member, grade], the members' distributions integrated out."""
    from scipy.special import gammaln

    kappa, total = alpha.sum(), counts.sum(axis=1)
    own = (gammaln(counts + alpha) - gammaln(alpha)).sum()
    return float(own - (gammaln(total + kappa) - gammaln(kappa)).sum())


def expected_logs(alpha: Floats, counts: Floats) -> Floats:
    """E log of each member's distribution under its Dirichlet posterior."""
    from scipy.special import digamma

    own = counts + alpha
    return np.asarray(digamma(own) - digamma(own.sum(axis=1, keepdims=True)))


def _newton(alpha: Floats, counts: Floats, pareto: float) -> Floats:
    """The step in log alpha; along the gradient where the surface is not concave."""
    from scipy.special import digamma, polygamma

    kappa, total, members = alpha.sum(), counts.sum(axis=1), len(counts)
    first = digamma(counts + alpha).sum(axis=0) - members * digamma(alpha)
    common = (digamma(total + kappa) - digamma(kappa)).sum() + pareto / kappa
    second = polygamma(1, counts + alpha).sum(axis=0) - members * polygamma(1, alpha)
    shared = pareto / kappa**2 - (polygamma(1, total + kappa) - polygamma(1, kappa)).sum()
    gradient = alpha * (first - common)
    curvature = np.diag(alpha**2 * second + gradient) + np.outer(alpha, alpha) * shared
    values, vectors = np.linalg.eigh(curvature)
    scale = np.maximum(np.abs(values), 1e-6 * max(float(np.abs(values).max()), 1e-12))
    step = vectors @ ((vectors.T @ gradient) / scale)
    return np.asarray(step / max(1.0, float(np.abs(step).max())))
