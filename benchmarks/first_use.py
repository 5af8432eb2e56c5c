"""What the first use of each command costs on a fresh machine: CPU seconds of compiling.

    python -m benchmarks.first_use             # every command
    python -m benchmarks.first_use merge       # those whose name holds one of these words
    python -m benchmarks.first_use --methods   # also `merge` by every other method
    python -m benchmarks.first_use --data dl21 # on these only

Every command runs twice in a process of its own on one thread: first with an empty cache of
kernels, then with the cache that the first run left. The difference is what a newcomer waits for;
the last column says which kernels were compiled, the longest first. Small data are simulated;
`dl21` and `trec_rf10` come from the folder that `QROWD_DATA` names, and are skipped without it.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qrowd as q
from benchmarks._benchmark import Table, option, run
from benchmarks._data import folder as real_folder
from benchmarks._data import present
from benchmarks._measure import ONE_THREAD, alone
from qrowd import registry
from qrowd.cli.main import main as qrowd_main
from qrowd.kernel import COMPILING

METHODS = ("mv", "ds", "one-coin", "two-coin", "glad", "mace", "em-gauss", "kos", "m3v", "hier-vb")
SLOW = {"hier-bayes": ["--sweeps", "200"]}  # what is compiled does not depend on it
AIMS = {"merge mv": 2, "merge hier-bayes": 12, "merge": 4, "aware": 4, "report": 8, "": 2}
LISTED = 4
RELEVANT = {"trec_rf10": "1", "dl21": "2"}  # from this grade of the gold on


@dataclass(frozen=True)
class Options:
    words: tuple[str, ...] = option((), positional=True)  # of the commands' names; none: all
    methods: bool = False  # every one
    data: tuple[str, ...] = option(("small", "trec_rf10", "dl21"), choices=("small", *RELEVANT))


SHORT = Options(words=("score", "merge kos"), data=("small",))


@dataclass(frozen=True)
class Place:
    """One collection: the files that commands read."""

    name: str
    crowd: str
    gold: str
    runs: str | None
    merged: str
    scores: tuple[str, str]
    gold_rel: str


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        columns = ("command", "data", "cold", "warm", "difference", "aim", "compiled, s")
        table = Table(*columns, optional=("compiled, s",))
        for place in _places(Path(folder), options):
            for name, arguments in _commands(place, options.methods):
                if not options.words or any(word in name for word in options.words):
                    _add_row(table, name, place.name, arguments, folder)


def _add_row(table: Table, name: str, data: str, arguments: list[str], folder: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        environment = ONE_THREAD | {"NUMBA_CACHE_DIR": cache}
        cold, warm = (alone(in_this_process, *arguments, environment=environment) for _ in range(2))
    by_time = sorted(cold["kernels"].items(), key=lambda item: -item[1])
    kernels = [f"{_short(kernel)} {seconds:.1f}" for kernel, seconds in by_time]
    others = [f"{len(kernels) - LISTED} more"] * (len(kernels) > LISTED)
    aim = next(aim for start, aim in AIMS.items() if name.startswith(start))
    table.row(
        f"`{name}`",
        data,
        f"{cold['cpu']:.1f}",
        f"{warm['cpu']:.1f}",
        f"**{cold['cpu'] - warm['cpu']:.1f}**",
        aim,
        ", ".join(kernels[:LISTED] + others),
    )


def in_this_process(*arguments: str) -> dict[str, Any]:
    """Run one command; CPU seconds since the process began, and what each kernel compiled in."""
    COMPILING.clock = time.process_time
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            qrowd_main(list(arguments))
        except SystemExit as end:
            if end.code not in (0, None):
                raise
    return {"cpu": time.process_time(), "kernels": COMPILING.by_kernel}


def _short(kernel: str) -> str:
    room, name = kernel.split(".")[-2:]
    return f"{room}.{name}" if kernel.startswith("qrowd") else f"numba's {name}"


def _commands(place: Place, every: bool) -> Iterator[tuple[str, list[str]]]:
    gold = ["--gold", place.gold, "--gold-rel", place.gold_rel]
    yield "check", ["check", place.crowd, "--gold", place.gold]
    yield "quality", ["quality", place.crowd, *gold]
    for method in [*METHODS, *SLOW, *(_others() if every else ())]:
        quicker = SLOW.get(method, [])
        yield f"merge {method}", ["merge", method, place.crowd, *quicker, "-o", place.merged]
    score = ["score", place.merged, place.gold, "--gold-rel", place.gold_rel]
    yield "score", score
    if place.runs is not None:
        judged = ["--judgements", place.crowd]
        yield "evaluate", ["evaluate", "--runs", place.runs, "--qrels", place.gold]
        draws = ["--method", "ds", "--draws", "200", "--intervals"]
        yield "evaluate --draws", ["evaluate", "--runs", place.runs, *judged, *draws]
        yield "compare", ["compare", place.scores[0], "--reference", place.scores[1]]
        yield "aware aware-uni", ["aware", "aware-uni", "--runs", place.runs, *judged]
        yield "aware aware-s", ["aware", "aware-s", "--runs", place.runs, *judged, *gold]
    runs = ["--runs", place.runs] if place.runs else []
    yield "report", ["report", "--judgements", place.crowd, *gold, *runs, "-o", place.merged + "h"]


def _others() -> list[str]:
    cards = registry.cards("method").values()
    names = [card.id for card in cards if card.level == "judgements" and not card.needs]
    return [name for name in names if name not in (*METHODS, *SLOW)]


def _places(folder: Path, options: Options) -> Iterator[Place]:
    small = q.simulate(topics=5, documents=40, assessors=10, votes=3, runs=4, seed=1)
    crowd, gold, runs = folder / "crowd.tsv", folder / "gold.qrels", folder / "runs"
    q.save(small.judgements, crowd)
    q.save(small.gold, gold)
    q.save(small.runs, runs)
    if "small" in options.data:
        yield _place("small", crowd, gold, runs, folder, "1")
    real = [name for name in options.data if name != "small"]
    for name in present(real) if real else ():
        here = real_folder(name)
        runs = here / "runs"
        files = here / "judgements.tsv.gz", here / "gold.qrels.gz", runs if runs.is_dir() else None
        yield _place(name, *files, folder, RELEVANT[name])


def _place(name: str, crowd: Path, gold: Path, runs: Path | None, folder: Path, rel: str) -> Place:
    """The files, and what `score` and `compare` read of them."""
    merged = folder / f"{name}.merged.qrels"
    voted = q.MajorityVote().fit(q.read_judgements(crowd)).qrels()
    q.save(voted, merged)
    scores = folder / f"{name}.a.tsv", folder / f"{name}.b.tsv"
    if runs is not None:
        ranked = q.read_runs(runs)
        for path, qrels in zip(scores, (voted, q.read_qrels(gold)), strict=True):
            q.save(q.evaluate(ranked, qrels, ["AP", "nDCG@20"]), path)
    both = (str(scores[0]), str(scores[1]))
    return Place(name, str(crowd), str(gold), str(runs) if runs else None, str(merged), both, rel)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
