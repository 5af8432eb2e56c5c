"""What a format is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qrowd.io.origin import Origin
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

Read = tuple[Origin, "pl.DataFrame | pl.LazyFrame"]


@dataclass(frozen=True)
class Format:
    """One way in which tables are kept in files.

    `matches` looks at the content. `fields` gives the names of the columns; of a text whose first
    line may or may not be a header (`headed` is false), the fields of that line. `read` gives the
    rows and where they are in the file; it is told the names of the columns where the text has no
    header. `write` gives the bytes of a file of this name. A format without `write` is only read.
    """

    name: str
    suffixes: tuple[str, ...]
    matches: Callable[[Source], bool]
    fields: Callable[[Source], list[str]]
    read: Callable[[Source, Sequence[str]], Read]
    write: Callable[[pl.DataFrame, str], bytes] | None = None
    headed: bool = True
