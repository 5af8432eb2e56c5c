"""When a judgement was made, in seconds since 1970: from numbers, ISO times, and MTurk's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array
from qrowd.io.table import Table

if TYPE_CHECKING:
    import polars as pl

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
        raise table.place.error(
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
