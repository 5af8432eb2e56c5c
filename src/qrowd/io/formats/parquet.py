"""Parquet: columns with types, each read only where it is wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
        """The columns, not read yet; labels that `datasets` has numbered, under their names."""
        import polars as pl

        try:
            held = source.plain_path or source.read()
            frame = pl.scan_parquet(held, glob=False)
            rows = frame.select(pl.len()).collect().item()
            labels = class_names(pl.read_parquet_metadata(held))
        except (pl.exceptions.PolarsError, OSError):
            raise source.error(_DAMAGED) from None
        return Origin(source.name, rows, source=source), frame.with_columns(named_labels(labels))

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Of all columns."""
        import polars as pl

        try:
            yield from super().rows(source, names)
        except (pl.exceptions.PolarsError, OSError):
            raise source.error(_DAMAGED) from None

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """With the types that the columns have."""
        return bytes_by(frame.write_parquet)


def class_names(metadata: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of the labels of columns that hold their numbers, as `datasets` writes it down."""
    try:
        features = json.loads(metadata.get("huggingface", "{}"))["info"]["features"]
        return {
            column: list(feature["names"])
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, LookupError, TypeError, AttributeError):
        return {}


def named_labels(names: Mapping[str, Sequence[str]]) -> list[pl.Expr]:
    """These columns with names for numbers; -1 is no label."""
    import polars as pl

    return [
        pl.col(column).replace_strict(
            range(len(words)), words, default=None, return_dtype=pl.String
        )
        for column, words in names.items()
    ]
