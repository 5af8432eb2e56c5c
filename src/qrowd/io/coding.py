"""Columns of names to an `Index` and codes, quickly, by Polars' hashing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.index import Index

if TYPE_CHECKING:
    import polars as pl


def encoded(column: pl.Series) -> tuple[Index, Codes]:
    """The index of a column's names (which has no nulls) and the code of each row.

    Polars' own codes differ between reads; ours are positions in sorted order.
    """
    import polars as pl

    coded = column.cast(pl.Categorical(pl.Categories.random()))
    found = coded.unique()
    names, own = found.cast(pl.String), found.to_physical().to_numpy()
    order = names.arg_sort().to_numpy()
    rank = np.zeros(int(own.max(initial=0)) + 1, np.int32)
    rank[own[order]] = np.arange(len(order), dtype=np.int32)
    return Index(names.gather(order).to_numpy()), rank[coded.to_physical().to_numpy()]
