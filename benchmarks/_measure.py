"""What some work takes: seconds by the clock, seconds of CPU, memory; here or in a fresh process.

`python -m benchmarks._measure MODULE FUNCTION ARGUMENTS` is what `alone` starts. It runs in the
peers' interpreter too, so nothing of qrowd is imported here.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import _results
from benchmarks._benchmark import skip

ROOT = Path(__file__).parents[1]
PEERS = os.environ.get("QROWD_PEERS") or sys.executable  # the interpreter that has the peers
ONE_THREAD = dict.fromkeys(
    (
        "QROWD_THREADS",
        "POLARS_MAX_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    ),
    "1",
)
T = TypeVar("T")


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of CPU (all threads together)."""

    seconds: float
    cpu: float


def timed(work: Callable[[], T]) -> tuple[T, Spent]:
    """What some work gives, and what it takes."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Spent(time.perf_counter() - clock, time.process_time() - cpu)


def least(work: Callable[[], object], times: int) -> Spent:
    """The least that some work takes in several runs, by each clock."""
    runs = [timed(work)[1] for _ in range(times)]
    return Spent(min(run.seconds for run in runs), min(run.cpu for run in runs))


def peak_memory() -> int:
    """The peak of this process's memory in bytes. Linux counts the parent's in ru_maxrss, too."""
    status = Path("/proc/self/status")
    match = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    kilobytes = int(match[1]) if match else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 1024 * kilobytes


def forget_peak() -> None:
    """Count the peak from here on, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


# --- other processes ------------------------------------------------------------------------------


class FailedError(Exception):
    """A measurement in a process of its own gave nothing: its last line and its exit code."""

    def __init__(self, line: str, code: int) -> None:
        super().__init__(line)
        self.code = code


def alone(
    function: Callable[..., T],
    *arguments: Any,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> T:
    """What a function gives in a fresh process; arguments and result go through JSON."""
    module = function.__module__
    if module == "__main__":
        module = sys.modules["__main__"].__spec__.name  # type: ignore[union-attr]
    command = [python, "-m", "benchmarks._measure", module, function.__name__]
    # what our interpreter finds on its path, that of the peers must not
    inherited = os.environ.get("PYTHONPATH", "") if python == sys.executable else ""
    path = f"{ROOT}:{inherited}".rstrip(":")
    done = subprocess.run(
        [*command, json.dumps(arguments)],
        env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise FailedError(lines[-1], done.returncode)
    answer = json.loads(done.stdout.splitlines()[-1])
    _results.also(answer["loaded"])
    result: T = answer["result"]
    return result


@cache
def peers_have(module: str) -> bool:
    """Whether the peers' interpreter can import it; what needs it is skipped where not."""
    command = [PEERS, "-c", f"import {module}"]
    if subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return True
    skip(f"no peer {module} (QROWD_PEERS names the interpreter that has it)")
    return False


def command_spent(command: list[str], **how: Any) -> Spent:
    """What a command takes, with all that it starts and waits for; it must not fail."""
    clock = time.perf_counter()
    process = subprocess.Popen(command, **how)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - clock
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Spent(seconds, usage.ru_utime + usage.ru_stime)


if __name__ == "__main__":
    work = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
    result = work(*json.loads(sys.argv[3]))
    print("\n" + json.dumps({"result": result, "loaded": _results.loaded()}))
