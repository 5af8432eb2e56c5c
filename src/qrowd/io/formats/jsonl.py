"""JSON lines: one object on each line."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrowd.errors import FormatError
from qrowd.io.formats.delimited import refuse_what_is_no_text
from qrowd.io.formats.format import Format, Read
from qrowd.io.place import Place
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

OBJECT = rb"\{\s*(\}[ \t\r]*(\n|,|\]|$)|\"([^\"\\\n]|\\.)*\"\s*:)"


def matches(source: Source) -> bool:
    """An object at the start; a name of a topic may start with brackets and quotes, too."""
    return bool(re.match(OBJECT, source.start.lstrip()))


def fields(source: Source) -> list[str]:
    """The names of the columns."""
    return list(read(source)[1].collect_schema())


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """Every key is a column."""
    import polars as pl

    refuse_what_is_no_text(source)
    try:
        frame = pl.read_ndjson(source.read(), infer_schema_length=None)
    except pl.exceptions.PolarsError:
        raise _bad(source) from None
    return Place(source.name, frame.height, 1, source=source), frame


def _bad(source: Source) -> FormatError:
    for number, line in enumerate(source.read().split(b"\n"), 1):
        try:
            json.loads(line or b"0")
        except (json.JSONDecodeError, UnicodeDecodeError):
            message = "not a JSON object; every line must be one"
            return FormatError(message, file=source.name, line=number)
    return FormatError("cannot be read as JSON lines; are keys and types alike?", file=source.name)


def write(frame: pl.DataFrame, name: str) -> bytes:
    """One object on each line."""
    into = io.BytesIO()
    frame.write_ndjson(into)
    return into.getvalue()


FORMAT = Format("jsonl", (".jsonl", ".ndjson"), matches, fields, read, write)
