"""Compiled inner loops, and the one way they run on several cores.

A kernel works on a range [lo, hi) and is called from a thread pool over a fixed number of blocks;
partial sums are added in block order, so that results are bit-identical for any number of threads.
There is no `parallel=True` anywhere: two threads inside a parallel numba kernel abort the process
where neither TBB nor OpenMP is there. A kernel calls only kernels of its own file: numba's cache
does not see edits elsewhere.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import current_thread
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

BLOCKS = 16
_PREFIX = "qrowd-kernels"


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on its first call; cached on disk where a folder is writable."""
    from numba import njit

    try:
        compiled = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no folder to keep its cache in
        compiled = njit(nogil=True)(function)
    return cast("Callable[P, R]", compiled)


def threads() -> int:
    """How many threads kernels run on: QROWD_THREADS, or the number of cores."""
    return max(1, int(os.environ.get("QROWD_THREADS", 0)) or os.cpu_count() or 1)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix=_PREFIX)


def ranges(n: int, blocks: int = BLOCKS) -> list[tuple[int, int]]:
    """Cut [0, n) into at most `blocks` nearly equal ranges, none of them empty."""
    blocks = max(1, min(blocks, n))
    edges = [n * b // blocks for b in range(blocks + 1)]
    return list(itertools.pairwise(edges))


def inside() -> bool:
    """Whether this is a thread of the pool: there, to wait for the pool would hang."""
    return current_thread().name.startswith(_PREFIX)


def in_blocks(work: Callable[[int, int], R], n: int, blocks: int = BLOCKS) -> list[R]:
    """`work(lo, hi)` over the blocks of [0, n), on all threads; results in block order."""
    cuts = ranges(n, blocks)
    if threads() == 1 or len(cuts) == 1 or inside():
        return [work(lo, hi) for lo, hi in cuts]
    return list(_pool(threads()).map(lambda cut: work(*cut), cuts))
