"""Vote-based methods against slow plain loops over (pair, assessor, grade) triples."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import UsageError
from qrowd.quality.trust import trust_if_all_agreed, turkrank

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


@pytest.mark.parametrize("labels", ["hard", "soft"])
@pytest.mark.parametrize("grades", [2, 3])
def test_two_coin(labels: str, grades: int) -> None:
    rows = triples(grades=grades, seed=9)
    pairs, assessors = sorted({i for i, _, _ in rows}), sorted({j for _, j, _ in rows})
    votes: dict[int, dict[int, float]] = {i: defaultdict(float) for i in pairs}
    for i, _, g in rows:
        votes[i][g] += 1
    belief = {i: hard(votes[i], grades) for i in pairs}
    soft: dict[int, dict[int, float]] = {}
    for _ in range(2000):
        accuracy = {}
        for j in assessors:
            for true in range(grades):
                own = [(belief[i].get(true, 0.0), g) for i, k, g in rows if k == j]
                right = sum(p for p, g in own if g == true)
                accuracy[j, true] = (right + 1) / (sum(p for p, _ in own) + 2)
        for i in pairs:
            score = dict.fromkeys(range(grades), 0.0)
            for k, j, g in rows:
                for true in range(grades):
                    a = accuracy[j, true]
                    if k == i:
                        score[true] += math.log(a if g == true else (1 - a) / (grades - 1))
            total = sum(math.exp(s) for s in score.values())
            soft[i] = {g: math.exp(score[g]) / total for g in range(grades)}
            belief[i] = hard(score, grades) if labels == "hard" else soft[i]
    merged = q.TwoCoin(labels=labels, tol=1e-14).fit(judgements(rows, grades))
    expected = [[soft[i][g] for g in range(grades)] for i in pairs]
    np.testing.assert_allclose(merged.posterior, expected, atol=1e-5)
    for true in range(grades):
        found = merged.assessors[f"p({true}|{true})"]
        np.testing.assert_allclose(found, [accuracy[j, true] for j in assessors], atol=1e-5)


def test_binmv_and_qbinmv() -> None:
    rows = triples(grades=2, seed=4)[:-1]
    pairs, assessors = sorted({i for i, _, _ in rows}), sorted({j for _, j, _ in rows})
    ones = [sum(g for k, _, g in rows if k == i) for i in pairs]
    votes = [sum(k == i for k, _, _ in rows) for i in pairs]
    crowd = judgements(rows)
    share = np.array(ones) / np.array(votes)
    np.testing.assert_allclose(q.BinomialVote().fit(crowd).relevant, share, atol=1e-12)
    with_missing = q.BinomialVote(missing="nonrelevant").fit(crowd).relevant
    np.testing.assert_allclose(with_missing, np.array(ones) / len(assessors), atol=1e-12)
    sharp = 1 / (1 + np.exp(-15 * (share - 0.5)))
    np.testing.assert_allclose(q.QuantisedBinomialVote().fit(crowd).relevant, sharp, atol=1e-12)


@pytest.mark.parametrize("by", ["ds", "gold", "trust"])
@pytest.mark.parametrize("grades", [2, 3])
def test_wbinmv(by: str, grades: int) -> None:
    rows = triples(pairs=30, grades=grades, seed=5)[:-1]
    crowd = judgements(rows, grades)
    pairs, assessors = sorted({i for i, _, _ in rows}), sorted({j for _, j, _ in rows})
    gold = {i: i % grades for i in pairs[:9]}
    known = q.Qrels.of(["t"] * 9, [f"d{i:03d}" for i in gold], list(gold.values()))
    given = q.Given(gold=known) if by == "gold" else q.NOTHING
    merged = q.WeightedBinomialVote(by=by).fit(crowd, given)
    belief = q.DawidSkene().fit(crowd).posterior
    trust = (
        turkrank(crowd).assessors / trust_if_all_agreed(crowd, np.full(30, -1, np.int8)).assessors
    )
    weight = []
    for j in assessors:
        hits, judged = [1.0] * grades, [float(grades)] * grades
        for i, k, g in rows:
            for true in range(grades):
                p = belief[pairs.index(i), true] if by == "ds" else float(gold.get(i) == true)
                if k == j:
                    judged[true] += p
                    hits[true] += p * (g == true)
        informed = sum(h / n for h, n in zip(hits, judged, strict=True)) - 1
        weight.append(trust[j] if by == "trust" else max(0.0, informed / (grades - 1)))
    np.testing.assert_allclose(merged.assessors["weight"], weight, atol=1e-12)
    assert min(weight) < max(weight)
    for row, i in enumerate(pairs):
        votes = [sum(weight[j] for k, j, g in rows if k == i and g == h) for h in range(grades)]
        if not any(votes):  # of people who weigh nothing: votes count the same
            votes = [sum(k == i and g == h for k, _, g in rows) for h in range(grades)]
        expected = np.eye(grades)[gold[i]] if by == "gold" and i in gold else votes / np.sum(votes)
        np.testing.assert_allclose(merged.posterior[row], expected, atol=1e-12)
    equal = q.WeightedBinomialVote(by=by, power=0).fit(crowd, given)
    plain = q.BinomialVote().fit(crowd, given)
    np.testing.assert_allclose(equal.posterior, plain.posterior, atol=1e-12)


def test_qbinmv_learns_its_steepness() -> None:
    """By a fine grid; with gold that says nothing of it, it stays where it was."""
    rows = triples(pairs=60, seed=8)[:-1]
    crowd = judgements(rows)
    share = q.BinomialVote().fit(crowd).relevant
    true = (np.random.default_rng(1).random(60) < 1 / (1 + np.exp(-4 * (share - 0.5)))).astype(int)
    gold = q.Qrels.of(["t"] * 60, [f"d{i:03d}" for i in range(60)], true)
    held = q.Qrels.of(["t"] * 40, [f"d{i:03d}" for i in range(40)], true[:40])
    grid = np.exp(np.linspace(np.log(15) - 4, np.log(15) + 4, 200_001))
    odds = np.where(true[:40] == 1, 1, -1) * (share[:40] - 0.5)
    loss = np.log(grid / 15) ** 2 / 2
    for each in odds:
        loss += np.log1p(np.exp(-grid * each))
    k = grid[loss.argmin()]
    learned = q.QuantisedBinomialVote(learn=True).fit(crowd, q.Given(gold=held))
    by_grid = q.QuantisedBinomialVote(k=float(k)).fit(crowd, q.Given(gold=held))
    np.testing.assert_allclose(learned.relevant, by_grid.relevant, atol=1e-4)
    assert f"steepness {k:.3g}, learned from 40 pairs with gold" in learned.fit.notes
    assert k < 14
    tied = q.Given(gold=gold.select(share == 0.5))  # which says nothing of the steepness
    same = q.QuantisedBinomialVote(learn=True).fit(crowd, tied).relevant
    np.testing.assert_allclose(same, q.QuantisedBinomialVote().fit(crowd, tied).relevant, atol=1e-4)
    without = q.QuantisedBinomialVote(learn=True).fit(crowd)
    assert "no gold was given: steepness 15, not learned" in without.fit.notes
    with pytest.raises(UsageError, match="needs gold"):
        q.WeightedBinomialVote(by="gold").fit(crowd)


@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize("grades", [2, 3])
def test_turkrank_by_a_dense_matrix(with_gold: bool, grades: int) -> None:
    rows = triples(grades=grades, seed=6)[:-1]
    pairs = sorted({i for i, _, _ in rows})
    gold = {i: i % grades for i in pairs[:6]} if with_gold else {}
    nodes = sorted({j for _, j, _ in rows}) + ([99] if with_gold else [])
    said = {(i, j): g for i, j, g in rows} | {(i, 99): g for i, g in gold.items()}
    agree = np.array(
        [
            [
                sum(u != v and (i, u) in said and said[i, u] == said.get((i, v)) for i in pairs)
                for v in nodes
            ]
            for u in nodes
        ],
        dtype=float,
    )
    prior = np.full(len(nodes), 1 / len(nodes))
    if with_gold:
        prior = np.array([float(node == 99) for node in nodes])
    trust = prior
    for _ in range(500):
        trust = 0.7 * trust @ (agree / agree.sum(axis=1, keepdims=True)) + 0.3 * prior
    known = q.Qrels.of(["t"] * 6, [f"d{i:03d}" for i in pairs[:6]], [i % grades for i in pairs[:6]])
    given = q.Given(gold=known) if with_gold else q.NOTHING
    merged = q.TurkRank().fit(judgements(rows, grades), given)
    own = trust[: len(merged.assessors)]
    np.testing.assert_allclose(merged.assessors["trust"], own, atol=1e-10)
    for row, i in enumerate(pairs):
        weight = np.zeros(grades)
        for k, j, g in rows:
            weight[g] += own[j] * (k == i)
        expected = np.eye(grades)[gold[i]] if i in gold else weight / weight.sum()
        np.testing.assert_allclose(merged.posterior[row], expected, atol=1e-9)


@pytest.mark.parametrize("prior", ["none", "learned"])
@pytest.mark.parametrize("inference", ["em", "vb"])
@pytest.mark.parametrize("grades", [2, 3])
def test_mace_fixed_point(prior: str, inference: str, grades: int) -> None:
    """One more iteration by plain loops from where it settled leaves it there."""
    from scipy.special import digamma

    rows = triples(pairs=30, assessors=6, grades=grades, seed=2)
    merged = q.MACE(inference=inference, prior=prior, tol=1e-13).fit(judgements(rows, grades))
    posterior = merged.posterior
    share = [1.0] * grades
    if prior == "learned":
        share = [float(sum(posterior[i, t] for i in range(30)) + 1) for t in range(grades)]
    made = merged.assessors["judgements"]
    honest = merged.assessors["competence"] * made
    for j in range(6):
        assert honest[j] <= made[j]
    copy, guess = [0.0] * 6, np.zeros((6, grades))
    for j in range(6):
        spam = made[j] - honest[j]
        habit = [merged.assessors[f"habit({g})"][j] * spam for g in range(grades)]
        if inference == "em":
            copy[j] = (honest[j] + 0.1) / (made[j] + 0.2)
            for g in range(grades):
                guess[j, g] = (1 - copy[j]) * (habit[g] + 0.1) / (spam + 0.1 * grades)
        else:
            total = digamma(made[j] + 1.0)
            copy[j] = math.exp(digamma(honest[j] + 0.5) - total)
            for g in range(grades):
                own = digamma(habit[g] + 10.0) - digamma(spam + 10.0 * grades)
                guess[j, g] = math.exp(digamma(spam + 0.5) - total + own)
    for i in range(30):
        chance = list(share)
        for k, j, a in rows:
            for t in range(grades):
                chance[t] *= (copy[j] * (a == t) + guess[j, a]) if k == i else 1.0
        np.testing.assert_allclose(posterior[i], np.array(chance) / sum(chance), atol=1e-4)
    for j in range(6):
        expected = sum(
            posterior[i, a] * copy[j] / (copy[j] + guess[j, a]) for i, k, a in rows if k == j
        )
        assert honest[j] == pytest.approx(expected, abs=1e-3)
