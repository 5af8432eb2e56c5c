"""A `Table`: columns of a file under our names; how they become names, grades, numbers, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, Codes
from qrowd.data.index import Index
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import UsageError
from qrowd.io.origin import Origin, say

if TYPE_CHECKING:
    import polars as pl

Words = str | Mapping[str, int | None] | None
_LEFT_OUT = "_"
_TRUTH = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}
_HEADER_HINT = "; if this line is a header, say what it means: --columns grade=NAME,doc=NAME,..."
_WORDS_HINT = (
    "; if grades are words, say what they mean: --grades 'good=1,bad=0' (_ leaves one out)"
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

    def __len__(self) -> int:
        return self.origin.rows

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def column(self, name: str, filled: bool = True) -> pl.Series:
        """One column; every row must have a value, unless `filled` is false."""
        column = self.frame[self.columns[name]]
        if filled and column.null_count():
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.origin.error(f"no value for {name}; every row needs one", row)
        return column.alias(name)

    def names(self, name: str, *, keep: bool = False) -> pl.Series:
        """One column as text; for the last time, unless it is to `keep` it and its memory."""
        return (self.column(name) if keep else self._taken(name)).cast(str)

    def whole_numbers(self, name: str) -> Array:
        """A column of grades as int8, taken; an error that names the line of the first bad one."""
        import polars as pl

        column = self._taken(name)
        values = column.cast(pl.Int8, strict=False)
        if values.null_count() and column.dtype == pl.String:
            column = column.str.strip_chars().replace(_TRUTH)
            values = column.cast(pl.Int8, strict=False)
        if column.dtype.is_float() or values.null_count():
            real = column.cast(pl.Float64, strict=False)
            bad = real.is_null() | real.is_nan() | (real != real.floor()) | (real.abs() > HIGHEST)
            if bad.any():
                row = int(np.argmax(bad.to_numpy()))
                raise self.origin.error(self._no_grade(name, str(column[row]), row), row)
            values = real.cast(pl.Int8)
        return values.to_numpy()

    def _taken(self, name: str) -> pl.Series:
        column = self.column(name)
        theirs = self.columns[name]
        if list(self.columns.values()).count(theirs) == 1:
            self.frame.drop_in_place(theirs)
        return column

    def _no_grade(self, name: str, value: str, row: int) -> str:
        shown = value if len(value) < 80 else f"{value[:77]}..."
        message = f"{name} must be a whole number from {LOWEST} to {HIGHEST}, got {shown!r}"
        if self.origin.first == 1 and self.origin.line(row) == 1:
            message += _HEADER_HINT
        return message + (_WORDS_HINT if any(letter.isalpha() for letter in value) else "")

    def numbers(self, name: str) -> Array:
        """A column of numbers, NaN where there is none; an error with the line of a bad one."""
        column = self.column(name, filled=False)
        values = column.cast(float, strict=False)
        return self._all_read(column, values, f"{name} must be a number")

    def times(self) -> Array:
        """The column `time` in seconds since 1970, NaN where there is none.

        A time without a zone is taken as UTC; an error names the line of what is no time.
        """
        import polars as pl

        column = self.column("time", filled=False)
        values = column.cast(pl.Float64, strict=False)
        for form in (_iso, _mturk):
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


def _seconds(text: pl.Series, form: str) -> pl.Series:
    times = text.str.to_datetime(form, strict=False, time_unit="us")
    return (times.dt.epoch("us") / 1e6).cast(float)


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
    """Those of these columns of numbers and times that all tables have."""
    return {
        name: np.concatenate(
            [table.times() if name == "time" else table.numbers(name) for table in tables]
        )
        for name in names
        if all(name in table for table in tables)
    }


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


# --- grades that are words ------------------------------------------------------------------------


def meaning(words: Words) -> dict[str, int | None]:
    """What each word means, in small letters; None: its judgements are left out."""
    if words is None:
        return {}
    if isinstance(words, str):
        words = dict(_parsed(part) for part in words.split(",") if part.strip())
    grades: dict[str, int | None] = {}
    for word, grade in words.items():
        plain = str(word).strip().lower()
        if grades.setdefault(plain, grade) != grade:
            raise UsageError(f"grades gives two meanings to {str(word).strip()!r}")
        if grade is not None and not LOWEST <= grade <= HIGHEST:
            raise UsageError(f"grades must lie between {LOWEST} and {HIGHEST}, got {word}={grade}")
    return grades


def _parsed(part: str) -> tuple[str, int | None]:
    word, equals, grade = part.strip().rpartition("=")
    if not equals or not (grade.strip() == _LEFT_OUT or grade.strip().lstrip("+-").isdigit()):
        raise UsageError(
            f"grades are stated as word=number (or word=_ to leave it out), got {part.strip()!r}"
        )
    return word, None if grade.strip() == _LEFT_OUT else int(grade)


def with_meaning(table: Table, words: Mapping[str, int | None]) -> Table:
    """The table with numbers for words, without the rows that are left out."""
    import polars as pl

    if not words or "grade" not in table:
        return table
    theirs = table.columns["grade"]
    column = table.frame[theirs].cast(pl.String)
    plain = column.str.strip_chars().str.to_lowercase()
    grades = {word: str(grade) for word, grade in words.items() if grade is not None}
    meant = plain.replace_strict(grades, default=None, return_dtype=pl.String)
    frame = table.frame.with_columns(meant.fill_null(column).alias(theirs))
    left_out = [word for word, grade in words.items() if grade is None]
    stays = ~plain.is_in(left_out).fill_null(False).to_numpy()
    if stays.all():
        return replace(table, frame=frame)
    if not stays.any():
        raise table.origin.error("every row has a grade that is left out")
    kept = np.flatnonzero(stays)
    return replace(table, frame=frame.filter(stays), origin=table.origin.of_rows(kept))


# --- odd names ------------------------------------------------------------------------------------


def say_what_is_odd(where: str, **indexes: Index) -> None:
    """Warn of names that differ by blanks at their ends only, and of texts used as names."""
    import polars as pl

    for kind, index in indexes.items():
        held = index.held
        names = held if isinstance(held, pl.Series) else pl.Series(index.names, dtype=pl.String)
        _say_of_blanks(where, kind, names)
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


def _say_of_texts(where: str, kind: str, names: pl.Series) -> None:
    some = names.head(_SAMPLE)
    texts = some.filter(some.str.count_matches(" ", literal=True) >= _BLANKS)
    if len(texts) > len(some) / 2:
        shown = texts[0] if len(texts[0]) < 60 else f"{texts[0][:57]}..."
        say(
            f"{where}: the names of {kind} look like texts ({shown!r}); they are used as names as "
            "they are: if there is a column of ids, say so by --columns"
        )
