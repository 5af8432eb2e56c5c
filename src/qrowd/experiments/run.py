"""Running a plan into a folder: a part file for every finished task, one Parquet file in the end.

    FOLDER/experiment.json     the plan, the version, the data's fingerprint, the tasks' keys
    FOLDER/parts/KEY.parquet   the cells of a finished task, written at once or not at all
    FOLDER/cells.parquet       all cells

A part's name is the hash of all that its figures depend on. So what is finished is found again
after a kill, by another process or another machine, and a part of another plan is never counted.
"""

from __future__ import annotations

import io
import json
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import qrowd
from qrowd.errors import InputError, UsageError
from qrowd.experiments.cells import Task, key_of, tasks_of
from qrowd.experiments.executors import computed, refuse_unknown
from qrowd.experiments.inputs import Inputs, load
from qrowd.experiments.plan import Plan
from qrowd.io.atomic import made_folder, write, written
from qrowd.kernel import threads

_KEY = "qrowd.experiment"


@dataclass(frozen=True)
class Book:
    """What a folder holds: the plan, and the key of every task."""

    folder: Path
    plan: Plan
    version: str
    fingerprint: str
    caption: str
    keys: tuple[str, ...]

    @classmethod
    def of(cls, inputs: Inputs, folder: str | Path) -> Book:
        """The book of an experiment that is to be run into a folder."""
        keys = tuple(key_of(task, inputs) for task in tasks_of(inputs.plan))
        version, fingerprint = qrowd.__version__, inputs.fingerprint
        return cls(Path(folder), inputs.plan, version, fingerprint, inputs.caption, keys)

    @classmethod
    def read(cls, folder: str | Path) -> Book:
        """The book of a folder that an experiment was run into."""
        file = Path(folder) / "experiment.json"
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            about = (stored["version"], stored["fingerprint"], stored["caption"])
            return cls(Path(folder), Plan.unpacked(stored["plan"]), *about, tuple(stored["keys"]))
        except OSError as error:
            message = f"cannot be read: {error.strerror}; name a folder of `experiment run`"
            raise InputError(message, file=str(file)) from None
        except (ValueError, KeyError, TypeError):
            raise InputError("is not the book of an experiment", file=str(file)) from None

    def write(self) -> None:
        """Write the book, unless it is there; refuse the folder of another experiment."""
        made_folder(self.folder / "parts")
        if (self.folder / "experiment.json").exists():
            self._compare(Book.read(self.folder))
            return
        stored = {
            "plan": self.plan.packed,
            "version": self.version,
            "keys": self.keys,
            "fingerprint": self.fingerprint,
            "caption": self.caption,
        }
        with written(self.folder / "experiment.json") as beside:
            beside.write_text(json.dumps(stored, indent=1), encoding="utf-8")

    def _compare(self, other: Book) -> None:
        if other.keys == self.keys:
            return
        kind = "another plan"
        if other.version != self.version:
            kind = f"qrowd {other.version}, this is {self.version}"
        elif other.fingerprint != self.fingerprint:
            kind = "other data"
        message = f"holds the results of {kind}; choose another folder with -o, or remove this one"
        raise UsageError(f"{self.folder}: {message}")

    def part(self, key: str) -> Path:
        """The file of a finished task."""
        return self.folder / "parts" / f"{key}.parquet"

    @property
    def missing(self) -> list[str]:
        """The keys of tasks that are not finished."""
        return [key for key in self.keys if not self.part(key).exists()]


