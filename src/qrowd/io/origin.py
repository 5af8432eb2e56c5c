"""Where rows came from: the file and the line that a message names."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from qrowd.errors import DataWarning, FormatError, InputError
from qrowd.io.source import Source

if TYPE_CHECKING:
    from qrowd.data.arrays import Array


@dataclass(frozen=True)
class Origin:
    """A file, and the line of its first row (0: rows have no lines).

    `kept` says which rows of the file these are, where they are not all. `quoted`: a row may go
    over several lines. `about` says what of a tool's file was taken for what, `notes` what was left
    out.
    """

    name: str
    rows: int
    first: int = 0
    kept: Array | None = None
    source: Source | None = None
    quoted: bool = False
    about: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def line(self, row: int) -> int:
        """The line of a row; 0 where there are no lines."""
        if not self.first:
            return 0
        at = self.row(row)
        if self.quoted and self.source is not None:
            return _quoted_line(self.source.read(), at + self.first - 1)
        return at + self.first

    def row(self, row: int) -> int:
        """The row of the file."""
        return int(self.kept[row]) if self.kept is not None else row

    def of_rows(self, rows: Array) -> Origin:
        """The origin of these rows, in this order."""
        kept = rows if self.kept is None else self.kept[rows]
        return replace(self, rows=len(rows), kept=kept)

    def error(self, message: str, row: int = -1) -> FormatError:
        """An error in this file, at this row."""
        line = self.line(row) if row >= 0 else 0
        if row >= 0 and not line:
            message = f"row {self.row(row) + 1}: {message}"
        return FormatError(message, file=self.name, line=line, row=row)


def _quoted_line(data: bytes, record: int) -> int:
    """The line on which a record of a CSV file starts; quoted fields may hold line ends."""
    reader = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    line = 1
    for number, _ in enumerate(reader):
        if number == record:
            return line
        line = reader.line_num + 1
    return line


@contextmanager
def located(origins: Sequence[Origin]) -> Iterator[None]:
    """Inside, an error about a row of these tables, one after another, gets its file and line."""
    try:
        yield
    except InputError as error:
        if error.file:
            raise  # who raised it knew where
        row = error.row
        for origin in origins:
            if 0 <= row < origin.rows:
                raise origin.error(error.message, row) from None
            row -= origin.rows
        if len(origins) == 1:
            raise error.at(origins[0].name) from None
        raise


_HEARD: ContextVar[dict[str, Mapping[str, str]] | None] = ContextVar("heard", default=None)


@contextmanager
def heard() -> Iterator[dict[str, Mapping[str, str]]]:
    """Inside, `tell` writes down what was found out about files that are read: {file: facts}."""
    facts: dict[str, Mapping[str, str]] = {}
    token = _HEARD.set(facts)
    try:
        yield facts
    finally:
        _HEARD.reset(token)


def tell(origin: Origin) -> None:
    """What a file is, and what of it was taken for what, to whoever asked for it by `heard`."""
    facts = _HEARD.get()
    if facts is not None and origin.about:
        facts[origin.name] = {**facts.get(origin.name, {}), **origin.about}


def say(message: str) -> None:
    """Warn that data are usable, but that somebody should know this about them."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("qrowd."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DataWarning, level)
