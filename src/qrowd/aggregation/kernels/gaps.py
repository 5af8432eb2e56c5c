"""Loops over assessors and references: squared distances and kernel density sums."""

from __future__ import annotations

import math

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.kernel import in_blocks, kernel

_SQRT_2PI = math.sqrt(2 * math.pi)


@kernel
def _squared(scores: Floats, references: Floats, out: Floats, lo: int, hi: int) -> None:
    topics, runs = scores.shape[1], scores.shape[2]
    for k in range(lo, hi):
        for h in range(references.shape[0]):
            for t in range(topics):
                total = 0.0
                for s in range(runs):
                    difference = scores[k, t, s] - references[h, t, s]
                    total += difference * difference
                out[k, h, t] = total


@kernel
def _density(
    values: Floats, first: float, step: float, width: float, out: Floats, lo: int, hi: int
) -> None:
    """Add a normal density around each value; beyond 9.5 widths (1e-20 of its top) nothing."""
    reach = int(9.5 * width / step) + 1
    points = out.shape[2]
    top = 1.0 / (width * _SQRT_2PI)
    for c in range(lo, hi):
        for t in range(values.shape[1]):
            for s in range(values.shape[2]):
                value = values[c, t, s]
                if not -1e6 < value < 1e6:
                    continue
                nearest = round((value - first) / step)
                for g in range(max(0, nearest - reach), min(points, nearest + reach + 1)):
                    z = (first + g * step - value) / width
                    out[c, t, g] += top * math.exp(-0.5 * z * z)


def squared_distances(scores: Floats, references: Floats) -> Floats:
    """sum_s (scores[k, t, s] - references[h, t, s])^2 as [k, h, t]."""
    out = np.empty((len(scores), len(references), scores.shape[1]))
    in_blocks(lambda lo, hi: _squared(scores, references, out, lo, hi), len(scores))
    return out


def density_sums(values: Floats, grid: Floats, bandwidth: float) -> Floats:
    """Gaussian kernel sums of values[c, t, :] at the points of an even grid, as [c, t, g]."""
    out = np.zeros((len(values), values.shape[1], len(grid)))
    first, step = float(grid[0]), float(grid[1] - grid[0])
    in_blocks(lambda lo, hi: _density(values, first, step, bandwidth, out, lo, hi), len(values))
    return out
