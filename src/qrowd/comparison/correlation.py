"""How well one ranking of systems agrees with another.

Every function takes `estimate[..., n]` and `reference[..., n]`, scores of the same n systems; the
larger the better. The leading axes broadcast, and what comes back has their shape: one number (an
array without axes) for two vectors, 100,000 numbers for 100,000 vectors against one truth. A vector
with an undefined score (NaN), or of fewer than two systems, gives NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from qrowd.data.arrays import Floats, Offsets, freeze
from qrowd.errors import InputError, ParameterError, require_choice
from qrowd.kernel import in_blocks

TIES = ("independent", "together")
OVER = ("estimate", "reference", "symmetric")
VARIANTS = ("a", "b", "w")


def tau_a(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """Kendall's tau_a: (concordant - discordant pairs) / all pairs; a tie counts as neither.

    >>> float(tau_a([3, 2, 1, 0], [3, 1, 2, 0])).__round__(4)
    0.6667
    """
    counts, n = _concordance(estimate, reference)
    return np.asarray(counts[..., 0] / (n * (n - 1) / 2) if n > 1 else counts[..., 0] * np.nan)


def tau_b(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """Kendall's tau_b: as tau_a, over the pairs untied in each; NaN where a vector is constant."""
    counts, _ = _concordance(estimate, reference)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(counts[..., 0] / np.sqrt(counts[..., 1] * counts[..., 2]))


def tau_ap(
    estimate: npt.ArrayLike,
    reference: npt.ArrayLike,
    *,
    over: str = "estimate",
    ties: str = "independent",
    samples: int = 0,
    seed: int = 0,
) -> Floats:
    r"""Average precision correlation (Yilmaz, Aslam & Robertson 2008), exact under ties.

    $$\tau_{AP} = \frac{2}{n-1} \sum_{i=2}^{n} \frac{C(i)}{i-1} - 1$$

    where i walks down one ranking and C(i) counts the systems above place i that the other ranking
    puts above that system too. Errors at the top cost more than errors below.

    `over`: the ranking that is walked, `estimate` (Yilmaz's), `reference` (the notation of
    Ferrante, Ferro & Maistro 2017), or `symmetric`, the mean of both.

    `ties`: what comes back is the *expectation* over random orders of tied systems, by a closed
    form: `independent` orders for the two rankings, or one order for both (`together`; then two
    equal vectors agree fully, whatever their ties). `samples` > 0 averages that many random orders
    instead, as the papers do; it is slower and adds noise.

    >>> float(tau_ap([3, 2, 1], [3, 1, 2])).__round__(4)
    0.5
    """
    require_choice("over", over, OVER)
    require_choice("ties", ties, TIES)
    together = ties == "together"
    if over == "symmetric":
        both = [
            tau_ap(estimate, reference, over=walk, ties=ties, samples=samples, seed=seed)
            for walk in ("estimate", "reference")
        ]
        return np.asarray((both[0] + both[1]) / 2)
    if over == "reference":
        estimate, reference = reference, estimate
    walked, other, shape = _rows(estimate, reference)
    if samples:
        return _sampled(walked, other, samples, together, seed).reshape(shape)
    return _expected(walked, other, together).reshape(shape)


def rbo(
    estimate: npt.ArrayLike, reference: npt.ArrayLike, *, p: float = 0.9, variant: str = "a"
) -> Floats:
    """Rank-biased overlap (Webber, Moffat & Zobel 2010), with ties as in Corsi & Urbano 2024.

    The mean agreement of the two top-d sets, depth d having weight (1 - p) p^(d-1). Both vectors
    rank the same systems, so the agreement beyond depth n is 1: the extrapolated score is exact.
    Variants: `a`, a tie is not knowing the order (the expectation over independent orders); `b`,
    likewise, corrected for what ties leave unknown (a ranking agrees fully with itself); `w`, tied
    systems are equals, and all of them are in as soon as one is (Webber's own treatment).

    >>> float(rbo([4, 3, 2, 1], [4, 3, 1, 2], p=0.8)).__round__(4)
    0.9573
    """
    require_choice("variant", variant, VARIANTS)
    if not 0 < p < 1:
        raise ParameterError(f"rbo: p must be a number above 0 and below 1, got {p}")
    from qrowd.comparison.rank_kernels import biased_overlap

    rows, other, shape = _rows(estimate, reference)
    out = np.empty(len(rows))

    def work(lo: int, hi: int) -> None:
        above, level = np.empty((2, 2, hi - lo, rows.shape[1]), np.int64)
        for side, values in enumerate((rows, other)):
            above[side], level[side] = standing(values if len(values) == 1 else values[lo:hi])
        size = np.ones_like(level) if variant == "w" else level  # a tie group comes in at once
        biased_overlap(above + 1, size, float(p), VARIANTS.index(variant), out[lo:hi])

    in_blocks(work, len(rows))
    return _without_undefined(out, rows, other).reshape(shape)


