"""JSON: an object on each line, an array of objects, or objects in objects (pytrec_eval, BEIR)."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qrowd.errors import FormatError
from qrowd.io.formats.format import Format, Read
from qrowd.io.formats.text import first_line, refuse_what_is_no_text
from qrowd.io.nested import nested_frame
from qrowd.io.origin import Origin
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
    return Origin(source.name, frame.height, 1, source=source), frame


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


_ARRAY = re.compile(rb"\[\s*(\]\s*$|" + OBJECT + rb")")
_NESTED = re.compile(rb"\{\s*\"([^\"\\\n]|\\.)*\"\s*:\s*\{")


def json_matches(source: Source) -> bool:
    """An array of objects; or an object whose first value is one, and that is all of the file."""
    start = source.start.lstrip()
    return bool(_ARRAY.match(start)) or (bool(_NESTED.match(start)) and not _is_lines(source))


def _is_lines(source: Source) -> bool:
    """Whether the first line is an object by itself, and others follow."""
    try:
        json.loads(first_line(source))
    except ValueError:
        return False
    return b"\n" in source.start.strip()


def json_read(source: Source, names: Sequence[str] = ()) -> Read:
    """Every key is a column; of nested objects `topic doc` and `grade` or `score`."""
    import polars as pl

    refuse_what_is_no_text(source)
    try:
        frame = _frame(json.loads(source.read()))
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", file=source.name, line=error.lineno) from None
    except (pl.exceptions.PolarsError, TypeError, ValueError, RecursionError):
        message = 'must be a JSON array of objects with the same keys, or {"topic": {"doc": 1}}'
        raise FormatError(message, file=source.name) from None
    return Origin(source.name, frame.height, source=source), frame


def _frame(found: Any) -> pl.DataFrame:
    import polars as pl

    if isinstance(found, dict):
        return nested_frame(found)
    if not all(isinstance(row, dict) for row in found):
        raise TypeError
    return pl.DataFrame(found, infer_schema_length=None)


def json_write(frame: pl.DataFrame, name: str) -> bytes:
    """An array of objects."""
    into = io.BytesIO()
    frame.write_json(into)
    return into.getvalue()


JSON_FORMAT = Format("json", (".json",), json_matches, fields, json_read, json_write)
