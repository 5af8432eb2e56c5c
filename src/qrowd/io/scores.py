"""Scores from files and frames: `run topic measure value`, before it `assessor` or `draw`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.index import Index
from qrowd.data.scores import ALL, MEAN, Scores
from qrowd.errors import InputError
from qrowd.io.columns import Wanted, tables
from qrowd.io.encoding import encoded
from qrowd.io.place import Place
from qrowd.io.table import Table, as_names, numbers

if TYPE_CHECKING:
    import polars as pl

AXES = ("assessor", "draw")
WANTED = Wanted("scores", needed=("run", "topic", "measure", "value"), optional=AXES)
CORRECTED = Wanted("scores", needed=("run", "measure", "value", "human_low"))


def read_scores(source: str | Path | Any, *, format: str | None = None) -> Scores:
    """Scores as `save` wrote them; rows of the topic `all` are left out and computed anew.

    Corrected scores have no column `topic`: they are means over topics already.
    """
    import polars as pl

    table = _table(source, format)
    axis = next((name for name in AXES if name in table), "")
    names = [name for name in ("measure", axis, "topic", "run") if name in table]
    frame = pl.DataFrame([as_names(table.column(name)) for name in names])
    if "topic" not in table:
        frame = frame.with_columns(pl.lit(MEAN).alias("topic"))
    frame = frame.with_columns(pl.Series("value", numbers(table, "value"), dtype=pl.Float64))
    frame = frame.filter(pl.col("topic") != ALL)
    if not frame.height:
        raise table.place.error(f"no topics, only {ALL!r}; scores need their topics")
    return _dense(table.place, frame, axis)


def _table(source: str | Path | Any, format: str | None) -> Table:
    """Scores by topic; or corrected ones, which have intervals instead."""
    try:
        (table,) = tables(source, WANTED, None, format)
    except InputError as error:
        try:
            (table,) = tables(source, CORRECTED, None, format)
        except InputError:
            raise error from None
    return table


def _dense(place: Place, frame: pl.DataFrame, axis: str) -> Scores:
    measures = tuple(frame["measure"].unique(maintain_order=True).to_list())
    sorted_measures, measure = encoded(frame["measure"])
    measure = np.argsort(sorted_measures.codes(measures)).astype(np.int32)[measure]
    columns, column = encoded(frame[axis]) if axis else (Index.of(["-"]), np.zeros_like(measure))
    topics, topic = encoded(frame["topic"])
    runs, run = encoded(frame["run"])
    values = np.full((len(measures), len(columns), len(topics), len(runs)), np.nan)
    where = (measure, column, topic, run)
    cells = np.ravel_multi_index(where, values.shape)
    if len(np.unique(cells)) < len(cells):
        raise place.error("a run has two values for one topic and measure; keep one of them")
    values[where] = frame["value"].to_numpy()
    return Scores(measures, axis, columns, topics, runs, values)
