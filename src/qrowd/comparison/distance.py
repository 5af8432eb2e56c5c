"""How far estimated scores, or places, are from the reference's.

The same calling convention as in `correlation`: `estimate[..., n]` against `reference[..., n]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qrowd.comparison.correlation import places
from qrowd.data.arrays import Floats


def rmse(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """Root of the mean squared difference of the systems' scores.

    >>> float(rmse([0.5, 0.1], [0.4, 0.2])).__round__(4)
    0.1
    """
    gap = np.asarray(estimate, np.float64) - np.asarray(reference, np.float64)
    return np.asarray(np.sqrt(np.mean(gap * gap, axis=-1)))


def max_drop(estimate: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The most places that a system falls from the reference's ranking to the estimate's.

    Tied systems share their mean place, so that half places occur.

    >>> float(max_drop([0.1, 0.3, 0.2], [0.9, 0.8, 0.7]))
    2.0
    """
    fallen = places(estimate) - places(reference)
    return np.asarray(fallen.max(axis=-1))
