"""Parquet: columns with types, each read only where it is wanted."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from qrowd.errors import FormatError
from qrowd.io.formats.format import Format, Read, Row
from qrowd.io.origin import Origin
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl


class Parquet(Format):
    """A file that starts with its four letters."""

    name = "parquet"
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
            raise _damaged(source) from None
        return Origin(source.name, rows, source=source), frame

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Of all columns."""
        import polars as pl

        try:
            frame = pl.read_parquet(io.BytesIO(source.read()))
        except (pl.exceptions.PolarsError, OSError):
            raise _damaged(source) from None
        for row in frame.iter_rows(named=True):
            yield 0, row

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """With the types that the columns have."""
        content = io.BytesIO()
        frame.write_parquet(content)
        return content.getvalue()


def _damaged(source: Source) -> FormatError:
    message = "the Parquet file is damaged or cut short; fetch or make it again"
    return FormatError(message, file=source.name)
