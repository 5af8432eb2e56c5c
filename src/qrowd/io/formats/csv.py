"""Text with commas, or semicolons as spreadsheets in many countries write them, and quotes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
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


def separator(source: Source) -> str:
    """The comma, unless the first line has more semicolons outside of quotes."""
    line = first_line(source)
    by_comma, by_semicolon = (len(split_fields(line, mark)) for mark in ",;")
    return ";" if by_semicolon > by_comma else ","


def matches(source: Source) -> bool:
    """A comma or semicolon in the first line, which has no more columns by blanks."""
    line = first_line(source)
    if "," not in line and ";" not in line:
        return False
    if ".csv" in Path(source.name).suffixes[-2:]:
        return True
    by_blanks = len(line.split())
    return not looks_like_trec(line) and (
        by_blanks < 4 or len(split_fields(line, separator(source))) > by_blanks
    )


def fields(source: Source) -> list[str]:
    """The fields of the first line."""
    refuse_what_is_no_text(source)
    return split_fields(first_line(source), separator(source))


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """All columns as strings."""
    return read_delimited(source, separator(source), names, quoted=True)


def write(frame: pl.DataFrame, name: str) -> bytes:
    """With a header, commas, and quotes where they are needed."""
    return write_delimited(frame, name, ",")


FORMAT = Format("csv", (".csv",), matches, fields, read, write, headed=False)
