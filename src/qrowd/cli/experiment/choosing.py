"""Options that several verbs of `qrowd experiment` share, and what they stand for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from qrowd.cli.output import say
from qrowd.errors import UsageError

if TYPE_CHECKING:
    from qrowd.experiments.results import Results
    from qrowd.experiments.run import Book

on_option = click.option(
    "--on",
    default="threads",
    show_default=True,
    metavar="WHERE",
    help="Where it is computed: threads, processes, dask (on this machine), or tcp://HOST:PORT of "
    "a Dask scheduler.",
)
workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of threads, processes or Dask workers. Default: as many as there are cores.",
)
statistic_option = click.option(
    "--statistic",
    default="",
    metavar="NAME",
    help="tau_ap, tau or rmse, or a figure of labels. Default: the plan's first.",
)
group_option = click.option(
    "--topics",
    "group",
    default="",
    metavar="GROUP",
    help="A group of topic sets of the plan. Default: its first.",
)


def book_of(folder: str) -> Book:
    """The book of a folder."""
    from qrowd.experiments.run import Book

    return Book.read(folder)


def results_of(folder: str, statistic: str, group: str) -> Results:
    """The cells of a folder on one statistic and group of topic sets."""
    from qrowd.experiments.results import Results

    return Results.of(book_of(folder), statistic, group)


def part_of(text: str | None) -> tuple[int, int]:
    """`3/32` as (3, 32)."""
    if text is None:
        return 1, 1
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--part must be like 3/32: the third of 32 parts, got {text!r}")
    return int(found[1]), int(found[2])


def progress(quiet: bool) -> Callable[[str], None]:
    """What is told of progress: one line that changes on a terminal, else a line now and then."""
    import time

    live, last = sys.stderr.isatty(), [0.0]

    def told(line: str) -> None:
        if quiet or (time.monotonic() - last[0] < (0.2 if live else 10)):
            return
        last[0] = time.monotonic()
        click.echo(f"\r{line:<79}" if live else line, err=True, nl=not live)

    return told


def compute(
    plan: Any, folder: str, on: str, workers: int | None, part: str | None, quiet: bool
) -> None:
    """Run what a folder lacks, and say what came of it."""
    from qrowd.experiments.run import run

    book = run(plan, folder, on=on, workers=workers or 0, part=part_of(part), told=progress(quiet))
    say(f"\r{book.caption}" if sys.stderr.isatty() else book.caption, quiet)
    left = len(book.missing)
    if left:
        say(
            f"{left} of {len(book.keys)} tasks are left; when all parts are done: "
            f"qrowd experiment join {folder}",
            quiet,
        )
    else:
        say(f"{folder}/cells.parquet: all {len(book.keys)} tasks", quiet)
