"""Qrels from files and frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.index import Pairs
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.io.coding import encoded
from qrowd.io.columns import Columns, Wanted, tables
from qrowd.io.table import Table, place, whole_numbers

WANTED = Wanted(
    "qrels",
    needed=("topic", "doc", "grade"),
    optional=("assessor",),
    plain=("topic", "assessor", "doc", "grade"),
)

PAIRS = Wanted(
    "pairs",
    needed=("topic", "doc"),
    optional=("assessor", "grade"),
    plain=("topic", "assessor", "doc", "grade"),
)


def read_qrels(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    columns: Columns = None,
    format: str | None = None,
) -> Qrels:
    """Qrels (gold) from TREC's four columns, a table with a header, or a data frame.

    The second column of TREC's form is ignored. A pair may repeat only with the same grade.
    """
    return qrels_of(tables(source, WANTED, columns, format))


def qrels_of(found: Sequence[Table]) -> Qrels:
    """Qrels from tables with `topic doc grade`."""
    import polars as pl

    grades = np.concatenate([whole_numbers(table, "grade") for table in found])
    frame = pl.concat(
        [table.frame.select("topic", "doc") for table in found], how="vertical_relaxed"
    )
    topics, documents = (encoded(frame[name].cast(pl.String)) for name in ("topic", "doc"))
    try:
        return Qrels.from_codes((topics[0], documents[0]), (topics[1], documents[1]), grades)
    except InputError as error:
        raise place(error, found) from None


def read_pairs(source: str | Path | Sequence[str | Path] | Any) -> Pairs:
    """The pairs of a pool: of qrels, or of a table with `topic` and `doc`."""
    import polars as pl

    found = tables(source, PAIRS, None, None)
    frame = pl.concat([table.frame.select("topic", "doc") for table in found], how="vertical")
    (topics, topic), (documents, document) = (encoded(frame[name]) for name in ("topic", "doc"))
    return Pairs.from_codes(topics, documents, topic, document)[0]
