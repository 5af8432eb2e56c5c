from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from qrowd.comparison.correlation import max_drop, places, rbo, rmse, spearman, tau_a, tau_ap, tau_b
from qrowd.errors import InputError, ParameterError

Vectors = tuple[list[int], list[int]]


def vectors(largest: int = 5) -> st.SearchStrategy[Vectors]:
    def two(n: int) -> st.SearchStrategy[Vectors]:
        one = st.lists(st.integers(0, 3), min_size=n, max_size=n)
        return st.tuples(one, one)

    return st.integers(2, largest).flatmap(two)


def plain_tau_ap(walked: list[int], other: dict[int, int]) -> float:
    """The definition, for orders without ties: `walked` lists items, `other` gives their places."""
    n, total = len(walked), 0.0
    for i in range(2, n + 1):
        correct = sum(other[above] < other[walked[i - 1]] for above in walked[: i - 1])
        total += correct / (i - 1)
    return 2 / (n - 1) * total - 1


def brute_tau_ap(estimate: list[int], reference: list[int], together: bool) -> float:
    """The mean over all orders in which ties may be broken."""
    n = len(estimate)
    found = []
    orders = list(itertools.permutations(range(n)))
    for first in orders:
        for second in [first] if together else orders:
            walked = sorted(range(n), key=lambda i: (-estimate[i], first[i]))
            truth = sorted(range(n), key=lambda i: (-reference[i], second[i]))
            found.append(plain_tau_ap(walked, {item: at for at, item in enumerate(truth)}))
    return float(np.mean(found))


