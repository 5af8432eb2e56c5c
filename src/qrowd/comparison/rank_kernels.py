"""Inner loops over pairs of items: concordance, average precision correlation, ranks, overlap.

All work on rows [lo, hi) of `estimate[rows, n]` against `reference[rows or 1, n]` (one for all),
larger is better, and write into their own part of the result. With n up to a few hundred systems,
comparing all pairs is fast enough, and simple.
"""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Floats
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
def ap_correlation(
    estimate: Floats, reference: Floats, order: Array, together: bool, out: Floats, lo: int, hi: int
) -> None:
    """out[row] = the expectation of tau_AP over tie-breaking; order[row] sorts the estimate down.

    Per tie group of the estimate of size g with r items strictly above: `above` (SA) counts the
    items above that are better in the reference, `level` (SB) those tied there, `inside` (z) the
    pairs within the group that are tied in the reference too.
    """
    n = estimate.shape[1]
    shared = reference.shape[0] == 1
    truth = np.empty(n)
    for row in range(lo, hi):
        x, y = estimate[row], reference[0 if shared else row]
        for i in range(n):
            truth[i] = y[order[row, i]]
        total, r = 0.0, 0
        while r < n:
            end = r + 1
            while end < n and x[order[row, end]] == x[order[row, r]]:
                end += 1
            g, above, level, inside = end - r, 0, 0, 0
            for j in range(r, end):
                for i in range(r):
                    above += truth[i] > truth[j]
                    level += truth[i] == truth[j]
                for i in range(r, j):
                    inside += truth[i] == truth[j]
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
def average_ranks(values: Floats, out: Floats, lo: int, hi: int) -> None:
    """out[row, i] = the place of item i, 1 for the largest value; tied items share their mean."""
    n = values.shape[1]
    for row in range(lo, hi):
        for i in range(n):
            better, equal = 0, 0
            for j in range(n):
                better += values[row, j] > values[row, i]
                equal += values[row, j] == values[row, i]
            out[row, i] = better + (equal + 1) / 2


@kernel
def biased_overlap(
    estimate: Floats, reference: Floats, p: float, variant: int, out: Floats, lo: int, hi: int
) -> None:
    """out[row] = extrapolated rank-biased overlap of two orders of the same items.

    At depth d an item whose tie group holds places top..bottom contributes
    c = min(1, (d - top + 1) / size) from its top place on (variants 0 = a, 1 = b), or 1 (2 = w).
    Sums over items of c c', c c and c' c' by depth: what an item adds once it contributes fully is
    added up at the end, only depths at which it contributes a part are visited.
    """
    n = estimate.shape[1]
    shared = reference.shape[0] == 1
    top, size = np.empty((2, n), np.int64), np.empty((2, n), np.int64)
    sums, full = np.empty((3, n + 1)), np.empty((3, n + 1))
    for row in range(lo, hi):
        for side in range(2):
            values = estimate[row] if side == 0 else reference[0 if shared else row]
            for i in range(n):
                better, equal = 0, 0
                for j in range(n):
                    better += values[j] > values[i]
                    equal += values[j] == values[i]
                top[side, i], size[side, i] = better + 1, 1 if variant == 2 else max(equal, 1)
        sums[:], full[:] = 0.0, 0.0
        for i in range(n):
            for which in range(3):
                x, y = (0, 1) if which == 0 else (which - 1, which - 1)
                last = max(top[x, i] + size[x, i], top[y, i] + size[y, i]) - 1
                for d in range(max(top[x, i], top[y, i]), last):
                    a = min(1.0, (d - top[x, i] + 1) / size[x, i])
                    b = min(1.0, (d - top[y, i] + 1) / size[y, i])
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
