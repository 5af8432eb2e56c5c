"""Text with tabs between the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrowd.io.formats.delimited import (
    first_line,
    looks_like_trec,
    read_delimited,
    refuse_what_is_no_text,
    split_fields,
    write_delimited,
)
from qrowd.io.formats.format import Format, Read
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl


def matches(source: Source) -> bool:
    """A tab in the first line, unless tabs and blanks are mixed as in TREC's files."""
    line = first_line(source)
    mixed = looks_like_trec(line) and len(line.split("\t")) < len(line.split())
    return "\t" in line and not mixed


def fields(source: Source) -> list[str]:
    """The fields of the first line."""
    refuse_what_is_no_text(source)
    return split_fields(first_line(source), "\t")


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """All columns as strings."""
    return read_delimited(source, "\t", names)


def write(frame: pl.DataFrame, name: str) -> bytes:
    """With a header and without quotes, which other readers of TSV do not know."""
    return write_delimited(frame, name, "\t", blanks="\t\n\r")


FORMAT = Format("tsv", (".tsv", ".tab"), matches, fields, read, write, headed=False)
