"""Columns of names to an `Index` and codes, and what is odd about names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Codes
from qrowd.data.index import Index
from qrowd.io.origin import say

if TYPE_CHECKING:
    import polars as pl


_SAMPLE = 1000
_BLANKS = 3  # a text has more words than an id


def say_what_is_odd(where: str, **indexes: Index) -> None:
    """Warn of names that differ by blanks at their ends only, and of texts used as names."""
    import polars as pl

    for what, index in indexes.items():
        held = index.held
        names = held if isinstance(held, pl.Series) else pl.Series(index.names, dtype=pl.String)
        _say_of_blanks(where, what, names)
        _say_of_texts(where, what, names)


def _say_of_blanks(where: str, what: str, names: pl.Series) -> None:
    stripped = names.str.strip_chars()
    padded = names.filter(stripped != names)
    if not len(padded):
        return
    twins = padded.filter(padded.str.strip_chars().is_in(names.filter(stripped == names).implode()))
    again = padded.str.strip_chars().is_duplicated()
    if len(twins) or again.any():
        shown = twins[0] if len(twins) else padded.filter(again)[0]
        say(
            f"{where}: names of {what} differ by blanks at their ends only ({shown!r}); they are "
            "taken as different: if they are not, remove the blanks"
        )


def _say_of_texts(where: str, what: str, names: pl.Series) -> None:
    some = names.head(_SAMPLE)
    texts = some.filter(some.str.count_matches(" ", literal=True) >= _BLANKS)
    if len(texts) > len(some) / 2:
        shown = texts[0] if len(texts[0]) < 60 else f"{texts[0][:57]}..."
        say(
            f"{where}: the names of {what} look like texts ({shown!r}); they are used as names as "
            "they are: if there is a column of ids, say so by --columns"
        )


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
