"""Merging, in CPU time and memory, beside crowd-kit: `python -m benchmarks.merging_speed`.

5 judgements per pair, 100 per assessor, names as strings in a frame. crowd-kit 1.4.2 is run by this
interpreter, or by the one that QROWD_PEERS names (it may want other versions of numpy and
pandas). Times per label and iteration are slopes between a short and a longer fit, so that
set-up drops out; crowd-kit's are taken over few iterations. `--smaller 10` makes all of it ten
times smaller, `--whole` leaves out the times per iteration.
"""

from __future__ import annotations

import os
import platform
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import qrowd as q
from benchmarks._benchmark import Table, run
from benchmarks._data import HALF, made_judgements
from benchmarks._measure import PEERS, alone, least, peak_memory, peers_have, timed
from benchmarks._peers import right
from benchmarks._peers import slope as peer_slope
from benchmarks._peers import whole as peer_whole
from qrowd.cli.main import main as qrowd_main

Result = dict[str, float]
NAMES = {
    "cpu": "CPU s",
    "peak": "peak",
    "beyond": "beyond the frame",
    "iterations": "iterations",
    "right": "right",
}


@dataclass(frozen=True)
class Options:
    smaller: int = 1  # times
    whole: bool = False  # without the times per iteration
    iterations: tuple[int, ...] = ()  # of a short and a long fit; each row's own, if none
    rows: int = 6  # of each table, at most


SHORT = Options(smaller=1000, iterations=(1, 2), rows=2)


@dataclass(frozen=True)
class Slope:
    """One row of the table per label and iteration."""

    title: str
    spec: str
    peer: str
    labels: int
    grades: int
    ours: tuple[int, int]  # iterations, from .. to
    theirs: tuple[int, int]
    wanted: int


ONE_COIN = "one-coin(labels=soft, tol=1e-300)"
SLOPES = (
    Slope("`ds` binary", "ds(tol=1e-300)", "DawidSkene", 10**6, 2, (5, 25), (2, 5), 150),
    Slope("`ds` five grades", "ds(tol=1e-300)", "DawidSkene", 10**6, 5, (5, 15), (2, 5), 25),
    Slope("`one-coin(labels=soft)`", ONE_COIN, "OneCoinDawidSkene", 10**6, 2, (5, 25), (2, 5), 50),
    Slope("`mace`", "mace(restarts=1, tol=1e-300)", "MACE", 10**6, 2, (3, 8), (1, 3), 50),
    Slope("`kos`", "kos(tol=1e-300)", "KOS", 10**6, 2, (5, 25), (2, 4), 50),
    Slope("`glad`", "glad(tol=1e-300)", "GLAD", 10**5, 2, (3, 8), (1, 2), 200),
)


@dataclass(frozen=True)
class Whole:
    """One row of the table from a frame to labels."""

    title: str
    spec: str
    peer: str
    labels: int
    share: float  # of the tasks that have the higher label
    peer_options: dict[str, float]


# The tolerance of both is the gain of the log-likelihood per label: 1e-7 here, 1e-5 in crowd-kit.
SAME = {"tol": 1e-7, "n_iter": 1000}
WHOLE = (
    Whole("`ds`, 3 of 10 relevant, crowd-kit as it comes", "ds", "DawidSkene", 10**6, 0.3, {}),
    Whole("`ds`, half relevant, crowd-kit as it comes", "ds", "DawidSkene", 10**6, HALF, {}),
    Whole("`ds`, half relevant, tolerance 1e-7 for both", "ds", "DawidSkene", 10**6, HALF, SAME),
    Whole("`mv`", "mv", "MajorityVote", 10**7, HALF, {}),
)


def main(options: Options) -> None:
    """Measure everything and print it."""
    peer = PEERS if peers_have("crowdkit") else "none"
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}; crowd-kit: {peer}")
    with tempfile.TemporaryDirectory() as folder:
        if not options.whole:
            slopes(Path(folder), options)
        from_frames(Path(folder), options)


# --- the tables -----------------------------------------------------------------------------------


def slopes(folder: Path, options: Options) -> None:
    theirs_too = peers_have("crowdkit")
    table = Table(
        "method",
        "labels",
        "qrowd",
        "crowd-kit",
        "times less",
        "aim",
        title="Nanoseconds of CPU per label and iteration",
        optional=() if theirs_too else ("crowd-kit", "times less"),
    )
    for row in SLOPES[: options.rows]:
        labels = row.labels // options.smaller
        path = str(made_judgements(folder, labels, row.grades))
        ours = alone(slope, row.spec, path, *(options.iterations or row.ours))
        cells = ["-", "-"]
        if theirs_too:
            lengths = options.iterations or row.theirs
            theirs = alone(peer_slope, row.peer, path, *lengths, python=PEERS)
            cells = [f"{theirs:.4g}", times_less(theirs, ours)]
        table.row(row.title, f"{labels:,}", f"{ours:.4g}", *cells, row.wanted)


