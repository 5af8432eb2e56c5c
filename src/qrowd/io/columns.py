"""From a file, or a frame, to a `Table` with the columns that a noun wants, under our names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qrowd.errors import FormatError, UsageError
from qrowd.io.source import Source, sources
from qrowd.io.table import (
    SYNONYMS,
    Table,
    first_line,
    is_frame,
    of_frame,
    read_plain,
    read_table,
    read_with_header,
    recognised,
    sniff,
    split_fields,
)

Columns = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Wanted:
    """What a noun wants of a table: columns it needs, may have, and TREC's order of them."""

    what: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    others: str = ""  # a pattern of further columns that are kept
    blank: tuple[str, ...] = ()  # needed, but may have rows without a value

    @property
    def filled(self) -> tuple[str, ...]:
        """The columns that need a value in every row."""
        return tuple(name for name in self.needed if name not in self.blank)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.needed, *self.optional)


def tables(given: Any, wanted: Wanted, columns: Columns, format: str | None) -> list[Table]:
    """The tables of a frame, or of all files meant by a path, a folder, a glob, `-`."""
    if is_frame(given):
        return [_named(of_frame(given), wanted, columns)]
    if not isinstance(given, str | Path | Sequence):
        raise UsageError(f"cannot read {wanted.what} from a {type(given).__name__}")
    return [table_of(source, wanted, columns, format) for source in sources(given)]


def table_of(source: Source, wanted: Wanted, columns: Columns, format: str | None) -> Table:
    """The table of one file."""
    kind = sniff(source, format)
    if kind in ("json", "jsonl", "parquet"):
        return _named(read_table(source, kind), wanted, columns)
    separator = {"tsv": "\t", "csv": ",", "trec": " "}[kind]
    order = _positions(columns, wanted)
    if order:
        return _plain(source, wanted, order, separator)
    header = split_fields(first_line(source.data), separator)
    known = len(recognised(header, wanted.names))
    named = columns is not None or known >= min(2, len(wanted.needed))
    if named:
        return _named(read_with_header(source, kind), wanted, columns)
    if len(header) != len(wanted.plain):
        raise _unclear(source, wanted, header)
    return _plain(source, wanted, wanted.plain, separator)


def _positions(columns: Columns, wanted: Wanted) -> tuple[str, ...]:
    """The order of columns in a file without a header, where that was stated."""
    if columns is None or isinstance(columns, Mapping):
        return ()
    parts = columns.replace(",", " ").split() if isinstance(columns, str) else list(columns)
    if any("=" in part for part in parts):
        return ()
    _check_names([part for part in parts if part != "_"], wanted)
    missing = [name for name in wanted.needed if name not in parts]
    if missing:
        raise UsageError(f"columns name no {' and no '.join(missing)}: {' '.join(parts)}")
    return tuple(parts)


def _check_names(names: Sequence[str], wanted: Wanted) -> None:
    for name in names:
        if name not in wanted.names:
            allowed = " ".join(wanted.names)
            raise UsageError(f"columns must be among {allowed} (_ skips one), got {name!r}")
    if len(set(names)) < len(names):
        raise UsageError(f"columns name one twice: {' '.join(names)}")


def _mapping(columns: Columns, wanted: Wanted) -> dict[str, str]:
    """`topic=query,grade=stars` as a mapping."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        named = dict(columns)
    else:
        parts = columns.split(",") if isinstance(columns, str) else columns
        if not all("=" in part for part in parts):
            raise UsageError(
                "columns of a file with a header are stated as topic=NAME,doc=NAME,..."
            )
        named = dict(part.strip().split("=", 1) for part in parts)
    _check_names(list(named), wanted)
    return named


def _plain(source: Source, wanted: Wanted, order: Sequence[str], separator: str) -> Table:
    names = [name if name != "_" else f"_{at}" for at, name in enumerate(order)]
    table = read_plain(source, names, separator)
    kept = [name for name in names if name in wanted.names]
    return replace(table.complete(names), frame=table.frame.select(kept))


def _named(table: Table, wanted: Wanted, columns: Columns) -> Table:
    """The table with our names for its columns."""
    import polars as pl

    found = recognised(table.frame.columns, wanted.names) | _mapping(columns, wanted)
    for name, theirs in found.items():
        if theirs not in table.frame.columns:
            here = " ".join(table.frame.columns)
            raise table.error(f"no column {theirs!r} for {name}; there are: {here}")
    missing = [name for name in wanted.needed if name not in found]
    if missing:
        raise _missing(table, wanted, missing)
    taken = {*found, *found.values()}
    rest = [name for name in table.frame.columns if name not in taken]
    others = [name for name in rest if wanted.others and re.fullmatch(wanted.others, name)]
    frame = table.frame.select(
        [pl.col(theirs).alias(name) for name, theirs in found.items()] + [pl.col(n) for n in others]
    )
    return replace(table, frame=frame).complete(wanted.filled)


def _missing(table: Table, wanted: Wanted, missing: Sequence[str]) -> FormatError:
    known = "; ".join(
        f"{name} may be called {', '.join(SYNONYMS[name].split()[:6])}" for name in missing
    )
    return table.error(
        f"no column for {' and '.join(missing)} among: {' '.join(table.frame.columns)}; {known}; "
        f"or say which it is: --columns {missing[0]}=NAME"
    )


def _unclear(source: Source, wanted: Wanted, header: Sequence[str]) -> FormatError:
    order = " ".join(wanted.plain)
    return FormatError(
        f"{len(header)} columns and no header that is known; {wanted.what} need TREC's "
        f"{len(wanted.plain)} columns ({order}), a header with {' '.join(wanted.needed)}, or "
        f"--columns (e.g. --columns {','.join(wanted.needed)})",
        file=source.name,
        line=1,
    )
