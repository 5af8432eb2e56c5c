"""Rows packed into one number each, in parts that sort by themselves: the kernels."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Offsets
from qrowd.kernel import kernel


@kernel
def count(first: Array, lo: int, hi: int, part_of: Array, parts: int) -> Offsets:
    """How many of the rows [lo, hi) go to each part, by their first column."""
    counts = np.zeros(parts, np.int64)
    for row in range(lo, hi):
        counts[part_of[first[row]]] += 1
    return counts


@kernel
def pack(
    columns: tuple[Array, Array, Array, Array],
    bits: Offsets,
    lo: int,
    hi: int,
    part_of: Array,
    at: Offsets,
    out: Offsets,
) -> None:
    """Rows [lo, hi) as one number each, the first column on top, to where `at` says."""
    first, second, third, last = columns
    for row in range(lo, hi):
        number = np.int64(first[row]) << bits[1] | np.int64(second[row])
        number = (number << bits[2] | np.int64(third[row])) << bits[3] | np.int64(last[row])
        part = part_of[first[row]]
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
