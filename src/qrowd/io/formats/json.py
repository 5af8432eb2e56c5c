"""JSON: an array of objects, or objects in objects as pytrec_eval, ranx and BEIR keep them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qrowd.errors import FormatError
from qrowd.io.formats.delimited import first_line, refuse_what_is_no_text
from qrowd.io.formats.format import Format, Read
from qrowd.io.formats.jsonl import OBJECT
from qrowd.io.nested import nested_frame
from qrowd.io.place import Place
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_ARRAY = re.compile(rb"\[\s*(\]\s*$|" + OBJECT + rb")")
_NESTED = re.compile(rb"\{\s*\"([^\"\\\n]|\\.)*\"\s*:\s*\{")


def matches(source: Source) -> bool:
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


def fields(source: Source) -> list[str]:
    """The names of the columns."""
    return list(read(source)[1].collect_schema())


def read(source: Source, names: Sequence[str] = ()) -> Read:
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
    return Place(source.name, frame.height, source=source), frame


def _frame(found: Any) -> pl.DataFrame:
    import polars as pl

    if isinstance(found, dict):
        return nested_frame(found)
    if not all(isinstance(row, dict) for row in found):
        raise TypeError
    return pl.DataFrame(found, infer_schema_length=None)


def write(frame: pl.DataFrame, name: str) -> bytes:
    """An array of objects."""
    into = io.BytesIO()
    frame.write_json(into)
    return into.getvalue()


FORMAT = Format("json", (".json",), matches, fields, read, write)
