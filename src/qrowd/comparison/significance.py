"""Is a difference more than chance? Paired tests over topics, Holm's correction, intervals.

The tests take differences[..., topics], one test for every leading index, and give two-sided
p-values. Undefined differences (NaN) are left out; fewer than two that are defined give NaN.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from qrowd.data.arrays import Array, Floats
from qrowd.data.details import Caution
from qrowd.errors import ParameterError, require_choice

TESTS = ("randomisation", "t", "wilcoxon")
CORRECTIONS = ("holm", "hochberg", "bonferroni", "sidak", "fdr", "by", "none")
FLIPS, MOST_FLIPS = 10_000, 1_000_000
_CELLS = 4_000_000  # of an array of flips x tests at a time
_NEAR = 1e-12
_Z95 = NormalDist().inv_cdf(0.975)
_SMALL = 0.1  # a p above this needs no more flips


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
    require_choice("test", test, TESTS)
    gap = np.asarray(left, np.float64) - np.asarray(right, np.float64)
    if test == "t":
        return paired_t(gap)
    return wilcoxon(gap) if test == "wilcoxon" else randomisation(gap, flips=flips, seed=seed)


def paired_t(differences: Floats) -> Floats:
    """Student's paired t test; p = 1 where all differences are 0."""
    from scipy.special import stdtr

    n, mean, error = mean_error(differences)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(np.maximum(n - 1, 1), -np.abs(mean / error))
    p = np.where(np.abs(mean) <= _NEAR, 1.0, np.where(error > 0, p, 0.0))
    return np.where(n > 1, p, np.nan)


def wilcoxon(differences: Floats) -> Floats:
    """Wilcoxon's signed rank test (scipy's): zeros left out, exact where that is possible."""
    from scipy import stats

    rows = differences.reshape(-1, differences.shape[-1])
    p = np.full(len(rows), np.nan)
    for at, row in enumerate(rows):
        defined = row[~np.isnan(row)]
        if len(defined) > 1:
            p[at] = stats.wilcoxon(defined).pvalue if (defined != 0).any() else 1.0
    return p.reshape(differences.shape[:-1])


