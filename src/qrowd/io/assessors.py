"""Tables of assessors from files and frames: `assessor`, then numbers under any names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.merged import AssessorTable
from qrowd.io.columns import Wanted, tables
from qrowd.io.encoding import encoded
from qrowd.io.table import Table, stacked

WANTED = Wanted("assessors", needed=("assessor",), others=r"(?s).*")


def read_assessors(source: str | Path | Any, *, format: str | None = None) -> AssessorTable:
    """A table of assessors as `save` wrote it; columns that are not numbers stay text."""
    (table,) = tables(source, WANTED, None, format)
    index, codes = encoded(stacked([table], "assessor"))
    if len(index) < len(codes):
        raise table.place.error("an assessor appears twice; keep one row of each")
    order = np.argsort(codes)
    names = [name for name in table.columns if name != "assessor"]
    return AssessorTable(index, {name: _column(table, name)[order] for name in names})


def _column(table: Table, name: str) -> Array:
    """Whole numbers, numbers, or text: the first that all values of a column are."""
    import polars as pl

    given = table.column(name, filled=False)
    if given.dtype != pl.String:
        return given.to_numpy()
    whole, real = (given.cast(dtype, strict=False) for dtype in (pl.Int64, pl.Float64))
    if not whole.null_count():
        return whole.to_numpy()
    if real.null_count() == given.null_count():
        return real.to_numpy()
    return given.fill_null("").to_numpy()
