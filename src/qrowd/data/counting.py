"""Sums over millions of rows without a copy of them: the kernels. Rows are added in their order."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Grades, Offsets
from qrowd.kernel import kernel


@kernel
def occurrences(codes: Array, size: int) -> Offsets:
    """How often each code below `size` occurs."""
    counts = np.zeros(size, np.int64)
    for row in range(len(codes)):
        counts[codes[row]] += 1
    return counts


@kernel
def votes(pair: Codes, grade: Grades, weight: Floats, size: int, grades: int) -> Floats:
    """The votes of each pair for each grade; `weight` may be empty: one vote each."""
    found = np.zeros((size, grades))
    for row in range(len(pair)):
        found[pair[row], grade[row]] += weight[row] if len(weight) else 1.0
    return found


@kernel
def sums_by(
    codes: Codes, size: int, table: Floats, at: tuple[Codes, Grades], weight: Floats
) -> Floats:
    """For each code below `size` the (weighted) sum of the table's entries `at` its rows."""
    found = np.zeros(size)
    for row in range(len(codes)):
        value = table[at[0][row], at[1][row]]
        found[codes[row]] += value * weight[row] if len(weight) else value
    return found
