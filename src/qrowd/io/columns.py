"""From a file, or an object, to a `Table` with the columns that a noun wants, under our names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qrowd.errors import FormatError, UsageError
from qrowd.io.formats import format_of
from qrowd.io.nested import names_files, of_object
from qrowd.io.origin import Origin, say
from qrowd.io.roles import SYNONYMS, candidates, recognised
from qrowd.io.source import PROVENANCE, Source, sources
from qrowd.io.table import Table, Words, meaning, with_meaning
from qrowd.kernel import in_blocks

if TYPE_CHECKING:
    import polars as pl

Columns = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Wanted:
    """What a noun wants of a table: columns it needs, may have, and TREC's order of them."""

    noun: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    others: str = ""  # a pattern of further columns that are kept

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.needed, *self.optional)


def tables(
    source: Any,
    wanted: Wanted,
    columns: Columns = None,
    format: str | None = None,
    grades: Words = None,
) -> list[Table]:
    """The tables of an object, or of all files meant by a path, a folder, a glob, `-`."""
    words = meaning(grades)
    if names_files(source):
        files = sources(source)

        def work(lo: int, hi: int) -> list[Table]:
            return [_of_file(file, wanted, columns, format) for file in files[lo:hi]]

        read = [table for block in in_blocks(work, len(files), len(files)) for table in block]
    else:
        read = [_by_names(*of_object(source, wanted.noun), wanted, columns)]
    for note in dict.fromkeys(note for table in read for note in table.notes):
        say(note)
    return [with_meaning(table, words) for table in read]


def _of_file(source: Source, wanted: Wanted, columns: Columns, format: str | None) -> Table:
    if source.name.endswith(PROVENANCE):
        raise source.error("this says where labels come from; name the labels themselves")
    form = format_of(source, format)
    if form.headed:
        return _by_names(*form.read(source), wanted, columns)
    first = form.fields(source)
    is_header = len(recognised(first, wanted.names)) >= min(2, len(wanted.needed))
    order = _positions(columns, wanted)
    if columns is None and not is_header:
        if len(first) != len(wanted.plain):
            trec = f"TREC's {len(wanted.plain)} columns ({' '.join(wanted.plain)}), "
            raise source.error(
                f"{len(first)} columns and no header that is known; {wanted.noun} need "
                f"{trec if wanted.plain else ''}a header with {' '.join(wanted.needed)}, or "
                f"--columns (e.g. --columns {','.join(wanted.needed)})",
                line=1,
            )
        order = wanted.plain
    if not order:
        return _by_names(*form.read(source), wanted, columns)
    names = [name if name in wanted.names else f"_{at}" for at, name in enumerate(order)]
    origin, frame = form.read(source, names)
    kept = [name for name in names if name in wanted.names]
    table = Table(origin, _collected(origin, frame, kept), {name: name for name in kept})
    return _with_note(table) if form.name == "csv" and columns is None else table


def _with_note(table: Table) -> Table:
    """With a word about four columns of CSV, whose order is anybody's guess."""
    if "assessor" not in table:
        return table
    second = table.frame["assessor"].unique().to_list()
    if len(second) == 1 and second[0] in ("0", "Q0"):  # these are qrels
        return table
    note = (
        f"{table.origin.name}: no header; read as topic, assessor, doc, grade (TREC's order); if "
        "that is wrong, say the order: --columns topic,doc,assessor,grade"
    )
    return replace(table, notes=(note,))


def _by_names(
    origin: Origin, frame: pl.DataFrame | pl.LazyFrame, wanted: Wanted, columns: Columns
) -> Table:
    """The table with our names for its columns: as stated, else by their names."""
    names = list(frame.collect_schema())
    stated = _mapping(columns, wanted)
    ours = stated or recognised(names, wanted.names)
    for name, theirs in ours.items():
        if theirs not in names:
            raise origin.error(f"no column {theirs!r} for {name}; there are: {_listed(names)}")
    missing = [name for name in wanted.needed if name not in ours]
    if missing:
        raise origin.error(_missing(names, missing, stated, wanted))
    if not origin.rows:
        raise origin.error("there is a header but no row")
    rest = [name for name in names if name not in {*ours, *ours.values()}]
    others = {name: name for name in rest if wanted.others and re.fullmatch(wanted.others, name)}
    kept = list(dict.fromkeys((*ours.values(), *others)))
    notes = () if stated else _two_for_one(origin, names, wanted)
    return Table(origin, _collected(origin, frame, kept), ours | others, notes)


