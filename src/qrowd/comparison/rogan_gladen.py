r"""A rate that a judge of known errors found, corrected (Rogan & Gladen 1978).

$$\hat\theta = \frac{q + t - 1}{s + t - 1}$$

with the judge's rate $q$ on $N$ items, its sensitivity $s$ on $n_1$ items that are truly relevant,
and its specificity $t$ on $n_0$ that are not.
"""

from __future__ import annotations

import numpy as np

from qrowd.comparison.prediction_powered import Estimate
from qrowd.data.arrays import Array, Floats

WEAK = 0.1  # sensitivity + specificity - 1: below it the division makes noise


def rogan_gladen(
    rate: Array | float, size: float, right: tuple[float, float], left: tuple[float, float]
) -> Estimate:
    """The true rate behind a judge's `rate` on `size` items; not a number if the judge is too weak.

    `right` is (sensitivity, truly relevant items it was measured on), `left` is (specificity, truly
    non-relevant items). Values are cut to 0..1; the errors are those of the uncut ones.

    >>> found = rogan_gladen(0.25, 1000, (0.9, 100), (0.8, 100))
    >>> round(float(found.value), 4), round(float(found.error), 4)
    (0.0714, 0.0566)
    """
    (sensitivity, n1), (specificity, n0) = right, left
    worth = sensitivity + specificity - 1
    q: Floats = np.asarray(rate, np.float64)
    if worth < WEAK or not n1 or not n0:
        unknown = np.full(q.shape, np.nan)
        return Estimate(unknown, unknown, np.full(q.shape, np.inf), np.array([worth]))
    value = (q + specificity - 1) / worth
    variance = (
        q * (1 - q) / size
        + value**2 * sensitivity * (1 - sensitivity) / n1
        + (1 - value) ** 2 * specificity * (1 - specificity) / n0
    ) / worth**2
    freedom = np.full(q.shape, np.inf)
    return Estimate(np.clip(value, 0, 1), np.sqrt(variance), freedom, np.array([worth]))
