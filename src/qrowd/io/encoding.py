"""Columns of names to an `Index` and codes. A code is a name's place in sorted order, always."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.index import Index

if TYPE_CHECKING:
    import polars as pl


def encoded(column: pl.Series) -> tuple[Index, Codes]:
    """The index of a column's names (none of them null) and the code of each row."""
    import polars as pl

    column = column if column.dtype == pl.String else column.cast(pl.String)
    heads = column.ne_missing(column.shift(1)).arg_true().to_numpy()
    if len(heads) > len(column) // 4:
        return _by_categories(column)
    index, codes = _by_categories(column.gather(heads))  # one of equal rows that are neighbours
    return index, np.repeat(codes, np.diff(heads, append=len(column)))


def _by_categories(column: pl.Series) -> tuple[Index, Codes]:
    """By Polars' categories, which tell names apart by the names themselves.

    Which number a category gets differs between reads, so that categories are renumbered in the
    order of their names.
    """
    import polars as pl

    coded = column.cast(pl.Categorical(pl.Categories.random()))
    found = coded.unique()
    names, category = found.cast(pl.String), found.to_physical().to_numpy()
    order = names.arg_sort().to_numpy()
    code = np.zeros(int(category.max(initial=0)) + 1, np.int32)
    code[category[order]] = np.arange(len(order), dtype=np.int32)
    return Index.of_sorted(names.gather(order)), code[coded.to_physical().to_numpy()]
