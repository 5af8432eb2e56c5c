"""Is a difference more than chance? Paired tests over topics, Holm's correction, the bootstrap.

The tests take differences[..., topics], one test for every leading index, and give two-sided
p-values. Undefined differences (NaN) are left out; fewer than two that are defined give NaN.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qrowd.data.arrays import Floats
from qrowd.errors import ParameterError

TESTS = ("randomisation", "t", "wilcoxon")
CORRECTIONS = ("holm", "none")
FLIPS = 10_000
_NEAR = 1e-12


def paired_test(
    left: npt.ArrayLike,
    right: npt.ArrayLike,
    test: str = "randomisation",
    *,
    flips: int = FLIPS,
    seed: int = 0,
) -> Floats:
    """p-values that left[..., topics] and right[..., topics] differ only by chance.

    >>> float(paired_test([3, 4, 5, 6, 7.5], [1, 2, 3, 4, 5])), float(paired_test([1, 2], [1, 2]))
    (0.0625, 1.0)
    """
    if test not in TESTS:
        raise ParameterError(f"test must be one of {', '.join(TESTS)}, got {test!r}")
    gap = np.asarray(left, np.float64) - np.asarray(right, np.float64)
    if test == "t":
        return paired_t(gap)
    return wilcoxon(gap) if test == "wilcoxon" else randomisation(gap, flips=flips, seed=seed)


def paired_t(differences: Floats) -> Floats:
    """Student's paired t test; p = 1 where all differences are 0."""
    from scipy.special import stdtr

    known = ~np.isnan(differences)
    n = known.sum(axis=-1)
    mean = np.where(known, differences, 0).sum(axis=-1) / np.maximum(n, 1)
    square = np.where(known, (differences - mean[..., None]) ** 2, 0).sum(axis=-1)
    error = np.sqrt(square / np.maximum(n - 1, 1) / np.maximum(n, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(mean / error))
    p = np.where(np.abs(mean) <= _NEAR, 1.0, np.where(error > 0, p, 0.0))
    return np.where(n > 1, p, np.nan)


def wilcoxon(differences: Floats) -> Floats:
    """Wilcoxon's signed rank test (scipy's): zeros left out, exact where that is possible."""
    from scipy import stats

    rows = differences.reshape(-1, differences.shape[-1])
    found = np.full(len(rows), np.nan)
    for at, row in enumerate(rows):
        known = row[~np.isnan(row)]
        if len(known) > 1:
            found[at] = stats.wilcoxon(known).pvalue if (known != 0).any() else 1.0
    return found.reshape(differences.shape[:-1])


def randomisation(differences: Floats, *, flips: int = FLIPS, seed: int = 0) -> Floats:
    """Fisher's randomisation test: how often random signs give a mean as far from 0.

    All 2^n assignments of signs where they are no more than `flips`; else `flips` random ones, the
    same for every row, and the observed one counted among them.
    """
    rows = differences.reshape(-1, differences.shape[-1])
    known = ~np.isnan(rows)
    values = np.where(known, rows, 0.0)
    seen = np.abs(values.sum(axis=1))
    signs, exact = _signs(rows.shape[1], flips, seed)
    far = np.abs(signs @ values.T) >= seen * (1 - 1e-9) - _NEAR
    count = far.sum(axis=0)
    p = count / len(signs) if exact else (count + 1) / (len(signs) + 1)
    return np.where(known.sum(axis=1) > 1, p, np.nan).reshape(differences.shape[:-1])


def _signs(n: int, flips: int, seed: int) -> tuple[Floats, bool]:
    if n < 60 and 2**n <= flips:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)[None, :]) & 1
        return bits.astype(np.float64) * 2 - 1, True
    random = np.random.default_rng(seed)
    return random.integers(0, 2, (flips, n)).astype(np.float64) * 2 - 1, False


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's step-down adjustment of a family of p-values; undefined ones stay so, uncounted.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    result = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    result[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return result


def jackknife_error(without_each: Floats) -> float:
    """The standard error of a figure, from its values with each topic left out in turn."""
    n = len(without_each)
    if n < 2:
        return float("nan")
    return float(np.sqrt((n - 1) / n * ((without_each - without_each.mean()) ** 2).sum()))


def mean_error(values: Floats) -> float:
    """The standard error of a mean over topics; undefined values are left out."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")


def topic_weights(topics: int, replicates: int, seed: int, size: int | None = None) -> Floats:
    """weights[replicates, topics]: how often each topic is drawn when `size` (all) are drawn."""
    if replicates < 1:
        raise ParameterError(f"bootstrap: replicates must be at least 1, got {replicates}")
    random = np.random.default_rng(seed)
    drawn = random.multinomial(size or topics, np.full(topics, 1 / topics), replicates)
    return drawn.astype(np.float64)


def means_of(values: Floats, axis: int = -1) -> Floats:
    """Means along an axis; undefined values are left out, and nothing but such gives NaN."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def weighted_means(weights: Floats, values: Floats) -> Floats:
    """means[replicates, runs] of values[topics, runs]; undefined values are left out of a mean."""
    known = ~np.isnan(values)
    if known.all():
        return np.asarray(weights @ values / weights.sum(axis=1, keepdims=True))
    below = weights @ known.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(weights @ np.where(known, values, 0.0) / np.where(below, below, np.nan))


def interval(samples: Floats, level: float, axis: int = -1) -> tuple[Floats, Floats]:
    """The percentile interval of samples; undefined ones are left out."""
    if not 0 < level < 1:
        raise ParameterError(f"level must be a number above 0 and below 1, got {level}")
    tails = [(1 - level) / 2, (1 + level) / 2]
    moved = np.moveaxis(samples, axis, -1)
    if not np.isnan(moved).any():
        low, high = np.quantile(moved, tails, axis=-1)
        return low, high
    rows = moved.reshape(-1, moved.shape[-1])
    ends = np.full((2, len(rows)), np.nan)
    for at, row in enumerate(rows):
        known = row[~np.isnan(row)]
        if len(known):
            ends[:, at] = np.quantile(known, tails)
    return ends[0].reshape(moved.shape[:-1]), ends[1].reshape(moved.shape[:-1])


def recentred(
    samples: Floats, values: Floats, level: float, least: Floats, most: Floats
) -> tuple[Floats, Floats]:
    """The interval of bootstrap samples[..., replicate], moved so that their mean is the value.

    A correlation of two means over topics falls when topics are drawn again: the noise of the draw
    comes on top of the noise that is there. Percentiles as they are would miss the value's own
    expectation far too often; moved by that difference they do not. Cut to [least, most].
    """
    low, high = interval(samples, level)
    shift = values - means_of(samples)
    return np.clip(low + shift, least, most), np.clip(high + shift, least, most)
