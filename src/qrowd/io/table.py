"""A `Table`: columns under our names that know their lines; and what their values are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.io.origin import Origin

if TYPE_CHECKING:
    import polars as pl

HEADER_HINT = "; if this line is a header, say what it means: --columns grade=NAME,doc=NAME,..."
WORDS_HINT = "; if grades are words, say what they mean: --grades 'good=1,bad=0' (_ leaves one out)"
_TRUTH = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}


@dataclass(frozen=True)
class Table:
    """Columns of one file under our names, and what somebody should know about them."""

    origin: Origin
    frame: pl.DataFrame
    columns: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.origin.rows

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def column(self, name: str, filled: bool = True) -> pl.Series:
        """One column; every row must have a value, unless `filled` is false."""
        found = self.frame[self.columns[name]]
        if filled and found.null_count():
            row = int(np.argmax(found.is_null().to_numpy()))
            raise self.origin.error(f"no value for {name}; every row needs one", row)
        return found.alias(name)

    def take(self, name: str) -> pl.Series:
        """One column, for the last time: the table lets go of it, and of its memory."""
        found = self.column(name)
        theirs = self.columns[name]
        if list(self.columns.values()).count(theirs) == 1:
            self.frame.drop_in_place(theirs)
        return found


def stacked(tables: Sequence[Table], name: str) -> pl.Series:
    """A column of names of all tables, one after another, which let go of it."""
    import polars as pl

    parts = [as_names(table.take(name)) for table in tables]
    return pl.concat(parts) if len(parts) > 1 else parts[0]


def as_names(column: pl.Series) -> pl.Series:
    """A column as text."""
    import polars as pl

    return column if column.dtype == pl.String else column.cast(pl.String)


def whole_numbers(table: Table, column: str) -> Array:
    """A column of grades as int8, taken; an error that names the line of the first bad one."""
    import polars as pl

    given = table.take(column)
    values = given.cast(pl.Int8, strict=False)
    if values.null_count() and given.dtype == pl.String:
        given = given.str.strip_chars().replace(_TRUTH)
        values = given.cast(pl.Int8, strict=False)
    if given.dtype.is_float() or values.null_count():
        real = given.cast(pl.Float64, strict=False)
        bad = real.is_null() | real.is_nan() | (real != real.floor()) | (real.abs() > HIGHEST)
        if bad.any():
            row = int(np.argmax(bad.to_numpy()))
            raise table.origin.error(_no_grade(table, column, str(given[row]), row), row)
        values = real.cast(pl.Int8)
    return values.to_numpy()


def _no_grade(table: Table, column: str, value: str, row: int) -> str:
    shown = value if len(value) < 80 else f"{value[:77]}..."
    message = f"{column} must be a whole number from {LOWEST} to {HIGHEST}, got {shown!r}"
    if table.origin.first == 1 and table.origin.line(row) == 1:
        message += HEADER_HINT
    return message + (WORDS_HINT if any(letter.isalpha() for letter in value) else "")


def numbers(table: Table, column: str) -> Array:
    """A column of numbers, NaN where there is none; an error with the line of a bad one."""
    import polars as pl

    given = table.column(column, filled=False)
    values = given.cast(pl.Float64, strict=False)
    if values.null_count() > given.null_count():
        row = int(np.argmax((values.is_null() & given.is_not_null()).to_numpy()))
        raise table.origin.error(f"{column} must be a number, got {str(given[row])!r}", row)
    return values.to_numpy()
