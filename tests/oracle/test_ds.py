"""Dawid-Skene against plain loops, and against the table and the figures of the 1979 paper."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import qrowd as q

Vote = tuple[str, str, int, float]
Belief = dict[str, list[float]]

# Dawid & Skene 1979, Table 1: 45 patients, seen by one observer three times, by four others once.
ANAESTHESIA = """
111 1 1 1 1|333 4 3 3 4|112 2 1 2 2|222 3 1 2 1|222 3 2 2 2|222 3 3 2 2|122 2 1 1 1|333 3 4 3 3|222 2 2 2 3
232 2 2 2 3|444 4 4 4 4|222 3 3 4 3|111 1 1 1 1|222 3 2 1 2|121 1 1 1 1|111 2 1 1 1|111 1 1 1 1|111 1 1 1 1
222 2 2 2 1|222 1 3 2 2|222 2 2 2 2|222 2 2 2 1|222 3 2 2 2|221 2 2 2 2|111 1 1 1 1|111 1 1 1 1|232 2 2 2 2
111 1 1 1 1|111 1 1 1 1|112 1 1 2 1|111 1 1 1 1|333 3 2 3 3|111 1 1 1 1|222 2 2 2 2|222 3 2 3 2|433 4 3 4 3
221 2 2 3 2|232 3 2 3 3|333 3 4 3 2|111 1 1 1 1|111 1 1 1 1|121 2 1 1 1|232 2 2 2 2|121 1 1 1 1|222 2 2 2 2
"""  # noqa: E501


def anaesthesia() -> list[Vote]:
    patients = ANAESTHESIA.strip().replace("\n", "|").split("|")
    return [
        (f"{number:02d}", f"observer {observer}", int(grade), 1.0)
        for number, patient in enumerate(patients, start=1)
        for observer, grades in enumerate(patient.split(), start=1)
        for grade in grades
    ]


def small_crowd(grades: int, weighted: bool = False) -> list[Vote]:
    random = np.random.default_rng(7)
    votes = []
    for pair in range(25):
        true = int(random.integers(grades))
        for assessor in random.choice(6, 3):  # with replacement: some judge a pair twice
            right = random.random() < 0.5 + assessor / 12
            said = true if right else int(random.integers(grades))
            weight = float(random.integers(1, 4)) / 2 if weighted else 1.0
            votes.append((f"d{pair:02d}", f"a{assessor}", said, weight))
    return votes


def plainly(
    votes: list[Vote], grades: list[int], iterations: int, smoothing: float, gold: dict[str, int]
) -> tuple[Belief, list[float], list[float]]:
    """Dawid-Skene from the shares of votes, number by number; belief, prior, log-likelihoods."""
    docs = sorted({doc for doc, *_ in votes})
    belief: Belief = {}
    for doc in docs:
        share = [sum(w for d, _, said, w in votes if (d, said) == (doc, g)) for g in grades]
        belief[doc] = [value / sum(share) for value in share]
        if doc in gold:
            belief[doc] = [float(g == gold[doc]) for g in grades]
    trace: list[float] = []
    prior: list[float] = []
    for _ in range(iterations):
        counts: dict[tuple[str, int, int], float] = defaultdict(lambda: smoothing)
        for doc, who, said, weight in votes:
            for true, p in enumerate(belief[doc]):
                counts[who, true, said] += weight * p
        prior = [sum(belief[doc][true] for doc in docs) + smoothing for true in range(len(grades))]
        prior = [value / sum(prior) for value in prior]
        total = smoothing * sum(math.log(p) for p in prior) if smoothing else 0.0
        if smoothing:
            for who in {who for _, who, _, _ in votes}:
                for true in range(len(grades)):
                    row = [counts[who, true, said] for said in grades]
                    total += smoothing * sum(math.log(value / sum(row)) for value in row)
        for doc in docs:
            joint = list(prior)
            for d, who, said, weight in votes:
                if d == doc:
                    for true in range(len(grades)):
                        row = [counts[who, true, h] for h in grades]
                        p = counts[who, true, said] / sum(row) if sum(row) else 1 / len(grades)
                        joint[true] *= p**weight
            if doc in gold:
                joint = [p * (g == gold[doc]) for g, p in zip(grades, joint, strict=True)]
            total += math.log(sum(joint))
            belief[doc] = [p / sum(joint) for p in joint]
        trace.append(total)
    return belief, prior, trace


def judgements(votes: list[Vote], grades: list[int]) -> q.Judgements:
    docs, who, said, weight = zip(*votes, strict=True)
    extras = {} if set(weight) == {1.0} else {"weight": np.array(weight)}
    scale = q.Scale(tuple(grades))
    return q.Judgements.of(["t"] * len(votes), docs, who, said, scale=scale, **extras)


@pytest.mark.filterwarnings("ignore::qrowd.errors.NotConvergedWarning")
@pytest.mark.parametrize("grades", [[0, 1], [0, 1, 2], [1, 2, 3, 4, 5]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("known", [{}, {"d03": 1, "d11": 1}])
def test_plain_loops(
    grades: list[int], weighted: bool, smoothing: float, known: dict[str, int]
) -> None:
    votes = [
        (d, a, grades[code], w) for d, a, code, w in small_crowd(len(grades), weighted=weighted)
    ]
    belief, prior, trace = plainly(votes, grades, 8, smoothing, known)
    gold = q.Qrels.of(["t"] * len(known), list(known), list(known.values())) if known else None
    method = q.DawidSkene(max_iter=8, tol=1e-300, smoothing=smoothing)
    merged = method.fit(judgements(votes, grades), q.Given(gold=gold))
    expected = [belief[doc] for doc in merged.pairs.document_names]
    np.testing.assert_allclose(merged.posterior, expected, atol=1e-10)
    np.testing.assert_allclose(merged.details["prior"][0], prior, atol=1e-12)
    np.testing.assert_allclose(merged.fit.trace, trace, rtol=1e-11)


def test_anaesthesia() -> None:
    """The class marginals that Dawid and Skene print; the first observer counts three times."""
    merged = q.DawidSkene().fit(judgements(anaesthesia(), [1, 2, 3, 4]))
    assert merged.details["prior"][0].round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert merged.assessors["judgements"].tolist() == [135, 45, 45, 45, 45]


def test_it_goes_on_where_a_wrong_objective_stops() -> None:
    """An objective that counts the prior once per label stalls at iteration 4 on these data."""
    rows = judgements(anaesthesia(), [1, 2, 3, 4])
    fit = q.DawidSkene(tol=1e-9).fit(rows).fit
    _, _, trace = plainly(anaesthesia(), [1, 2, 3, 4], 6, 0.0, {})
    np.testing.assert_allclose(fit.trace[:6], trace, rtol=1e-11)
    assert fit.converged
    assert fit.iterations > 6
    assert fit.trace[-1] - fit.trace[3] > 0.01


def test_anaesthesia_is_typed_as_the_data_have_it(real_data: Path) -> None:
    theirs = q.read_judgements(real_data / "dawid_skene_1979" / "judgements.tsv.gz")
    ours = judgements(anaesthesia(), [1, 2, 3, 4])
    by_name = np.argsort([int(name) for name in theirs.pairs.document_names])
    assert theirs.votes[by_name].tolist() == ours.votes.tolist()
    assert theirs.per_assessor.tolist() == ours.per_assessor.tolist()
