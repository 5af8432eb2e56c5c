"""What EM, variational Bayes and their kin promise: the objective never falls."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import NotConvergedWarning

CLIMBERS = [
    "one-coin",
    "one-coin(labels='soft')",
    "one-coin(prior='learned')",
    "one-coin(labels='soft', prior='learned')",
    "two-coin",
    "two-coin(labels='soft')",
    "two-coin(prior='learned')",
    "em-gauss",
    "em-gauss(form='literal')",
    "em-gauss(spread=none)",
    "glad",
    "glad(prior='learned')",
    "m3v(c=0.1)",
    "mace",
    "mace(inference='em')",
    "mace(prior='learned')",
    "mace(inference='em', prior='learned')",
]


def crowd(grades: int, seed: int, weights: bool = False) -> q.Judgements:
    random = np.random.default_rng(seed)
    truth = random.integers(grades, size=160)
    pair, assessor = np.repeat(np.arange(160), 3), random.integers(25, size=480)
    right = random.random(480) < random.uniform(0.2, 0.95, 25)[assessor]
    said = np.where(right, truth[pair], random.integers(grades, size=480))
    extras = {"weight": random.uniform(0, 3, 480)} if weights else {}
    return q.Judgements.of(
        ["t"] * 480,
        [f"d{i:03d}" for i in pair],
        [f"a{j:02d}" for j in assessor],
        said,
        scale=q.Scale(tuple(range(grades))),
        **extras,
    )


@pytest.mark.parametrize("spec", CLIMBERS)
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_falls(spec: str, seed: int) -> None:
    grades = 2 if q.get(spec).card.grades == "binary" else 2 + seed % 3
    rows = crowd(grades, seed, weights=seed == 3)
    gold = q.Qrels(
        rows.pairs.select(np.arange(len(rows.pairs)) < 9), (np.arange(9) % grades).astype(np.int8)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        trace = np.array(q.get(spec).fit(rows, q.Given(gold=gold if seed % 2 else None)).fit.trace)
    assert len(trace) > 1
    slack = 1e-3 if spec.startswith("m3v") else 1e-9  # its weights are rough until labels settle
    assert (np.diff(trace) >= -slack * np.abs(trace[1:])).all()


def test_glad_stops_where_abilities_stand_still() -> None:
    """With a looser end an ability was off by 1 %, a probability by .005, and a label flipped."""
    rows = q.simulate(
        topics=5, documents=40, assessors=20, votes=5, difficulty=0.5, seed=1
    ).judgements
    usual, exact = q.GLAD().fit(rows), q.GLAD(tol=1e-15, max_iter=20_000).fit(rows)
    assert usual.fit.converged
    np.testing.assert_allclose(usual.assessors["ability"], exact.assessors["ability"], rtol=1e-3)
    np.testing.assert_allclose(usual.relevant, exact.relevant, atol=1e-4)
