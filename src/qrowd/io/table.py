"""A `Table`: columns of a file under our names; how they become names, grades, numbers, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, Codes
from qrowd.data.index import Index
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import FormatError
from qrowd.io.origin import Origin, say

if TYPE_CHECKING:
    import polars as pl

_TRUTH = {"true": "1", "false": "0"}
_HEADER_HINT = "; if this line is a header, say what it means: --columns grade=NAME,doc=NAME,..."
_FRACTIONS_HINT = (
    "; if grades are fractions, say from where on they are relevant, --cut .5, or take them as "
    "weights of two votes, --fractions weights"
)
_JSON_HINT = (
    "; this holds a list or an object: lead into it (--columns 'grade={name}[0].KEY,...'), or save "
    "the table as JSON lines or Parquet"
)
_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
_MTURK_TIME = "%a %b %d %H:%M:%S %z %Y"
_SAMPLE = 1000
_BLANKS = 3  # a text has more words than an id


@dataclass(frozen=True)
class Table:
    """Columns of one file under our names, and what somebody should know about them."""

    origin: Origin
    frame: pl.DataFrame
    columns: Mapping[str, str]
    notes: tuple[str, ...] = ()
    stated: bool = False  # somebody said which columns are what
    guessed: bool = False  # there is no header: the order may not be TREC's
    words: tuple[str, ...] = ()  # that its grades stand for, where labels have no order

    def __len__(self) -> int:
        return self.origin.rows

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def column(self, name: str, filled: bool = True) -> pl.Series:
        """One column; every row must have a value, unless `filled` is false."""
        column = self.frame[self.columns[name]]
        if column.dtype.is_float():
            column = column.fill_nan(None)
        if filled and column.null_count():
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.origin.error(f"no value for {name}; every row needs one", row)
        return column.alias(name)

    def of_rows(self, rows: Array) -> Table:
        """These rows, in this order."""
        return replace(self, frame=self.frame[rows], origin=self.origin.of_rows(rows))

    def names(self, name: str, *, keep: bool = False) -> pl.Series:
        """One column as text; for the last time, unless it is to `keep` it and its memory.

        Whole numbers are written so: frames and Parquet have 1.0 where a column has gaps.
        """
        import polars as pl

        column = self.column(name) if keep else self._taken(name)
        if column.dtype.is_float() and bool((column == column.floor()).all()):
            whole = column.cast(pl.Int64, strict=False)
            column = column if whole.null_count() else whole
        return column.cast(pl.String)

    def whole_numbers(self, name: str) -> Array:
        """A column of grades as int8, taken; an error that names the line of the first bad one."""
        import polars as pl

        column = self._taken(name)
        values = column.cast(pl.Int8, strict=False)
        if column.dtype.is_float() or values.null_count():
            real = real_numbers(column)
            bad = real.is_null() | real.is_nan() | (real != real.floor()) | (real.abs() > HIGHEST)
            if bad.any():
                row = int(np.argmax(bad.to_numpy()))
                raise self.origin.error(self._no_grade(name, column, row), row)
            values = real.cast(pl.Int8)
        return values.to_numpy()

    def _taken(self, name: str) -> pl.Series:
        column = self.column(name)
        theirs = self.columns[name]
        if list(self.columns.values()).count(theirs) == 1:
            self.frame.drop_in_place(theirs)
        return column

    def _no_grade(self, name: str, column: pl.Series, row: int) -> str:
        value = str(column[row])
        message = f"{name} must be a whole number from {LOWEST} to {HIGHEST}, got {short(value)!r}"
        message += self.header_hint(row)
        if value.lstrip()[:1] in ("[", "{"):
            return message + _JSON_HINT.format(name=self.columns[name])
        real = real_numbers(column)[row]
        return message + (_FRACTIONS_HINT if real is not None and real % 1 else "")

    def header_hint(self, row: int) -> str:
        """What to say if a bad value is on the first line of a file without a header."""
        first = self.origin.first == 1 and self.origin.line(row) == 1
        return _HEADER_HINT if first and not self.stated else ""

    def numbers(self, name: str) -> Array:
        """A column of numbers, NaN where there is none; an error with the line of a bad one."""
        column = self.column(name, filled=False)
        values = column.cast(float, strict=False)
        if values.null_count() > column.null_count():
            values = values.fill_null(real_numbers(column))
        return self._all_read(column, values, f"{name} must be a number")

    def times(self) -> Array:
        """The column `time` in seconds since 1970, NaN where there is none.

        A time without a zone is taken as UTC; an error names the line of what is no time.
        """
        import polars as pl

        column = self.column("time", filled=False)
        values = column.cast(pl.Float64, strict=False)
        for form in (_iso, _mturk, _german):
            if column.dtype == pl.String and values.null_count() > column.null_count():
                values = values.fill_null(form(column.str.strip_chars()))
        expected = "a number of seconds or an ISO time such as 2024-05-01T12:30:00Z"
        return self._all_read(column, values, f"time must be {expected}")

    def _all_read(self, column: pl.Series, values: pl.Series, rule: str) -> Array:
        """The values; an error about the first that is something, but could not be read."""
        if values.null_count() > column.null_count():
            row = int(np.argmax((values.is_null() & column.is_not_null()).to_numpy()))
            raise self.origin.error(f"{rule}, got {str(column[row])!r}", row)
        return values.to_numpy()


def _iso(text: pl.Series) -> pl.Series:
    """2024-05-01, 2024-05-01 12:30, 2024-05-01T12:30:00.5Z, 2024-05-01T12:30:00+02:00, ..."""
    whole = text.str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1}T00:00:00")
    whole = whole.str.replace(r"^(\S+)[ T](\d\d:\d\d)($|Z|[+-])", "${1}T${2}:00${3}")
    whole = whole.str.replace(r"^(\S+) (\d\d:)", "${1}T${2}").str.replace(r" ?(Z|UTC)$", "+00:00")
    whole = whole.str.replace(r"([+-]\d\d):?(\d\d)$", "${1}:${2}")
    whole = whole.str.replace(r"(T[\d:.]+)$", "${1}+00:00")
    return _seconds(whole, "%Y-%m-%dT%H:%M:%S%.f%:z")


def _mturk(text: pl.Series) -> pl.Series:
    """Tue Mar 17 11:47:18 PDT 2020"""
    for zone, offset in _ZONES.items():
        text = text.str.replace(f" {zone} ", f" {offset} ", literal=True)
    return _seconds(text, _MTURK_TIME)


def _german(text: pl.Series) -> pl.Series:
    """01.05.2026, 01.05.2026 12:30, 01.05.2026 12:30:00: dots say that the day stands first."""
    whole = text.str.replace(r"^(\d+\.\d+\.\d{4})$", "${1} 00:00:00")
    return _seconds(whole.str.replace(r" (\d+:\d\d)$", " ${1}:00"), "%d.%m.%Y %H:%M:%S")


def _seconds(text: pl.Series, form: str) -> pl.Series:
    times = text.str.to_datetime(form, strict=False, time_unit="us")
    return (times.dt.epoch("us") / 1e6).cast(float)


def short(value: str) -> str:
    """A value that fits a message."""
    return value if len(value) < 80 else f"{value[:77]}..."


def real_numbers(column: pl.Series) -> pl.Series:
    """Numbers of a column, null where there is none; of texts also with a decimal comma."""
    import polars as pl

    if column.dtype == pl.String:
        trimmed = column.str.strip_chars().str.replace(r"^([+-]?\d+),(\d+)$", "${1}.${2}")
        column = trimmed.str.to_lowercase().replace(_TRUTH)
    return column.cast(pl.Float64, strict=False)


# --- several tables, one after another ------------------------------------------------------------


def stacked(
    tables: Sequence[Table], name: str, instead: Sequence[str | None] | None = None
) -> pl.Series:
    """A column of names of all tables, which let go of it.

    `instead` has a name for each table all of whose rows have that one; None: it is in the column.
    """
    import polars as pl

    constants = instead or [None] * len(tables)
    parts = [
        table.names(name)
        if constant is None
        else pl.repeat(constant, len(table), dtype=pl.String, eager=True)
        for table, constant in zip(tables, constants, strict=True)
    ]
    return pl.concat(parts) if len(parts) > 1 else parts[0]


def coded(
    tables: Sequence[Table], *names: str, only: pl.Series | None = None
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The indexes of these columns of names of all tables, and the codes of their rows: of all,
    or of those where the mask `only` is true.
    """
    columns = (stacked(tables, name) for name in names)
    kept = (column if only is None else column.filter(only) for column in columns)
    indexes, codes = zip(*map(encoded, kept), strict=True)
    return indexes, codes