def from_frames(folder: Path, options: Options) -> None:
    measured = []
    for row in WHOLE[: options.rows]:
        labels = row.labels // options.smaller
        path = str(made_judgements(folder, labels, 2, row.share))
        ours, theirs = alone(whole, row.spec, path), None
        if peers_have("crowdkit"):
            theirs = alone(peer_whole, row.peer, path, row.peer_options, python=PEERS)
        measured.append((f"{row.title}, {labels:,} labels", ours, theirs))
    beside("CPU seconds from a frame to labels", measured, ("cpu",), ("iterations", "right"))
    beside("Peak memory from a frame to labels, GB", measured, ("peak", "beyond"), ())
    labels = 10**7 // options.smaller
    path = str(made_judgements(folder, labels, 2))
    figures = alone(command, "merge", "ds", path, "-o", f"{folder}/out.qrels")
    table = Table("command", "CPU s", "peak GB", title="From Parquet to a file of qrels")
    cells = (f"{figures[key]:.3g}" for key in ("cpu", "peak"))
    table.row(f"`qrowd merge ds crowd.parquet -o merged.qrels`, {labels:,} labels", *cells)


def beside(
    title: str,
    measured: list[tuple[str, Result, Result | None]],
    compared: tuple[str, ...],
    told: tuple[str, ...],
) -> None:
    """A table with some figures of both sides, for some of them with the ratio."""
    columns, optional = ["method"], []
    for key in (*compared, *told):
        name = NAMES[key]
        columns += [f"qrowd: {name}", f"crowd-kit: {name}"]
        columns += [f"{name}, times less"] * (key in compared)
        optional += columns[-2:] if key in compared else columns[-1:]
    there = peers_have("crowdkit")
    table = Table(*columns, title=title, optional=() if there else optional)
    for name, ours, theirs in measured:
        cells = []
        for key in (*compared, *told):
            cells += [f"{ours[key]:.3g}", f"{theirs[key]:.3g}" if theirs else "-"]
            cells += [times_less(theirs[key], ours[key]) if theirs else "-"] * (key in compared)
        table.row(name, *cells)


def times_less(theirs: float, ours: float) -> str:
    if not ours:
        return "none of ours"
    ratio = theirs / ours
    return f"**{ratio:.0f}**" if ratio >= 10 else f"**{ratio:.1f}**"


# --- ours, in processes of their own --------------------------------------------------------------


def slope(spec: str, path: str, few: int, many: int) -> float:
    """Nanoseconds of CPU per label and iteration, from two lengths of the same fit."""
    warnings.simplefilter("ignore")
    rows = q.read_judgements(path)
    warm(spec)
    name, arguments = spec.rstrip(")").partition("(")[::2]

    def cpu(iterations: int) -> float:
        method = q.get(f"{name}({arguments}, max_iter={iterations})")
        return least(lambda: method.fit(rows), 2).cpu

    return (cpu(many) - cpu(few)) / (many - few) / len(rows) * 1e9


def whole(spec: str, path: str) -> Result:
    """From a frame to labels."""
    warnings.simplefilter("ignore")
    frame = pl.read_parquet(path)
    warm(spec)
    before = peak_memory()

    def work() -> Any:
        merged = q.get(spec).fit(q.read_judgements(frame))
        return merged, merged.qrels()

    (merged, qrels), spent = timed(work)
    after = peak_memory()
    named = dict(zip(qrels.pairs.document_names, qrels.grade.tolist(), strict=True))
    return {
        "cpu": spent.cpu,
        "peak": after / 1e9,
        "beyond": (after - before) / 1e9,
        "iterations": merged.fit.iterations,
        "right": right(named, path),
    }


def command(*arguments: str) -> Result:
    """A whole command, with the start of the interpreter and all."""
    qrowd_main(list(arguments))
    return {"cpu": time.process_time(), "peak": peak_memory() / 1e9}


def warm(spec: str) -> None:
    """Load the kernels on a handful of rows."""
    documents = [f"d{i // 4}" for i in range(40)]
    workers = [f"w{i % 4}" for i in range(40)]
    for grades in {2, 5 if spec.startswith("ds") else 2}:
        labels = [(i // 4) % grades for i in range(40)]
        q.get(spec).fit(q.Judgements.of(["t"] * 40, documents, workers, labels))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
