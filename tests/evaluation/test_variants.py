"""Measures that trec_eval does not have, against plain loops; and the papers' variants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import qrowd as q

GRADES = {"a": 2, "b": 0, "c": 1, "d": -1, "e": 3, "f": 1}
RANKING = ["x", "a", "b", "c", "d", "y", "f"]


@pytest.fixture(scope="module")
def case() -> tuple[q.RunSet, q.Qrels]:
    runs = q.RunSet.of(["s"] * 7, ["t"] * 7, RANKING, [7, 6, 5, 4, 3, 2, 1])
    return runs, q.Qrels.of(["t"] * 6, list(GRADES), list(GRADES.values()))


def value(case: tuple[q.RunSet, q.Qrels], measure: str) -> float:
    return float(q.evaluate(*case, measure).values.item())


def discount(rank: int, dcg: str, base: float) -> float:
    if dcg == "jk":
        return 1.0 if rank < base else math.log(rank, base)
    return math.log2(rank + 1)


def dcg_of(grades: list[int], dcg: str, base: float, gains: dict[int, float]) -> float:
    total = 0.0
    for rank, grade in enumerate(grades, 1):
        gain = gains.get(grade, max(grade, 0))
        total += (2**gain - 1 if dcg == "exp-log2" else gain) / discount(rank, dcg, base)
    return total


@pytest.mark.parametrize(
    ("parameters", "dcg", "base", "gains"),
    [
        ("", "log2", 2, {}),
        ("(dcg='exp-log2')", "exp-log2", 2, {}),
        ("(dcg='jk')", "jk", 2, {}),
        ("(dcg='jk', base=10)", "jk", 10, {}),
        ("(dcg='jk', base=3, gains={1: 5, 2: 9})", "jk", 3, {1: 5, 2: 9}),
        ("(gains={0: 1})", "log2", 2, {0: 1}),
    ],
)
def test_gains_and_discounts(
    case: Any, parameters: str, dcg: str, base: float, gains: dict[int, float]
) -> None:
    ranked = [GRADES.get(name, -128) for name in RANKING]
    best = sorted(GRADES.values(), key=lambda g: -gains.get(g, max(g, 0)))
    whole = dcg_of(ranked, dcg, base, gains)
    assert value(case, f"DCG{parameters}") == pytest.approx(whole)
    assert value(case, f"nDCG{parameters}") == pytest.approx(whole / dcg_of(best, dcg, base, gains))
    assert value(case, f"DCG{parameters}@3") == pytest.approx(dcg_of(ranked[:3], dcg, base, gains))
    assert value(case, f"nDCG{parameters}@3") == pytest.approx(
        dcg_of(ranked[:3], dcg, base, gains) / dcg_of(best[:3], dcg, base, gains)
    )


def test_rank_biased_precision(case: Any) -> None:
    weight = [0.2 * 0.8**n for n in range(7)]
    relevant, judged = (1, 3, 6), (1, 2, 3, 6)  # -1 at rank 5 is no judgement
    assert value(case, "RBP") == pytest.approx(sum(weight[n] for n in relevant))
    assert value(case, "RBP@3") == pytest.approx(weight[1])
    assert value(case, "RBP(rel=2)") == pytest.approx(weight[1])
    assert value(case, "RBP(p=0.5)") == pytest.approx(sum(0.5 * 0.5**n for n in relevant))
    graded = weight[1] * 1 + (weight[3] + weight[6]) * 0.5
    assert value(case, "RBP(gains={1: 0.5, 2: 1})") == pytest.approx(graded)
    residual = 1 - sum(weight[n] for n in judged)
    assert value(case, "RBP(part='residual')") == pytest.approx(residual)


def test_base_and_residual_bound_every_completion(case: Any) -> None:
    """If all that is unjudged were relevant, RBP would be the base plus the residual."""
    runs, _ = case
    low, rest = value(case, "RBP"), value(case, "RBP(part='residual')")
    whole = {**GRADES, "d": 1, "x": 1, "y": 1}
    more = q.Qrels.of(["t"] * 8, list(whole), list(whole.values()))
    high = q.evaluate(runs, more, "RBP").values.item()
    assert low + rest == pytest.approx(high + 0.8**7)  # and all documents below the list


def test_rank_biased_precision_far_down() -> None:
    names = [f"d{n:04d}" for n in range(3000)]
    runs = q.RunSet.of(["s"] * 3000, ["t"] * 3000, names, -np.arange(3000.0))
    scores = q.evaluate(runs, q.Qrels.of(["t"] * 3000, names, [1] * 3000), "RBP(p=0.1)")
    assert scores.values.item() == pytest.approx(1)


def test_judged_counts_every_grade_from_0_up(case: Any) -> None:
    assert value(case, "Judged@5") == 3 / 5
    assert value(case, "Judged") == 4 / 7
    assert value(case, "Judged@100") == 4 / 7  # of the list, as in ir_measures


def test_a_negative_grade_is_no_judgement_to_whatever_asks_for_one(case: Any) -> None:
    runs, qrels = case
    without = (runs, qrels.select(qrels.grade >= 0))
    # to infAP it is in the pool as well, as in trec_eval
    specs = ("Judged", "Judged@5", "RBP(part='residual')", "P(judged_only=True)@3", "Bpref")
    for spec in specs:
        assert value(case, spec) == value(without, spec), spec


def test_reciprocal_rank_with_a_cutoff(case: Any) -> None:
    assert value(case, "RR") == 0.5
    assert value(case, "RR(rel=2)@1") == 0.0


def test_negative_grades_are_not_relevant_even_at_level_0(case: Any) -> None:
    assert value(case, "P(rel=0)@5") == 3 / 5


def test_the_thesis_variant(case: Any) -> None:
    """Piazzon 2019: nDCG@20, base 2, gains 0 and 5: ranks 1 and 2 are not discounted."""
    runs = q.RunSet.of(["s"] * 4, ["t"] * 4, list("abcd"), [4, 3, 2, 1])
    qrels = q.Qrels.of(["t"] * 4, list("abcd"), [0, 1, 1, 0])
    got = q.evaluate(runs, qrels, q.nDCG(dcg="jk", base=2, gains={1: 5}) @ 20).values.item()
    assert got == pytest.approx((5 / 1 + 5 / math.log2(3)) / (5 + 5))


def test_cumulative_gain_has_no_discount() -> None:
    gold = q.Qrels.of(["t"] * 3, list("abc"), [2, 0, 1])
    runs = q.RunSet.of(["r"] * 3, ["t"] * 3, list("cba"), [3.0, 2.0, 1.0])
    values = q.evaluate(runs, gold, ["CG@2", "CG"]).values[:, 0, 0, 0]
    assert [repr(q.parse_measure(name)) for name in ("CG", "CG@2")] == ["CG", "CG@2"]
    assert values.tolist() == [1.0, 3.0]
