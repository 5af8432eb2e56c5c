"""Columns of any type to those that a `Table` holds: numbers and text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrowd.errors import FormatError
from qrowd.io.place import Place

if TYPE_CHECKING:
    import polars as pl


def collected(
    place: Place, frame: pl.DataFrame | pl.LazyFrame, names: Sequence[str]
) -> pl.DataFrame:
    """These columns of a frame, read if they are not yet, as numbers and text."""
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return pl.DataFrame([_plain(place, frame[name]) for name in names])
    try:
        read = frame.select(names).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        message = "the file is damaged in the middle; fetch or make it again"
        raise FormatError(message, file=place.name) from None
    return pl.DataFrame([_plain(place, column) for column in read])


def _plain(place: Place, column: pl.Series) -> pl.Series:
    """Numbers and text as they are, times as seconds, everything else as text."""
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind == pl.String:
        return column
    if kind.is_nested() or kind == pl.Object:
        what = "lists" if isinstance(kind, pl.List | pl.Array) else "objects"
        raise place.error(f"the column {column.name!r} holds {what}; it must be text or numbers")
    if kind == pl.Datetime or kind == pl.Date:
        return column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    if kind == pl.Duration:
        return column.dt.total_microseconds() / 1e6
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        message = f"the column {column.name!r} holds bytes that are no text"
        raise place.error(message) from None
