"""Compiled inner loops, and the one way they run on several cores.

A kernel works on a range [lo, hi) and is called from a thread pool over a fixed number of blocks;
partial sums are added in block order, so that results are bit-identical for any number of threads.
There is no `parallel=True` anywhere: two threads inside a parallel numba kernel abort the process
where neither TBB nor OpenMP is there. A kernel calls only kernels of its own file: numba's cache
does not see edits elsewhere.

Compiling a kernel takes up to seconds on its first call on a machine. `COMPILING` says so once on a
terminal and counts these seconds, so that they are not taken for a method's.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import current_thread
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

BLOCKS = 16
_PREFIX = "qrowd-kernels"


class Compiling:
    """The compiling that this process did itself; what numba's cache had does not count.

    numba compiles one function at a time, and functions that one calls while it is under way:
    these count as parts of it.
    """

    def __init__(self) -> None:
        self.clock: Callable[[], float] = time.perf_counter
        self.by_kernel: defaultdict[str, float] = defaultdict(float)
        self.announced = False
        self.kept = True
        self._under_way: list[float] = []

    @property
    def seconds(self) -> float:
        """How long this process has compiled so far."""
        return sum(self.by_kernel.values())

    def begin(self) -> None:
        """A function begins to be compiled; the first one is announced on a terminal."""
        self._under_way.append(self.clock())
        if not self.announced and sys.stderr.isatty():
            often = "(each time: no writable cache folder; set NUMBA_CACHE_DIR to one)"
            text = "compiling, once per machine ..." if self.kept else f"compiling {often} ..."
            print(text, file=sys.stderr, flush=True)
        self.announced = True

    def end(self, name: str) -> None:
        """The function that began last has been compiled."""
        took = self.clock() - self._under_way.pop()
        if not self._under_way:
            self.by_kernel[name] += took


COMPILING = Compiling()


@cache
def _listen() -> None:
    """Have COMPILING count everything that numba compiles from now on."""
    from numba.core.event import Event, Listener, register

    class CompilingListener(Listener):
        def on_start(self, event: Event) -> None:
            COMPILING.begin()

        def on_end(self, event: Event) -> None:
            function: Any = event.data["dispatcher"].py_func
            COMPILING.end(f"{function.__module__}.{function.__name__}")

    register("numba:compile", CompilingListener())  # type: ignore[no-untyped-call]


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` on its first call; cached on disk where a folder is writable."""
    return _compiled(function, no_cfunc_wrapper=True)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that only kernels of its own file call, never Python: quicker to compile."""
    return _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def _compiled(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    from numba import njit

    _listen()
    make = partial(njit, nogil=True, error_model="numpy", **options)
    try:
        compiled = make(cache=True)(function)
    except RuntimeError:  # numba found no folder to keep its cache in
        COMPILING.kept = False
        compiled = make()(function)
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


def in_blocks(work: Callable[[int, int], R], n: int, blocks: int = BLOCKS) -> list[R]:
    """`work(lo, hi)` over the blocks of [0, n), on all threads; results in block order."""
    cuts = ranges(n, blocks)
    # in a thread of the pool, to wait for the pool would hang
    if len(cuts) == 1 or threads() == 1 or current_thread().name.startswith(_PREFIX):
        return [work(lo, hi) for lo, hi in cuts]
    return list(_pool(threads()).map(lambda cut: work(*cut), cuts))
