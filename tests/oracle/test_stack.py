"""Stacking against Newton's method by plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

import qrowd as q
from qrowd.data.arrays import Floats


def newton(x: list[list[float]], y: list[int], ridge: float) -> list[float]:
    """(intercept, common weight, deviations) by Newton's method on dense features."""
    features = [[1.0, sum(row), *row] for row in x]
    size = len(features[0])
    penalty = [1e-3, 1e-3] + [ridge] * (size - 2)
    w = [0.0] * size
    for _ in range(100):
        slope = [penalty[a] * w[a] for a in range(size)]
        curve = [[penalty[a] if a == b else 0.0 for b in range(size)] for a in range(size)]
        for row, grade in zip(features, y, strict=True):
            p = 1 / (1 + math.exp(-sum(a * b for a, b in zip(row, w, strict=True))))
            for a in range(size):
                slope[a] += (p - grade) * row[a]
                for b in range(size):
                    curve[a][b] += p * (1 - p) * row[a] * row[b]
        step = np.linalg.solve(np.array(curve), np.array(slope))
        w = [a - b for a, b in zip(w, step, strict=True)]
    return w


def made() -> tuple[list[list[float]], list[int], q.Judgements, q.Given]:
    random = np.random.default_rng(2)
    truth = random.integers(0, 2, 24)
    said: Floats = np.where(
        random.random((24, 3)) < [0.9, 0.7, 0.3], truth[:, None], 1 - truth[:, None]
    )
    here = random.random((24, 3)) < 0.8
    rows = [(i, j) for i in range(24) for j in range(3) if here[i, j]]
    crowd = q.Judgements.of(
        ["t"] * len(rows),
        [f"d{i:02d}" for i, _ in rows],
        [f"a{j}" for _, j in rows],
        [int(said[i, j]) for i, j in rows],
    )
    gold = q.Qrels.of(["t"] * 12, [f"d{i:02d}" for i in range(12)], truth[:12])
    x = [[(2 * said[i, j] - 1) * here[i, j] for j in range(3)] for i in range(24)]
    return x, truth[:12].tolist(), crowd, q.Given(gold=gold)


@pytest.mark.parametrize("ridge", [0.5, 5.0, 50.0])
def test_by_newtons_method(ridge: float) -> None:
    x, y, crowd, given = made()
    w = newton(x[:12], y, ridge)
    merged = q.Stacking(ridge=ridge, clamp=False).fit(crowd, given)
    assert merged.assessors["weight"] == pytest.approx([w[1] + d for d in w[2:]], abs=1e-6)
    judged = {name: at for at, name in enumerate(merged.pairs.document_names)}
    for i, row in enumerate(x):
        if any(row):
            odds = w[0] + sum((w[1] + d) * v for d, v in zip(w[2:], row, strict=True))
            found = merged.relevant[judged[f"d{i:02d}"]]
            assert found == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-6)


def test_a_reversed_assessor_is_turned_around() -> None:
    _, _, crowd, given = made()
    weight = q.Stacking(ridge=1.0).fit(crowd, given).assessors["weight"]
    assert weight[0] > 0 > weight[2]


def test_the_ridge_is_chosen_on_gold_and_said() -> None:
    _, _, crowd, given = made()
    notes = q.Stacking().fit(crowd, given).fit.notes
    assert any("chosen on gold" in note for note in notes)


def test_gold_of_one_grade_only_stays_finite() -> None:
    _, _, crowd, _ = made()
    gold = q.Qrels.of(["t"] * 3, ["d00", "d01", "d02"], [1, 1, 1])
    assert np.isfinite(q.Stacking().fit(crowd, q.Given(gold=gold)).posterior).all()


def test_without_gold_it_is_the_vote() -> None:
    _, _, crowd, _ = made()
    merged = q.Stacking().fit(crowd)
    assert np.array_equal(merged.posterior, q.MajorityVote().fit(crowd).posterior)
    assert any("no gold" in note for note in merged.fit.notes)
