from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.data.arrays import Floats
from qrowd.errors import ParameterError, UnknownNameError, UsageError
from qrowd.evaluation.measure import Measure, measures_of, parse_measure
from qrowd.evaluation.relevance import Certain


def test_measures_are_values() -> None:
    assert repr(q.nDCG @ 20) == "nDCG@20"
    assert repr(q.nDCG(dcg="jk", base=10) @ 20) == "nDCG(dcg='jk', base=10.0)@20"
    assert q.AP(rel=2) == parse_measure("AP(rel=2)")
    assert q.AP(rel=2) != q.AP
    assert len({q.AP, q.AP(rel=1), q.nDCG(gains={1: 5}), q.nDCG(gains={1: 5})}) == 2


@pytest.mark.parametrize(
    "spec",
    [
        "AP",
        "AP@100",
        "AP(rel=2)",
        "AP(rel=2, judged_only=True)@10",
        "P@10",
        "P(rel=2)@10",
        "nDCG",
        "nDCG@20",
        "nDCG(dcg='exp-log2')@20",
        "nDCG(gains={0: 0, 1: 5})@20",
    ],
)
def test_strings_round_trip(spec: str) -> None:
    assert repr(parse_measure(spec)) == spec


@pytest.mark.parametrize(
    "spec",
    [
        "AP(rel=2,judged_only=True)@1000",
        "RBP(p=0.9,rel=2)@10",
        "Bpref(rel=2)",
        "infAP(rel=1)",
        "Rprec(judged_only=True)",
        "RPrec(rel=2)",
        "RR(rel=2)@10",
        "MRR@10",
        "R(judged_only=True)@100",
        "Recall(rel=2)@100",
        "Judged@10",
        "Judged",
        "BPref",
        "nDCG(dcg='log2')",
        'nDCG(dcg="exp-log2",gains={0:0,1:1,2:3})@5',
        "P(cutoff=5)",
        "nDCG @ 20",
    ],
)
def test_strings_of_ir_measures(spec: str) -> None:
    measure = parse_measure(spec)
    assert parse_measure(repr(measure)) == measure


@pytest.mark.parametrize(
    ("other", "ours"),
    [
        ("MAP", "AP"),
        ("NDCG@5", "nDCG@5"),
        ("Precision(rel=2)@5", "P(rel=2)@5"),
        ("map", "AP"),
        ("map_cut_10", "AP@10"),
        ("P_10", "P@10"),
        ("ndcg_cut.20", "nDCG@20"),
        ("nDCG(gains={0:0,1:5},cutoff=20)", "nDCG(gains={0: 0, 1: 5})@20"),
    ],
)
def test_names_of_others(other: str, ours: str) -> None:
    assert repr(parse_measure(other)) == ours


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("APP", UnknownNameError, "did you mean"),
        ("AP(cut=3)", UnknownNameError, "parameter of AP"),
        ("AP@0", ParameterError, "cutoff must be a whole number at least 1"),
        ("P", UsageError, "P needs a cutoff, as in P@10"),
        ("nDCG(gains={1: -5})", ParameterError, "gains must map"),
        ("nDCG(gains=5)", ParameterError, "gains must be"),
    ],
)
def test_bad_measures(spec: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        measures_of(spec)


def test_no_or_double_measures() -> None:
    with pytest.raises(UsageError, match="no measure"):
        measures_of([])
    with pytest.raises(UsageError, match="named twice: AP"):
        measures_of([q.AP, "MAP"])


@pytest.fixture
def dummy() -> Iterator[type]:
    @registry.measure("Length", paper="Nobody 1900")
    class Length(Measure):
        """The length of a ranking."""

        def score(self, case: Certain) -> Floats:
            return np.repeat(case.ranked.lengths[:, None].astype(np.float64), case.shape[1], axis=1)

    yield Length
    registry.forget("Length", "measure")


def test_one_declaration_is_a_measure(dummy: type) -> None:
    length = getattr(q, "Length")  # noqa: B009, registered a moment ago
    assert length == dummy()
    runs = q.RunSet.of(["a", "a"], ["1", "1"], ["x", "y"], [2, 1])
    assert q.evaluate(runs, q.Qrels.of(["1"], ["x"], [1]), "Length").values.item() == 2
    with pytest.raises(UsageError, match="takes no cutoff"):
        length @ 10
    path = Path(__file__).parents[2] / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert "## `Length` { #Length }" in generate.pages()["measures/index.md"]


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        ("RR@10(rel=2)", "RR(rel=2)@10"),
        ("nDCG@20(dcg='exp-log2')", "nDCG(dcg='exp-log2')@20"),
        ("ERR@5(max_grade=3)", "ERR(max_grade=3)@5"),
        ("success_10", "Success@10"),
        ("P @ 5 (rel=2)", "P(rel=2)@5"),
    ],
)
def test_a_cutoff_may_come_before_the_arguments(spec: str, same: str) -> None:
    assert repr(parse_measure(spec)) == same


def test_two_cutoffs_are_refused() -> None:
    with pytest.raises(UsageError, match="two cutoffs, @10 and @20"):
        parse_measure("RR@10(rel=2)@20")


def test_err_as_gdeval_has_it() -> None:
    """gdeval.pl, in plain loops: the probability of going on, rank by rank."""
    random = np.random.default_rng(4)
    names = [f"d{at:02d}" for at in range(30)]
    grades, scores = random.integers(-1, 5, 20), random.random(30)
    runs = q.RunSet.of(["s"] * 30, ["t"] * 30, names, scores)
    found = q.evaluate(runs, q.Qrels.of(["t"] * 20, names[:20], grades), ["ERR@10", "ERR"])
    for depth, value in zip((10, 30), found.values.ravel(), strict=True):
        going_on, total = 1.0, 0.0
        for place, document in enumerate(np.argsort(-scores)[:depth], start=1):
            grade = max(int(grades[document]), 0) if document < 20 else 0
            stop = (2**grade - 1) / 16
            total += going_on * stop / place
            going_on *= 1 - stop
        assert value == pytest.approx(total, abs=1e-15)


def test_rbp_stays_between_0_and_1() -> None:
    with pytest.raises(ParameterError, match="RBP: gains must be numbers from 0 to 1"):
        q.RBP(gains={1: 1, 2: 2})
    runs = q.RunSet.of(["s"] * 50, ["t"] * 50, [f"d{at}" for at in range(50)], range(50))
    gold = q.Qrels.of(["t"] * 50, [f"d{at}" for at in range(50)], [3] * 50)
    assert q.evaluate(runs, gold, q.RBP(gains={1: 0.5})).values.item() == pytest.approx(1, abs=1e-4)


def test_one_level_of_relevance_for_all_measures_that_have_one() -> None:
    made = measures_of(["AP", "P(rel=3)@10", "nDCG@20", "RR@10"], rel=2)
    assert [repr(one) for one in made] == ["AP(rel=2)", "P(rel=3)@10", "nDCG@20", "RR(rel=2)@10"]
    made = measures_of(["AP(rel=1)", "AP", "RR@10(rel=1)"], rel=2)  # what a measure says counts
    assert [repr(one) for one in made] == ["AP", "AP(rel=2)", "RR@10"]