def run(
    plan: Plan,
    folder: str | Path,
    *,
    on: str = "threads",
    workers: int = 0,
    part: tuple[int, int] = (1, 1),
    report: Callable[[str], None] = lambda line: None,
) -> Book:
    """Compute what a folder lacks of a plan's cells; then join them, if all are there."""
    import polars as pl

    refuse_unknown(on)
    inputs = load(plan)
    book = Book.of(inputs, folder)
    book.write()
    tasks = _spread(inputs.plan, book.keys)[part[0] - 1 :: part[1]]
    wanted = {task: key for task, key in tasks if not book.part(key).exists()}
    if len(wanted) < len(tasks):
        report(f"{len(tasks) - len(wanted)} of {len(tasks)} tasks were finished before")
    clock = Clock(list(wanted))
    for done in computed(inputs, list(wanted), on, workers or threads()):
        key = wanted[done.task]
        _write_frame(book.part(key), pl.DataFrame(done.columns), key)
        clock.finish(done.task, done.seconds)
        report(clock.line(workers or threads()))
    if not book.missing:
        join(book)
    elif part == (1, 1):
        raise InputError(f"{len(book.missing)} parts vanished while it ran", file=str(folder))
    return book


def join(book: Book, others: Sequence[str | Path] = ()) -> Path:
    """All parts of a folder, and of others of the same plan, as one Parquet file."""
    for other in map(Book.read, others):
        book._compare(other)
        for key in book.missing:
            if other.part(key).exists():
                with written(book.part(key)) as beside:
                    shutil.copyfile(other.part(key), beside)
    if book.missing:
        message = (
            f"{len(book.missing)} of {len(book.keys)} tasks are not finished; "
            "run the missing --part, or: qrowd experiment resume"
        )
        raise InputError(message, file=str(book.folder))
    import polars as pl

    frames = []
    for part in map(book.part, book.keys):
        try:
            frames.append(pl.read_parquet(part))
        except (pl.exceptions.PolarsError, OSError):
            raise InputError("is damaged; remove it and resume", file=str(part)) from None
    target = book.folder / "cells.parquet"
    _write_frame(target, pl.concat(frames), book.keys[0])
    return target


def cells(book: Book, group: str = "") -> Any:
    """All cells of a finished experiment, or of one group of topic sets, as a Polars frame."""
    import polars as pl

    file = book.folder / "cells.parquet"
    if not file.exists():
        join(book)
    try:
        owner = pl.read_parquet_metadata(file).get(_KEY)
    except (pl.exceptions.PolarsError, OSError):
        owner = None
    if owner != book.keys[0]:
        raise InputError("belongs to another plan or version; remove it and join", file=str(file))
    whole = pl.scan_parquet(file)
    return (whole.filter(pl.col("topics") == group) if group else whole).collect()


def _spread(plan: Plan, keys: Sequence[str]) -> list[tuple[Task, str]]:
    """Tasks and keys, the first of every approach before the second of any: all are timed soon."""
    by_approach: dict[str, list[tuple[Task, str]]] = defaultdict(list)
    for task, key in zip(tasks_of(plan), keys, strict=True):
        by_approach[task.approach].append((task, key))
    return [task for task in chain(*zip_longest(*by_approach.values())) if task is not None]


def _write_frame(path: Path, frame: Any, key: str) -> None:
    """Whole or not at all; a full disk is one clear line, and what was finished stays."""
    memory = io.BytesIO()
    frame.write_parquet(memory, metadata={_KEY: key})
    write(path, memory.getvalue())


@dataclass
class Clock:
    """How long the rest will take, from what finished tasks of the same approaches took."""

    tasks: list[Task]
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    started: float = field(default_factory=time.monotonic)

    def finish(self, task: Task, seconds: float) -> None:
        """A task is done."""
        self.tasks.remove(task)
        self.took[task.approach].append(seconds)

    def line(self, workers: int) -> str:
        """One line of progress: seconds left, and how many approaches these leave out."""
        done = sum(map(len, self.took.values()))
        means = {name: sum(took) / len(took) for name, took in self.took.items()}
        seconds = sum(means.get(task.approach, 0.0) for task in self.tasks) / workers
        untimed = len({task.approach for task in self.tasks} - set(means))
        rest = f", and {untimed} approach{'es' * (untimed > 1)} not timed yet" if untimed else ""
        passed = time.monotonic() - self.started
        return (
            f"{done} of {done + len(self.tasks)} tasks in {passed:.0f} s; "
            f"about {seconds:.0f} s left{rest}"
        )
