"""GLAD, KOS, em-gauss and M3V against slow plain loops."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import NotConvergedWarning

Triples = list[tuple[int, int, int]]


def triples(pairs: int, assessors: int, grades: int, seed: int) -> Triples:
    random = np.random.default_rng(seed)
    truth = random.integers(grades, size=pairs)
    skill = random.uniform(0.5, 0.95, assessors)
    return [
        (i, j, int(truth[i] if random.random() < skill[j] else random.integers(grades)))
        for i in range(pairs)
        for j in range(assessors)
        if random.random() < 0.8
    ]


def judgements(rows: Triples, grades: int = 2) -> q.Judgements:
    pair, assessor, grade = zip(*rows, strict=True)
    docs, who = [f"d{i:03d}" for i in pair], [f"a{j:03d}" for j in assessor]
    scale = q.Scale(tuple(range(grades)))
    return q.Judgements.of(["t"] * len(rows), docs, who, grade, scale=scale)


def fit(method: str, rows: q.Judgements, given: q.Given = q.NOTHING) -> q.Merged:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        merged = q.get(method).fit(rows, given)
    assert isinstance(merged, q.Merged)
    return merged


def glad_objective(
    rows: Triples, grades: int, ability: np.ndarray, ease: np.ndarray
) -> tuple[float, np.ndarray]:
    """The penalised log-likelihood and the posterior, by the model as it is written."""
    total = -0.5 * sum((a - 1) ** 2 for a in ability) - 0.5 * sum((b - 1) ** 2 for b in ease)
    posterior = np.zeros((len(ease), grades))
    for i in range(len(ease)):
        for true in range(grades):
            chance = 1 / grades
            for k, j, g in rows:
                right = 1 / (1 + math.exp(-ability[j] * math.exp(ease[i])))
                if k == i:
                    chance *= right if g == true else (1 - right) / (grades - 1)
            posterior[i, true] = chance
        total += math.log(posterior[i].sum())
    return total, posterior / posterior.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("grades", [2, 3])
def test_glad_is_at_the_top_of_its_objective(grades: int) -> None:
    from scipy.optimize import minimize

    rows = triples(8, 4, grades, seed=1)
    merged = fit("glad(tol=1e-14, max_iter=20000)", judgements(rows, grades))
    ability, ease = merged.assessors["ability"], np.log(merged.details["easiness"])
    found, posterior = glad_objective(rows, grades, ability, ease)
    np.testing.assert_allclose(merged.posterior, posterior, atol=1e-7)
    assert merged.fit.trace[-1] == pytest.approx(found, abs=1e-9)

    def loss(x: np.ndarray) -> float:
        return -glad_objective(rows, grades, x[:4], x[4:])[0]

    best = minimize(loss, np.r_[ability, ease], method="BFGS")
    assert found == pytest.approx(-best.fun, abs=1e-5)


def test_kos_by_messages_on_edges() -> None:
    rows = triples(12, 6, 2, seed=4)
    crowd = judgements(rows)
    order = sorted(rows)
    first = np.random.default_rng(7).normal(1.0, 1.0, len(order))
    y = {(i, j): m for (i, j, _), m in zip(order, first, strict=True)}
    vote = {(i, j): 2 * g - 1 for i, j, g in rows}
    x = dict.fromkeys(vote, 0.0)
    for rounds in range(1, 7):
        if rounds > 1:
            y = {
                (i, j): sum(vote[k, j] * x[k, j] for k in range(12) if (k, j) in vote and k != i)
                for i, j in vote
            }
        x = {
            (i, j): sum(vote[i, k] * y[i, k] for k in range(6) if (i, k) in vote and k != j)
            for i, j in vote
        }
        merged = fit(f"kos(max_iter={rounds}, seed=7, tol=1e-300)", crowd)
        for i in range(12):
            parts = [vote[i, j] * y[i, j] for j in range(6) if (i, j) in vote]
            expected = 0.5 + 0.5 * sum(parts) / sum(map(abs, parts))
            assert merged.relevant[i] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("form", ["proper", "literal"])
def test_em_gauss_by_fine_integration(form: str) -> None:
    """Where it settled: beliefs by 4,001 points, then each deviation by a bounded search."""
    from scipy.optimize import minimize_scalar
    from scipy.stats import norm

    rows = triples(25, 6, 2, seed=3)
    merged = fit(f"em-gauss(form={form!r}, tol=1e-14)", judgements(rows))
    found = merged.assessors["deviation"]
    b = np.linspace(0, 1, 4001)[1:-1]

    def chance(said: int, deviation: float) -> np.ndarray:
        if form == "proper":
            return np.asarray(norm.cdf((2 * said - 1) * (b - 0.5) / deviation))
        ends = (1.0, 0.5) if said else (0.5, 0.0)
        high, low = (norm.cdf((end - b) / deviation) for end in ends)
        return np.asarray(np.maximum(high - low, 1e-300))

    belief = []
    for i in range(25):
        product = np.ones(len(b))
        for k, j, g in rows:
            if k == i:
                product *= chance(g, found[j])
        belief.append(product / product.sum())
        assert merged.relevant[i] == pytest.approx(float(belief[i] @ b), abs=2e-4)
    for j in range(6):

        def loss(log_a: float, j: int = j) -> float:
            own = [belief[i] @ np.log(chance(g, math.exp(log_a / 2))) for i, k, g in rows if k == j]
            return 0.5 * (log_a - math.log(0.09)) ** 2 - float(sum(own))

        best = minimize_scalar(loss, bounds=(-9, 4.6), method="bounded").x
        assert math.log(found[j]) == pytest.approx(best / 2, abs=0.02)


@pytest.mark.parametrize("grades", [2, 3])
@pytest.mark.parametrize("c", [0.0625, 0.5])
def test_m3v_weights_solve_the_programme(grades: int, c: float) -> None:
    """Given its labels, by a general solver over weights and slacks."""
    from scipy.optimize import minimize

    rows = triples(12, 5, grades, seed=5)
    merged = fit(f"m3v(c={c})", judgements(rows, grades))
    eta = merged.assessors["weight"]
    score = np.zeros((12, grades))
    for i, j, g in rows:
        score[i, g] += eta[j]
    margins = []
    for i in range(12):
        best = int(score[i].argmax())
        if np.sort(score[i])[-1] - np.sort(score[i])[-2] < 1e-3:
            continue
        for d in set(range(grades)) - {best}:
            row = np.zeros(5 + 12)
            for k, j, g in rows:
                if k == i:
                    row[j] += (g == best) - (g == d)
            row[5 + i] = 1.0
            margins.append(row)
    needs = np.array(margins)

    def objective(x: np.ndarray) -> float:
        return 0.5 * float(x[:5] @ x[:5]) + c * float(x[5:].sum())

    solved = minimize(
        objective,
        np.r_[np.zeros(5), np.ones(12)],
        bounds=[(None, None)] * 5 + [(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda x: needs @ x - 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    np.testing.assert_allclose(eta, solved.x[:5], atol=1e-4)
