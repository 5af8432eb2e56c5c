"""Merging, in CPU time and memory, beside crowd-kit: `python -m benchmarks.merging_speed`.

5 judgements per pair, 100 per assessor, names as strings in a frame. crowd-kit 1.4.2 is run by this
interpreter, or by the one that QROWD_PEERS names (it may want other versions of numpy and
pandas). Times per label and iteration are slopes between a short and a longer fit, so that
set-up drops out; crowd-kit's are taken over few iterations. `--quick` makes all of it ten times
smaller, `--whole` leaves out the times per iteration.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WORKER = Path(__file__).parent / "_merging_worker.py"
Result = dict[str, float]


@dataclass(frozen=True)
class Slope:
    """One row of the table per label and iteration."""

    title: str
    spec: str
    peer: str
    data: tuple[int, int]  # labels, grades
    ours: tuple[int, int]  # iterations, from .. to
    theirs: tuple[int, int]
    wanted: int


SLOPES = (
    Slope("`ds` binary", "ds(tol=1e-300)", "DawidSkene", (1_000_000, 2), (5, 25), (2, 5), 150),
    Slope("`ds` five grades", "ds(tol=1e-300)", "DawidSkene", (1_000_000, 5), (5, 15), (2, 5), 25),
    Slope(
        "`one-coin(labels=soft)`",
        "one-coin(labels=soft, tol=1e-300)",
        "OneCoinDawidSkene",
        (1_000_000, 2),
        (5, 25),
        (2, 5),
        50,
    ),
    Slope("`mace`", "mace(restarts=1, tol=1e-300)", "MACE", (1_000_000, 2), (3, 8), (1, 3), 50),
    Slope("`kos`", "kos(tol=1e-300)", "KOS", (1_000_000, 2), (5, 25), (2, 4), 50),
    Slope("`glad`", "glad(tol=1e-300)", "GLAD", (100_000, 2), (3, 8), (1, 2), 200),
)

# The tolerance of both is the gain of the log-likelihood per label: 1e-7 here, 1e-5 in crowd-kit.
HALF = 0.5  # of the tasks have the higher label
WHOLE: tuple[tuple[str, str, str, dict[str, float], int, float], ...] = (
    ("`ds`, 3 of 10 relevant, crowd-kit as it comes", "ds", "DawidSkene", {}, 1_000_000, 0.3),
    ("`ds`, half relevant, crowd-kit as it comes", "ds", "DawidSkene", {}, 1_000_000, HALF),
    (
        "`ds`, half relevant, tolerance 1e-7 for both",
        "ds",
        "DawidSkene",
        {"tol": 1e-7, "n_iter": 1000},
        1_000_000,
        HALF,
    ),
    ("`mv`", "mv", "MajorityVote", {}, 10_000_000, HALF),
)


def main() -> None:
    """Measure everything and print two tables."""
    smaller = 10 if "--quick" in sys.argv else 1
    with tempfile.TemporaryDirectory() as folder:
        print(_about(), flush=True)
        if "--whole" not in sys.argv:
            _slopes(Path(folder), smaller)
        _whole(Path(folder), smaller)


def _about() -> str:
    peer = _crowdkit() or "none: install it, or name its interpreter in QROWD_PEERS"
    return f"{os.cpu_count()} cores, Python {sys.version.split()[0]}; crowd-kit: {peer}\n"


# --- the tables -----------------------------------------------------------------------------------


def _slopes(folder: Path, smaller: int) -> None:
    print("Nanoseconds of CPU per label and iteration:\n")
    print("| | labels | qrowd | crowd-kit | times less | aim |\n|---|---|---|---|---|---|")
    for row in SLOPES:
        labels = row.data[0] // smaller
        path = data(folder, labels, row.data[1])
        ours = _measured("qrowd_slope", row.spec, path, *row.ours)
        theirs = _measured("crowdkit_slope", row.peer, path, *row.theirs)
        print(
            f"| {row.title} | {labels:,} | {_number(ours, 'ns')} | {_number(theirs, 'ns')} | "
            f"{_ratio(theirs, ours, 'ns')} | {row.wanted} |",
            flush=True,
        )


def _whole(folder: Path, smaller: int) -> None:
    print("\nFrom the frame to labels (the last row: from Parquet to a file of qrels):\n")
    print(
        "| | qrowd: CPU s | s | peak GB | beyond the frame | iterations | right "
        "| crowd-kit: CPU s | s | peak GB | beyond the frame | iterations | right "
        "| CPU times less | memory times less | beyond the frame |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for title, spec, peer, options, labels, share in WHOLE:
        path = data(folder, labels // smaller, 2, share)
        ours = _measured("qrowd_whole", spec, path)
        theirs = _measured("crowdkit_whole", peer, path, options)
        less = " | ".join(_ratio(theirs, ours, name) for name in ("cpu", "peak", "beyond"))
        head = f"{title}, {labels // smaller:,} labels"
        print(f"| {head} | {_cells(ours)} | {_cells(theirs)} | {less} |", flush=True)
    print(_command_line(folder, 10_000_000 // smaller), flush=True)


def _cells(result: Result | None) -> str:
    names = ("cpu", "wall", "peak", "beyond", "iterations", "right")
    return " | ".join(_number(result, name) for name in names)


def _command_line(folder: Path, labels: int) -> str:
    """The whole command, in a process of its own, start and all."""
    given = ("merge", "ds", data(folder, labels, 2), "-o", f"{folder}/out.qrels")
    found = _measured("qrowd_command", *given)
    cells = " | ".join(_number(found, name) for name in ("cpu", "wall", "peak"))
    return f"| `qrowd merge ds`, {labels:,} labels | {cells} |" + " |" * 12


def _number(result: Result | None, name: str) -> str:
    if result is None:
        return "-"
    value = result[name]
    return f"{value:.0f}" if name == "iterations" else f"{value:.4g}"


def _ratio(theirs: Result | None, ours: Result | None, name: str) -> str:
    if not (theirs and ours):
        return "-"
    ratio = theirs[name] / ours[name]
    return f"**{ratio:.0f}**" if ratio >= 10 else f"**{ratio:.1f}**"


# --- measuring ------------------------------------------------------------------------------------


def _measured(task: str, *arguments: Any) -> Result | None:
    """A worker's figures, from the interpreter that has what it needs."""
    python = sys.executable if task.startswith("qrowd") else _crowdkit()
    if not python:
        return None
    call = [python, str(WORKER), json.dumps([task, *arguments])]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    found: Result = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _crowdkit() -> str:
    """An interpreter that has crowd-kit, or nothing."""
    python = os.environ.get("QROWD_PEERS", sys.executable)
    works = subprocess.run([python, "-c", "import crowdkit.aggregation"], capture_output=True)
    return python if works.returncode == 0 else ""


