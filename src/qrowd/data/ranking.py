"""Rows of runs into rank order: the kernels."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Offsets
from qrowd.kernel import kernel

_PATIENCE = 8  # moves per row after which insertion gives way to a sort for any order


@kernel
def by_cell(cell: Offsets, starts: Offsets) -> Offsets:
    """The rows of each cell, in their order, one cell after the other."""
    rows = np.empty(len(cell), np.int64)
    at = starts.copy()
    for row in range(len(cell)):
        rows[at[cell[row]]] = row
        at[cell[row]] += 1
    return rows


@kernel
def key(score: float, document: int) -> np.uint64:
    """A number that is smaller the better the score, as float32, and the later the document."""
    single = np.float32(score)  # which may be -0
    bits = np.float32(single + np.float32(0.0)).view(np.int32)
    ascending = ~bits if bits < 0 else bits | np.int32(-(2**31))
    low = np.uint64(0xFFFFFFFF)
    return ((~np.uint64(ascending) & low) << np.uint64(32)) | (low - np.uint64(document))


@kernel
def insertion(keys: Array, rows: Offsets) -> bool:
    """Sort keys and rows that are nearly sorted; whether that was so."""
    moves = _PATIENCE * len(keys)
    for new in range(1, len(keys)):
        this, row, at = keys[new], rows[new], new
        while at > 0 and keys[at - 1] > this:
            keys[at], rows[at] = keys[at - 1], rows[at - 1]
            at -= 1
        keys[at], rows[at] = this, row
        moves -= new - at
        if moves < 0:
            return False
    return True


@kernel
def rank(
    cells: tuple[int, int],
    starts: Offsets,
    rows: Offsets,
    given: tuple[Codes, Floats],
    ranked: tuple[Codes, Floats],
    most: int,
) -> bool:
    """Documents and scores of these cells in rank order; whether no document is there twice.

    `rows` are those of each cell, `most` is the number of documents.
    """
    document, score = given
    last = np.full(most, -1, np.int64)
    once = True
    for cell in range(cells[0], cells[1]):
        lo, hi = starts[cell], starts[cell + 1]
        keys, here = np.empty(hi - lo, np.uint64), rows[lo:hi]
        for at in range(hi - lo):
            this = document[here[at]]
            keys[at] = key(score[here[at]], this)
            once &= last[this] != cell
            last[this] = cell
        if not insertion(keys, here):
            here[:] = here[np.argsort(keys)]
        for at in range(hi - lo):
            ranked[0][lo + at], ranked[1][lo + at] = document[here[at]], score[here[at]]
    return once
