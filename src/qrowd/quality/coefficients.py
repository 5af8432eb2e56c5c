"""Coefficients of agreement from count vectors: raw, Fleiss, Krippendorff, Gwet.

A count vector says how many assessors gave a pair each grade. `times[draws, rows]` says how often
each vector counts; one value per draw comes back.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.data.judgements import Judgements
from qrowd.errors import ParameterError

LEVELS = ("nominal", "ordinal", "interval", "ratio")
COEFFICIENTS = (
    "raw",
    "fleiss",
    "alpha-nominal",
    "alpha-ordinal",
    "alpha-interval",
    "alpha-ratio",
    "ac1",
)


def counts_of(judgements: Judgements) -> Offsets:
    """How many assessors gave each grade to each pair: int64[pairs, grades]."""
    single = judgements.one_each()
    size = len(single.scale)
    cells = single.pair.astype(np.int64) * size + single.grade
    return np.bincount(cells, minlength=len(single.pairs) * size).reshape(-1, size)


def raw(counts: Array, times: Array | None = None) -> Floats:
    r"""The mean over pairs of the share of agreeing couples of judgements.

    $$ P_i = \frac{\sum_k n_{ik}(n_{ik}-1)}{n_i(n_i-1)} $$ for pairs with two judgements or more.
    """
    weight = _weights(counts, times)
    total = counts.sum(axis=1)
    several = total > 1
    share = np.zeros(len(counts))
    agreeing = (counts * (counts - 1)).sum(axis=1)
    share[several] = agreeing[several] / (total * (total - 1))[several]
    return _ratio(weight @ share, weight @ several.astype(np.float64))


def fleiss(counts: Array, times: Array | None = None) -> Floats:
    r"""Fleiss' kappa (1971), for any number of judgements per pair.

    $$ \kappa = (\bar P - P_e)/(1 - P_e), \quad P_e = \sum_k \pi_k^2 $$ where $\pi_k$ is the mean
    over pairs of the share of grade k. With equal numbers per pair it is Fleiss' own.
    """
    expected = (_shares(counts, times) ** 2).sum(axis=1)
    return _corrected(raw(counts, times), expected)


def ac1(counts: Array, times: Array | None = None) -> Floats:
    r"""Gwet's AC1 (2008): as Fleiss' kappa with $P_e = \sum_k \pi_k(1-\pi_k)/(K-1)$.

    It stays near the raw agreement where nearly all answers are the same, where kappa collapses.
    """
    shares = _shares(counts, times)
    expected = (shares * (1 - shares)).sum(axis=1) / (counts.shape[1] - 1)
    return _corrected(raw(counts, times), expected)


def alpha(
    counts: Array, grades: Array, level: str = "nominal", times: Array | None = None
) -> Floats:
    r"""Krippendorff's alpha (2004, 2011) with missing data.

    $$ \alpha = 1 - (n-1)\,\frac{\sum_{ck} o_{ck}\,\delta^2_{ck}}{\sum_{ck} n_c n_k\,\delta^2_{ck}},
    \quad o_{ck} = \sum_u \frac{n_{uc}(n_{uk} - [c=k])}{n_u - 1} $$
    over pairs with two judgements or more. All answers equal: not defined, NaN.
    """
    if level not in LEVELS:
        raise ParameterError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")
    weight = _weights(counts, times)
    total = counts.sum(axis=1)
    several = total > 1
    used, weight = counts[several].astype(np.float64), weight[:, several]
    size = counts.shape[1]
    within = (used[:, :, None] * used[:, None, :] - used[:, :, None] * np.eye(size)) / (
        total[several, None, None] - 1
    )
    coincidences = (weight @ within.reshape(-1, size * size)).reshape(-1, size, size)
    margins = coincidences.sum(axis=2)
    distance = _distances(margins, np.asarray(grades, np.float64), level)
    observed = (coincidences * distance).sum(axis=(1, 2))
    by_chance = np.einsum("bc,bk,bck->b", margins, margins, distance)
    return np.asarray(1 - (margins.sum(axis=1) - 1) * _ratio(observed, by_chance))


def _distances(margins: Floats, grades: Floats, level: str) -> Floats:
    """Squared distances between grades, for each row of margins: [rows, grades, grades]."""
    size = len(grades)
    if level == "ordinal":  # judgements between the two grades, half of those at the ends
        below = np.cumsum(margins, axis=1) - margins / 2
        return np.asarray((below[:, :, None] - below[:, None, :]) ** 2)
    gap = grades[:, None] - grades[None, :]
    if level == "nominal":
        fixed = (gap != 0).astype(np.float64)
    elif level == "interval":
        fixed = gap**2
    else:
        together = grades[:, None] + grades[None, :]
        fixed = np.where(together == 0, 0.0, (gap / np.where(together == 0, 1, together)) ** 2)
    return np.broadcast_to(fixed, (len(margins), size, size))


def _weights(counts: Array, times: Array | None) -> Floats:
    if times is None:
        return np.ones((1, len(counts)))
    return np.atleast_2d(np.asarray(times, np.float64))


def _shares(counts: Array, times: Array | None) -> Floats:
    weight = _weights(counts, times)
    total = counts.sum(axis=1)
    judged = total > 0
    shares = counts[judged] / total[judged, None]
    return _ratio(weight[:, judged] @ shares, weight[:, judged].sum(axis=1)[:, None])


def _corrected(observed: Floats, expected: Floats) -> Floats:
    return _ratio(observed - expected, 1 - expected)


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(np.abs(below) < 1e-15, np.nan, above / below))


def coefficient(name: str, grades: Array) -> Callable[[Array, Array | None], Floats]:
    """The function of a coefficient, of count vectors and how often they count."""
    if name.startswith("alpha-"):
        return lambda counts, times: alpha(counts, grades, name[6:], times)
    return {"raw": raw, "fleiss": fleiss, "ac1": ac1}[name]