def randomisation(differences: Floats, *, flips: int = FLIPS, seed: int = 0) -> Floats:
    """Fisher's randomisation test: how often random signs give a mean as far from 0.

    All 2^n assignments of signs where they are no more than `flips`; else `flips` random ones, the
    same for every row, and the observed one counted among them. Flips beyond the first 10,000 are
    made only for rows whose p is small so far.
    """
    rows = differences.reshape(-1, differences.shape[-1])
    defined = ~np.isnan(rows)
    values = np.where(defined, rows, 0.0)
    exact = _enumerable(rows.shape[1], flips)
    total = 2 ** rows.shape[1] if exact else flips
    count, made = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    going_on = np.arange(len(rows))
    block = max(1, min(FLIPS, _CELLS // max(len(rows), 1)))
    random = np.random.default_rng(seed)
    for first in range(0, total, block):
        size = min(block, total - first)
        if exact:  # the numbers of all 2^n, in bits
            bits = (np.arange(first, first + size)[:, None] >> np.arange(rows.shape[1])) & 1
        else:
            bits = random.integers(0, 2, (size, rows.shape[1]))
        signs = bits.astype(np.float64) * 2 - 1
        left = values[going_on]
        seen = np.abs(left.sum(axis=1))  # and how many of these signs give a sum as far from 0
        count[going_on] += (np.abs(signs @ left.T) >= seen * (1 - 1e-9) - _NEAR).sum(axis=0)
        made[going_on] += size
        if not exact and first + size >= FLIPS:
            going_on = going_on[count[going_on] < _SMALL * made[going_on]]
    p = count / made if exact else (count + 1) / (made + 1)
    return np.where(defined.sum(axis=1) > 1, p, np.nan).reshape(differences.shape[:-1])


def _enumerable(n: int, flips: int) -> bool:
    return n < 60 and 2**n <= flips


def enough_flips(tests: int, alpha: float) -> int:
    """How many flips let corrected p-values of so many tests fall well below alpha."""
    return int(min(max(FLIPS, 10 * np.ceil(tests / alpha)), MOST_FLIPS))


def smallest_p(test: str, topics: int, flips: int = FLIPS) -> float:
    """The smallest p that a test can give on so many topics."""
    if test == "t":
        return 0.0
    least = 2.0 ** (1 - min(topics, 1000))  # all differences of one sign, two-sided
    sampled = test == "randomisation" and not _enumerable(topics, flips)
    return max(least, 1 / (flips + 1)) if sampled else least


def corrected(p_values: npt.ArrayLike, correction: str) -> Floats:
    """A family of p-values, corrected.

    `holm`, `hochberg`, `bonferroni`, `sidak`, `fdr` (Benjamini-Hochberg), `by`
    (Benjamini-Yekutieli, for tests that depend on each other in any way) or `none`. Undefined
    ones stay so, uncounted.

    >>> corrected([0.01, 0.04, 0.03], "bonferroni").round(4).tolist()
    [0.03, 0.12, 0.09]
    >>> corrected([0.01, 0.04, 0.03], "fdr").round(4).tolist()
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p_values, np.float64)
    defined = np.flatnonzero(~np.isnan(p))
    order = defined[np.argsort(p[defined], kind="stable")]
    n = len(order)
    rank = np.arange(1, n + 1)
    if correction == "holm":
        adjusted = np.maximum.accumulate(p[order] * (n - np.arange(n)))
    elif correction in ("fdr", "by", "hochberg"):
        factor = n / rank * ((1 / rank).sum() if correction == "by" else 1)
        scaled = p[order] * (n + 1 - rank if correction == "hochberg" else factor)
        adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    elif correction == "bonferroni":
        adjusted = p[order] * n
    elif correction == "sidak":
        adjusted = -np.expm1(n * np.log1p(-p[order]))
    else:
        return p
    result = np.full(p.shape, np.nan)
    result[order] = np.minimum(adjusted, 1.0)
    return result


def pairwise_tests(
    values: Floats,
    pairs: tuple[Array, Array],
    test: str,
    correction: str,
    *,
    alpha: float,
    seed: int,
) -> Floats:
    """p[..., a, b] of tests between pairs of the rows a, b of values[..., row, topic].

    Corrected over the pairs, within each leading index; NaN for all other pairs, and where topics
    are fewer than two. A randomisation test flips as often as so many tests need.
    """
    first, second = pairs
    result = np.full((*values.shape[:-1], values.shape[-2]), np.nan)
    if not len(first) or values.shape[-1] < 2:
        return result
    flips = enough_flips(len(first), alpha)
    p = paired_test(values[..., first, :], values[..., second, :], test, flips=flips, seed=seed)
    for family in np.ndindex(p.shape[:-1]):
        adjusted = corrected(p[family], correction)
        result[(*family, first, second)] = result[(*family, second, first)] = adjusted
    return result


def beyond_reach(
    test: str, topics: int, tests: int, correction: str, alpha: float
) -> tuple[Caution, ...]:
    """A caution where no p could be below alpha after the correction, whatever the data."""
    least = smallest_p(test, topics, enough_flips(tests, alpha))
    factor = tests if correction in ("holm", "bonferroni", "sidak") else 1
    if not tests or least * factor < alpha:
        return ()
    return (
        Caution(
            f"with {topics} topics and {tests} tests no p can fall below {alpha:g} (the least is "
            f"{min(least * factor, 1.0):.2g}): nothing can be marked; use the t test, fewer tests "
            f"(one measure, a baseline) or more topics"
        ),
    )


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's step-down adjustment of a family of p-values; undefined ones stay so, uncounted.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    return corrected(p_values, "holm")


def jackknife_error(without_each: Floats) -> float:
    """The standard error of a figure, from its values with each topic left out in turn."""
    n = len(without_each)
    if n < 2:
        return float("nan")
    return float(np.sqrt((n - 1) / n * ((without_each - without_each.mean()) ** 2).sum()))


def topic_weights(topics: int, replicates: int, seed: int, size: int | None = None) -> Floats:
    """weights[replicates, topics]: how often each topic is drawn when `size` (all) are drawn."""
    if replicates < 1:
        raise ParameterError(f"bootstrap: replicates must be at least 1, got {replicates}")
    random = np.random.default_rng(seed)
    drawn = random.multinomial(size or topics, np.full(topics, 1 / topics), replicates)
    return drawn.astype(np.float64)


def means_of(values: Floats, axis: int = -1) -> Floats:
    """Means along an axis; undefined values are left out, and nothing but such gives NaN."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=axis)
    total = np.where(defined, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def mean_error(values: Floats) -> tuple[Array, Floats, Floats]:
    """How many values of the last axis are defined, their means, and the means' standard errors."""
    n = (~np.isnan(values)).sum(axis=-1)
    mean = means_of(values)
    square = np.nansum((values - mean[..., None]) ** 2, axis=-1)
    return n, mean, np.sqrt(square / np.maximum(n - 1, 1) / np.maximum(n, 1))


def weighted_means(weights: Floats, values: Floats) -> Floats:
    """means[replicates, runs] of values[topics, runs]; undefined values are left out of a mean."""
    defined = ~np.isnan(values)
    if defined.all():
        return np.asarray(weights @ values / weights.sum(axis=1, keepdims=True))
    below = weights @ defined.astype(np.float64)
    total = weights @ np.where(defined, values, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.where(below, below, np.nan))


def interval(samples: Floats, level: float, axis: int = -1) -> tuple[Floats, Floats]:
    """The percentile interval of samples; undefined ones are left out."""
    if not 0 < level < 1:
        raise ParameterError(f"level must be a number above 0 and below 1, got {level}")
    tails = [(1 - level) / 2, (1 + level) / 2]
    if not np.isnan(samples).any():
        low, high = np.quantile(samples, tails, axis=axis)
        return low, high
    moved = np.moveaxis(samples, axis, -1)
    ends = np.full((2, *moved.shape[:-1]), np.nan)
    for at in np.ndindex(moved.shape[:-1]):
        defined = moved[at][~np.isnan(moved[at])]
        if len(defined):
            ends[:, *at] = np.quantile(defined, tails)
    return ends[0], ends[1]


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


def wilson(hits: Array, n: Array, z: float = _Z95) -> tuple[Floats, Floats]:
    """Wilson's interval (1927) of shares, z standard errors to each side; NaN where n is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.asarray(hits / n, np.float64)
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