def extras(tables: Sequence[Table], names: Sequence[str]) -> dict[str, Array]:
    """Those of these columns of numbers and times that all tables have.

    One that nobody has named, and that cannot be read, is left out, and that is said.
    """
    columns = {}
    for name in names:
        if not all(name in table for table in tables):
            continue
        try:
            columns[name] = np.concatenate(
                [table.times() if name == "time" else table.numbers(name) for table in tables]
            )
        except FormatError as error:
            if any(table.stated for table in tables):
                raise
            say(f"{error}; the column {tables[0].columns[name]} is left out")
    return columns


def encoded(column: pl.Series) -> tuple[Index, Codes]:
    """The index of a column's names (none of them null) and the code of each row."""
    column = column.cast(str)
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
    distinct = coded.unique()
    names, category = distinct.cast(pl.String), distinct.to_physical().to_numpy()
    order = names.arg_sort().to_numpy()
    code = np.zeros(int(category.max(initial=0)) + 1, np.int32)
    code[category[order]] = np.arange(len(order), dtype=np.int32)
    return Index.of_sorted(names.gather(order)), code[coded.to_physical().to_numpy()]


# --- odd names ------------------------------------------------------------------------------------


def say_what_is_odd(where: str, **indexes: Index) -> None:
    """Warn of names that differ by blanks at their ends only, and of texts used as names."""
    import polars as pl

    for kind, index in indexes.items():
        held = index.held
        names = held if isinstance(held, pl.Series) else pl.Series(index.names, dtype=pl.String)
        _say_of_blanks(where, kind, names)
        _say_of_numbers(where, kind, names)
        _say_of_texts(where, kind, names)


