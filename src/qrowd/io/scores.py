"""Scores from files and frames: `run topic measure value`, before it `assessor` or `draw`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.index import Index
from qrowd.data.scores import ALL, Scores
from qrowd.errors import FormatError
from qrowd.io.coding import encoded
from qrowd.io.columns import Wanted, tables
from qrowd.io.table import numbers

if TYPE_CHECKING:
    import polars as pl

AXES = ("assessor", "draw")
WANTED = Wanted(
    "scores", needed=("run", "topic", "measure", "value"), optional=AXES, blank=("value",)
)


def read_scores(source: str | Path | Any, *, format: str | None = None) -> Scores:
    """Scores as `save` wrote them; rows of the topic `all` are left out and computed anew."""
    import polars as pl

    (table,) = tables(source, WANTED, None, format)
    values = numbers(table, "value")
    frame = table.frame.with_columns(pl.Series("value", values, dtype=pl.Float64))
    frame = frame.filter(pl.col("topic").cast(pl.String) != ALL)
    axis = next((name for name in AXES if name in frame.columns), "")
    if not axis:
        frame = frame.with_columns(pl.lit("-").alias("-"))
    measures = tuple(frame["measure"].cast(pl.String).unique(maintain_order=True).to_list())
    return _dense(table.name, frame, measures, axis)


def _dense(name: str, frame: pl.DataFrame, measures: tuple[str, ...], axis: str) -> Scores:
    import polars as pl

    columns, topics, runs = (
        encoded(frame[column].cast(pl.String)) for column in (axis or "-", "topic", "run")
    )
    found, code = encoded(frame["measure"].cast(pl.String))
    measure = Index.codes(found, measures).argsort()[code] if len(code) else code
    indexes = (columns[0], topics[0], runs[0])
    values = np.full((len(measures), *map(len, indexes)), np.nan)
    where = (measure, columns[1], topics[1], runs[1])
    if len(np.unique(np.ravel_multi_index(where, values.shape))) < len(code):
        message = "a run has two values for one topic and measure; keep one of them"
        raise FormatError(message, file=name)
    values[where] = frame["value"].to_numpy()
    return Scores(measures, axis, *indexes, values)
