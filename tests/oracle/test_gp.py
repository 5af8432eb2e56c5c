"""The Gaussian process against integrals of the model itself."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

import qrowd as q
from qrowd.aggregation.judgements.gp import Sites
from qrowd.data.arrays import Array, Floats


def crowd(names: list[str], yes: Array, no: Array) -> q.Judgements:
    votes = [(d, 1) for d, n in zip(names, yes, strict=True) for _ in range(int(n))]
    votes += [(d, 0) for d, n in zip(names, no, strict=True) for _ in range(int(n))]
    documents, grades = zip(*votes, strict=True)
    assessors = [f"w{k}" for k in range(len(votes))]
    made = q.Judgements.of(["t"] * len(votes), documents, assessors, grades, scale=q.Scale((0, 1)))
    return made.with_pool(q.Pairs.of(["t"] * len(names), names))


def by_quadrature(cosines: Floats, yes: Array, no: Array, constant: float) -> Floats:
    """P(relevant) of three documents, by 64 x 64 x 64 nodes."""
    x, weight = np.polynomial.hermite_e.hermegauss(64)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), -1).reshape(-1, 3)
    log_weight = np.log(weight)
    f = constant + grid @ np.linalg.cholesky(cosines).T
    height = (log_weight[:, None, None] + log_weight[:, None] + log_weight).ravel()
    height = height + (yes * log_ndtr(f) + no * log_ndtr(-f)).sum(axis=1)
    share = np.exp(height - height.max())
    return np.asarray((share[:, None] * ndtr(f)).sum(axis=0) / share.sum())


def vectors(names: list[str], features: int, filled: float, seed: int) -> q.Vectors:
    random = np.random.default_rng(seed)
    shape = (len(names), features)
    return q.Vectors.of(names, random.random(shape) * (random.random(shape) < filled) + 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_three_documents_by_quadrature(seed: int) -> None:
    """Cosines as texts have them, up to .4; very alike ones come within 2e-5."""
    random = np.random.default_rng(100 + seed)
    names = ["a", "b", "c"]
    content = vectors(names, 200, 0.15, seed)
    yes, no = random.integers(0, 3, 3), random.integers(0, 3, 3)
    yes[0] += 1
    merged = q.get("gp(mean=0.3)").fit(crowd(names, yes, no), q.Given(documents=content))
    cosines = content.cosines([0, 1, 2])
    assert cosines[~np.eye(3, dtype=bool)].max() < 0.4
    expected = by_quadrature(cosines, yes, no, 0.3)
    np.testing.assert_allclose(merged.relevant, expected, atol=1e-6)


def test_three_documents_that_are_very_alike() -> None:
    content = q.Vectors.of("abc", [[1.0, 0.2, 0.3], [0.8, 0.5, 0.1], [0.6, 0.9, 0.4]])
    cosines = content.cosines([0, 1, 2])
    assert cosines.min() > 0.7
    yes, no = np.array([2, 1, 0]), np.array([0, 1, 2])
    merged = q.get("gp(mean=0)").fit(crowd(["a", "b", "c"], yes, no), q.Given(documents=content))
    expected = by_quadrature(cosines, yes, no, 0.0)
    np.testing.assert_allclose(merged.relevant, expected, atol=2e-5)


def by_importance(sites: Sites, constant: float, draws: int) -> tuple[Floats, float]:
    """P(relevant), from draws of EP's Gaussian weighted by the model; and their effective size."""
    random = np.random.default_rng(7)
    n = sites.yes.shape[1]
    root = np.linalg.cholesky(sites.covariance[0] + 1e-10 * np.eye(n))
    prior = np.linalg.cholesky(sites.cosines + 1e-10 * np.eye(n))
    z = random.standard_normal((n, draws))
    z = np.hstack([z, -z])
    f = sites.mean[0][:, None] + root @ z
    away = np.linalg.solve(prior, f - constant)
    height = sites.yes[0] @ log_ndtr(f) + sites.no[0] @ log_ndtr(-f)
    height += ((z * z).sum(axis=0) - (away * away).sum(axis=0)) / 2
    share = np.exp(height - height.max())
    size = share.sum() ** 2 / (share * share).sum()
    return np.asarray(ndtr(f) @ share / share.sum()), float(size)


@pytest.mark.parametrize("votes", [60, 250])
def test_a_hundred_documents_by_importance_sampling(votes: int) -> None:
    random = np.random.default_rng(votes)
    names = [f"d{i:03d}" for i in range(100)]
    content = vectors(names, 300, 0.1, 2)
    at, said = random.integers(0, 100, votes), random.random(votes) < 0.6
    yes, no = (np.bincount(at[said == grade], minlength=100) for grade in (True, False))
    merged = q.get("gp(mean=-0.2)").fit(crowd(names, yes, no), q.Given(documents=content))
    cosines = content.cosines(range(100))
    sites = Sites(cosines, yes[None].astype(np.float64), no[None].astype(np.float64), 2.0, -0.2)
    while sites.sweep() > 1e-10:
        pass
    expected, size = by_importance(sites, -0.2, 20_000)
    assert size > 20_000
    assert np.abs(merged.relevant - expected).max() < 0.005


def test_between_refreshes_by_the_cold_fit() -> None:
    """Vote by vote, every copy stays within .005 of a fit from nothing, at every step."""
    random = np.random.default_rng(3)
    names = [f"d{i:02d}" for i in range(40)]
    content = vectors(names, 120, 0.15, 4)
    truth = random.random(40) < 0.4
    steps = q.get("gp").steps(q.Pairs.of(["t"] * 40, names), 2, q.Given(documents=content))
    cosines = content.cosines(range(40))
    yes, no = np.zeros((2, 40)), np.zeros((2, 40))
    for step in range(120):
        at = random.permutation(40)[:2] if step % 3 else np.array([step % 40, (step + 7) % 40])
        said = (random.random(2) < np.where(truth[at], 0.75, 0.3)).astype(np.int64)
        steps.add(at, said)
        yes[[0, 1], at] += said
        no[[0, 1], at] += 1 - said
        cold = Sites(cosines, yes.copy(), no.copy(), 2.0)
        while cold.sweep() > 1e-9:
            pass
        assert np.abs(steps.relevant() - cold.corrected()).max() < 0.005


def test_the_constant_has_the_highest_evidence() -> None:
    """Against the evidence by quadrature, of documents that are not alike."""
    yes, no = np.array([3.0, 1, 0, 2]), np.array([0.0, 1, 2, 0])
    sites = Sites(np.eye(4), yes[None], no[None], 2.0)
    while sites.sweep() > 1e-12:
        pass
    x, weight = np.polynomial.hermite_e.hermegauss(80)

    def evidence(c: float) -> float:
        f = c + x
        each = np.exp(yes[:, None] * log_ndtr(f) + no[:, None] * log_ndtr(-f)) @ weight
        return float(np.log(each).sum() - c * c / 8)

    grid = np.linspace(-1, 1.5, 2501)
    best = grid[np.argmax([evidence(c) for c in grid])]
    assert sites.level[0] == pytest.approx(best, abs=2e-3)
