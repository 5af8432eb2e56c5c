"""Systems against each other: by hand, against scipy, and when nothing differs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from qrowd.comparison.systems import compare_systems
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError, ParameterError, UnknownNameError, UsageError


def scores(values: Floats, measures: tuple[str, ...] = ("AP",)) -> Scores:
    """Scores of values[measure, topic, run]."""
    runs = Index.of(f"run{at}" for at in range(values.shape[-1]))
    topics = Index.of(f"t{at:02d}" for at in range(values.shape[-2]))
    return Scores(measures, "", Index.of(["-"]), topics, runs, values[:, None])


@pytest.fixture(scope="module")
def made() -> Scores:
    """Five runs on 30 topics: two pairs of equals, and one far ahead."""
    random = np.random.default_rng(1)
    quality = np.array([0.3, 0.3, 0.5, 0.5, 0.8]) + random.normal(0, 0.1, (2, 30, 1))
    return scores(quality + random.normal(0, 0.05, (2, 30, 5)), ("AP", "RR"))


def test_p_and_intervals_are_scipys(made: Scores) -> None:
    found = compare_systems(made, test="t", correction="none", level=0.9)
    assert found.runs[0] == "run4"
    values = made.values[1, 0, :, [made.runs.code(name, "run") for name in found.runs]]
    for a in range(5):
        for b in range(a):
            expected = stats.ttest_rel(values[a], values[b]).pvalue
            assert found.p_values[1, a, b] == pytest.approx(expected)
        interval = stats.ttest_1samp(values[a], 0).confidence_interval(0.9)
        assert (found.low[1, a], found.high[1, a]) == pytest.approx(tuple(interval))


def test_marks_of_all_pairs(made: Scores) -> None:
    found = compare_systems(made)
    assert found.better(0).sum(axis=1).tolist() == [4, 2, 2, 0, 0]
    text = str(found)
    assert "b-e" in next(line for line in text.splitlines() if line.startswith("a run4"))
    assert "Holm's correction over 10 tests in each measure" in text
    tex = found.to_latex()
    assert r"$^{a}$ run4 & \textbf{0." in tex
    assert r"$^{d e}$" in tex
    assert "interval" not in tex  # the table has none
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(again["tests"]) == 2 * 10
    assert len(found.to_polars()) == 10


def test_a_baseline_needs_fewer_tests(made: Scores) -> None:
    found = compare_systems(made, baseline="run2", correction="bonferroni")
    plain = compare_systems(made, baseline="run2", correction="none")
    base = found.runs.index("run2")
    known = ~np.isnan(plain.p_values[0, base])
    assert known.sum() == 4
    expected = np.minimum(4 * plain.p_values[0, base][known], 1)
    assert np.allclose(found.p_values[0, base][known], expected)
    rows = {row["run"]: row for row in found.rows() if row["measure"] == "AP"}
    assert rows["run4"]["better_than"] == "run2"
    assert rows["run0"]["difference"] < 0
    text = str(found)
    assert "significantly better / worse than run2" in text
    assert next(line for line in text.splitlines() if line.startswith("run4")).endswith("+")
    assert next(line for line in text.splitlines() if line.startswith("run0")).endswith("-")
    assert r"\blacktriangledown" in found.to_latex()


@pytest.mark.parametrize("correction", ["holm", "fdr"])
def test_equal_systems_are_rarely_marked(correction: str) -> None:
    """In at most about 5 % of worlds in which nothing differs is anything marked."""
    marked = 0
    for world in range(60):
        noise = np.random.default_rng(world).normal(0.4, 0.1, (1, 20, 4))
        found = compare_systems(scores(noise), test="t", correction=correction)
        marked += bool(found.better(0).any())
    assert marked <= 8  # 5 % of 60 is 3; above 8 in fewer than 1 of 100 such tests


def test_misuse(made: Scores) -> None:
    with pytest.raises(UnknownNameError, match="run9"):
        compare_systems(made, baseline="run9")
    with pytest.raises(ParameterError, match="correction must be one of"):
        compare_systems(made, correction="tukey")
    with pytest.raises(InputError, match="two or more runs and topics"):
        compare_systems(made[Index.of(["t01"])])
    two = Index.of(["0", "1"])
    many = Scores(("AP",), "draw", two, made.topics, made.runs, made.values[:1].repeat(2, axis=1))
    with pytest.raises(UsageError, match="2 draws"):
        compare_systems(many)


def test_latex_says_too_that_nothing_can_be_marked(made: Scores) -> None:
    few = scores(made.values[:, 0, :4], ("AP", "RR"))
    assert "% with 4 topics and 10 tests no p can fall below" in compare_systems(few).to_latex()
