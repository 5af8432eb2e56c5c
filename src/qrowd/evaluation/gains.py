"""Gains of grades and discounts of ranks, for the measures that add them up."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import ParameterError

FORMS = ("log2", "exp-log2", "jk")


class Gains(dict[int, float]):
    """Gains by grade, usable as a parameter: it has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{grade}: {self[grade]:g}" for grade in sorted(self)) + "}"


def gains_of(given: Mapping[int, float] | None, owner: str) -> Gains | None:
    """The `gains` parameter of a measure, checked."""
    if given is None:
        return None
    for grade, gain in given.items():
        whole = isinstance(grade, int) and LOWEST <= grade <= HIGHEST
        if (
            not whole
            or isinstance(gain, bool)
            or not isinstance(gain, int | float)
            or not gain >= 0
        ):
            raise ParameterError(
                f"{owner}: gains must map whole grades to numbers of at least 0, as in "
                f"{{0: 0, 1: 5}}, got {grade!r}: {gain!r}"
            )
    return Gains(given)


@lru_cache(maxsize=64)
def _gain_table(dcg: str, gains: Gains | None) -> Floats:
    grade = np.arange(NOT_JUDGED, HIGHEST + 1)
    table = np.maximum(grade, 0).astype(np.float64)
    for changed, gain in (gains or {}).items():
        table[changed - NOT_JUDGED] = gain
    return np.exp2(table) - 1 if dcg == "exp-log2" else table


def gains_by_grade(dcg: str, gains: Mapping[int, float] | None) -> Floats:
    """The gain of every grade that there can be, by grade - NOT_JUDGED; negative grades have 0."""
    return _gain_table(dcg, None if gains is None else Gains(gains))


@lru_cache(maxsize=64)
def discounts(depth: int, dcg: str, base: float) -> Floats:
    """What the gain at each rank is divided by.

    log2(1 + rank); for `jk` (Jarvelin & Kekalainen 2002) 1 above rank `base`, then log_base(rank).
    """
    rank = np.arange(1, depth + 1, dtype=np.float64)
    if dcg != "jk":
        return np.log2(rank + 1)
    return np.where(rank < base, 1.0, np.log(rank) / np.log(base))
