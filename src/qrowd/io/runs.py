"""Runs from files and frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.runs import RunSet
from qrowd.errors import InputError, UsageError
from qrowd.io.columns import Wanted, tables
from qrowd.io.encoding import encoded
from qrowd.io.names import say_what_is_odd
from qrowd.io.place import placed
from qrowd.io.said import say
from qrowd.io.source import stem
from qrowd.io.table import Table, as_names, numbers, stacked

if TYPE_CHECKING:
    import polars as pl

WANTED = Wanted(
    "runs",
    needed=("topic", "doc", "score"),
    optional=("run",),
    plain=("topic", "Q0", "doc", "rank", "score", "run"),
)
NAMES = ("auto", "tag", "file")


def read_runs(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    names: str = "auto",
    format: str | None = None,
) -> RunSet:
    """Runs from TREC's six columns (one or many per file, many files), a table or a data frame.

    A run's name is its tag (`names="tag"`), or the name of its file (`names="file"`). By default it
    is the tag, but files that share a tag are named after the file, with a warning.
    """
    if names not in NAMES:
        raise UsageError(f"names must be one of {', '.join(NAMES)}, got {names!r}")
    found = tables(source, WANTED, None, format)
    scores = np.concatenate([numbers(table, "score") for table in found])
    runs, run = encoded(_run_names(found, names))
    (topics, topic), (documents, document) = (
        encoded(stacked(found, name)) for name in ("topic", "doc")
    )
    places = [table.place for table in found]
    say_what_is_odd(places[0].name, runs=runs, topics=topics, documents=documents)
    del found  # millions of strings
    try:
        return RunSet.from_codes((runs, topics, documents), (run, topic, document), scores)
    except InputError as error:
        raise placed(error, places) from None


def _run_names(found: list[Table], names: str) -> pl.Series:
    """For each row the name of its run, so that all runs are told apart."""
    import polars as pl

    by_file = _by_file([_tags(table) for table in found], names)
    both = list(zip(found, by_file, strict=True))
    _warn_of_clashes([table.place.name for table, by in both if by and "run" in table], names)
    parts = [
        pl.repeat(stem(table.place.name), len(table), dtype=pl.String, eager=True)
        if by
        else as_names(table.column("run"))
        for table, by in both
    ]
    return pl.concat(parts)


def _tags(table: Table) -> list[str]:
    """The distinct tags of a file, which mostly has one."""
    if "run" not in table:
        return []
    tags = as_names(table.column("run"))
    return [tags[0]] if (tags == tags[0]).all() else tags.unique().to_list()


def _by_file(tags: list[list[str]], names: str) -> list[bool]:
    """Whether a file's runs are named after it, given the tags of each file."""
    used = Counter(tag for each in tags for tag in each)
    return [
        names == "file" or not each or (names == "auto" and any(used[tag] > 1 for tag in each))
        for each in tags
    ]


def _warn_of_clashes(files: list[str], names: str) -> None:
    if names == "auto" and files:
        shown = ", ".join(files[:3])
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        say(f"{shown}{more} share a tag: these runs are named after their files")
