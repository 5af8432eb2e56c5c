from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from qrowd.comparison.significance import (
    CORRECTIONS,
    beyond_reach,
    corrected,
    enough_flips,
    holm,
    interval,
    paired_test,
    randomisation,
    smallest_p,
    topic_weights,
    weighted_means,
)
from qrowd.errors import ParameterError


@pytest.fixture
def gaps() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    found: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.random.default_rng(2).normal(
        [[0.0], [0.3], [1.0]], 1.0, (3, 40)
    )
    return found


def test_t_is_scipys(gaps: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    expected = stats.ttest_rel(gaps, np.zeros_like(gaps), axis=1).pvalue
    assert paired_test(gaps, 0 * gaps, "t") == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_is_scipys(gaps: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    expected = [stats.wilcoxon(row).pvalue for row in gaps]
    assert paired_test(gaps, 0 * gaps, "wilcoxon") == pytest.approx(expected)


def test_randomisation_is_exact_on_few_topics() -> None:
    gap = np.array([0.3, -0.1, 0.4, 0.25, 0.0])
    flips = [abs(np.dot(s, gap)) for s in itertools.product((-1, 1), repeat=5)]
    expected = np.mean(np.array(flips) >= abs(gap.sum()) - 1e-12)
    assert float(paired_test(gap, 0 * gap)) == pytest.approx(expected)


def test_randomisation_by_sampling_is_near_scipys_and_seeded(
    gaps: np.ndarray[tuple[int, int], np.dtype[np.float64]],
) -> None:
    p = paired_test(gaps, 0 * gaps, "randomisation", seed=3)
    expected = [
        stats.permutation_test(
            (row, 0 * row),
            lambda x, y: np.mean(x - y),
            permutation_type="samples",
            n_resamples=9999,
            rng=1,
        ).pvalue
        for row in gaps
    ]
    assert p == pytest.approx(expected, abs=0.02)
    assert np.array_equal(p, paired_test(gaps, 0 * gaps, "randomisation", seed=3))
    assert (p > 0).all()


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_under_no_difference_p_is_uniform(test: str) -> None:
    gap = np.random.default_rng(11).normal(0, 1, (400, 20))
    p = paired_test(gap, 0 * gap, test)
    assert np.mean(p < 0.1) == pytest.approx(0.1, abs=0.04)
    assert np.mean(p < 0.5) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_equal_and_undefined_differences(test: str) -> None:
    rows = np.array([[0.0, 0, 0, 0], [np.nan, np.nan, np.nan, 1], [1, 2, np.nan, 3]])
    p = paired_test(rows, np.zeros(4), test)
    assert p[0] == 1
    assert np.isnan(p[1])
    assert p[2] == pytest.approx(float(paired_test([1, 2, 3], [0, 0, 0], test)))


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, np.nan]).tolist()[:3] == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert np.isnan(holm([np.nan])[0])


def test_bootstrap_means_are_means_of_drawn_topics() -> None:
    weights = topic_weights(6, 50, seed=1)
    values = np.random.default_rng(1).random((6, 4))
    drawn = np.repeat(values, weights[7].astype(int), axis=0)
    assert weighted_means(weights, values)[7] == pytest.approx(drawn.mean(axis=0))
    values[2, 1] = np.nan
    drawn = np.repeat(values, weights[7].astype(int), axis=0)
    assert weighted_means(weights, values)[7] == pytest.approx(np.nanmean(drawn, axis=0))
    with pytest.raises(ParameterError, match="replicates"):
        topic_weights(6, 0, seed=1)


def test_interval_leaves_out_the_undefined() -> None:
    samples = np.tile(np.arange(101.0), (2, 1))
    samples[1, 50:] = np.nan
    low, high = interval(samples, 0.9)
    assert low.tolist() == pytest.approx([5, 49 * 0.05])
    assert high.tolist() == pytest.approx([95, 49 * 0.95])
    with pytest.raises(ParameterError, match="level"):
        interval(samples, 1.5)


def test_unknown_test() -> None:
    with pytest.raises(ParameterError, match="test must be one of"):
        paired_test([1, 2], [2, 1], "sign")


# --- many tests -----------------------------------------------------------------------------------


def test_flips_are_as_many_as_the_correction_needs() -> None:
    """500 tests of a clear difference: 10,000 flips could not go below .05 / 500."""
    random = np.random.default_rng(0)
    gaps = random.normal(1.0, 1.0, (600, 50))
    assert holm(randomisation(gaps)).min() > 0.05
    flips = enough_flips(600, 0.05)
    p = randomisation(gaps[:40], flips=flips)
    assert (p * 600 < 0.05).mean() > 0.9
    flat = randomisation(random.normal(0, 1, (40, 50)), flips=flips)
    assert 0.2 < np.median(flat) < 0.8


def test_more_flips_are_for_small_p_only_and_agree_with_the_exact_ones() -> None:
    gaps = np.random.default_rng(1).normal(0.5, 1.0, (20, 15))
    exact = randomisation(gaps, flips=2**15)
    assert np.allclose(randomisation(gaps, flips=30_000), exact, atol=0.02)


def test_corrections_are_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="the oracle")
    p = np.random.default_rng(4).random(30) ** 3
    for ours, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("fdr", "fdr_bh")):
        expected = multitest.multipletests(p, method=theirs)[1]
        assert np.allclose(corrected(p, ours), expected)
    with_gap = np.append(p, np.nan)
    for ours in CORRECTIONS:
        assert np.isnan(corrected(with_gap, ours)[-1])
        assert np.allclose(corrected(with_gap, ours)[:-1], corrected(p, ours))


def test_what_no_p_can_reach_is_said() -> None:
    (said,) = beyond_reach("randomisation", 5, 1, "holm", 0.05)
    assert "no p can fall below 0.05 (the least is 0.062)" in said
    assert beyond_reach("randomisation", 6, 1, "holm", 0.05) == ()
    assert beyond_reach("t", 3, 1000, "holm", 0.05) == ()
    assert beyond_reach("wilcoxon", 10, 100, "holm", 0.05) != ()
    assert beyond_reach("randomisation", 50, 4950, "holm", 0.05) == ()
    assert smallest_p("randomisation", 5) == 2 / 32