def _collected(
    origin: Origin, frame: pl.DataFrame | pl.LazyFrame, names: Sequence[str]
) -> pl.DataFrame:
    """These columns of a frame, read if they are not yet, as numbers and text."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        try:
            frame = frame.select(names).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            message = "the file is damaged in the middle; fetch or make it again"
            raise FormatError(message, file=origin.name) from None
    return pl.DataFrame([_plain(origin, frame[name]) for name in names])


def _plain(origin: Origin, column: pl.Series) -> pl.Series:
    """Numbers and text as they are, times as seconds, everything else as text."""
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind == pl.String:
        return column
    if kind.is_nested() or kind == pl.Object:
        held = "lists" if isinstance(kind, pl.List | pl.Array) else "objects"
        raise origin.error(f"the column {column.name!r} holds {held}; it must be text or numbers")
    if kind == pl.Datetime or kind == pl.Date:
        return column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    if kind == pl.Duration:
        return column.dt.total_microseconds() / 1e6
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        message = f"the column {column.name!r} holds bytes that are no text"
        raise origin.error(message) from None


# --- what the user said of the columns ------------------------------------------------------------


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


def _mapping(columns: Columns, wanted: Wanted) -> dict[str, str]:
    """`topic=query,grade=stars` as a mapping."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        named = list(columns.items())
    else:
        parts = columns.split(",") if isinstance(columns, str) else columns
        if not all("=" in part for part in parts):
            raise UsageError(
                "columns of a file with a header are stated as topic=NAME,doc=NAME,..."
            )
        split = (part.strip().split("=", 1) for part in parts)
        named = [(name.strip(), theirs.strip()) for name, theirs in split]
    _check_names([name for name, _ in named], wanted)
    return dict(named)


def _check_names(names: Sequence[str], wanted: Wanted) -> None:
    for name in names:
        if name not in wanted.names:
            allowed = " ".join(wanted.names)
            raise UsageError(f"columns must be among {allowed} (_ skips one), got {name!r}")
    if len(set(names)) < len(names):
        raise UsageError(f"columns name one twice: {' '.join(names)}")


# --- what to tell the user ------------------------------------------------------------------------


def _two_for_one(origin: Origin, names: Sequence[str], wanted: Wanted) -> tuple[str, ...]:
    """What to say of columns that mean the same."""
    return tuple(
        f"{origin.name}: {' and '.join(each)} may all be the {role}; {each[0]} is used; to choose, "
        f"name the columns: --columns {role}={each[1]},..."
        for role, each in candidates(names, wanted.names).items()
        if len(each) > 1
    )


def _missing(
    names: Sequence[str], missing: Sequence[str], stated: Mapping[str, str], wanted: Wanted
) -> str:
    ours = recognised(names, wanted.needed) | dict(stated)
    listed = ",".join(f"{name}={ours.get(name, 'NAME')}" for name in wanted.needed)
    if stated:
        return (
            f"--columns names no {' and no '.join(missing)}; name every column that is to be read: "
            f"--columns {listed}; there are: {_listed(names)}"
        )
    called = "; ".join(
        f"{name} may be called {', '.join(SYNONYMS[name].split()[:6])}" for name in missing
    )
    return (
        f"no column for {' and '.join(missing)} among: {_listed(names)}; {called}; or say what the "
        f"columns are: --columns {listed}"
    )


def _listed(names: Sequence[str]) -> str:
    """The names of columns, not more than fit a message."""
    shown = " ".join(name if len(name) < 40 else f"{name[:37]}..." for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")
