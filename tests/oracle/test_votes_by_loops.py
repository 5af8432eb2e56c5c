"""Vote-based methods against slow plain loops over (pair, assessor, grade) triples."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

import qrowd as q

Triples = list[tuple[int, int, int]]


def triples(pairs: int = 14, assessors: int = 5, grades: int = 2, seed: int = 3) -> Triples:
    """Some assessors skip pairs, one judges a pair twice."""
    random = np.random.default_rng(seed)
    truth = random.integers(grades, size=pairs)
    skill = random.uniform(0.4, 0.95, assessors)
    found: Triples = []
    for i in range(pairs):
        for j in range(assessors):
            if random.random() < 0.8:
                wrong = (truth[i] + random.integers(1, grades)) % grades
                found.append((i, j, int(truth[i] if random.random() < skill[j] else wrong)))
    return [*found, found[0]]


def judgements(rows: Triples, grades: int = 2) -> q.Judgements:
    pair, assessor, grade = zip(*rows, strict=True)
    return q.Judgements.of(
        ["t"] * len(rows),
        [f"d{i:03d}" for i in pair],
        [f"a{j:03d}" for j in assessor],
        grade,
        scale=q.Scale(tuple(range(grades))),
    )


def hard(score: dict[int, float], grades: int) -> dict[int, float]:
    """All to the best grade, in equal parts to tied ones."""
    best = max(score[g] for g in range(grades))
    tied = [g for g in range(grades) if math.isclose(score[g], best, abs_tol=1e-9)]
    return {g: 1 / len(tied) for g in tied}


@pytest.mark.parametrize("grades", [2, 3])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_wmv_iter(grades: int, seed: int) -> None:
    rows = triples(grades=grades, seed=seed)
    pairs, assessors = sorted({i for i, _, _ in rows}), sorted({j for _, j, _ in rows})
    weight = dict.fromkeys(assessors, 1.0)
    labels: dict[int, dict[int, float]] = {}
    for _ in range(100):
        scores: dict[int, dict[int, float]] = {i: dict.fromkeys(range(grades), 0.0) for i in pairs}
        for i, j, g in rows:
            scores[i][g] += weight[j]
        found = {i: hard(scores[i], grades) for i in pairs}
        for j in assessors:
            own = [(i, g) for i, k, g in rows if k == j]
            weight[j] = grades * sum(found[i].get(g, 0.0) for i, g in own) / len(own) - 1
        if found == labels:
            break
        labels = found
    merged = q.IterativeWeightedVote().fit(judgements(rows, grades))
    np.testing.assert_allclose(merged.assessors["weight"], list(weight.values()), atol=1e-12)
    for row, i in enumerate(pairs):
        share = dict.fromkeys(range(grades), 0.0)
        for k, j, g in rows:
            for h in range(grades):
                if k == i and weight[j] * (1 if h == g else -1) > 0:
                    share[h] += abs(weight[j])
        expected = [share[g] / sum(share.values()) for g in range(grades)]
        np.testing.assert_allclose(merged.posterior[row], expected, atol=1e-12)


@pytest.mark.parametrize("labels", ["hard", "soft"])
@pytest.mark.parametrize("prior", ["none", "learned"])
@pytest.mark.parametrize("grades", [2, 3])
def test_one_coin(labels: str, prior: str, grades: int) -> None:
    rows = triples(grades=grades, seed=8)
    pairs, assessors = sorted({i for i, _, _ in rows}), sorted({j for _, j, _ in rows})
    votes: dict[int, dict[int, float]] = {i: defaultdict(float) for i in pairs}
    for i, _, g in rows:
        votes[i][g] += 1
    belief = {i: hard(votes[i], grades) for i in pairs}
    soft: dict[int, dict[int, float]] = {}
    for _ in range(400):
        accuracy = {}
        for j in assessors:
            own = [(i, g) for i, k, g in rows if k == j]
            accuracy[j] = (sum(belief[i].get(g, 0.0) for i, g in own) + 1) / (len(own) + 2)
        chance = dict.fromkeys(range(grades), 1.0)
        if prior == "learned":
            chance = {g: sum(b.get(g, 0.0) for b in belief.values()) + 1 for g in range(grades)}
        for i in pairs:
            score = {g: math.log(chance[g]) for g in range(grades)}
            for k, j, g in rows:
                if k == i:
                    score[g] += math.log((grades - 1) * accuracy[j] / (1 - accuracy[j]))
            total = sum(math.exp(s) for s in score.values())
            soft[i] = {g: math.exp(score[g]) / total for g in range(grades)}
            belief[i] = hard(score, grades) if labels == "hard" else soft[i]
    merged = q.OneCoin(labels=labels, prior=prior, tol=1e-14).fit(judgements(rows, grades))
    np.testing.assert_allclose(merged.assessors["accuracy"], list(accuracy.values()), atol=1e-5)
    expected = [[soft[i][g] for g in range(grades)] for i in pairs]
    np.testing.assert_allclose(merged.posterior, expected, atol=1e-5)
