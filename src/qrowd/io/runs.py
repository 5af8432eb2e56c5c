"""Runs from files and frames."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.runs import RunSet
from qrowd.errors import DataWarning, InputError, UsageError
from qrowd.io.coding import encoded
from qrowd.io.columns import Wanted, tables
from qrowd.io.source import stem
from qrowd.io.table import Table, numbers, place

WANTED = Wanted(
    "runs",
    needed=("topic", "doc", "score"),
    optional=("run", "rank"),
    plain=("topic", "_", "doc", "rank", "score", "run"),
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
    import polars as pl

    if names not in NAMES:
        raise UsageError(f"names must be one of {', '.join(NAMES)}, got {names!r}")
    found = _named(tables(source, WANTED, None, format), names)
    scores = np.concatenate([numbers(table, "score") for table in found])
    frame = pl.concat(
        [table.frame.select("run", "topic", "doc") for table in found], how="vertical_relaxed"
    )
    runs, topics, documents = (encoded(frame[c].cast(pl.String)) for c in ("run", "topic", "doc"))
    try:
        return RunSet.from_codes(
            (runs[0], topics[0], documents[0]), (runs[1], topics[1], documents[1]), scores
        )
    except InputError as error:
        raise place(error, found) from None


def _named(found: list[Table], names: str) -> list[Table]:
    """The tables with a column `run` that tells all runs apart."""
    tags = [_tags(table) for table in found]
    used = Counter(tag for each in tags for tag in each)
    by_file = [
        names == "file" or not each or (names == "auto" and any(used[tag] > 1 for tag in each))
        for each in tags
    ]
    _warn_of_clashes(found, by_file, names)
    return [
        _named_after_file(table) if rename else table.complete(["run"])
        for table, rename in zip(found, by_file, strict=True)
    ]


def _tags(table: Table) -> list[str]:
    if "run" not in table.frame.columns:
        return []
    return [str(tag) for tag in table.frame["run"].unique().to_list()]


def _warn_of_clashes(found: list[Table], by_file: list[bool], names: str) -> None:
    clashing = [t for t, by in zip(found, by_file, strict=True) if by and "run" in t.frame.columns]
    if names == "auto" and clashing:
        shown = ", ".join(table.name for table in clashing[:3])
        more = f" and {len(clashing) - 3} more" if len(clashing) > 3 else ""
        warnings.warn(
            f"{shown}{more} share a tag: these runs are named after their files", DataWarning, 2
        )


def _named_after_file(table: Table) -> Table:
    import polars as pl

    return replace(table, frame=table.frame.with_columns(pl.lit(stem(table.name)).alias("run")))
