"""Expected measures: enumeration is the oracle, and p in {0, 1} gives the measure itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import qrowd as q
from qrowd.data.arrays import Floats
from qrowd.data.index import Pairs
from qrowd.errors import DataWarning, ParameterError, UsageError
from qrowd.evaluation.expectation import Quadrature
from qrowd.evaluation.measure import parse_measure

EXACT = [
    "GMAP",
    "NumRet",
    "NumRet(rel=1)",
    "NumRelRet",
    "NumNonrelRet",
    "NumRel",
    "NumQ",
    "AP",
    "AP@3",
    "AP(judged_only=True)",
    "P@3",
    "R@3",
    "R",
    "RR",
    "RR@2",
    "Rprec",
    "DCG@4",
]
EXACT += ["CG", "DCG(dcg='jk',base=3)", "RBP", "RBP(p=0.5)@3", "Judged@4", "RBP(part='residual')"]
EXACT += ["Success@3", "ERR(max_grade=1)", "ERR@2", "nDCG", "nDCG@3", "nDCG(gains={1:5})@4"]
EXACT += ["nDCG(dcg='jk',base=3)@5", "nDCG(judged_only=True)"]
GRADED = ["AP(rel=2)", "DCG@4", "DCG(dcg='exp-log2')", "DCG(gains={1:5})", "RBP(gains={1:.5,2:1})"]
GRADED += ["P(rel=2)@3", "RR", "Rprec(rel=2)", "ERR@4", "Success(rel=2)@2", "RBP(gains={1:.5})"]
GRADED += ["nDCG(gains={1:0,2:3})@4", "nDCG(gains={1:2,2:2})"]


def make_runs(seed: int = 3) -> q.RunSet:
    """Four runs over eight documents, of which the pool has six (d0..d5)."""
    random = np.random.default_rng(seed)
    rows = [
        (f"r{run}", "t", f"d{document}", float(-place))
        for run, length in enumerate((8, 5, 3, 1))
        for place, document in enumerate(random.permutation(8)[:length])
    ]
    return q.RunSet.of(*map(list, zip(*rows, strict=True)))


def soft_of(p: Floats, grades: tuple[int, ...] = (0, 1)) -> q.SoftQrels:
    pairs = Pairs.of(["t"] * len(p), [f"d{number}" for number in range(len(p))])
    return q.SoftQrels(pairs, q.Scale(grades), p)


def enumerated(runs: q.RunSet, soft: q.SoftQrels, measure: str) -> Floats:
    """The mean over all certain qrels, weighted by their probabilities: [runs]."""
    codes = np.array(list(itertools.product(range(len(soft.scale)), repeat=len(soft)))).T
    weight = np.prod(soft.p[np.arange(len(soft))[:, None], codes], axis=0)
    many = q.QrelsSet.of_draws(soft.pairs, np.array(soft.scale.grades, np.int8)[codes])
    values = q.evaluate(runs, many, measure).values[0, :, 0]
    return np.asarray(weight @ values)


@pytest.mark.parametrize("measure", EXACT)
def test_enumeration(measure: str) -> None:
    runs = make_runs()
    for p in ([0.2, 0.9, 0.5, 0.01, 0.7, 0.5], [0, 1, 0.5, 1, 0.3, 0], [0.0] * 6, [1.0] * 6):
        soft = soft_of(np.stack([1 - np.array(p), p], axis=1))
        expected = q.evaluate(runs, soft, measure).values[0, 0, 0]
        np.testing.assert_allclose(expected, enumerated(runs, soft, measure), atol=1e-13)


@pytest.mark.parametrize("measure", GRADED)
def test_enumeration_of_grades(measure: str) -> None:
    runs = make_runs(5)
    p = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    soft = soft_of(p, (0, 1, 2))
    expected = q.evaluate(runs, soft, measure).values[0, 0, 0]
    np.testing.assert_allclose(expected, enumerated(runs, soft, measure), atol=1e-13)


@pytest.mark.parametrize("measure", [*EXACT, "AP(expected='ratio')", "nDCG(expected='ratio')@3"])
def test_certainty_gives_the_measure(measure: str) -> None:
    runs = make_runs(7)
    qrels = q.Qrels.of(["t"] * 6, [f"d{number}" for number in range(6)], [0, 1, 1, 0, 1, 0])
    expected = q.evaluate(runs, qrels.soft(), measure).values
    np.testing.assert_allclose(expected, q.evaluate(runs, qrels, measure).values, atol=1e-13)


def test_ratio_by_hand() -> None:
    """Ferrante, Ferro & Losiouk 2019: 1/RB sum_n (1/n) (1 + sum_{s<n} p_s) p_n."""
    runs = q.RunSet.of(["s"] * 3, ["t"] * 3, ["d2", "d0", "x"], [3, 2, 1])
    p = np.array([0.5, 0.25, 0.8])
    soft = soft_of(np.stack([1 - p, p], axis=1))
    got = q.evaluate(runs, soft, "AP(expected='ratio')").values.item()
    assert got == pytest.approx((0.8 + (1 + 0.8) * 0.5 / 2) / 1.55)
    with pytest.warns(DataWarning, match="can exceed 1"):
        scores = q.evaluate(runs, soft, "AP(expected='ratio')", unjudged=0.1)
    by_hand = (0.8 + 1.8 * 0.5 / 2 + (1 + 1.3) * 0.1 / 3) / 1.55
    assert scores.values.item() == pytest.approx(by_hand)
    assert any("p = 0.1" in note for note in scores.notes)


def test_table_mapping() -> None:
    qrels = q.Qrels.of(["t"] * 3, ["a", "b", "c"], [2, 0, -1])
    np.testing.assert_allclose(qrels.soft(0.95, 0.05).relevant, [0.95, 0.05, 0.05])
    np.testing.assert_allclose(qrels.soft(at_least=3).relevant, [0, 0, 0])
    with pytest.raises(ParameterError, match="must lie in"):
        qrels.soft(1.5)


def test_expected_dcg_of_the_paper() -> None:
    p = np.linspace(0.9, 0.1, 12)
    names = [f"d{number}" for number in range(12)]
    runs = q.RunSet.of(["s"] * 12, ["t"] * 12, names, -np.arange(12.0))
    soft = soft_of(np.stack([1 - p, p], axis=1))
    rank = np.arange(1, 13)
    dcg, rbp = q.evaluate(runs, soft, [q.DCG(dcg="jk", base=10), q.RBP]).values[:, 0, 0, 0]
    along = np.array([soft.relevant[soft.pairs.documents.code(name)] for name in names])
    assert dcg == pytest.approx((along / np.maximum(1, np.log10(rank))).sum())
    assert rbp == pytest.approx((0.2 * 0.8 ** (rank - 1) * along).sum())


def test_mean_over_draws_tends_to_it() -> None:
    random = np.random.default_rng(11)
    names = [f"d{number:03d}" for number in range(200)]
    p = random.beta(0.3, 1.2, 200)
    runs = q.RunSet.of(
        ["a"] * 150 + ["b"] * 150,
        ["t"] * 300,
        [*random.permutation(names)[:150], *random.permutation(names)[:150]],
        random.normal(size=300),
    )
    soft = q.SoftQrels(Pairs.of(["t"] * 200, names), q.Scale((0, 1)), np.stack([1 - p, p], axis=1))
    draws = (random.random((200, 4000)) < p[:, None]).astype(np.int8)
    measures = ["AP", "R@50", "Rprec", "RR", "P@10", "DCG", "RBP"]
    many = q.evaluate(runs, q.QrelsSet.of_draws(soft.pairs, draws), measures).values[:, :, 0]
    error = many.std(axis=1) / np.sqrt(4000)
    expected = q.evaluate(runs, soft, measures).values[:, 0, 0]
    assert (np.abs(expected - many.mean(axis=1)) < 4 * error).all()


def test_few_nodes_are_enough() -> None:
    """48 + 3 sqrt(sum p) nodes against the exact number of them, on a large pool."""
    p = np.random.default_rng(2).random(3000)
    some = Quadrature.of(p)
    assert len(some.node) < 200
    at, weight = np.polynomial.legendre.leggauss(1500)
    factor = 1 - p[:, None] + p[:, None] * (at + 1) / 2
    exact = (p[:, None] / factor) @ (weight / 2 * np.exp(np.log(factor).sum(axis=0)))
    np.testing.assert_allclose(some.integral(some.ratio), exact, atol=1e-12)
    assert some.integral(some.ratio).sum() == pytest.approx(1, abs=1e-10)  # sum x / R = 1


@pytest.mark.parametrize("measure", ["Bpref", "infAP"])
def test_no_expectation(measure: str) -> None:
    soft = soft_of(np.full((6, 2), 0.5))
    with pytest.raises(UsageError, match="score draws instead"):
        q.evaluate(make_runs(), soft, measure)


@pytest.mark.parametrize("measure", ["AP", "R@3", "Rprec"])
def test_unjudged_documents_have_no_recall_base(measure: str) -> None:
    with pytest.raises(UsageError, match="leave unjudged at 0"):
        q.evaluate(make_runs(), soft_of(np.full((6, 2), 0.5)), measure, unjudged=0.05)


def test_unjudged_documents_count() -> None:
    runs, soft = make_runs(), soft_of(np.full((6, 2), 0.5))
    without = q.evaluate(runs, soft, ["P@8", "RBP", "RR"]).values
    scores = q.evaluate(runs, soft, ["P@8", "RBP", "RR"], unjudged=0.25)
    assert scores.values[0, 0, 0, 0] == pytest.approx((6 * 0.5 + 2 * 0.25) / 8)
    assert (scores.values[:, 0, 0, 0] > without[:, 0, 0, 0]).all()
    high = q.evaluate(runs, soft_of(np.full((6, 3), 1 / 3), (0, 1, 2)), "P(rel=2)@8", unjudged=0.25)
    assert high.values[0, 0, 0, 0] == pytest.approx(6 / 3 / 8)


def test_ndcg_says_what_it_is() -> None:
    soft = soft_of(np.full((6, 2), 0.5))
    ratio = q.evaluate(make_runs(), soft, q.nDCG(expected="ratio") @ 3)
    assert any("not an expectation of nDCG" in note for note in ratio.notes)
    assert not any("nDCG" in note for note in q.evaluate(make_runs(), soft, q.nDCG @ 3).notes)


def test_ndcg_of_many_grades_is_drawn_and_says_so() -> None:
    runs = make_runs(5)
    soft = soft_of(np.random.default_rng(0).dirichlet(np.ones(3), 6), (0, 1, 2))
    found = q.evaluate(runs, soft, q.nDCG @ 4)
    assert any("mean over 1000 draws" in note for note in found.notes)
    expected = enumerated(runs, soft, "nDCG@4")
    np.testing.assert_allclose(found.values[0, 0, 0], expected, atol=0.03)
    np.testing.assert_array_equal(found.values, q.evaluate(runs, soft, q.nDCG @ 4).values)


def test_soft_topics() -> None:
    runs = q.RunSet.of(["a", "b"], ["1", "2"], ["x", "x"], [1, 1])
    soft = q.Qrels.of(["1", "2", "3"], ["x", "x", "x"], [1, 1, 0]).soft()
    scores = q.evaluate(runs, soft, q.AP)
    np.testing.assert_array_equal(scores.values[0, 0], [[1, 0], [0, 1], [0, 0]])
    assert any("no document can have grade 1 or higher on 1 topic (3)" in n for n in scores.notes)
    both = q.evaluate(runs, soft, q.AP, topics="both", keep="means")
    np.testing.assert_array_equal(both.values[0, 0, 0], [1, 1])
    assert both.averaged


def test_every_measure_has_a_test_here() -> None:
    from qrowd.registry import cards

    tested = {parse_measure(spec).card.id for spec in EXACT}
    drawn = (
        "Bpref GMBpref infAP IPrec IAP SetP SetF SetAP Utility RnDCG nDCGrel G INST INSQ BPM Compat"
    )
    of_subtopics = "alpha_DCG alpha_nDCG ERR_IA nERR_IA NRBP nNRBP AP_IA P_IA StRecall"
    assert tested | {*drawn.split(), *of_subtopics.split()} == set(cards("measure"))


def test_every_grade_has_its_own_chance() -> None:
    gold = q.Qrels.of(["t"] * 4, list("abcd"), [2, 0, 1, 2])
    soft = gold.soft(chances={0: 0.05, 1: 0.5, 2: 0.95})
    assert soft.relevant.tolist() == [0.95, 0.05, 0.5, 0.95]
    same = gold.soft(0.95, 0.05).relevant
    assert gold.soft(chances={0: 0.05, 1: 0.95, 2: 0.95}).relevant.tolist() == same.tolist()
    with pytest.raises(q.errors.ParameterError, match="grade 1 occurs, but has no chance"):
        gold.soft(chances={0: 0.05, 2: 0.95})
    with pytest.raises(q.errors.ParameterError, match=r"0\.\.1"):
        gold.soft(chances={0: 0.05, 1: 0.5, 2: 95})
