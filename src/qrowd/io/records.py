"""Tables whose columns are texts, record by record, with the line of each: topics and documents.

JSON lines, a JSON array, TSV, CSV or Parquet. What a column means is for the caller to say; a value
is text, or a number that becomes text; what is missing is "".
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrowd.data.frames import Framed
from qrowd.errors import FormatError, InputError
from qrowd.io.formats import parquet
from qrowd.io.source import Source

MARKUP = "markup"
_LARGEST_FIELD = 1 << 30


@dataclass(frozen=True)
class Record:
    """One record of a file: its line (0: there are no lines) and its texts."""

    line: int
    texts: dict[str, str]


def text_of(source: Source) -> str:
    """A file's text; an error if it is empty or not UTF-8."""
    data = source.read().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise FormatError("the file is empty; fetch or make it again", file=source.name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = "not UTF-8; convert the file, e.g. with: iconv -f latin1 -t utf8"
        raise FormatError(message, file=source.name, line=line) from None


def form_of(source: Source) -> str:
    """How a file is written, by its first bytes: a table's form, or `markup` (SGML, XML)."""
    start = source.start
    if start.startswith(b"PAR1"):
        return "parquet"
    head = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"<"):
        return MARKUP
    if re.match(rb'\{\s*[}"]', head):
        return "jsonl"
    if re.match(rb"\[\s*[\]{]", head):
        return "json"
    line = head.split(b"\n", 1)[0]
    return "csv" if b"," in line and b"\t" not in line else "tsv"


def header_of(source: Source) -> list[str]:
    """The names of a table's columns, or the fields of its first line."""
    form = form_of(source)
    if form == "parquet":
        return parquet.fields(source)
    if form in ("json", "jsonl"):
        first = next(_of_jsonl(source) if form == "jsonl" else _of_json(source), None)
        return list(first.texts) if first else []
    text = source.start.decode("utf-8", "replace").lstrip("\ufeff\r\n")
    if not text.strip():
        raise FormatError("the file is empty; fetch or make it again", file=source.name)
    return next(_delimited(text.split("\n", 1)[0].rstrip("\r"), form), (0, []))[1]


