"""Parquet: columns with types, each read only where it is wanted."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from qrowd.io.formats.format import Format, Read, Row, bytes_by
from qrowd.io.origin import Origin
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_DAMAGED = "the Parquet file is damaged or cut short; fetch or make it again"


class Parquet(Format):
    """A file that starts with its four letters."""

    name = "parquet"
    before = "json"
    suffixes = (".parquet", ".pq")

    def matches(self, source: Source) -> bool:
        """Its four letters at the start."""
        return source.start.startswith(b"PAR1")

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """The columns, not read yet."""
        import polars as pl

        try:
            frame = pl.scan_parquet(source.plain_path or io.BytesIO(source.read()), glob=False)
            rows = frame.select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, OSError):
            raise source.error(_DAMAGED) from None
        return Origin(source.name, rows, source=source), frame

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Of all columns."""
        import polars as pl

        try:
            frame = pl.read_parquet(io.BytesIO(source.read()))
        except (pl.exceptions.PolarsError, OSError):
            raise source.error(_DAMAGED) from None
        for row in frame.iter_rows(named=True):  # lists and objects are Python's
            yield 0, row

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """With the types that the columns have."""
        return bytes_by(frame.write_parquet)
