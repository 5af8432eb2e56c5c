"""Where tasks are computed: threads, processes, or Dask; results come as they are ready.

Every executor computes the same function of the same plan and task, so that results are identical.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing import get_context
from typing import Any, NamedTuple

from qrowd.errors import InputError, MissingExtraError, UsageError
from qrowd.experiments.cells import Columns, Task, compute
from qrowd.experiments.inputs import Inputs, load
from qrowd.experiments.plan import Plan

RETRIES = 5  # of a task whose Dask worker died


class Done(NamedTuple):
    """A task, its cells, and the seconds that they took."""

    task: Task
    columns: Columns
    seconds: float


def refuse_unknown(on: str) -> None:
    """An error if there is no executor of this name."""
    if on not in ("threads", "processes", "dask") and not on.startswith(("tcp://", "tls://")):
        raise UsageError(f"--on must be threads, processes, dask or tcp://HOST:PORT, got {on!r}")


def computed(
    inputs: Inputs, tasks: Sequence[Task], on: str = "threads", workers: int = 1
) -> Iterator[Done]:
    """The tasks' cells, each as soon as it is ready."""
    refuse_unknown(on)
    if on == "threads":
        inputs.prepare()
        with futures.ThreadPoolExecutor(workers) as pool:
            yield from _ready(pool, [pool.submit(_timed, inputs, task) for task in tasks])
    elif on == "processes":
        yield from _in_processes(inputs.plan, tasks, workers)
    else:
        yield from _on_dask(inputs.plan, tasks, on, workers)


def _ready(pool: futures.Executor, pending: Sequence[futures.Future[Done]]) -> Iterator[Done]:
    try:
        for future in futures.as_completed(pending):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _in_processes(plan: Plan, tasks: Sequence[Task], workers: int) -> Iterator[Done]:
    pool = futures.ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        yield from _ready(pool, [pool.submit(compute_there, plan.packed, task) for task in tasks])
    except BrokenProcessPool:
        message = "a process was killed; finished cells are kept: qrowd experiment resume"
        raise InputError(message) from None


def _on_dask(plan: Plan, tasks: Sequence[Task], on: str, workers: int) -> Iterator[Done]:
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingExtraError.needed("an experiment on Dask", "dask") from None
    local: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": None,
    }
    try:
        make: Any = distributed.Client
        client = make(**local) if on == "dask" else make(on, timeout=20)
    except OSError:
        raise InputError(f"no Dask scheduler answers at {on}") from None
    with client:
        pending = client.map(
            compute_there, [plan.packed] * len(tasks), list(tasks), pure=False, retries=RETRIES
        )
        ready: Any = distributed.as_completed
        for future in ready(pending):
            done = future.result()
            future.release()  # or it would be computed again where its worker is killed later
            yield done


def compute_there(packed: str, task: Task) -> Done:
    """A task in another process, which reads the data once."""
    return _timed(_inputs(packed), task)


@lru_cache(maxsize=1)
def _inputs(packed: str) -> Inputs:
    return load(Plan.unpacked(packed))


def _timed(inputs: Inputs, task: Task) -> Done:
    started = time.monotonic()
    return Done(task, compute(inputs, task), time.monotonic() - started)
