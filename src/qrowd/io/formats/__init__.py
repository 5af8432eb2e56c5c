"""How each format of tables is recognised, read and written.

To add a format, write a class (`Format` says what its methods do) and name it in `FORMATS` below,
before the formats that would take its files for theirs: the first that matches reads a file.
Everything else (`--format`, `save` by suffix, folders, compression, the names of columns, messages
with file and line) then works for it. What its columns mean is not its business: `qrowd.io.roles`
knows their names.

The command line asks this list at its start: no module here may import numpy or Polars at its head.
"""

from __future__ import annotations

from pathlib import Path

from qrowd.errors import require_choice
from qrowd.io.formats.format import Format
from qrowd.io.formats.json import JsonArray, JsonLines
from qrowd.io.formats.mturk import MTurk
from qrowd.io.formats.parquet import Parquet
from qrowd.io.formats.text import Csv, Trec, Tsv
from qrowd.io.source import Source

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Parquet(),
        JsonArray(),
        JsonLines(),
        Tsv(),
        MTurk(),  # which is CSV, too
        Csv(),
        Trec(),  # any other text
    )
}


def format_of(source: Source, stated: str | None = None) -> Format:
    """The format of a file: as stated, else by its content."""
    if stated is None:
        return next(form for form in FORMATS.values() if form.matches(source))
    require_choice("format", stated, FORMATS)
    return FORMATS[stated]


def format_to_write(name: str) -> Format | None:
    """The format that a file's suffix names, if it names one."""
    suffix = Path(name).suffix.lower()
    return next((form for form in FORMATS.values() if suffix in form.suffixes), None)
