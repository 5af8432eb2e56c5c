"""Tables whose columns are texts, record by record, with the line of each: topics and documents.

JSON lines, a JSON array, TSV, CSV or Parquet. What a column means is for the caller to say; a value
is text, or a number that becomes text; what is missing is "".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qrowd.data.arrays import Names
from qrowd.data.frames import Framed
from qrowd.data.index import Index
from qrowd.errors import FormatError, InputError
from qrowd.io.formats import FORMATS, format_of
from qrowd.io.formats.tool import Tool
from qrowd.io.roles import plain_name
from qrowd.io.source import Source

MARKUP = "markup"


@dataclass(frozen=True)
class Record:
    """One record of a file: its line (0: there are no lines) and its texts."""

    line: int
    texts: dict[str, str]

    def renamed(self, columns: Mapping[str, str]) -> Record:
        """The same with our names for its columns: {ours: theirs}."""
        texts = {ours: self.texts.get(theirs, "") for ours, theirs in columns.items()}
        return Record(self.line, texts)


def form_of(source: Source) -> str:
    """How a file is written: a table's format, or `markup` (SGML, XML).

    Texts hold blanks, so that these tables are never in TREC's form: what looks so has tabs.
    """
    if source.start.lstrip().startswith(b"<"):
        return MARKUP
    form = format_of(source)
    plain = form.base(source) if isinstance(form, Tool) else form
    return "tsv" if plain is None or plain.name == "trec" else plain.name


def read(source: Source, names: Sequence[str] = ()) -> Iterator[Record]:
    """The records of a table; `names` are those of the columns of a file without a header."""
    for line, row in FORMATS[form_of(source)].rows(source, names):
        texts: dict[str, str] = {}
        for name, value in row.items():
            # BEIR's `metadata` is an object: its texts are `metadata.key`
            inside = value if isinstance(value, dict) else {"": value}
            for key, text in inside.items():
                if not isinstance(text, str | int | float | None):
                    got = f"got {type(text).__name__}; join it into one text"
                    raise source.error(f"{name} must be text, {got}", line)
                texts[f"{name}.{key}" if key else name] = "" if text is None else str(text)
        if line and not names and all(name == text for name, text in texts.items()):
            raise source.error("this line is the header again; remove it", line)
        yield Record(line, texts)


def has_no_header(source: Source, fields: Sequence[str], widths: Iterable[int], known: str) -> bool:
    """Whether a text with tabs has so many columns and begins with a row: not with a header, one of
    whose names is unknown, and not with something that has no second column.
    """
    named = plain_name(fields[0]) in known.split() if fields else True
    return form_of(source) == "tsv" and len(fields) in widths and not named and bool(fields[-1])


def header_of(source: Source) -> list[str]:
    """The names of a table's columns, or the fields of its first line."""
    form = form_of(source)
    if form in ("json", "jsonl"):
        first = next(read(source), None)
        return list(first.texts) if first else []
    return [name.strip() for name in FORMATS[form].fields(source)]


def columns_of(names: Sequence[str], synonyms: Mapping[str, str]) -> dict[str, str]:
    """Which of a header's names mean which column: {ours: theirs}, the first synonym first."""
    plain = {plain_name(name).lstrip("_"): name for name in names}
    columns: dict[str, str] = {}
    for ours, words in synonyms.items():
        matches = [plain[word] for word in words.split() if word in plain]
        free = [name for name in matches if name not in columns.values()]
        if free:
            columns[ours] = free[0]
    return columns


def columns_if_any(source: Source, synonyms: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Which columns a table has by our names, and all names in lower case; none if it has none."""
    try:
        names = header_of(source)
    except FormatError:
        return set(), set()
    return set(columns_of(names, synonyms)), {name.lower() for name in names}


def of_kind(files: list[Source], matches: Callable[[Source], bool]) -> list[Source]:
    """Of several files those that look like it, if only some do: a collection in one folder."""
    if len(files) < 2:
        return files
    return [file for file in files if matches(file)] or files


def distinct(named: Iterable[tuple[str, Record, Source]], noun: str) -> dict[str, dict[str, str]]:
    """The texts of each name; an error where a name has no letters, or has other texts again."""
    first: dict[str, tuple[Record, Source]] = {}
    for name, record, source in named:
        if not name:
            raise source.error(f"no value for {noun}; every one needs a name", record.line)
        before, file = first.setdefault(name, (record, source))
        if before.texts != record.texts:
            where = f"line {before.line}" if before.line else "before"
            where += f" of {file.name}" if file is not source else ""
            message = f"{noun} {name} has other texts here than on {where}; keep one of them"
            raise source.error(message, record.line)
    return {name: record.texts for name, (record, _) in first.items()}


def columns(
    texts: Mapping[str, Mapping[str, str]], names: Sequence[str]
) -> tuple[Index, dict[str, Names]]:
    """The index of those who have texts, and a column for each of these names of texts."""
    index = Index.of(texts)
    return index, {
        name: np.array([texts[owner].get(name, "") for owner in index], object) for name in names
    }


def strict_rows(
    path: str | Path, needed: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines and rows of a TSV file whose header has all needed names, and no others than these."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        raise FormatError("no such file; check the path", file=str(path)) from None
    except (OSError, UnicodeDecodeError):
        raise FormatError("cannot be read as text in UTF-8", file=str(path)) from None
    header = lines[0].split("\t") if lines else []
    if not set(needed) <= set(header) <= {*needed, *optional}:
        others = f"; there may be {', '.join(optional)}" if optional else ""
        message = f"the first line must name the columns {', '.join(needed)}{others}"
        raise FormatError(message, file=str(path), line=1)
    for line, text in enumerate(lines[1:], 2):
        fields = text.split("\t") if text else []
        if len(fields) != len(header):
            message = f"has {len(fields)} columns, the header {len(header)}; fix this line"
            raise FormatError(message, file=str(path), line=line)
        yield line, dict(zip(header, fields, strict=True))


# --- writing --------------------------------------------------------------------------------------


def encoded_texts(noun: Framed, form: str, name: str) -> bytes:
    """A table of texts as the bytes of a file: tsv, csv, json, jsonl or parquet."""
    frame = noun.to_polars()
    if form in ("csv", "parquet"):
        return FORMATS[form].write(frame, name)
    if form in ("json", "jsonl"):
        rows = [json.dumps(row, ensure_ascii=False) for row in frame.iter_rows(named=True)]
        text = "[" + ",\n".join(rows) + "]\n" if form == "json" else "".join(f"{r}\n" for r in rows)
        return text.encode()
    lines = [tuple(frame.columns), *frame.iter_rows()]
    for row in lines:
        if any(re.search(r"[\t\n\r]", field) for field in row):
            message = f"{row[0]!r} has a text with a tab or a line end, which TSV cannot hold"
            raise InputError(f"{message}; use the suffix .jsonl, .csv or .parquet", file=name)
    return "".join("\t".join(row) + "\n" for row in lines).encode()
