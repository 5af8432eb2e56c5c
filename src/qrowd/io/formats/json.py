"""JSON: an object on each line, an array of objects, or objects in objects (pytrec_eval, BEIR)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qrowd.errors import FormatError
from qrowd.io.formats.format import Format, Read, Row, bytes_by
from qrowd.io.formats.text import first_line, refuse_what_is_no_text, text_of
from qrowd.io.nested import nested_frame
from qrowd.io.origin import Origin
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
            raise _bad_line(source) from None
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


def _bad_line(source: Source) -> FormatError:
    for number, line in enumerate(source.read().split(b"\n"), 1):
        try:
            json.loads(line or b"0")
        except NOT_JSON:
            return source.error(_NO_OBJECT, number)
    return source.error("cannot be read as JSON lines; are keys and types alike?")


class JsonArray(Format):
    """An array of objects, every key a column; or dicts in dicts, as `nested_frame` reads them."""

    name = "json"
    before = "jsonl"
    suffixes = (".json",)

    def matches(self, source: Source) -> bool:
        """An array of objects; or an object whose first value is one, and that is all of it."""
        start = source.start.lstrip()
        return bool(_ARRAY.match(start)) or (bool(_NESTED.match(start)) and not _is_lines(source))

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """Rows have no lines."""
        import polars as pl

        refuse_what_is_no_text(source)
        try:
            content = _loaded(source, source.read())
            if isinstance(content, dict):
                frame = nested_frame(content)
            elif all(isinstance(row, dict) for row in content):
                frame = pl.DataFrame(content, infer_schema_length=None)
            else:
                raise TypeError
        except (pl.exceptions.PolarsError, TypeError, ValueError, RecursionError):
            message = 'must be a JSON array of objects with the same keys, or {"topic": {"doc": 1}}'
            raise source.error(message) from None
        return Origin(source.name, frame.height, source=source), frame

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Of an array only."""
        rows = _loaded(source, text_of(source))
        if not all(isinstance(row, dict) for row in rows):
            raise source.error("must be a JSON array of objects")
        for row in rows:
            yield 0, row

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """An array."""
        return bytes_by(frame.write_json)


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
