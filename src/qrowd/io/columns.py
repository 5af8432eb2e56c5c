"""From a file, or a frame, to a `Table` with the columns that a noun wants, under our names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.errors import FormatError, UsageError
from qrowd.io.source import Source, sources
from qrowd.io.table import (
    SEPARATORS,
    SYNONYMS,
    Place,
    Table,
    as_text,
    first_line,
    is_frame,
    of_frame,
    read_json,
    read_jsonl,
    read_parquet,
    read_text,
    recognised,
    refuse_what_is_no_text,
    sniff,
    split_fields,
)
from qrowd.kernel import in_blocks

if TYPE_CHECKING:
    import polars as pl

Columns = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Wanted:
    """What a noun wants of a table: columns it needs, may have, and TREC's order of them."""

    what: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    others: str = ""  # a pattern of further columns that are kept

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.needed, *self.optional)


def tables(given: Any, wanted: Wanted, columns: Columns, format: str | None) -> list[Table]:
    """The tables of a frame, or of all files meant by a path, a folder, a glob, `-`."""
    if is_frame(given):
        return [_named(*of_frame(given), wanted, columns)]
    if not isinstance(given, str | Path | Sequence):
        raise UsageError(f"cannot read {wanted.what} from a {type(given).__name__}")
    found = sources(given)

    def work(lo: int, hi: int) -> list[Table]:
        return [table_of(source, wanted, columns, format) for source in found[lo:hi]]

    return [table for block in in_blocks(work, len(found), len(found)) for table in block]


def table_of(source: Source, wanted: Wanted, columns: Columns, format: str | None) -> Table:
    """The table of one file."""
    kind = sniff(source, format)
    if kind == "parquet":
        return _named(*read_parquet(source), wanted, columns)
    refuse_what_is_no_text(source)
    if kind in ("json", "jsonl"):
        return _named(*(read_json if kind == "json" else read_jsonl)(source), wanted, columns)
    header = split_fields(first_line(source), SEPARATORS[kind])
    order = _positions(columns, wanted) or plain_order(header, wanted, columns)
    if order:
        return _plain(source, kind, wanted, order)
    if columns is None and not _is_header(header, wanted):
        raise _unclear(source, wanted, header)
    return _named(*read_text(source, kind), wanted, columns)


def _is_header(fields: Sequence[str], wanted: Wanted) -> bool:
    return len(recognised(fields, wanted.names)) >= min(2, len(wanted.needed))


def plain_order(header: Sequence[str], wanted: Wanted, columns: Columns = None) -> tuple[str, ...]:
    """TREC's order of columns, for a file that has as many and no header."""
    plain = columns is None and len(header) == len(wanted.plain)
    return wanted.plain if plain and not _is_header(header, wanted) else ()


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


def _plain(source: Source, kind: str, wanted: Wanted, order: Sequence[str]) -> Table:
    names = [name if name != "_" else f"_{at}" for at, name in enumerate(order)]
    place, frame = read_text(source, kind, names)
    _refuse_short_lines(place, frame)
    return Table(place, frame, {name: name for name in names if name in wanted.names})


def _refuse_short_lines(place: Place, frame: pl.DataFrame) -> None:
    last = frame.to_series(-1)
    if last.null_count():
        row = int(np.argmax(last.is_null().to_numpy()))
        here = sum(value is not None for value in frame.row(row))
        message = f"{here} columns where {frame.width} were expected; mend the line"
        raise place.error(message, row)


def _named(
    place: Place, frame: pl.DataFrame | pl.LazyFrame, wanted: Wanted, columns: Columns
) -> Table:
    """The table with our names for its columns."""
    import polars as pl

    names = list(frame.collect_schema())
    found = recognised(names, wanted.names) | _mapping(columns, wanted)
    for name, theirs in found.items():
        if theirs not in names:
            raise place.error(f"no column {theirs!r} for {name}; there are: {' '.join(names)}")
    missing = [name for name in wanted.needed if name not in found]
    if missing:
        raise _missing(place, names, missing)
    if not place.rows:
        raise place.error("there is a header but no row")
    rest = [name for name in names if name not in {*found, *found.values()}]
    others = {name: name for name in rest if wanted.others and re.fullmatch(wanted.others, name)}
    if isinstance(frame, pl.DataFrame):
        frame = frame.select(as_text(frame[name]) for name in {*found.values(), *others})
    return Table(place, frame, found | others)


def _missing(place: Place, names: Sequence[str], missing: Sequence[str]) -> FormatError:
    known = "; ".join(
        f"{name} may be called {', '.join(SYNONYMS[name].split()[:6])}" for name in missing
    )
    return place.error(
        f"no column for {' and '.join(missing)} among: {' '.join(names)}; {known}; "
        f"or say which it is: --columns {missing[0]}=NAME"
    )


def _unclear(source: Source, wanted: Wanted, header: Sequence[str]) -> FormatError:
    trec = f"TREC's {len(wanted.plain)} columns ({' '.join(wanted.plain)}), "
    return FormatError(
        f"{len(header)} columns and no header that is known; {wanted.what} need "
        f"{trec if wanted.plain else ''}a header with {' '.join(wanted.needed)}, or "
        f"--columns (e.g. --columns {','.join(wanted.needed)})",
        file=source.name,
        line=1,
    )
