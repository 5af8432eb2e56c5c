"""Columns of names to an `Index` and codes. A code is a name's place in sorted order, always."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.index import Index

if TYPE_CHECKING:
    import polars as pl


def encoded(column: pl.Series) -> tuple[Index, Codes]:
    """The index of a column's names (none of them null) and the code of each row.

    Polars' categories tell names apart by the names themselves; which number a category gets
    differs between reads, so that categories are renumbered in the order of their names.
    """
    import polars as pl

    coded = column.cast(pl.String).cast(pl.Categorical(pl.Categories.random()))
    found = coded.unique()
    names, category = found.cast(pl.String), found.to_physical().to_numpy()
    order = names.arg_sort().to_numpy()
    code = np.zeros(int(category.max(initial=0)) + 1, np.int32)
    code[category[order]] = np.arange(len(order), dtype=np.int32)
    return Index.of_sorted(names.gather(order)), code[coded.to_physical().to_numpy()]
