"""Who judges what: distinct assessors for every pair, drawn by their workloads."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats, Offsets
from qrowd.kernel import ranges

_CELLS = 4_000_000  # of the largest dense block


def vote_counts(n: int, votes: float, most: int, random: np.random.Generator) -> Offsets:
    """How many judgements each of n pairs gets: `votes` on average, at most one per assessor."""
    whole, rest = divmod(min(votes, float(most)), 1)
    return (int(whole) + (random.random(n) < rest)).astype(np.int64)


def assigned(
    counts: Offsets, workload: Floats, random: np.random.Generator
) -> tuple[Offsets, Codes]:
    """Rows of (pair, assessor): `counts` distinct assessors for each pair."""
    most = int(counts.max(initial=0))
    crowded = 2 * most > len(workload)
    slots = (_by_keys if crowded else _by_slots)(len(counts), most, workload, random)
    taken = np.arange(most)[None, :] < counts[:, None]
    return np.repeat(np.arange(len(counts)), counts), slots[taken]


def _by_slots(n: int, most: int, workload: Floats, random: np.random.Generator) -> Codes:
    """Slot by slot, drawn again where the pair has that assessor already."""
    edges = np.cumsum(workload)
    edges /= edges[-1]
    slots = np.full((n, most), -1, np.int32)
    for slot in range(most):
        rows = np.arange(n)
        for _ in range(50):
            slots[rows, slot] = np.searchsorted(edges, random.random(len(rows)), side="right")
            rows = rows[(slots[rows, :slot] == slots[rows, slot, None]).any(axis=1)]
            if not len(rows):
                break
        else:  # a few assessors do nearly everything: choose by keys for these pairs
            slots[rows] = _by_keys(len(rows), most, workload, random)
    return slots


def _by_keys(n: int, most: int, workload: Floats, random: np.random.Generator) -> Codes:
    """The `most` smallest of exponential keys with the workloads as rates, block by block."""
    parts = [np.zeros((0, most), np.int32)]
    for lo, hi in ranges(n, -(-n * len(workload) // _CELLS)) if n else []:
        keys = random.exponential(size=(hi - lo, len(workload))) / workload
        parts.append(np.argsort(keys, axis=1)[:, :most].astype(np.int32))
    return np.concatenate(parts)
