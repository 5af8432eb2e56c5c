"""Few human labels beside many machine labels: the formulas against loops and others' figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import qrowd as q
from qrowd.comparison.prediction_powered import (
    Estimate,
    PairSample,
    best_share,
    topic_means,
    weighted_sums,
)
from qrowd.data.arrays import Floats
from qrowd.errors import ParameterError, UsageError

# ppi_python 0.2.3 (ppi_mean_pointestimate, ppi_mean_ci with alpha = 0.1) on normal labels y and
# machine labels y + noise * normal + 0.3: (seed, n, N, noise): estimate, low, high, lambda = 1
RECORDED = {
    (0, 100, 1000, 0.5): (
        -0.05119630758798446,
        -0.13160562224906625,
        0.029213007073097305,
        -0.11036103401511604,
    ),
    (1, 30, 500, 2.0): (
        -0.08648628943277115,
        -0.33184845136139984,
        0.15887587249585755,
        -0.4994271747382086,
    ),
    (2, 40, 40, 0.1): (
        0.03597069981882295,
        -0.14620373260168731,
        0.2181451322393332,
        0.07858255907177009,
    ),
}


@pytest.mark.parametrize("case", RECORDED)
def test_the_mean_equals_ppi_python(case: tuple[int, int, int, float]) -> None:
    seed, n, size, noise = case
    random = np.random.default_rng(seed)
    y = random.normal(size=n + size)
    f = y + noise * random.normal(size=n + size) + 0.3
    value, low, high, plain = RECORDED[case]
    found = q.ppi_mean(y[:n], f[:n], f[n:])
    np.testing.assert_allclose([found.value, *found.interval(0.9)], [value, low, high], atol=1e-9)
    np.testing.assert_allclose(q.ppi_mean(y[:n], f[:n], f[n:], 1).value, plain, atol=1e-9)


def test_a_machine_that_only_shifts_is_corrected_whole() -> None:
    y = np.random.default_rng(1).normal(size=50)  # ppi_python's own first test
    assert q.ppi_mean(y, y + 2, np.full(1000, 2.0), 1).value == pytest.approx(0, abs=1e-12)
    assert q.ppi_mean(y, np.ones(50), np.ones(100)).value == pytest.approx(y.mean())


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ((np.ones((4, 2)), np.ones((4, 2)), np.ones((9, 2))), "human must be one column"),
        (([1, 0, 1], [1], [1, 0]), "about the same items, got 3 and 1"),
        (([], [], [1, 0]), "human must be one column of at least one number"),
        (([1, 0], [1, 1], []), "unlabelled must be one column of at least one number"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        q.ppi_mean(*columns)


def test_the_examples_of_ppi_pythons_own_tests() -> None:
    """The data of its test_mean.py, and what version 0.2.3 says at alpha .1, .01 and lambda 1."""
    random = np.random.RandomState(0)
    y, f, rest = (random.normal(mean, 1, 10_000) for mean in (0, -2, -2))
    found = q.ppi_mean(y, f, rest)
    recorded = [-0.01843372015826582, -0.03467758018810824, -0.002189860128423409]
    np.testing.assert_allclose([found.value, *found.interval(0.9)], recorded, atol=1e-9)
    recorded = [-0.04387149163046822, 0.007004051313936572]
    np.testing.assert_allclose(found.interval(0.99), recorded, atol=1e-9)
    recorded = [-0.06343695238733602, -0.006732182796483601]
    np.testing.assert_allclose(q.ppi_mean(y, f, rest, 1).interval(0.9), recorded, atol=1e-9)


def test_rogan_and_gladens_estimate_of_a_published_example() -> None:
    # brucellosis in a herd (the manual of epiR for R, epi.prev, after Rogan & Gladen 1978): 23 of
    # 150 cows test positive, sensitivity .96, specificity .89: "5.1 cases per 100 cows"
    found = q.rogan_gladen(23 / 150, 150, (0.96, 10**9), (0.89, 10**9))
    assert round(100 * float(found.value), 1) == 5.1
    # with known errors the variance is q (1 - q) / (N (s + t - 1)^2)
    assert found.error == pytest.approx(np.sqrt(23 / 150 * 127 / 150 / 150) / 0.85, rel=1e-6)


def test_rogan_and_gladen() -> None:
    # prevalence .3, sensitivity .9, specificity .8: the judge finds .3 * .9 + .7 * .2 = .41
    found = q.rogan_gladen(0.41, 1000, (0.9, 100), (0.8, 100))
    assert found.value == pytest.approx(0.3)
    by_hand = 0.41 * 0.59 / 1000 + 0.3**2 * 0.9 * 0.1 / 100 + 0.7**2 * 0.8 * 0.2 / 100
    assert found.error == pytest.approx(np.sqrt(by_hand) / 0.7)
    weak = q.rogan_gladen(np.array([0.4, 0.5]), 1000, (0.5, 100), (0.5, 100))
    assert np.isnan(weak.value).all()


def _by_loops(weights: Floats, sample: PairSample, share: float) -> tuple[list[float], list[float]]:
    """Hajek's form with one fixed lambda, pair by pair."""
    values, errors = [], []
    for row in weights:
        total = sum(row)
        middle = sum(w * f for w, f in zip(row, sample.machine[:, 0], strict=True)) / total
        own = [
            (row[at] / p, y - share * (sample.machine[at, 0] - middle), p)
            for at, y, p in zip(sample.at, sample.human, sample.probability, strict=True)
            if row[at]
        ]
        seen = sum(v for v, _, _ in own)
        mean = sum(v * e for v, e, _ in own) / seen
        variance = sum(
            (v / seen) ** 2 * (1 - p) * (e - mean) ** 2 / (1 - v / seen) for v, e, p in own
        )
        values.append(total * mean)
        errors.append(total * variance**0.5)
    return values, errors


