"""Inner loops over pairs of items: concordance, average precision correlation, overlap.

All work on rows, larger is better, and write into their own part of the result. With n up to a few
hundred systems, comparing all pairs is fast enough, and simple.
"""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats, Offsets
from qrowd.kernel import kernel


@kernel
def concordance(estimate: Floats, reference: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[row] = concordant - discordant pairs, pairs untied in the estimate, in the reference."""
    n = estimate.shape[1]
    shared = reference.shape[0] == 1
    for row in range(lo, hi):
        x, y = estimate[row], reference[0 if shared else row]
        balance, untied_x, untied_y = 0, 0, 0
        for i in range(1, n):
            for j in range(i):
                a = (x[i] > x[j]) - (x[i] < x[j])
                b = (y[i] > y[j]) - (y[i] < y[j])
                balance += a * b
                untied_x += a * a
                untied_y += b * b
        out[row, 0], out[row, 1], out[row, 2] = balance, untied_x, untied_y


@kernel
def ap_correlation(walked: Floats, truth: Floats, together: bool, out: Floats) -> None:
    """out[row] = the expectation of tau_AP over tie-breaking.

    `walked` are the scores of the ranking that is walked down, the best first, `truth` the other
    ranking's of the same items. Per tie group of `walked` of size g with r items strictly above:
    `above` (SA) counts the items above that are better in the other ranking, `level` (SB) those
    tied there, `inside` (z) the pairs within the group that are tied in the other ranking too.
    """
    n = walked.shape[1]
    for row in range(len(out)):
        x, y = walked[row], truth[row]
        total, r = 0.0, 0
        while r < n:
            end = r + 1
            while end < n and x[end] == x[r]:
                end += 1
            g, above, level, inside = end - r, 0, 0, 0
            for j in range(r, end):
                for i in range(r):
                    above += y[i] > y[j]
                    level += y[i] == y[j]
                for i in range(r, j):
                    inside += y[i] == y[j]
            for k in range(1, g + 1):
                if r + k < 2:
                    continue
                expected = above / g + (k - 1) / 2
                if not together:
                    expected += level / 2 / g
                elif g == 1:
                    expected += level / 2
                else:
                    expected += level * k / (g + 1) / g + (k - 1) * inside / (g * (g - 1))
                total += expected / (r + k - 1)
            r = end
        out[row] = 2 * total / (n - 1) - 1


@kernel
def biased_overlap(top: Offsets, size: Offsets, p: float, variant: int, out: Floats) -> None:
    """out[row] = extrapolated rank-biased overlap of two orders of the same items.

    In ranking x of row r item i shares the places from top[x, r, i] on with size[x, r, i] - 1
    others. At depth d it contributes
    c = min(1, (d - top + 1) / size) from its top place on (variants 0 = a, 1 = b; size 1: w = 2).
    Sums over items of c c', c c and c' c' by depth: what an item adds once it contributes fully is
    added up at the end, only depths at which it contributes a part are visited.
    """
    n = top.shape[2]
    sums, full = np.empty((3, n + 1)), np.empty((3, n + 1))
    for row in range(len(out)):
        sums[:] = 0.0
        full[:] = 0.0
        for which in range(3):
            x = 1 if which == 2 else 0
            y = 0 if which == 1 else 1
            for i in range(n):
                first, second = top[x, row, i], top[y, row, i]
                last = max(first + size[x, row, i], second + size[y, row, i]) - 1
                for d in range(max(first, second), last):
                    a = min(1.0, (d - first + 1) / size[x, row, i])
                    b = min(1.0, (d - second + 1) / size[y, row, i])
                    sums[which, d] += a * b
                full[which, last] += 1.0
        total, weight, cross, left, right = 0.0, 1.0 - p, 0.0, 0.0, 0.0
        for d in range(1, n + 1):
            cross, left, right = cross + full[0, d], left + full[1, d], right + full[2, d]
            common = cross + sums[0, d]
            if variant == 0:
                agreement = common / d
            elif variant == 1:
                agreement = common / np.sqrt((left + sums[1, d]) * (right + sums[2, d]))
            else:
                agreement = 2.0 * common / (left + right)
            total += weight * agreement
            weight *= p
        out[row] = total + weight / (1.0 - p)  # from depth n on, both hold the same items
