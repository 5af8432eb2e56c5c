"""EBCC against plain loops, and its bound against the evidence itself, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import digamma

import qrowd as q
from qrowd.aggregation.fit import Fitting
from qrowd.aggregation.judgements.ebcc import _first_subtypes, _Votes
from qrowd.data.arrays import Floats
from qrowd.errors import NotConvergedWarning

Said = list[tuple[int, int, int]]  # (pair, assessor, grade)


def crowd(pairs: int, assessors: int, grades: int, seed: int) -> tuple[Said, q.Judgements]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, grades, pairs)
    said = [
        (i, j, int(truth[i] if random.random() < 0.7 else random.integers(grades)))
        for i in range(pairs)
        for j in range(assessors)
        if random.random() < 0.9 or j == 0
    ]
    rows = q.Judgements.of(
        ["t"] * len(said),
        [f"d{i:02d}" for i, _, _ in said],
        [f"a{j}" for _, j, _ in said],
        [g for _, _, g in said],
        scale=q.Scale(tuple(range(grades))),
    )
    return said, rows


def by_loops(said: Said, member: Floats, gold: dict[int, int], steps: int) -> Floats:
    """The paper's updates, one number at a time: right 4, wrong 1, a = 0.1, alpha = 1."""
    pairs, size, subtypes = member.shape
    assessors = 1 + max(j for _, j, _ in said)
    for _ in range(steps):
        mu = [
            [
                [[4.0 if g == k else 1.0 for g in range(size)] for _ in range(subtypes)]
                for k in range(size)
            ]
            for _ in range(assessors)
        ]
        for i, j, g in said:
            for k in range(size):
                for m in range(subtypes):
                    mu[j][k][m][g] += member[i, k, m]
        eta = [
            [0.1 / subtypes + sum(member[i, k, m] for i in range(pairs)) for m in range(subtypes)]
            for k in range(size)
        ]
        nu = [1.0 + sum(member[i, k].sum() for i in range(pairs)) for k in range(size)]
        new = np.zeros_like(member)
        for i in range(pairs):
            for k in range(size):
                for m in range(subtypes):
                    value = digamma(nu[k]) - digamma(sum(nu))
                    value += digamma(eta[k][m]) - digamma(sum(eta[k]))
                    for at, j, g in said:
                        if at == i:
                            value += digamma(mu[j][k][m][g]) - digamma(sum(mu[j][k][m]))
                    new[i, k, m] = math.exp(value) if gold.get(i, k) == k else 0.0
            new[i] /= new[i].sum()
        member = new
    return np.asarray(member.sum(axis=2))


@pytest.mark.parametrize("grades", [2, 3])
def test_by_plain_loops(grades: int) -> None:
    said, rows = crowd(12, 4, grades, seed=grades)
    gold = q.Qrels.of(["t"] * 2, ["d00", "d05"], [1, 0])
    for given, known in ((q.NOTHING, {}), (q.Given(gold=gold), {0: 1, 5: 0})):
        model = q.EBCC(subtypes=4, max_iter=3, tol=1e-300)
        votes = _Votes.of(Fitting.of(model, rows, given))
        start = votes.start[:, :, None] * _first_subtypes(votes, 4)[:, None, :]
        with pytest.warns(NotConvergedWarning):
            found = model.fit(rows, given)
        expected = by_loops(said, start, known, 3)
        np.testing.assert_allclose(found.posterior, expected, atol=1e-10)


def log_dirichlet_multinomial(counts: list[float], prior: list[float]) -> float:
    total = math.lgamma(sum(prior)) - math.lgamma(sum(prior) + sum(counts))
    return total + sum(
        math.lgamma(a + n) - math.lgamma(a) for a, n in zip(prior, counts, strict=True)
    )


def log_evidence(said: Said, pairs: int, assessors: int, subtypes: int) -> float:
    """log p(y), the sum over every grade and subtype of every pair."""
    kinds = [(k, m) for k in range(2) for m in range(subtypes)]
    logs = []
    for chosen in itertools.product(kinds, repeat=pairs):
        value = log_dirichlet_multinomial(
            [sum(k == g for k, _ in chosen) for g in range(2)], [1.0, 1.0]
        )
        for g in range(2):
            counts = [float(sum(c == (g, m) for c in chosen)) for m in range(subtypes)]
            value += log_dirichlet_multinomial(counts, [0.1 / subtypes] * subtypes)
        for j, (k, m) in itertools.product(range(assessors), kinds):
            counts = [0.0, 0.0]
            for i, who, g in said:
                if who == j and chosen[i] == (k, m):
                    counts[g] += 1
            value += log_dirichlet_multinomial(counts, [4.0 if g == k else 1.0 for g in range(2)])
        logs.append(value)
    return float(np.logaddexp.reduce(logs))


@pytest.mark.parametrize("subtypes", [1, 2])
def test_the_trace_is_a_bound_of_the_evidence(subtypes: int) -> None:
    said, rows = crowd(4, 3, 2, seed=1)
    bound = q.EBCC(subtypes=subtypes).fit(rows).fit.trace
    exact = log_evidence(said, 4, 3, subtypes)
    assert exact - 5 < bound[-1] < exact
    assert (np.diff(bound) > -1e-9).all()


def test_without_conflict_it_is_near_ds() -> None:
    made = q.simulate(topics=4, documents=100, assessors=12, votes=6, seed=4)
    one, other = q.EBCC(subtypes=1).fit(made.judgements), q.get("ds").fit(made.judgements)
    assert (one.grades() == other.grades()).mean() > 0.98
