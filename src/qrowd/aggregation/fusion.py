"""Several runs as one."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats, Offsets
from qrowd.data.index import Index
from qrowd.data.runs import RunSet
from qrowd.errors import ParameterError, require_choice

WAYS = ("rrf", "combsum", "combmnz")


def fuse(runs: RunSet, how: str = "rrf", *, name: str = "", k: float = 60.0) -> RunSet:
    r"""One run of many: what is high in several lists comes first.

    `rrf`: the sum over runs of $1 / (k + \text{rank})$ (Cormack, Clarke & Buettcher 2009).
    `combsum`: of scores, each list's from 0 (its last) to 1 (Fox & Shaw 1993); `combmnz`: that
    times the number of lists that have the document. A list whose scores are all the same has 1.
    Pools are made of the result too: `.pool(depth)`.

    >>> import qrowd as q
    >>> runs = q.RunSet.of(["a", "a", "b"], ["t"] * 3, ["x", "y", "y"], [2, 1, 5])
    >>> q.fuse(runs).to_polars()["doc"].to_list()
    ['y', 'x']
    """
    require_choice("how", how, WAYS)
    if k < 0:
        raise ParameterError(f"fuse: k must be at least 0, got {k}")
    lengths = np.diff(runs.starts)
    cell = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.arange(1, len(cell) + 1) - runs.starts[cell]
    worth = 1 / (k + rank) if how == "rrf" else _from_0_to_1(runs, cell)
    topic = cell // max(len(runs), 1)
    key = topic * max(len(runs.documents), 1) + runs.document
    pairs, back = np.unique(key, return_inverse=True)
    total = np.bincount(back, worth, len(pairs)).astype(np.float64)
    if how == "combmnz":
        total *= np.bincount(back, minlength=len(pairs))
    topics, documents = np.divmod(pairs, max(len(runs.documents), 1))
    indexes = (Index.of([name or how]), runs.topics, runs.documents)
    one = np.zeros(len(pairs), np.int32)
    codes = (one, topics.astype(np.int32), documents.astype(np.int32))
    return RunSet.from_codes(indexes, codes, total)


def _from_0_to_1(runs: RunSet, cell: Offsets) -> Floats:
    """Scores of each list from its least to its greatest; 1 where all are the same."""
    size = len(runs.starts) - 1
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, cell, runs.score)
    np.maximum.at(high, cell, runs.score)
    gap = (high - low)[cell]
    return np.where(gap > 0, (runs.score - low[cell]) / np.where(gap > 0, gap, 1), 1.0)