def tau_p(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The two-sided p value of Kendall's tau: how often chance gives one as far from 0.

    Exact for up to 33 systems without ties, else by the normal approximation (scipy's).

    >>> float(tau_p([4, 3, 2, 1], [4, 3, 1, 2])).__round__(4)
    0.3333
    """
    from scipy.stats import kendalltau

    rows, other, shape = _rows(estimate, reference)
    both = zip(rows, np.broadcast_to(other, rows.shape), strict=True)
    out = np.array([kendalltau(*each).pvalue if rows.shape[1] > 1 else np.nan for each in both])
    return _without_undefined(out, rows, other).reshape(shape)


class Overlap(NamedTuple):
    """Rank-biased overlap of two lists: what it is at least and at most, and extrapolated."""

    low: float
    high: float
    extrapolated: float


def rbo_lists(one: Sequence[str], other: Sequence[str], *, p: float = 0.9) -> Overlap:
    """Rank-biased overlap of two lists of names, of which one may hold what the other lacks.

    Lists are taken for the beginnings of longer ones (Webber, Moffat & Zobel 2010): the overlap is
    between `low` and `high`, whatever follows; `extrapolated` goes on as they agree so far.

    >>> rbo_lists(["a", "b", "c"], ["b", "a", "d", "e"], p=0.8).extrapolated.__round__(4)
    0.5867
    """
    if not 0 < p < 1:
        raise ParameterError(f"rbo_lists: p must be a number above 0 and below 1, got {p}")
    for names in (one, other):
        if isinstance(names, str) or len(set(names)) < len(names) or not len(names):
            raise InputError("a ranking is a list of different names, at least one")
    short, long = sorted((list(one), list(other)), key=len)
    s, n = len(short), len(long)
    at = {name: rank for rank, name in enumerate(long, 1)}
    meet = [max(rank, at[name]) for rank, name in enumerate(short, 1) if name in at]
    depth = np.arange(1, n + 1)
    shared = np.cumsum(np.bincount(meet, minlength=n + 1))[1:]  # by depth
    power = p**depth / depth
    rest = np.log(1 / (1 - p))
    in_short, in_all = float(shared[s - 1]), float(shared[-1])
    low = (1 - p) / p * (power @ (shared - in_all) + in_all * rest)
    full = int(n + s - in_all)  # where both can have all of the other's at the earliest
    tail = np.arange(1, full + 1)
    powers = p**tail / tail
    unseen = s * powers[s:].sum() + n * powers[n:].sum() + in_all * (rest - powers.sum())
    high = low + p**s + p**n - p**full - (1 - p) / p * unseen
    beyond = power[s:] @ (in_short * (depth[s:] - s) / s)
    extrapolated = (1 - p) / p * (power @ shared + beyond)
    extrapolated += ((in_all - in_short) / n + in_short / s) * p**n
    return Overlap(float(low), float(high), float(extrapolated))


def spearman(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """Spearman's rho: Pearson's correlation of the places, tied systems sharing their mean place.

    NaN where a vector is constant.
    """
    rows, other, shape = _rows(estimate, reference)
    x, y = (places(side) - (rows.shape[1] + 1) / 2 for side in (rows, other))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
    return _without_undefined(rho, rows, other).reshape(shape)


def places(scores: npt.ArrayLike) -> Floats:
    """The place of each system, 1 for the best; tied systems share their mean place.

    >>> places([0.2, 0.9, 0.2]).tolist()
    [2.5, 1.0, 2.5]
    """
    values = np.asarray(scores, np.float64)
    rows = np.ascontiguousarray(values.reshape(prod(values.shape[:-1]), values.shape[-1]))
    out = np.empty(rows.shape)

    def work(lo: int, hi: int) -> None:
        above, level = standing(rows[lo:hi])
        out[lo:hi] = above + (level + 1) / 2

    in_blocks(work, len(rows))
    out[np.isnan(rows)] = np.nan
    return out.reshape(values.shape)


def standing(rows: Floats) -> tuple[Offsets, Offsets]:
    """How many systems of its row are above each system, and how many are level with it."""
    n = rows.shape[1]
    order = np.argsort(-rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    new = np.ones(rows.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, new.size))
    above, level = np.empty((2, *rows.shape), np.int64)
    np.put_along_axis(above, order, np.repeat(first % max(n, 1), size).reshape(rows.shape), axis=1)
    np.put_along_axis(level, order, np.repeat(size, size).reshape(rows.shape), axis=1)
    return above, level


def _rows(
    estimate: npt.ArrayLike, reference: npt.ArrayLike
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Rows of estimates, rows of references (one row where one serves all), the result's shape."""
    left, right = np.asarray(estimate, np.float64), np.asarray(reference, np.float64)
    if not left.ndim or not right.ndim or left.shape[-1] != right.shape[-1]:
        raise InputError(
            "the two must score the same systems along their last axis, "
            f"got shapes {left.shape} and {right.shape}"
        )
    n, shape = left.shape[-1], np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
    rows = np.broadcast_to(left, (*shape, n)).reshape(prod(shape), n)
    once = prod(right.shape[:-1]) == 1
    other = right.reshape(1, n) if once else np.broadcast_to(right, (*shape, n)).reshape(-1, n)
    return freeze(rows, np.float64), freeze(other, np.float64), shape


def _concordance(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> tuple[Floats, int]:
    from qrowd.comparison.rank_kernels import concordance

    rows, other, shape = _rows(estimate, reference)
    out = np.empty((len(rows), 3))
    in_blocks(lambda lo, hi: concordance(rows, other, out, lo, hi), len(rows))
    out = _without_undefined(out, rows, other)
    return out.reshape(*shape, 3), rows.shape[1]


def _expected(rows: Floats, other: Floats, together: bool) -> Floats:
    from qrowd.comparison.rank_kernels import ap_correlation

    out = np.empty(len(rows))

    def work(lo: int, hi: int) -> None:
        order = np.argsort(-rows[lo:hi], axis=1, kind="stable")
        part = np.broadcast_to(other if len(other) == 1 else other[lo:hi], order.shape)
        walked, truth = (np.take_along_axis(side, order, axis=1) for side in (rows[lo:hi], part))
        ap_correlation(walked, truth, together, out[lo:hi])

    if rows.shape[1] > 1:
        in_blocks(work, len(rows))
    return _without_undefined(out, rows, other)


def _sampled(rows: Floats, other: Floats, samples: int, together: bool, seed: int) -> Floats:
    """The mean over random orders of tied systems: places, broken at random, have no ties."""
    random = np.random.default_rng(seed)
    total = np.zeros(len(rows))
    for _ in range(samples):
        coins = random.permuted(np.tile(np.arange(rows.shape[1]), (2, 1)), axis=1)
        first, second = coins[0], coins[0] if together else coins[1]
        total += _expected(_broken(rows, first), _broken(other, second), together)
    return total / samples


def _broken(rows: Floats, coins: npt.NDArray[np.int64]) -> Floats:
    """Scores without ties, in the order of the rows' scores; ties by the coins."""
    order = np.lexsort((np.broadcast_to(coins, rows.shape), rows), axis=1)
    result = np.empty(rows.shape)
    np.put_along_axis(result, order, np.arange(rows.shape[1], dtype=np.float64)[None, :], axis=1)
    result[np.isnan(rows)] = np.nan
    return result


def _without_undefined(out: Floats, rows: Floats, other: Floats) -> Floats:
    """`out` with NaN where a row has undefined scores or fewer than two systems."""
    bad = np.isnan(rows).any(axis=1) | np.isnan(other).any(axis=1)
    out[bad | (rows.shape[1] < 2)] = np.nan
    return out


def rmse(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """Root of the mean squared difference of the systems' scores.

    >>> float(rmse([0.5, 0.1], [0.4, 0.2])).__round__(4)
    0.1
    """
    gap = np.asarray(estimate, np.float64) - np.asarray(reference, np.float64)
    if not gap.shape[-1]:
        return np.full(gap.shape[:-1], np.nan)
    return np.asarray(np.sqrt(np.mean(gap * gap, axis=-1)))


def max_drop(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The most places that a system falls from the reference's ranking to the estimate's.

    Tied systems share their mean place, so that half places occur.

    >>> float(max_drop([0.1, 0.3, 0.2], [0.9, 0.8, 0.7]))
    2.0
    """
    fallen = places(estimate) - places(reference)
    if not fallen.shape[-1]:
        return np.full(fallen.shape[:-1], np.nan)
    return np.asarray(fallen.max(axis=-1))
