"""One file per format: how it is recognised, read and written.

To add a format, write a module here that ends in

    FORMAT = Format("name", (".suffix",), matches, fields, read, write)

(`Format` says what each of these does) and name it in `_IN_ORDER` below, before the formats
that would take its files for theirs: the first that matches reads a file. Everything else
(`--format`, `save` by suffix, folders, compression, the names of columns, messages with file and
line) then works for it. What its columns mean is not its business: `qrowd.io.columns` finds that
out by their names.
"""

from __future__ import annotations

from pathlib import Path

from qrowd.errors import UsageError
from qrowd.io.formats import json, mturk, parquet, text
from qrowd.io.formats.format import Format
from qrowd.io.source import Source

_IN_ORDER = (
    parquet.FORMAT,
    json.JSON_FORMAT,
    json.FORMAT,
    text.FORMAT,
    mturk.FORMAT,
    text.CSV_FORMAT,
    text.TREC_FORMAT,
)
FORMATS: dict[str, Format] = {each.name: each for each in _IN_ORDER}


def format_of(source: Source, stated: str | None = None) -> Format:
    """The format of a file: as stated, else by its content."""
    if stated is None:
        return next(each for each in FORMATS.values() if each.matches(source))
    if stated not in FORMATS:
        raise UsageError(f"format must be one of {', '.join(FORMATS)}, got {stated!r}")
    return FORMATS[stated]


def format_to_write(name: str) -> Format | None:
    """The format that a file's suffix names, if it names one."""
    suffix = Path(name).suffix.lower()
    known = (each for each in FORMATS.values() if suffix in each.suffixes and each.write)
    return next(known, None)
