"""Parquet: columns with types, each read only where it is wanted."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrowd.errors import FormatError
from qrowd.io.formats.format import Format, Read
from qrowd.io.origin import Origin
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl


def matches(source: Source) -> bool:
    """The four bytes with which every Parquet file starts."""
    return source.start.startswith(b"PAR1")


def fields(source: Source) -> list[str]:
    """The names of the columns."""
    return list(read(source)[1].collect_schema())


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """The columns, not read yet."""
    import polars as pl

    try:
        frame = pl.scan_parquet(source.plain_path or io.BytesIO(source.read()), glob=False)
        rows = frame.select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError):
        raise damaged(source.name) from None
    return Origin(source.name, rows, source=source), frame


def damaged(name: str) -> FormatError:
    """What is said of a file that ends too soon, or makes no sense in the middle."""
    return FormatError(
        "the Parquet file is damaged or cut short; fetch or make it again", file=name
    )


def write(frame: pl.DataFrame, name: str) -> bytes:
    """With the types that the columns have."""
    into = io.BytesIO()
    frame.write_parquet(into)
    return into.getvalue()


FORMAT = Format("parquet", (".parquet", ".pq"), matches, fields, read, write)
