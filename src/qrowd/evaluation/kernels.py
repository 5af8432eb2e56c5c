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
def counts(grades: Grades, counts: Codes) -> None:
    """counts[column, grade + 128] += 1 for every document of the pool."""
    for row in range(grades.shape[0]):
        for c in range(grades.shape[1]):
            counts[c, grades[row, c] + 128] += 1


@kernel
def gains(
    starts: Offsets,
    rank: Codes,
    row: Codes,
    grades: Grades,
    gain: Floats,
    discount: Floats,
    sums: Floats,
) -> None:
    """sums[run, column] += gain[grade + 128] / discount[rank], for ranks that have a discount."""
    columns = grades.shape[1]
    for run in range(len(starts) - 1):
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            if rank[entry] >= len(discount):
                break
            by = discount[rank[entry]]
            grade = grades[row[entry]]
            for c in range(columns):
                total[c] += gain[grade[c] + 128] / by


@kernel
def ideals(counts: Codes, best_first: Codes, gain: Floats, discount: Floats, sums: Floats) -> None:
    """sums[column] += the gains of the best ranking, from counts[column, grade + 128]."""
    for c in range(counts.shape[0]):
        n = 0
        for code in best_first:
            for _ in range(counts[c, code]):
                if n >= len(discount):
                    break
                sums[c] += gain[code] / discount[n]
                n += 1


@kernel
def totals(
    starts: Offsets, rank: Codes, row: Codes, value: Floats, depth: int, sums: Floats
) -> None:
    """sums[run] += value[row], above the rank `depth`."""
    for run in range(len(starts) - 1):
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            if rank[entry] >= depth:
                break
            here = value[row[entry]]
            for m in range(len(here)):
                total[m] += here[m]


@kernel
def firsts(
    starts: Offsets, rank: Codes, row: Codes, grades: Grades, level: int, depth: int, best: Floats
) -> None:
    """best[run, column] = 1 / the rank of the first relevant document."""
    columns = grades.shape[1]
    for run in range(len(starts) - 1):
        top = best[run]
        for entry in range(starts[run], starts[run + 1]):
            if rank[entry] >= depth:
                break
            n = rank[entry] + 1.0
            grade = grades[row[entry]]
            for c in range(columns):
                top[c] = max(top[c], (1.0 if grade[c] >= level else 0.0) / n)


@kernel
def preferences(
    starts: Offsets,
    row: Codes,
    grades: Grades,
    level: int,
    relevant: Offsets,
    nonrelevant: Offsets,
    sums: Floats,
) -> None:
    """sums[run, column] += for every relevant document, the share of others that it beats."""
    columns = grades.shape[1]
    above = np.empty(columns, np.int64)
    for run in range(len(starts) - 1):
        above[:] = 0
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            grade = grades[row[entry]]
            for c in range(columns):
                if grade[c] >= level:
                    if above[c] > 0:
                        most = min(nonrelevant[c], relevant[c])
                        total[c] += 1.0 - min(above[c], relevant[c]) / most
                    else:
                        total[c] += 1.0
                elif grade[c] >= 0:
                    above[c] += 1


@kernel
def inferred(
    starts: Offsets, rank: Codes, row: Codes, grades: Grades, level: int, sums: Floats
) -> None:
    """sums[run, column] += the inferred precision at every relevant document."""
    columns = grades.shape[1]
    seen = np.empty((3, columns), np.float64)  # relevant, not relevant, in the pool but not judged
    for run in range(len(starts) - 1):
        seen[:] = 0.0
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            before = float(rank[entry])
            grade = grades[row[entry]]
            for c in range(columns):
                if grade[c] >= level:
                    if before == 0.0:
                        total[c] += 1.0
                    else:
                        judged = seen[0, c] + seen[1, c]
                        total[c] += 1.0 / (before + 1.0) + (before / (before + 1.0)) * (
                            (judged + seen[2, c]) / before
                        ) * ((seen[0, c] + 0.00001) / (judged + 2 * 0.00001))
                    seen[0, c] += 1.0
                elif grade[c] >= 0:
                    seen[1, c] += 1.0
                elif grade[c] != -128:
                    seen[2, c] += 1.0


@kernel
def products(
    starts: Offsets, rank: Codes, row: Codes, ratio: Floats, node: Floats, depth: int, sums: Floats
) -> None:
    """sums[run, node] += a_n / n * (1 + u * sum of the a_s above), the integrand of E[AP]."""
    nodes = len(node)
    above = np.empty(nodes, np.float64)
    for run in range(len(starts) - 1):
        above[:] = 0.0
        total = sums[run]
        for entry in range(starts[run], starts[run + 1]):
            if rank[entry] >= depth:
                break
            n = rank[entry] + 1.0
            a = ratio[row[entry]]
            for m in range(nodes):
                total[m] += a[m] / n * (1.0 + node[m] * above[m])
                above[m] += a[m]
