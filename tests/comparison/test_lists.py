"""Lists over different items, p values, corrections, fusion: against other packages and loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import qrowd as q
from qrowd.errors import InputError, ParameterError


def overlap(one: list[str], other: list[str], p: float, depth: int = 4000) -> float:
    """The sum itself, of lists that are long enough."""
    total, seen, both = 0.0, set(), 0
    for d in range(1, depth + 1):
        for side in (one, other):
            name = side[d - 1] if d <= len(side) else None
            if name is not None:
                both += name in seen
                seen.add(name)
        total += (1 - p) * p ** (d - 1) * both / d
    return total


CASES = [
    ("abc", "bade", 0.8),
    ("abcdef", "cxbay", 0.9),
    ("a", "a", 0.5),
    ("ab", "cd", 0.7),
    ("abcdefgh", "hg", 0.95),
]


@pytest.mark.parametrize(("one", "other", "p"), CASES)
def test_bounds_are_reached(one: str, other: str, p: float) -> None:
    low, high, extrapolated = q.rbo_lists(list(one), list(other), p=p)
    assert low == pytest.approx(overlap(list(one), list(other), p), abs=1e-9)
    assert low - 1e-12 <= extrapolated <= high + 1e-12
    best = [list(one), list(other)]
    for at in (0, 1):  # each goes on with what only the other has, then both with the same
        best[at] += [name for name in (other, one)[at] if name not in (one, other)[at]]
    same = [f"z{number}" for number in range(3000)]
    assert high == pytest.approx(overlap(best[0] + same, best[1] + same, p), abs=1e-6)


def test_extrapolation_of_the_package_rbo() -> None:
    """rbo 0.1.3: RankingSimilarity(S, T).rbo_ext(p)."""
    first = q.rbo_lists(list("abc"), list("bade"), p=0.8)
    assert first.extrapolated == pytest.approx(0.5866666666666667)
    assert q.rbo_lists(list("abcdef"), list("cxbay"), p=0.9).extrapolated == pytest.approx(0.502335)


@pytest.mark.parametrize("bad", [["a", "a"], [], "abc"])
def test_bad_lists(bad: list[str]) -> None:
    with pytest.raises(InputError, match="different names"):
        q.rbo_lists(bad, ["a"])
    with pytest.raises(ParameterError, match="p must be"):
        q.rbo_lists(["a"], ["a"], p=1)


def test_p_of_tau() -> None:
    rng = np.random.default_rng(2)
    many, truth = rng.normal(size=(5, 9)), rng.normal(size=9)
    many[0, 0] = np.nan
    found = q.tau_p(many, truth)
    assert np.isnan(found[0])
    expected = [stats.kendalltau(row, truth).pvalue for row in many[1:]]
    np.testing.assert_allclose(found[1:], expected)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("holm", "holm"),
        ("hochberg", "simes-hochberg"),
        ("bonferroni", "bonferroni"),
        ("sidak", "sidak"),
        ("fdr", "fdr_bh"),
        ("by", "fdr_by"),
    ],
)
def test_corrections_of_statsmodels(ours: str, theirs: str) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.array([0.011, 0.02, 0.3, 0.04, 0.0007, 0.9, 0.04])
    np.testing.assert_allclose(q.corrected(p, ours), multitest.multipletests(p, method=theirs)[1])


RUNS = {
    "x": {"q1": {"a": 3.0, "b": 2.5, "c": 1.0, "e": 0.5}, "q2": {"a": 1.0, "d": 0.2}},
    "y": {"q1": {"b": 9.0, "c": 8.0, "d": 2.0}, "q2": {"d": 3.0, "a": 1.0}},
    "z": {"q1": {"c": 0.9, "a": 0.1}, "q2": {"a": 5.0}},
}


# ranx 0.3.21: fuse(runs, norm="min-max", method=...); it gives 0 to the only document of a list,
# where ours has 1, so that the second topic is held against it by ranks only
RANX = {
    "rrf": {
        "q1": {
            "c": 0.04839549075403121,
            "a": 0.03252247488101534,
            "b": 0.03252247488101534,
            "d": 0.015873015873015872,
            "e": 0.015625,
        },
        "q2": {"a": 0.048915917503966164, "d": 0.03252247488101534},
    },
    "combsum": {"q1": {"c": 2.057142857142857, "b": 1.8, "a": 1.0, "e": 0.0, "d": 0.0}},
    "combmnz": {"q1": {"c": 6.171428571428571, "b": 3.6, "a": 2.0, "e": 0.0, "d": 0.0}},
}


@pytest.mark.parametrize("how", ["rrf", "combsum", "combmnz"])
def test_fusion_of_ranx(how: str) -> None:
    rows = [
        (run, topic, doc, score)
        for run, topics in RUNS.items()
        for topic, docs in topics.items()
        for doc, score in docs.items()
    ]
    fused = q.fuse(q.RunSet.of(*map(list, zip(*rows, strict=True))), how)
    found: dict[str, dict[str, float]] = {}
    for row in fused.to_polars().iter_rows(named=True):
        found.setdefault(row["topic"], {})[row["doc"]] = row["score"]
    assert list(fused.runs) == [how]
    for topic, docs in RANX[how].items():
        assert found[topic] == pytest.approx(docs)