def _say_of_blanks(where: str, kind: str, names: pl.Series) -> None:
    stripped = names.str.strip_chars()
    padded = names.filter(stripped != names)
    if not len(padded):
        return
    twins = padded.filter(padded.str.strip_chars().is_in(names.filter(stripped == names).implode()))
    again = padded.str.strip_chars().is_duplicated()
    if len(twins) or again.any():
        shown = twins[0] if len(twins) else padded.filter(again)[0]
        say(
            f"{where}: names of {kind} differ by blanks at their ends only ({shown!r}); they are "
            "taken as different: if they are not, remove the blanks"
        )
    else:
        say(f"{where}: names of {kind} have blanks at their ends ({padded[0]!r}), which stay")


def _say_of_numbers(where: str, kind: str, names: pl.Series) -> None:
    """Of 1.0 beside 1: a program has made numbers of some names, and not of others."""
    pointed = names.filter(names.str.ends_with(".0"))  # which is faster than the pattern
    pointed = pointed.filter(pointed.str.contains(r"^\d+\.0$"))
    if not len(pointed):
        return
    twins = pointed.filter(pointed.str.slice(0, pointed.str.len_chars() - 2).is_in(names.implode()))
    if len(twins):
        say(
            f"{where}: among the names of {kind} are {twins[0]!r} and {twins[0][:-2]!r}; they are "
            "taken as different: if they are not, write them alike"
        )


def _say_of_texts(where: str, kind: str, names: pl.Series) -> None:
    some = names.head(_SAMPLE)
    texts = some.filter(some.str.count_matches(" ", literal=True) >= _BLANKS)
    if len(texts) > len(some) / 2:
        shown = texts[0] if len(texts[0]) < 60 else f"{texts[0][:57]}..."
        say(
            f"{where}: the names of {kind} look like texts ({shown!r}); they are used as names as "
            "they are: if there is a column of ids, say so by --columns"
        )
