"""Values that need reading: grades that are words, and times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import UsageError
from qrowd.io.table import Table, as_names

if TYPE_CHECKING:
    import polars as pl


if TYPE_CHECKING:
    pass

Words = str | Mapping[str, int | None] | None
LEFT_OUT = "_"


def meaning(words: Words) -> dict[str, int | None]:
    """What each word means, in small letters; None: its judgements are left out."""
    if words is None:
        return {}
    if isinstance(words, str):
        words = dict(_parsed(part) for part in words.split(",") if part.strip())
    found: dict[str, int | None] = {}
    for word, grade in words.items():
        plain = str(word).strip().lower()
        if found.setdefault(plain, grade) != grade:
            raise UsageError(f"grades gives two meanings to {str(word).strip()!r}")
        if grade is not None and not LOWEST <= grade <= HIGHEST:
            raise UsageError(f"grades must lie between {LOWEST} and {HIGHEST}, got {word}={grade}")
    return found


def _parsed(part: str) -> tuple[str, int | None]:
    word, equals, grade = part.strip().rpartition("=")
    if not equals or not (grade.strip() == LEFT_OUT or grade.strip().lstrip("+-").isdigit()):
        raise UsageError(
            f"grades are stated as word=number (or word=_ to leave it out), got {part.strip()!r}"
        )
    return word, None if grade.strip() == LEFT_OUT else int(grade)


def with_meaning(table: Table, words: Mapping[str, int | None]) -> Table:
    """The table with numbers for words, without the rows that are left out."""
    import polars as pl

    if not words or "grade" not in table:
        return table
    theirs = table.columns["grade"]
    given = as_names(table.frame[theirs])
    plain = given.str.strip_chars().str.to_lowercase()
    numbers = {word: str(grade) for word, grade in words.items() if grade is not None}
    known = plain.replace_strict(numbers, default=None, return_dtype=pl.String)
    frame = table.frame.with_columns(known.fill_null(given).alias(theirs))
    left_out = [word for word, grade in words.items() if grade is None]
    stays = ~plain.is_in(left_out).fill_null(False).to_numpy()
    if stays.all():
        return replace(table, frame=frame)
    if not stays.any():
        raise table.origin.error("every row has a grade that is left out")
    kept = np.flatnonzero(stays)
    return replace(table, frame=frame.filter(stays), origin=table.origin.of_rows(kept))


_ZONES = {"PST": "-0800", "PDT": "-0700", "UTC": "+0000", "GMT": "+0000"}
_MTURK = "%a %b %d %H:%M:%S %z %Y"


def times(table: Table) -> Array:
    """The column `time` in seconds since 1970, NaN where there is none.

    A time without a zone is taken as UTC; an error names the line of what is no time.
    """
    import polars as pl

    given = table.column("time", filled=False)
    values = given.cast(pl.Float64, strict=False) if given.dtype != pl.String else _read(given)
    if values.null_count() > given.null_count():
        row = int(np.argmax((values.is_null() & given.is_not_null()).to_numpy()))
        raise table.origin.error(
            "time must be a number of seconds or an ISO time such as 2024-05-01T12:30:00Z, got "
            f"{str(given[row])!r}",
            row,
        )
    return values.to_numpy()


def _read(given: pl.Series) -> pl.Series:
    """Each text by the first of these forms that it has."""
    import polars as pl

    values = given.cast(pl.Float64, strict=False)
    for form in (_iso, _mturk):
        if values.null_count() == given.null_count():
            break
        values = values.fill_null(form(given.str.strip_chars()))
    return values


def _iso(text: pl.Series) -> pl.Series:
    """2024-05-01, 2024-05-01 12:30, 2024-05-01T12:30:00.5Z, 2024-05-01T12:30:00+02:00, ..."""
    import polars as pl

    whole = text.str.replace(r"^(\d{4}-\d\d-\d\d)$", "${1}T00:00:00")
    whole = whole.str.replace(r"^(\S+)[ T](\d\d:\d\d)($|Z|[+-])", "${1}T${2}:00${3}")
    whole = whole.str.replace(r"^(\S+) (\d\d:)", "${1}T${2}").str.replace(r" ?(Z|UTC)$", "+00:00")
    whole = whole.str.replace(r"([+-]\d\d):?(\d\d)$", "${1}:${2}")
    whole = whole.str.replace(r"(T[\d:.]+)$", "${1}+00:00")
    found = whole.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", strict=False, time_unit="us")
    return (found.dt.epoch("us") / 1e6).cast(pl.Float64)


def _mturk(text: pl.Series) -> pl.Series:
    """Tue Mar 17 11:47:18 PDT 2020"""
    import polars as pl

    for zone, offset in _ZONES.items():
        text = text.str.replace(f" {zone} ", f" {offset} ", literal=True)
    found = text.str.to_datetime(_MTURK, strict=False, time_unit="us")
    return (found.dt.epoch("us") / 1e6).cast(pl.Float64)
