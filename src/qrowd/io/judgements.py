"""Judgements from files and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.judgements import Judgements
from qrowd.data.scale import Scale
from qrowd.errors import InputError
from qrowd.io.coding import encoded
from qrowd.io.columns import Columns, Wanted, tables
from qrowd.io.source import is_folder, stem
from qrowd.io.table import Table, numbers, place, whole_numbers

ONE_TOPIC = "tasks"
EXTRAS = ("weight", "seconds", "time")
WANTED = Wanted(
    "judgements",
    needed=("doc", "grade"),
    optional=("topic", "assessor", *EXTRAS),
    plain=("topic", "assessor", "doc", "grade"),
)


def read_judgements(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    columns: Columns = None,
    format: str | None = None,
    scale: Scale | None = None,
    relevant_from: int = 1,
) -> Judgements:
    """Judgements from a file, a folder, a glob, `-` (stdin), several of these, or a data frame.

    TSV, CSV, JSON lines, JSON or Parquet with a header (`topic doc assessor grade`, optionally
    `weight seconds time`; common synonyms are recognised, also crowd-kit's `task worker label`), or
    TREC's four columns `topic assessor doc grade` without one. In a folder of TREC qrels each file
    is one assessor, named after the file. `columns` states other headers (`"topic=q,grade=stars"`)
    or the order without a header (`"doc,assessor,_,grade"`). `scale` is that of the grades that
    occur, relevant from `relevant_from` on, if not given.
    """
    found = tables(source, WANTED, columns, format)
    found = _with_assessors(found, several=len(found) > 1 or is_folder(source))
    found = [_with_topic(table) for table in found]
    grades = np.concatenate([whole_numbers(table, "grade") for table in found])
    try:
        return _judgements(found, grades, scale or Scale.of(grades, relevant_from))
    except InputError as error:
        raise place(error, found) from None


def _judgements(found: list[Table], grades: Array, scale: Scale) -> Judgements:
    import polars as pl

    frame = pl.concat([table.frame for table in found], how="diagonal_relaxed")
    names = [encoded(frame[name].cast(pl.String)) for name in ("topic", "doc", "assessor")]
    topics, documents, assessors = names
    return Judgements.from_codes(
        (topics[0], documents[0], assessors[0]),
        (topics[1], documents[1], assessors[1]),
        grades,
        scale=scale,
        **_extras(found),
    )


def _extras(found: list[Table]) -> dict[str, Array]:
    """Weights, seconds and times, where all files have them."""
    return {
        name: np.concatenate([numbers(table, name) for table in found])
        for name in EXTRAS
        if all(name in table.frame.columns for table in found)
    }


def _with_assessors(found: list[Table], several: bool) -> list[Table]:
    """Assessors from the column; from the file's name where the column is not there or says the
    same in all of several files, as qrels do (0, Q0).
    """
    plain = [table for table in found if "assessor" in table.frame.columns]
    said = {name for table in plain for name in table.frame["assessor"].unique().head(2).to_list()}
    by_file = several and len(said) <= 1 and len(plain) == len(found)
    return [
        _named_after_file(table)
        if by_file or "assessor" not in table.frame.columns
        else table.complete(["assessor"])
        for table in found
    ]


def _named_after_file(table: Table) -> Table:
    if table.source is None or table.source.path is None:
        raise table.error("no column for assessor; name it in the header, or state --columns")
    return _with_constant(table, "assessor", stem(table.name))


def _with_topic(table: Table) -> Table:
    if "topic" in table.frame.columns:
        return table.complete(["topic"])
    return _with_constant(table, "topic", ONE_TOPIC)


def _with_constant(table: Table, column: str, value: str) -> Table:
    import polars as pl

    return replace(table, frame=table.frame.with_columns(pl.lit(value).alias(column)))
