"""Orders from files and frames, and back: places in ballots, or preferences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, Codes
from qrowd.data.index import Index
from qrowd.data.orders import Orders
from qrowd.errors import InputError
from qrowd.io.columns import Columns, Wanted, tables
from qrowd.io.names import encoded
from qrowd.io.origin import located
from qrowd.io.roles import recognised
from qrowd.io.source import opened
from qrowd.io.table import Table, as_names, numbers
from qrowd.io.values import times

if TYPE_CHECKING:
    import polars as pl

EXTRAS = ("time", "seconds")
PLACES = Wanted("orders", needed=("topic", "doc", "assessor", "place"), optional=("set", *EXTRAS))
PREFERENCES = Wanted(
    "preferences",
    needed=("topic", "better", "worse", "assessor"),
    optional=("tied", *EXTRAS),
    plain=("topic", "better", "worse", "assessor"),
)


def matches(names: Sequence[str]) -> bool:
    """Whether a header is that of orders."""
    return any(
        len(recognised(names, wanted.needed)) == len(wanted.needed)
        for wanted in (PLACES, PREFERENCES)
    )


def read_orders(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    columns: Columns = None,
    format: str | None = None,
) -> Orders:
    """Orders from a file, a folder, a glob, `-` (stdin), several of these, or a data frame.

    A table with `topic doc assessor place` (place 1 is best, equal places are tied; also called
    `rank`) and optionally `set time seconds`: the rows of one assessor and set, without a set those
    of one assessor and topic, are a ballot. Or preferences: `topic better worse assessor`, and
    optionally `tied time seconds`. Of a table of judgements that has ranks, the rows with one.
    """
    source = opened(source)
    found = tables(source, _wanted(source, columns, format), columns, format)
    with located([table.origin for table in found]):
        return _preferences(found) if "better" in found[0] else _ballots(found)


def _wanted(source: Any, columns: Columns, format: str | None) -> Wanted:
    """Which of the two forms the first file has."""
    wanted = Wanted("orders", needed=(), optional=(*PLACES.names, "better", "worse", "tied"))
    first = source[0] if isinstance(source, list | tuple) else source
    table = tables(first, wanted, columns, format)[0]
    return PREFERENCES if "better" in table or "worse" in table else PLACES


def _ballots(found: list[Table]) -> Orders:
    ranks = np.concatenate([numbers(table, "place") for table in found])
    kept = ~np.isnan(ranks)
    topics, documents, assessors = (_coded(found, name, kept) for name in PLACES.needed[:3])
    indexes = (topics[0], documents[0], assessors[0])
    codes = (topics[1], documents[1], assessors[1])
    sets = _sets(found, kept)
    extras = {name: each[kept] for name, each in _extras(found).items()}
    try:
        return Orders.from_codes(indexes, codes, ranks[kept], sets, extras)
    except InputError as error:
        row = int(np.flatnonzero(kept)[error.row]) if error.row >= 0 else -1
        raise InputError(error.message, row=row) from None


def _coded(found: list[Table], name: str, kept: Array) -> tuple[Index, Codes]:
    import polars as pl

    parts = [as_names(table.column(name)) for table in found]
    return encoded(pl.concat(parts).filter(pl.Series(kept)))


def _sets(found: list[Table], kept: Array) -> tuple[Index, Codes]:
    import polars as pl

    def column(table: Table) -> pl.Series:
        if "set" in table:
            return as_names(table.column("set", filled=False)).fill_null("")
        return pl.repeat("", len(table), dtype=pl.String, eager=True)

    return encoded(pl.concat([column(table) for table in found]).filter(pl.Series(kept)))


def _extras(found: list[Table]) -> dict[str, Array]:
    return {
        name: np.concatenate(
            [times(table) if name == "time" else numbers(table, name) for table in found]
        )
        for name in EXTRAS
        if all(name in table for table in found)
    }


def _preferences(found: list[Table]) -> Orders:
    import polars as pl

    n = sum(len(table) for table in found)
    every = np.ones(n, np.bool_)
    (topics, topic), (assessors, assessor) = (
        _coded(found, name, every) for name in ("topic", "assessor")
    )
    both = [as_names(table.column(name)) for name in ("better", "worse") for table in found]
    documents, document = encoded(pl.concat(both))
    codes = (topic, document[:n], document[n:], assessor)
    return Orders.from_couples((topics, documents, assessors), codes, _tied(found), _extras(found))


def _tied(found: list[Table]) -> Array | None:
    if not all("tied" in table for table in found):
        return None
    said = np.concatenate([numbers(table, "tied") for table in found])
    bad = (said != 0) & (said != 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"tied must be 0 or 1, got {said[row]:g}", row=row)
    return np.asarray(said == 1)


# --- writing --------------------------------------------------------------------------------------


def frame_of(orders: Orders, name: str) -> pl.DataFrame:
    """The table that is written: preferences where all ballots are, else places."""
    if orders.preferences and len(orders):
        return _as_preferences(orders)
    key = orders.assessor.astype(np.int64) * max(len(orders.topics), 1) + orders.topic
    unnamed = orders.set == ""
    if len(np.unique(key[unnamed])) < int(unnamed.sum()):
        message = "an assessor has several ballots of one topic without a set's name"
        raise InputError(f"{message}; name their sets", file=name)
    return orders.to_polars()


def _as_preferences(orders: Orders) -> pl.DataFrame:
    import polars as pl

    rows = orders.to_polars()
    first, second = rows.gather_every(2), rows.gather_every(2, 1)
    said = orders.place[1::2] == 1
    tied = [pl.Series("tied", said.astype(np.int8))] if said.any() else []
    extras = [name for name in EXTRAS if name in rows.columns]
    found = first.select("topic", pl.col("doc").alias("better"))
    found = found.with_columns(second["doc"].alias("worse"), first["assessor"])
    return found.with_columns(*tied, *(first[name] for name in extras))