def data(folder: Path, labels: int, grades: int, share: float = HALF) -> str:
    """A frame `task worker label` as Parquet, made once; the truth beside it. `share` is that of
    the higher of two labels.
    """
    import polars as pl

    path = folder / f"{labels}-{grades}-{share}.parquet"
    if path.exists():
        return str(path)
    random = np.random.default_rng(0)
    tasks, workers = labels // 5, labels // 100
    truth = random.integers(grades, size=tasks) if share == HALF else random.random(tasks) < share
    truth = truth.astype(np.int64)
    task = np.repeat(np.arange(tasks), 5)
    worker = random.permutation(np.repeat(np.arange(workers), 100))
    wrong = (truth[task] + random.integers(1, grades, labels)) % grades
    skill = random.uniform(0.5, 0.95, workers)
    label = np.where(random.random(labels) < skill[worker], truth[task], wrong)
    rows = random.permutation(labels)
    frame = pl.DataFrame({"task": task[rows], "worker": worker[rows], "label": label[rows]})
    named = [
        pl.format("d{}", pl.col("task")).alias("task"),
        pl.format("w{}", "worker").alias("worker"),
    ]
    frame.select(*named, pl.col("label").cast(pl.Int8)).write_parquet(path)
    path.with_suffix(".json").write_text(json.dumps(truth.tolist()))
    return str(path)


if __name__ == "__main__":
    main()
