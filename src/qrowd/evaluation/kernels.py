"""The inner loops of measures: all runs of a topic against all columns, in rank order.

Every sum runs along the ranks of one (run, column), so that it has the same bits as trec_eval's,
whatever the number of columns or threads.
"""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Offsets
from qrowd.kernel import kernel


@kernel
def precisions(
    starts: Offsets, rank: Codes, row: Codes, grades: Grades, level: int, depth: int, sums: Floats
) -> None:
    """sums[run, column] += the precision at every relevant document."""
    columns = grades.shape[1]
    hits = np.empty(columns, np.float64)
    for run in range(len(starts) - 1):
        hits[:] = 0.0
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            if rank[entry] >= depth:
                break
            n = rank[entry] + 1.0
            grade = grades[row[entry]]
            for c in range(columns):
                x = 1.0 if grade[c] >= level else 0.0
                hits[c] += x
                total[c] += x * hits[c] / n


@kernel
def hits(
    starts: Offsets, rank: Codes, row: Codes, grades: Grades, level: int, depth: Codes, sums: Floats
) -> None:
    """sums[run, column] += the number of relevant documents above rank depth[column]."""
    columns = grades.shape[1]
    deepest = 0
    for c in range(columns):
        deepest = max(deepest, depth[c])
    for run in range(len(starts) - 1):
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            at = rank[entry]
            if at >= deepest:
                break
            grade = grades[row[entry]]
            for c in range(columns):
                total[c] += 1.0 if grade[c] >= level and at < depth[c] else 0.0


@kernel
def gains(
    starts: Offsets, rank: Codes, row: Codes, gain: Floats, discount: Floats, sums: Floats
) -> None:
    """sums[run, column] += gain / discount[rank], for ranks that have a discount."""
    columns = gain.shape[1]
    for run in range(len(starts) - 1):
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            if rank[entry] >= len(discount):
                break
            by = discount[rank[entry]]
            here = gain[row[entry]]
            for c in range(columns):
                total[c] += here[c] / by
