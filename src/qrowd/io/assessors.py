"""Tables of assessors from files and frames: `assessor`, then numbers under any names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.merged import AssessorTable
from qrowd.errors import FormatError
from qrowd.io.coding import encoded
from qrowd.io.columns import Wanted, tables
from qrowd.io.table import Table

WANTED = Wanted("assessors", needed=("assessor",), others=r"(?s).*")


def read_assessors(source: str | Path | Any, *, format: str | None = None) -> AssessorTable:
    """A table of assessors as `save` wrote it; columns that are not numbers stay text."""
    import polars as pl

    (table,) = tables(source, WANTED, None, format)
    index, codes = encoded(table.frame["assessor"].cast(pl.String))
    if len(index) < len(codes):
        raise FormatError("an assessor appears twice; keep one row of each", file=table.name)
    order = np.argsort(codes)
    names = [name for name in table.frame.columns if name != "assessor"]
    return AssessorTable(index, {name: _column(table, name)[order] for name in names})


def _column(table: Table, name: str) -> Array:
    """Whole numbers, numbers, or text: the first that all values of a column are."""
    import polars as pl

    given = table.frame[name]
    if given.dtype != pl.String:
        return given.to_numpy()
    for dtype in (pl.Int64, pl.Float64):
        values = given.cast(dtype, strict=False)
        if values.null_count() == given.null_count() and (
            dtype.is_float() or not given.has_nulls()
        ):
            return values.to_numpy()
    return given.fill_null("").to_numpy()