def columns_if_any(source: Source, synonyms: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Which columns a table has by our names, and all names in lower case; none if it has none."""
    try:
        names = header_of(source)
    except FormatError:
        return set(), set()
    return set(columns_of(names, synonyms)), {name.lower() for name in names}


def records(source: Source, names: Sequence[str] = ()) -> Iterator[Record]:
    """The records of a table; `names` are those of the columns of a file without a header."""
    form = form_of(source)
    if form == "parquet":
        yield from (
            Record(0, _texts(row, source, 0)) for row in _frame(source).iter_rows(named=True)
        )
    elif form == "jsonl":
        yield from _of_jsonl(source)
    elif form == "json":
        yield from _of_json(source)
    else:
        yield from _of_lines(source, form, list(names))


def _of_lines(source: Source, form: str, names: list[str]) -> Iterator[Record]:
    for line, fields in _delimited(text_of(source), form):
        if not any(fields):
            continue
        if not names:
            names = [field.strip() for field in fields]
            continue
        if len(fields) != len(names):
            message = f"{len(fields)} columns where {len(names)} were expected; fix this line"
            raise FormatError(message, file=source.name, line=line)
        yield Record(line, dict(zip(names, fields, strict=True)))


def _delimited(text: str, form: str) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and fields; tabs separate without quotes, commas with them."""
    if form == "tsv":
        for line, row in enumerate(text.split("\n"), 1):
            yield line, row.rstrip("\r").split("\t")
        return
    csv.field_size_limit(_LARGEST_FIELD)
    reader, line = csv.reader(io.StringIO(text, newline="")), 1
    for fields in reader:
        yield line, fields
        line = reader.line_num + 1


def _of_jsonl(source: Source) -> Iterator[Record]:
    for line, row in _lines(source):
        try:
            found = json.loads(row)
        except json.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            message = "not a JSON object; every line must be one"
            raise FormatError(message, file=source.name, line=line)
        yield Record(line, _texts(found, source, line))


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; the first without reading the others."""
    start = source.start.removeprefix(b"\xef\xbb\xbf")
    head = start[: start.find(b"\n") + 1]
    if head.strip() and head.isascii():
        yield 1, head.decode()
    for line, row in enumerate(text_of(source).split("\n"), 1):
        if row.strip() and (line > 1 or not head.strip() or not head.isascii()):
            yield line, row


def _of_json(source: Source) -> Iterator[Record]:
    try:
        found = json.loads(text_of(source))
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", file=source.name, line=error.lineno) from None
    if not all(isinstance(row, dict) for row in found):
        raise FormatError("must be a JSON array of objects", file=source.name)
    yield from (Record(0, _texts(row, source, 0)) for row in found)


def _texts(row: dict[str, Any], source: Source, line: int) -> dict[str, str]:
    for name, value in row.items():
        if not isinstance(value, str | int | float | None):
            message = f"{name} must be text, got {type(value).__name__}; join it into one text"
            raise FormatError(message, file=source.name, line=line)
    return {name: "" if value is None else str(value) for name, value in row.items()}


def _frame(source: Source) -> Any:
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(source.read()))
    except (pl.exceptions.PolarsError, OSError):
        message = "the Parquet file is damaged or cut short; fetch or make it again"
        raise FormatError(message, file=source.name) from None


def distinct(
    found: Iterable[tuple[str, Record, Source]], what: str
) -> dict[str, tuple[dict[str, str], Source]]:
    """The texts of each name; an error where a name has no letters, or has other texts again."""
    known: dict[str, tuple[dict[str, str], Source]] = {}
    lines: dict[str, int] = {}
    for name, record, source in found:
        if not name:
            message = f"no value for {what}; every one needs a name"
            raise FormatError(message, file=source.name, line=record.line)
        before = known.get(name)
        if before is not None and before[0] != record.texts:
            where = f"line {lines[name]}" if lines[name] else "before"
            where += f" of {before[1].name}" if before[1] is not source else ""
            message = f"{what} {name} has other texts here than on {where}; keep one of them"
            raise FormatError(message, file=source.name, line=record.line)
        known[name], lines[name] = (record.texts, source), lines.get(name, record.line)
    return known


def renamed(record: Record, columns: Mapping[str, str]) -> Record:
    """A record with our names for its columns: {ours: theirs}."""
    return Record(
        record.line, {ours: record.texts.get(theirs, "") for ours, theirs in columns.items()}
    )


def columns_of(names: Sequence[str], synonyms: Mapping[str, str]) -> dict[str, str]:
    """Which of a header's names mean which column: {ours: theirs}, the first synonym first."""
    plain = {name.strip().lower().replace(" ", "_").replace("-", "_"): name for name in names}
    found: dict[str, str] = {}
    for ours, words in synonyms.items():
        match = [plain[word] for word in words.split() if word in plain]
        match = [name for name in match if name not in found.values()]
        found |= {ours: match[0]} if match else {}
    return found


# --- writing --------------------------------------------------------------------------------------


def encoded_texts(noun: Framed, form: str, name: str) -> bytes:
    """A table of texts as the bytes of a file: tsv, csv, json, jsonl or parquet."""
    frame, into = noun.to_polars(), io.BytesIO()
    if form == "parquet":
        frame.write_parquet(into)
        return into.getvalue()
    if form in ("json", "jsonl"):
        rows = [json.dumps(row, ensure_ascii=False) for row in frame.iter_rows(named=True)]
        text = "[" + ",\n".join(rows) + "]\n" if form == "json" else "".join(f"{r}\n" for r in rows)
        return text.encode()
    if form == "csv":
        frame.write_csv(into)
        return into.getvalue()
    lines = [tuple(frame.columns), *frame.iter_rows()]
    for row in lines:
        if any(re.search(r"[\t\n\r]", field) for field in row):
            message = f"{row[0]!r} has a text with a tab or a line end, which TSV cannot hold"
            raise InputError(f"{message}; use the suffix .jsonl, .csv or .parquet", file=name)
    return "".join("\t".join(row) + "\n" for row in lines).encode()


def folder_of(source: Source) -> Path:
    """The folder in which a file is; the current one for stdin."""
    return source.path.parent if source.path else Path()
