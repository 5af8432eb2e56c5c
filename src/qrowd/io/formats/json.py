"""JSON: an object on each line, an array of objects, or objects in objects (pytrec_eval, BEIR)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qrowd.io.formats.format import Format, Read, Row, bytes_by
from qrowd.io.formats.text import first_line, refuse_what_is_no_text, text_of
from qrowd.io.nested import ScoresError, nested_frame
from qrowd.io.origin import Origin
from qrowd.io.paths import series
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

# nested without end, a number of thousands of digits, letters that are none
NOT_JSON = (ValueError, RecursionError)
_NO_OBJECT = "not a JSON object; every line must be one"
# A name of a topic may start with brackets and quotes, too: so the key and its colon are wanted.
_OBJECT = rb"\{\s*(\}[ \t\r]*(\n|,|\]|$)|\"([^\"\\\n]|\\.)*\"\s*:)"
_ARRAY = re.compile(rb"\[\s*(\]\s*$|" + _OBJECT + rb")")
_NESTED = re.compile(rb"\{\s*\"([^\"\\\n]|\\.)*\"\s*:\s*\{")


class JsonLines(Format):
    """One object on each line; every key is a column."""

    name = "jsonl"
    before = "tsv"
    suffixes = (".jsonl", ".ndjson")

    def matches(self, source: Source) -> bool:
        """An object at the start."""
        return bool(re.match(_OBJECT, source.start.lstrip()))

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """Lines must have keys and types alike."""
        import polars as pl

        refuse_what_is_no_text(source)
        try:
            frame = pl.read_ndjson(source.read(), infer_schema_length=None)
        except pl.exceptions.PolarsError:
            return _mixed(source, self.rows(source))
        return Origin(source.name, frame.height, 1, source=source), frame

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Lines need not be alike."""
        for line, text in _filled_lines(source):
            try:
                row = json.loads(text)
            except NOT_JSON:
                row = None
            if not isinstance(row, dict):
                raise source.error(_NO_OBJECT, line)
            yield line, row

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """Every row."""
        return bytes_by(frame.write_ndjson)


def _filled_lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; the first without reading the others."""
    head = source.start[: source.start.find(b"\n") + 1]
    first = head.decode() if head.isascii() else ""
    if first.strip():
        yield 1, first
    for line, text in enumerate(text_of(source).split("\n"), 1):
        if text.strip() and (line > 1 or not first.strip()):
            yield line, text


def _mixed(source: Source, rows: Iterable[Row]) -> Read:
    """A table of rows whose values are of several types: texts where they are not all numbers."""
    import numpy as np
    import polars as pl

    records = list(rows)
    columns = []
    for name in dict.fromkeys(name for _, row in records for name in row):
        values = [row.get(name) for _, row in records]
        nested = any(isinstance(value, list | dict) for value in values)
        columns.append(pl.Series(name, values, pl.Object) if nested else series(name, values))
    lines = np.array([line for line, _ in records], np.int64)
    origin = Origin(source.name, len(records), int(lines.any()), source=source)
    return origin.of_rows(lines - 1) if lines.any() else origin, pl.DataFrame(columns)


class JsonArray(Format):
    """An array of objects, every key a column; or dicts in dicts, as `nested_frame` reads them."""

    name = "json"
    before = "jsonl"
    suffixes = (".json",)

    def matches(self, source: Source) -> bool:
        """An array of objects; or an object that is all of the file, and either holds an object
        first or goes over several lines.
        """
        start = source.start.lstrip()
        if _ARRAY.match(start):
            return True
        nested = bool(_NESTED.match(start)) and not _is_lines(source)
        return nested or (bool(re.match(_OBJECT, start)) and _goes_on(source))

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """Rows have no lines."""
        import polars as pl

        refuse_what_is_no_text(source)
        try:
            content = _loaded(source, source.read())
            if isinstance(content, dict):
                try:
                    frame = nested_frame(content)
                except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
                    if isinstance(error, ScoresError):
                        raise
                    return _mixed(source, [(0, content)])  # an envelope: paths lead into it
            elif all(isinstance(row, dict) for row in content):
                try:
                    frame = pl.DataFrame(content, infer_schema_length=None)
                except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
                    return _mixed(source, ((0, row) for row in content))
            else:
                raise TypeError
        except ScoresError as error:
            raise source.error(str(error)) from None
        except (pl.exceptions.PolarsError, TypeError, ValueError, RecursionError):
            message = 'must be a JSON array of objects with the same keys, or {"topic": {"doc": 1}}'
            raise source.error(message) from None
        return Origin(source.name, frame.height, source=source), frame

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Of an array; an object is one row."""
        rows = _loaded(source, text_of(source))
        rows = [rows] if isinstance(rows, dict) else rows
        if not all(isinstance(row, dict) for row in rows):
            raise source.error("must be a JSON array of objects")
        for row in rows:
            yield 0, row

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """An array."""
        return bytes_by(frame.write_json)


def _goes_on(source: Source) -> bool:
    """Whether the first line is only the beginning of an object."""
    line = first_line(source).strip()
    return line in ("{", "[") or (line[-1:] in ("{", "[", ",") and b"\n" in source.start)


def _is_lines(source: Source) -> bool:
    """Whether the first line is an object by itself, and others follow."""
    try:
        json.loads(first_line(source))
    except NOT_JSON:
        return False
    return b"\n" in source.start.strip()


def _loaded(source: Source, content: bytes | str) -> Any:
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise source.error(f"not JSON: {error.msg}", error.lineno) from None
    except NOT_JSON:
        raise source.error("not JSON of a table: nested too deep, or too long a number") from None