@settings(max_examples=60, deadline=None)
@given(vectors(4))
def test_tau_ap_is_the_mean_over_all_tie_breaks(both: Vectors) -> None:
    x, y = both
    assert float(tau_ap(x, y)) == pytest.approx(brute_tau_ap(x, y, together=False), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(vectors(6))
def test_tau_ap_with_one_order_for_both(both: Vectors) -> None:
    x, y = both
    assert float(tau_ap(x, y, ties="together")) == pytest.approx(
        brute_tau_ap(x, y, together=True), abs=1e-12
    )


def test_tau_ap_over_the_reference_and_symmetric() -> None:
    x, y = [5, 4, 3, 2, 2], [1, 4, 3, 3, 5]
    ways = [float(tau_ap(x, y, over=over)) for over in ("estimate", "reference", "symmetric")]
    assert ways[1] == pytest.approx(brute_tau_ap(y, x, together=False))
    assert ways[0] != pytest.approx(ways[1])
    assert ways[2] == pytest.approx((ways[0] + ways[1]) / 2)


def test_tau_ap_reaches_its_ends() -> None:
    x = np.arange(10.0)
    assert float(tau_ap(x, x)) == pytest.approx(1)
    assert float(tau_ap(x, -x)) == pytest.approx(-1)
    assert float(tau_ap(np.zeros(10), x)) == pytest.approx(0)
    tied = [2, 2, 1, 1]
    assert float(tau_ap(tied, tied)) < 1
    assert float(tau_ap(tied, tied, ties="together")) == pytest.approx(1)


@pytest.mark.parametrize("ties", ["independent", "together"])
def test_sampling_tends_to_the_expectation(ties: str) -> None:
    random = np.random.default_rng(4)
    x, y = random.integers(0, 6, (3, 30)), random.integers(0, 6, 30)
    exact = tau_ap(x, y, ties=ties)
    sampled = tau_ap(x, y, ties=ties, samples=3000, seed=1)
    assert sampled == pytest.approx(exact, abs=0.01)
    assert np.array_equal(sampled, tau_ap(x, y, ties=ties, samples=3000, seed=1))
    assert not np.array_equal(sampled, exact)


@settings(max_examples=80, deadline=None)
@given(vectors(12))
def test_tau_b_and_spearman_are_scipys(both: Vectors) -> None:
    x, y = both
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert float(tau_b(x, y)) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
        assert float(spearman(x, y)) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    else:
        assert np.isnan(tau_b(x, y))
        assert np.isnan(spearman(x, y))


@settings(max_examples=60, deadline=None)
@given(vectors(12))
def test_tau_a_counts_pairs(both: Vectors) -> None:
    x, y = both
    signs = [
        np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
        for i, j in itertools.combinations(range(len(x)), 2)
    ]
    assert float(tau_a(x, y)) == pytest.approx(np.mean(signs))


@settings(max_examples=80, deadline=None)
@given(vectors(12))
def test_places_are_scipys(both: Vectors) -> None:
    assert places(both).tolist() == stats.rankdata(-np.array(both), axis=1).tolist()


def plain_rbo(x: list[int], y: list[int], p: float) -> float:
    """The definition, for orders without ties (items by place), summed far beyond their length."""
    total = 0.0
    for d in range(1, 2000):
        depth = min(d, len(x))
        total += p ** (d - 1) * (len(set(x[:depth]) & set(y[:depth])) / depth)
    return (1 - p) * total


@settings(max_examples=20, deadline=None)
@given(vectors(4))
def test_rbo_a_is_the_mean_over_all_tie_breaks(both: Vectors) -> None:
    x, y = both
    orders = list(itertools.permutations(range(len(x))))

    def ways(values: list[int]) -> list[list[int]]:
        found = {
            tuple(sorted(range(len(values)), key=lambda i: (-values[i], order[i])))
            for order in orders
        }
        return [list(order) for order in sorted(found)]

    mean = np.mean([plain_rbo(a, b, 0.8) for a in ways(x) for b in ways(y)])
    assert float(rbo(x, y, p=0.8)) == pytest.approx(mean, abs=1e-10)


def test_rbo_variants_of_a_worked_case() -> None:
    # x = (1 2) 3, y = 1 (2 3): contributions by hand at depths 1 and 2; depth 3 on agrees fully
    x, y, p = [2, 2, 1], [2, 1, 1], 0.5
    cx, cy = np.array([[0.5, 0.5, 0], [1, 1, 0]]), np.array([[1, 0, 0], [1, 0.5, 0.5]])
    wx, wy = np.array([[1, 1, 0], [1, 1, 0]]), np.array([[1, 0, 0], [1, 1, 1]])
    cross = (cx * cy).sum(1)
    expected = {
        "a": cross / [1, 2],
        "b": cross / np.sqrt((cx**2).sum(1) * (cy**2).sum(1)),
        "w": 2 * (wx * wy).sum(1) / (wx.sum(1) + wy.sum(1)),
    }
    for variant, agreement in expected.items():
        value = (1 - p) * (agreement[0] + p * agreement[1]) + p**2
        assert float(rbo(x, y, p=p, variant=variant)) == pytest.approx(value)


def test_rbo_b_and_w_agree_with_themselves() -> None:
    tied = [3, 3, 2, 1, 1, 1]
    assert float(rbo(tied, tied, variant="b")) == pytest.approx(1)
    assert float(rbo(tied, tied, variant="w")) == pytest.approx(1)
    assert float(rbo(tied, tied, variant="a")) < 1


def test_many_against_one_equals_one_by_one() -> None:
    random = np.random.default_rng(7)
    x, y = random.integers(0, 40, (50, 4, 31)), random.integers(0, 40, 31)
    for function in (tau_a, tau_b, tau_ap, rbo, spearman, rmse, max_drop):
        batch = function(x, y)
        assert batch.shape == (50, 4)
        assert batch[3, 2] == function(x[3, 2], y)
        assert np.array_equal(function(x, x[:, :1])[:, 3], function(x[:, 3], x[:, 0]))


def test_undefined_scores_give_nan_only_where_they_are() -> None:
    x = np.random.default_rng(1).random((3, 6))
    x[1, 4] = np.nan
    for function in (tau_a, tau_b, tau_ap, rbo, spearman, rmse, max_drop):
        assert np.isnan(function(x, np.arange(6.0))).tolist() == [False, True, False]
    assert np.isnan(tau_ap([1.0], [1.0]))
    assert np.isnan(tau_a([1.0], [1.0]))


def test_distances() -> None:
    assert float(rmse([1.0, 2.0], [0.0, 2.0])) == pytest.approx(np.sqrt(0.5))
    assert float(max_drop([1, 2, 3, 4], [4, 3, 2, 1])) == 3
    assert float(max_drop([1, 1, 0], [2, 1, 0])) == 0.5


def test_misuse_is_explained() -> None:
    with pytest.raises(ParameterError, match="over must be one of estimate, reference, symmetric"):
        tau_ap([1, 2], [1, 2], over="both")
    with pytest.raises(ParameterError, match="ties must be one of"):
        tau_ap([1, 2], [1, 2], ties="coin")
    with pytest.raises(ParameterError, match="p must be"):
        rbo([1, 2], [1, 2], p=1)
    with pytest.raises(InputError, match="same systems"):
        tau_b([1, 2], [1, 2, 3])


@pytest.mark.parametrize("statistic", [tau_a, tau_b, tau_ap, rbo, spearman, rmse, max_drop])
def test_no_systems_are_undefined(statistic: Any) -> None:
    assert np.isnan(statistic([], []))
    assert np.isnan(statistic(np.zeros((3, 0)), np.zeros(0))).tolist() == [True] * 3
    assert statistic(np.zeros((0, 3)), np.ones(3)).shape == (0,)


def test_no_systems_have_no_places() -> None:
    assert places([]).shape == (0,)
    assert places(np.zeros((2, 0))).shape == (2, 0)
