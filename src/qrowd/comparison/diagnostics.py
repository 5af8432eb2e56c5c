"""Whether Markov chains can be believed: rank-normalised split R-hat, effective sample sizes.

As Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021 define them. All functions take draws
[chain, draw, parameter] and return one number per parameter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qrowd.comparison.correlation import standing
from qrowd.data.arrays import Array, Floats
from qrowd.data.chains import Chains, ParameterTable
from qrowd.kernel import in_blocks

_AT_ONCE = 16  # parameters, so that the scratch arrays stay small
TAILS = (0.05, 0.95)


def rhat(draws: Array) -> Floats:
    """Rank-normalised split R-hat: the worse of bulk and tails (folded); 1 where all is well."""

    def work(x: Floats) -> Floats:
        halves = _halves(x)
        return _rhats(halves, _normal_scores(halves))

    return _by_parameter(draws, work)


def ess_bulk(draws: Array) -> Floats:
    """Effective sample size for the middle of the distribution (rank-normalised)."""
    return _by_parameter(draws, lambda x: _ess(_normal_scores(_halves(x))))


def ess_tail(draws: Array) -> Floats:
    """Effective sample size for the 5 % and 95 % quantiles, the worse of both."""
    return _by_parameter(draws, _ess_tail)


def summarise(chains: Chains, level: float = 0.95) -> ParameterTable:
    """Mean, standard deviation, central interval and diagnostics of every parameter."""
    parts = list(chains.flat())
    parameter = np.concatenate([np.full(len(e), name, object) for name, e, _ in parts])
    names = np.concatenate([entries for _, entries, _ in parts])
    columns = [_by_parameter(draws, lambda x: _summary(x, level)) for _, _, draws in parts]
    table = np.concatenate(columns, axis=1)
    heads = ("mean", "sd", "low", "high", "rhat", "ess_bulk", "ess_tail")
    return ParameterTable(parameter, names, dict(zip(heads, table, strict=True)))


def _by_parameter(draws: Array, work: Callable[[Floats], Floats]) -> Floats:
    """`work` over a few parameters at a time, on all threads; parameters stay last."""
    n = draws.shape[2]
    if n == 0:
        return np.asarray(work(np.zeros((2, 4, 1)))[..., :0])

    def part(lo: int, hi: int) -> Floats:
        return work(np.asarray(draws[:, :, lo:hi], np.float64))

    return np.concatenate(in_blocks(part, n, -(-n // _AT_ONCE)), axis=-1)


def _summary(x: Floats, level: float) -> Floats:
    halves = _halves(x)
    scores = _normal_scores(halves)
    pooled = x.reshape(-1, x.shape[2])
    low, high = np.quantile(pooled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    spread = (pooled.mean(axis=0), pooled.std(axis=0, ddof=1), low, high)
    return np.stack([*spread, _rhats(halves, scores), _ess(scores), _ess_tail(x)])


def _halves(x: Floats) -> Floats:
    """Each chain as two: [2 * chains, draws // 2, parameters]."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, x.shape[1] - half :]])


def _normal_scores(x: Floats) -> Floats:
    """Each draw's rank among all of the parameter's, as a normal quantile."""
    from scipy.special import ndtri

    flat = x.reshape(-1, x.shape[2])
    below, level = standing(-flat.T)
    ranks = np.ascontiguousarray((below + (level + 1) / 2).T)  # equal values share their mean rank
    return np.asarray(ndtri((ranks - 0.375) / (len(flat) + 0.25)).reshape(x.shape))


def _rhats(halves: Floats, scores: Floats) -> Floats:
    """The worse of bulk and tails, the latter by the distances of draws from their median."""
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.fmax(_rhat(scores), _rhat(_normal_scores(folded)))


def _rhat(x: Floats) -> Floats:
    """The potential scale reduction of Gelman & Rubin 1992."""
    n = x.shape[1]
    between = n * x.mean(axis=1).var(axis=0, ddof=1)
    within = x.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt((between / within + n - 1) / n))


def _ess_tail(x: Floats) -> Floats:
    edges = np.quantile(x, TAILS, axis=(0, 1))
    both = [_ess(_halves((x <= edge).astype(np.float64))) for edge in edges]
    return np.minimum(*both)


def _ess(x: Floats) -> Floats:
    """Geyer's initial monotone sequence over all chains."""
    chains, n = x.shape[:2]
    covariance = _autocovariance(x)
    mean_variance = covariance[0] * n / (n - 1)
    total = covariance[0] + (x.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = 1 - (mean_variance - covariance) / total
    correlation[0] = 1.0
    last = n - 4 if (n - 4) % 2 else n - 5  # lags up to the largest odd number below n - 3
    pairs = max((last + 1) // 2, 0) + 1
    even, odd = correlation[0 : 2 * pairs : 2], correlation[1 : 2 * pairs : 2]
    stop = ~(even + odd > 0)  # at the first pair of lags whose sum is not positive
    stop[-1] = True
    end = np.asarray(stop.argmax(axis=0))
    sums = np.minimum.accumulate(even + odd, axis=0)
    inside = np.arange(pairs)[:, None] < end
    edge, partner = (np.take_along_axis(lags, end[None], axis=0)[0] for lags in (even, odd))
    edge = np.where(edge + partner >= 0, edge, np.maximum(edge, 0.0))
    tau = 2 * np.where(inside, sums, 0.0).sum(axis=0) - 1 + edge
    size = chains * n
    result = size / np.maximum(tau, 1 / np.log10(size))
    constant = np.ptp(x, axis=(0, 1)) < np.finfo(np.float64).resolution
    return np.where(constant, float(size), result)


def _autocovariance(x: Floats) -> Floats:
    """[lag, parameter], the mean over chains."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = x.shape[1]
    size = next_fast_len(2 * n)
    spectrum = rfft(x - x.mean(axis=1, keepdims=True), size, axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).mean(axis=0)
    return np.asarray(irfft(power, size, axis=0)[:n] / n)