def _made(seed: int, pool: int = 60, n: int = 25) -> tuple[Floats, PairSample]:
    random = np.random.default_rng(seed)
    weights = random.random((3, pool)) * (random.random((3, pool)) < 0.6)
    truth = (random.random(pool) < 0.4).astype(float)
    machine = np.clip(truth * 0.6 + random.random(pool) * 0.4, 0, 1)[:, None]
    at = np.sort(random.choice(pool, n, replace=False))
    return weights, PairSample(at, truth[at], random.uniform(0.2, 0.9, n), machine)


@pytest.mark.parametrize("judges", [0, 1])
def test_weighted_sums_by_loops(judges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    share = 0.7 * judges
    name = "qrowd.comparison.prediction_powered.best_share"
    monkeypatch.setattr(name, lambda *_: np.array([share]))
    weights, sample = _made(3)
    found = weighted_sums(csr_array(weights), sample if judges else sample.alone())
    values, errors = _by_loops(weights, sample, share)
    np.testing.assert_allclose(found.value, values, rtol=1e-12)
    np.testing.assert_allclose(found.error, errors, rtol=1e-12)
    own = (weights[:, sample.at] != 0).sum(axis=1)
    np.testing.assert_array_equal(found.freedom, own - 1)


def test_all_judged_is_the_truth_itself() -> None:
    weights, sample = _made(4, pool=30, n=30)
    certain = PairSample(sample.at, sample.human, np.ones(30), sample.machine)
    found = weighted_sums(csr_array(weights), certain)
    np.testing.assert_allclose(found.value, weights @ sample.human, rtol=1e-12)
    np.testing.assert_allclose(found.error, 0, atol=1e-12)


def test_equal_weights_and_chances_are_simple_random_sampling() -> None:
    y = np.array([1.0, 0, 1, 1, 0, 1, 0, 0])
    sample = PairSample(np.arange(8), y, np.full(8, 0.1), np.zeros((80, 0)))
    found = weighted_sums(csr_array(np.full((1, 80), 1 / 80)), sample)
    assert found.value[0] == pytest.approx(0.5)
    assert found.error[0] == pytest.approx(np.sqrt(0.9 * y.var(ddof=1) / 8))


def test_useless_judges_get_no_weight() -> None:
    random = np.random.default_rng(5)
    y = (random.random(200) < 0.5).astype(float)
    worth = np.ones(200)
    assert best_share(y, np.ones((200, 1)), worth)[0] == 0
    assert best_share(y, 1 - y[:, None], worth)[0] == 0
    assert best_share(y, random.random((200, 1)), worth)[0] < 0.1
    assert best_share(y, y[:, None], worth)[0] == pytest.approx(1)
    both = best_share(y, np.stack([1 - y, random.random(200)], axis=1), worth)
    np.testing.assert_allclose(both, [-1, 0], atol=1e-6)  # of several, an opposite one is of use


def test_topics_by_loops() -> None:
    random = np.random.default_rng(6)
    truth = random.random((12, 4))
    machine = truth + 0.2 * random.normal(size=truth.shape)
    at = np.array([0, 3, 4, 7, 9, 11])
    found = topic_means(truth[at], machine[:, None, :], at)
    alone = topic_means(truth[at], np.zeros((12, 0, 4)), at)
    np.testing.assert_allclose(alone.value, truth[at].mean(axis=0))
    np.testing.assert_allclose(
        alone.error, np.sqrt((1 - 6 / 12) * truth[at].var(axis=0, ddof=1) / 6)
    )
    # topics that are a sample themselves: nothing is known of the others
    wider = topic_means(truth[at], np.zeros((12, 0, 4)), at, over_topics=True)
    np.testing.assert_allclose(wider.error, np.sqrt(truth[at].var(axis=0, ddof=1) / 6))
    assert (wider.freedom == 5).all()
    for run in range(4):
        residual = []
        for out in at:
            kept = [t for t in at if t != out]
            above = below = 0.0
            for r in range(4):
                y = [truth[t, r] for t in kept]
                f = [machine[t, r] for t in kept]
                above += sum((a - np.mean(y)) * (b - np.mean(f)) for a, b in zip(y, f, strict=True))
                below += sum((b - np.mean(f)) ** 2 for b in f)
            slope = above / below
            whole = sum(((truth[kept, r] - truth[kept, r].mean()) ** 2).sum() for r in range(4))
            explained = slope * above
            share = slope * max(0.0, 1 - (whole - explained) / 5 / explained)
            share = min(max(share, 0.0), 1.0)
            residual.append(truth[out, run] - share * (machine[out, run] - machine[:, run].mean()))
        assert found.value[run] == pytest.approx(np.mean(residual))
        error = np.sqrt(0.5 * np.var(residual, ddof=1) / 6)
        assert found.error[run] == pytest.approx(error)
    assert (found.error < alone.error).all()


def test_intervals_cover_and_are_narrower() -> None:
    random = np.random.default_rng(7)
    pool, n = 1000, 80
    truth = (random.random(pool) < 0.3).astype(float)
    machine = np.where(random.random(pool) < 0.85, truth, 1 - truth)[:, None]
    weights = csr_array((random.random((5, pool)) < 0.4) / 400)
    target = weights @ truth
    held, width, alone = [], [], []
    for _ in range(200):
        at = np.sort(random.choice(pool, n, replace=False))
        sample = PairSample(at, truth[at], np.full(n, n / pool), machine)
        low, high = weighted_sums(weights, sample).interval(0.9)
        low_alone, high_alone = weighted_sums(weights, sample.alone()).interval(0.9)
        held.append((low <= target) & (target <= high))
        width.append(high - low)
        alone.append(high_alone - low_alone)
    assert 0.85 < np.mean(held) < 0.95
    assert np.mean(width) < 0.85 * np.mean(alone)


def test_bootstrap_quantiles() -> None:
    weights, sample = _made(3, pool=300, n=150)
    found = weighted_sums(csr_array(weights), sample)
    by_t, drawn = found.interval(0.9), found.interval(0.9, "bootstrap")
    np.testing.assert_allclose(drawn[1] - drawn[0], by_t[1] - by_t[0], rtol=0.1)
    assert found.interval(0.9, "bootstrap", seed=0)[0].tolist() == drawn[0].tolist()
    skewed = np.zeros((1, 300))
    skewed[0, sample.at] = 1.0
    rare = np.zeros(150)
    rare[:8] = 1.0  # few relevant: the interval reaches further up than down
    one = PairSample(sample.at, rare, np.full(150, 0.5), np.zeros((300, 0)))
    found = weighted_sums(csr_array(skewed), one)
    low, high = found.interval(0.9, "bootstrap")
    assert high[0] - found.value[0] > 1.15 * (found.value[0] - low[0])
    with pytest.raises(UsageError, match="quantiles must be t"):
        q.ppi_mean(rare, rare, rare).interval(0.9, "bootstrap")
    with pytest.raises(ParameterError, match="quantiles must be t or bootstrap"):
        found.interval(0.9, "z")


def _estimate(value: Floats, parts: Floats) -> Estimate:
    error = np.sqrt(np.square(parts).sum(axis=1))
    known = np.where(error > 0, 50.0, np.inf)
    return Estimate(value, error, known, np.ones(1), parts, np.full(len(value), 50.0))


def test_what_is_told_apart_is_right_all_together() -> None:
    """Of ten values that are all alike, a row has a wrong claim as often as the level says."""
    random = np.random.default_rng(3)
    wrong, alone = [], []
    for _ in range(150):
        parts = random.normal(size=(10, 100)) / 10
        found = _estimate(parts @ random.choice([-1.0, 1.0], 100), parts)
        wrong.append((found.told_apart(0.9) != 0).any(axis=1).mean())
        apart, half = found.differences(0.9)
        alone.append((np.abs(apart) > half).any(axis=1).mean())
    assert 0.04 < np.mean(wrong) < 0.15
    assert np.mean(alone) > 0.3


def test_what_is_told_apart_from_few_observations_is_right_all_together() -> None:
    """Errors that are told by six observations are at times too small, by far in a whole row."""
    random, n, wrong = np.random.default_rng(3), 6, []
    for _ in range(200):
        seen = random.normal(size=(10, n))
        away = (seen - seen.mean(axis=1, keepdims=True)) / np.sqrt(n * (n - 1))
        parts = (np.eye(10)[:, :, None] * away[:, None, :]).reshape(10, -1)
        found = _estimate(seen.mean(axis=1), parts)
        wrong.append((found.told_apart(0.9) != 0).any(axis=1).mean())
    assert 0.05 < np.mean(wrong) < 0.13  # by quantiles of intervals, made wider alike, .16


def test_small_differences_are_not_told_apart() -> None:
    parts = np.random.default_rng(1).normal(size=(3, 50)) * 1e-6
    found = _estimate(np.array([0.5, 0.5009, 0.52]), parts)
    assert found.told_apart().tolist() == [[0, 0, -1], [0, 0, -1], [1, 1, 0]]
    exact = _estimate(np.array([0.5, 0.5009, 0.52]), np.zeros((3, 0)))
    assert exact.told_apart().tolist() == [[0, -1, -1], [1, 0, -1], [1, 1, 0]]
    assert [end.tolist() for end in exact.places()] == [[3, 2, 1], [3, 2, 1]]
