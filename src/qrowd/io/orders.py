"""Orders from files and frames, and back: places in ballots, or preferences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, refuse_rows
from qrowd.data.orders import Orders
from qrowd.errors import InputError
from qrowd.io.columns import Columns, Reading, Wanted, tables
from qrowd.io.origin import located
from qrowd.io.source import opened
from qrowd.io.table import Table, coded, encoded, extras, stacked

if TYPE_CHECKING:
    import polars as pl

EXTRAS = ("time", "seconds")
PLACES = Wanted(
    "orders",
    needed=("topic", "doc", "assessor", "place"),
    optional=("set", "chosen", *EXTRAS),
    instead={"place": ("chosen",)},
)
PREFERENCES = Wanted(
    "preferences",
    needed=("topic", "better", "worse", "assessor"),
    optional=("tied", *EXTRAS),
    plain=("topic", "better", "worse", "assessor"),
)
ARENA = Wanted(
    "preferences",
    needed=("left", "right", "won"),
    optional=("topic", "assessor", *EXTRAS),
)
_SIDES = {"left": 0, "model_a": 0, "a": 0, "right": 1, "model_b": 1, "b": 1}
_NEITHER = ("", "tie", "tied", "draw", "both", "neither", "equal", "tie (bothbad)")


# the first file is looked at: it says which of the two forms all have
_EITHER = Wanted(
    "orders", needed=(), optional=(*PLACES.names, "better", "worse", "tied", "left", "right", "won")
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
    optionally `tied time seconds`. Or as arenas write them: `left right winner`, the winner being
    one of the two, `left`, `right`, `model_a`, `model_b` or `tie`, and optionally `topic assessor`
    (without a topic all are of one). Or choices of the best: `topic doc assessor chosen`, 1 for the
    document that was chosen and 0 for the others of the `set`. Of a table of judgements that has
    ranks, the rows with one.
    """
    source = opened(source)
    first = source[0] if isinstance(source, list | tuple) else source
    table = tables(first, _EITHER, Reading(columns, format))[0]
    wanted = PREFERENCES if "better" in table or "worse" in table else PLACES
    if "left" in table and "right" in table:
        wanted = ARENA
    parts = tables(source, wanted, Reading(columns, format))
    with located([table.origin for table in parts]):
        if wanted is ARENA:
            return _arena(parts)
        return _preferences(parts) if "better" in parts[0] else _ballots(parts)


def _ballots(parts: list[Table]) -> Orders:
    import polars as pl

    places = np.concatenate(
        [table.numbers("place") if "place" in table else _chosen(table) for table in parts]
    )
    ranked = ~np.isnan(places)
    indexes, codes = coded(parts, "topic", "doc", "assessor", only=pl.Series(ranked))
    sets = encoded(pl.concat([_sets(table) for table in parts]).filter(pl.Series(ranked)))
    further = {name: column[ranked] for name, column in extras(parts, EXTRAS).items()}
    try:
        return Orders.from_codes(indexes, codes, places[ranked], sets, further)
    except InputError as error:  # which counts the rows with a place
        row = int(np.flatnonzero(ranked)[error.row]) if error.row >= 0 else -1
        raise InputError(error.message, row=row) from None


def _chosen(table: Table) -> Array:
    """The first place for what was chosen, the second for all else."""
    chosen = table.numbers("chosen")
    refuse_rows((chosen != 0) & (chosen != 1), lambda row: f"chosen is 0 or 1, got {chosen[row]:g}")
    return np.asarray(2 - chosen)


def _arena(parts: list[Table]) -> Orders:
    """Who won, left or right; a column that is not there is the same everywhere."""
    import polars as pl

    both = pl.concat([stacked(parts, "left"), stacked(parts, "right")])
    left, right = np.split(np.array(both.to_list(), object), 2)
    won = pl.concat([table.column("won", filled=False).cast(pl.String) for table in parts])
    side = np.empty(len(left), np.int64)
    for row, word in enumerate(won.fill_null("").to_list()):
        if word in (left[row], right[row]):
            side[row] = int(word == right[row])
        elif word.strip().lower() in _NEITHER:
            side[row] = -1
        elif word.strip().lower() in _SIDES:
            side[row] = _SIDES[word.strip().lower()]
        else:
            raise InputError(f"the winner must be {left[row]}, {right[row]} or tie", row=row)
    further = [
        stacked(parts, name).to_list()
        if all(name in table for table in parts)
        else [usual] * len(left)
        for name, usual in (("topic", "arena"), ("assessor", "arena"))
    ]
    swapped = side == 1
    better, worse = np.where(swapped, right, left), np.where(swapped, left, right)
    return Orders.of_preferences(further[0], better, worse, further[1], tied=side < 0)


def _sets(table: Table) -> pl.Series:
    import polars as pl

    if "set" in table:
        return table.column("set", filled=False).cast(pl.String).fill_null("")
    return pl.repeat("", len(table), dtype=pl.String, eager=True)


def _preferences(parts: list[Table]) -> Orders:
    import polars as pl

    (topics, assessors), (topic, assessor) = coded(parts, "topic", "assessor")
    both = pl.concat([stacked(parts, "better"), stacked(parts, "worse")])
    documents, document = encoded(both)
    better, worse = np.split(document, 2)
    codes = (topic, better, worse, assessor)
    indexes = (topics, documents, assessors)
    return Orders.from_couples(indexes, codes, _tied(parts), extras(parts, EXTRAS))


def _tied(parts: list[Table]) -> Array | None:
    if not all("tied" in table for table in parts):
        return None
    values = np.concatenate([table.numbers("tied") for table in parts])
    wrong = (values != 0) & (values != 1)
    refuse_rows(wrong, lambda row: f"tied must be 0 or 1, got {values[row]:g}")
    return np.asarray(values == 1)


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
    tied = orders.place[1::2] == 1
    return pl.DataFrame(
        [
            first["topic"],
            first["doc"].alias("better"),
            second["doc"].alias("worse"),
            first["assessor"],
            *([pl.Series("tied", tied.astype(np.int8))] if tied.any() else []),
            *(first[name] for name in EXTRAS if name in rows.columns),
        ]
    )
