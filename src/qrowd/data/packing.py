"""Rows packed into one number each, in parts that sort by themselves: the kernels."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Offsets
from qrowd.kernel import kernel

PART_BITS = 8
PARTS = 1 << PART_BITS


@kernel
def count(first: Array, second: Array, lo: int, hi: int, width: int, shift: int) -> Offsets:
    """How many of the rows [lo, hi) go to each part, by the top bits of the first two columns."""
    counts = np.zeros(PARTS, np.int64)
    for row in range(lo, hi):
        counts[(np.int64(first[row]) << width | np.int64(second[row])) >> shift] += 1
    return counts


@kernel
def pack(
    columns: tuple[Array, Array, Array, Array],
    bits: Offsets,
    lo: int,
    hi: int,
    shift: int,
    at: Offsets,
    out: Offsets,
) -> None:
    """Rows [lo, hi) as one number each, the first column on top, to where `at` says."""
    first, second, third, last = columns
    for row in range(lo, hi):
        number = np.int64(first[row]) << bits[1] | np.int64(second[row])
        part = number >> shift
        number = (number << bits[2] | np.int64(third[row])) << bits[3] | np.int64(last[row])
        out[at[part]] = number
        at[part] += 1


@kernel
def first_of_pairs(key: Offsets, lo: int, hi: int, low: int) -> int:
    """How many of the rows [lo, hi) have other upper bits than the row before."""
    found = 0
    for row in range(lo, hi):
        found += row == 0 or key[row] >> low != key[row - 1] >> low
    return found


@kernel
def unpack(
    key: Offsets,
    bits: Offsets,
    lo: int,
    hi: int,
    rows: tuple[Array, Array, Array],
    pairs: tuple[Array, Array],
    found: int,
) -> None:
    """The columns of rows [lo, hi): pair, assessor, grade, and topic and document of the pairs
    that are new here, of which `found` were found before.
    """
    pair, assessor, grade = rows
    topic, document = pairs
    masks = (np.int64(1) << bits) - np.int64(1)
    low = bits[2] + bits[3]
    for row in range(lo, hi):
        this = key[row] >> low
        if row == 0 or this != key[row - 1] >> low:
            topic[found], document[found] = this >> bits[1], this & masks[1]
            found += 1
        pair[row] = found - 1
        assessor[row] = key[row] >> bits[3] & masks[2]
        grade[row] = key[row] & masks[3]
