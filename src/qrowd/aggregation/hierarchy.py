"""The hierarchical model's assessors and populations, however it was fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array, Floats, Mask
from qrowd.data.chains import Chains, ParameterTable
from qrowd.data.judgements import Judgements

if TYPE_CHECKING:
    from qrowd.aggregation.kernels.gibbs import Record


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


MOST_RHAT = 1.01
CONTRARY = "by weight, the judgements speak against the grades found"
_NAMED = 3


def chains_of(record: Record, rows: Judgements, warmup: int, done: int) -> Chains:
    """The draws of all parameters after the warm-up, by name."""
    kept = done - warmup
    named = _binary if rows.scale.binary else _graded
    return named(
        record.hyper[:, warmup:done], record.accuracy[:, :kept], record.prevalence[:, :kept], rows
    )


def _binary(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    populations = (("prevalence", 1), ("specificity", 0), ("sensitivity", 1))
    values: dict[str, Array] = {}
    for at, (name, grade) in enumerate(populations):
        values |= {f"phi_{name}": hyper[:, :, at, grade], f"kappa_{name}": hyper[:, :, at, 2]}
    values |= {"prevalence": prevalence[..., 0]}
    values |= {"specificity": accuracy[..., 0], "sensitivity": accuracy[..., 1]}
    axes = {"prevalence": ("topic",), "specificity": ("assessor",), "sensitivity": ("assessor",)}
    labels = {"topic": rows.topics.names, "assessor": rows.assessors.names}
    return Chains(values, axes, labels)


def _graded(hyper: Floats, accuracy: Array, prevalence: Array, rows: Judgements) -> Chains:
    grades = np.array([str(grade) for grade in rows.scale.grades], object)
    values: dict[str, Array] = {
        "phi_prevalence": hyper[:, :, 0, 1:-1],
        "kappa_prevalence": hyper[:, :, 0, -1],
        "phi": hyper[:, :, 1:, :-1],
        "kappa": hyper[:, :, 1:, -1],
        "prevalence": prevalence,
        "accuracy": accuracy,
    }
    axes = {
        "phi_prevalence": ("grade above the lowest",),
        "phi": ("grade", "said"),
        "kappa": ("grade",),
        "prevalence": ("topic", "grade above the lowest"),
        "accuracy": ("assessor", "grade"),
    }
    labels = {
        "topic": rows.topics.names,
        "assessor": rows.assessors.names,
        "grade": grades,
        "said": grades,
        "grade above the lowest": grades[1:],
    }
    return Chains(values, axes, labels)


def confusion_of(record: Record, done: list[int], warmup: int) -> Floats:
    """The posterior mean of P(says h | is g), [assessor, g, h]."""
    assessors, size = record.accuracy.shape[2:]
    mean = record.confusion.sum(axis=0) / sum(sweeps - warmup for sweeps in done)
    return np.asarray(mean.reshape(size, assessors, size).transpose(1, 0, 2))


def beta_parameters(
    rows: Judgements, populations: Populations, topics: Floats, assessors: Floats
) -> ParameterTable:
    """Means, standard deviations and 95 % intervals of what has a Dirichlet posterior, given its
    parameters topics[topic, grade] and assessors[assessor, grade, said]; hyperparameters have
    values only. Named as the sampled ones are.
    """
    right = np.stack([assessors[:, c, c] for c in range(len(rows.scale))], axis=1)
    hyper = np.concatenate([populations.phi, populations.kappa[:, None]], axis=1)
    wrong, others = assessors.sum(axis=2) - right, topics.sum(axis=1, keepdims=True) - topics
    named = _binary if rows.scale.binary else _graded
    valueless = np.full_like(hyper, np.nan)
    a = named(valueless[None, None], right[None, None], topics[None, None, :, 1:], rows)
    b = named(hyper[None, None], wrong[None, None], others[None, None, :, 1:], rows)
    columns = [_beta_columns(a[name].ravel(), b[name].ravel()) for name in a.values]
    entries = [a.entries(name) for name in a.values]
    kinds = [np.full(len(e), name, object) for name, e in zip(a.values, entries, strict=True)]
    table = dict(zip(("mean", "sd", "low", "high"), np.concatenate(columns, axis=1), strict=True))
    return ParameterTable(np.concatenate(kinds), np.concatenate(entries), table)


def _beta_columns(a: Floats, b: Floats) -> Floats:
    """Mean, standard deviation and interval of Beta(a, b); where a is NaN, b is the value."""
    from scipy.special import betaincinv

    total = a + b
    mean = np.where(np.isnan(a), b, a / total)
    sd = np.sqrt(a * b / (total**2 * (total + 1)))
    return np.stack([mean, sd, betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)])


def assessor_columns(
    rows: Judgements, posterior: Floats, confusion: Floats, parameters: ParameterTable
) -> dict[str, Array]:
    """Columns of the assessors' table: sensitivity and specificity with intervals where there are
    two grades; the expected number of judgements `n(g)` on true grade g and `p(h|g)`.
    """
    columns: dict[str, Array] = {}
    if rows.scale.binary:
        for name, code in (("sensitivity", 1), ("specificity", 0)):
            columns[name] = confusion[:, code, code]
            for edge in ("low", "high"):
                columns[f"{name} {edge}"] = parameters.of(name, edge)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    for code, grade in enumerate(rows.scale.grades):
        share = weight * posterior[rows.pair, code]
        columns[f"n({grade})"] = np.bincount(rows.assessor, share, len(rows.assessors))
    for code, grade in enumerate(rows.scale.grades):
        for said, other in enumerate(rows.scale.grades):
            columns[f"p({other}|{grade})"] = confusion[:, code, said]
    return columns


def contrary(rows: Judgements, confusion: Floats) -> bool:
    """Whether the judgements, by weight, would fit better with two grades' names swapped."""
    weight = np.bincount(rows.assessor, rows.weight, len(rows.assessors))
    if not weight.sum():
        return False
    mean = np.average(confusion, axis=0, weights=weight)
    right = np.diag(mean)
    swapped = mean + mean.T
    return bool((right[:, None] + right[None, :] < swapped - 1e-9).any())


def unmixed(parameters: ParameterTable, kept: int) -> str:
    """Which parameters did not mix, in words; nothing if all did."""
    rhat = parameters["rhat"]
    bad = np.flatnonzero(rhat > MOST_RHAT)
    if not len(bad):
        return ""
    worst = bad[np.argsort(-rhat[bad], kind="stable")][:_NAMED]
    named = ", ".join(
        f"{parameters.parameter[at]}{' of ' * bool(parameters.name[at])}{parameters.name[at]} "
        f"({rhat[at]:.3f})"
        for at in worst
    )
    more = f" and {len(bad) - len(worst)} more" if len(bad) > len(worst) else ""
    return (
        f"R-hat above {MOST_RHAT} after {kept} draws per chain for {named}{more} of "
        f"{len(parameters)} parameters"
    )
