"""Orders from files and frames, and back: places in ballots, or preferences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, refuse_rows
from qrowd.data.index import Index
from qrowd.data.orders import Orders
from qrowd.errors import FormatError, InputError
from qrowd.io.columns import Columns, Reading, Wanted, tables
from qrowd.io.origin import located, say
from qrowd.io.source import opened
from qrowd.io.table import Table, coded, encoded, extras, stacked

if TYPE_CHECKING:
    import polars as pl

EXTRAS = ("time", "seconds", "weight")
PLACES = Wanted(
    "orders",
    needed=("topic", "doc", "assessor", "place"),
    optional=("set", "chosen", "rest", *EXTRAS),
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
_NEITHER = ("tie", "tied", "draw", "both", "neither", "equal", "tie (bothbad)")


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
    `rank`) and optionally `set time seconds weight rest`: the rows of one assessor and set, without
    a set those of one assessor and topic, are a ballot. Or preferences: `topic better worse
    assessor`, and optionally `tied time seconds weight`. Or as arenas write them: `left right
    winner`, the winner being one of the two, `left`, `right`, `model_a`, `model_b` or `tie`, and
    optionally `topic assessor time seconds weight` (without a topic all are of one). Or choices of
    the best: `topic doc assessor chosen`, 1 for the document that was chosen and 0 for the others
    of the `set`, which are its rest. Of a table of judgements that has ranks, the rows with one.
    """
    source = opened(source)
    first = source[0] if isinstance(source, list | tuple) else source
    table = tables(first, _EITHER, Reading(columns, format))[0]
    wanted = PREFERENCES if "better" in table or "worse" in table else PLACES
    if "left" in table and "right" in table:
        wanted = ARENA
    parts = tables(source, wanted, Reading(columns, format))
    if wanted is ARENA:
        parts = _with_winner(parts)
    with located([table.origin for table in parts]):
        if wanted is ARENA:
            return _arena(parts)
        return _preferences(parts) if "better" in parts[0] else _ballots(parts)


def _ballots(parts: list[Table]) -> Orders:
    import polars as pl

    columns = [_places(table) for table in parts]
    places, rest = (np.concatenate(each) for each in zip(*columns, strict=True))
    ranked = ~np.isnan(places)
    indexes, codes = coded(parts, "topic", "doc", "assessor", only=pl.Series(ranked))
    sets = encoded(pl.concat([_sets(table) for table in parts]).filter(pl.Series(ranked)))
    further = {name: column[ranked] for name, column in extras(parts, EXTRAS).items()}
    if rest.any():
        further["rest"] = rest[ranked]
    try:
        return Orders.from_codes(indexes, codes, places[ranked], sets, further)
    except InputError as error:  # which counts the rows with a place
        row = int(np.flatnonzero(ranked)[error.row]) if error.row >= 0 else -1
        raise InputError(error.message, row=row) from None


def _places(table: Table) -> tuple[Array, Array]:
    """The place of each row, and 1 where it is of a ballot with a rest. Of choices, what was chosen
    has the first place, and all else is the rest.
    """
    if "place" in table:
        rest = _yes_or_no(table, "rest") if "rest" in table else np.zeros(len(table))
        return table.numbers("place"), rest
    chosen = _yes_or_no(table, "chosen")
    return 2 - chosen, 1 - chosen


def _yes_or_no(table: Table, role: str) -> Array:
    values = table.numbers(role)
    wrong = (values != 0) & (values != 1)
    refuse_rows(wrong, lambda row: f"{role} must be 0 or 1, got {values[row]:g}")
    return values


def _with_winner(parts: list[Table]) -> list[Table]:
    """Without the rows where nobody said who won: that is no tie."""
    import polars as pl

    kept = []
    for table in parts:
        won = table.column("won", filled=False).cast(pl.String).str.strip_chars()
        rows = (won.fill_null("") != "").arg_true().to_numpy()
        kept.append(table if len(rows) == len(table) else table.of_rows(rows))
    left_out = sum(map(len, parts)) - sum(map(len, kept))
    if left_out == sum(map(len, parts)):
        raise FormatError("no row has a winner", file=parts[0].origin.name)
    if left_out:
        have, count = ("rows have", "count") if left_out > 1 else ("row has", "counts")
        say(f"{parts[0].origin.name}: {left_out} {have} no winner and {count} for nothing")
    return kept


def _arena(parts: list[Table]) -> Orders:
    """Who won, left or right; a column that is not there is the same everywhere."""
    import polars as pl

    documents, document = encoded(pl.concat([stacked(parts, "left"), stacked(parts, "right")]))
    left, right = np.split(document, 2)
    won = pl.concat([table.column("won", filled=False).cast(pl.String) for table in parts])
    words, said = encoded(won)
    plain = [word.strip().lower() for word in words.names.tolist()]
    known = np.array([_SIDES.get(word, -1 if word in _NEITHER else -2) for word in plain])
    named = documents.find(words)[said]  # the winner's name comes before what it may mean
    side = np.where(named == left, 0, np.where(named == right, 1, known[said]))
    refuse_rows(
        side == -2,
        lambda row: (
            f"the winner must be {documents.names[left[row]]}, {documents.names[right[row]]} or "
            f"tie, got {words.names[said[row]]!r}"
        ),
    )
    shared = [
        encoded(stacked(parts, role))
        if all(role in table for table in parts)
        else (Index.of(["arena"]), np.zeros(len(left), np.int32))
        for role in ("topic", "assessor")
    ]
    (topics, topic), (assessors, assessor) = shared
    better, worse = np.where(side == 1, right, left), np.where(side == 1, left, right)
    further = {**extras(parts, EXTRAS), "left": (side != 1).astype(np.float64)}
    codes = (topic, better, worse, assessor)
    return Orders.from_couples((topics, documents, assessors), codes, side == -1, further)


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
    return np.asarray(np.concatenate([_yes_or_no(table, "tied") for table in parts]) == 1)


# --- writing --------------------------------------------------------------------------------------


def frame_of(orders: Orders, name: str) -> pl.DataFrame:
    """The table that is written: preferences where all ballots are, else places."""
    if orders.preferences and len(orders) and orders.rest is None:
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
    further = [first[name] for name in EXTRAS if name in rows.columns]
    if orders.left is not None and not np.isnan(orders.left).any():  # as arenas write them
        sides = pl.Series(orders.left == 1)
        winner = pl.Series(tied).replace_strict({True: "tie", False: None}, return_dtype=pl.String)
        return pl.DataFrame(
            [
                first["topic"],
                first["doc"].zip_with(sides, second["doc"]).alias("left"),
                second["doc"].zip_with(sides, first["doc"]).alias("right"),
                winner.fill_null(first["doc"]).alias("winner"),
                first["assessor"],
                *further,
            ]
        )
    return pl.DataFrame(
        [
            first["topic"],
            first["doc"].alias("better"),
            second["doc"].alias("worse"),
            first["assessor"],
            *([pl.Series("tied", tied.astype(np.int8))] if tied.any() else []),
            *further,
        ]
    )
