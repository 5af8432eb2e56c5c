"""Qrels from files and frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.index import Pairs
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.io.columns import Columns, Wanted, tables
from qrowd.io.encoding import encoded
from qrowd.io.names import say_what_is_odd
from qrowd.io.place import placed
from qrowd.io.table import Table, stacked, whole_numbers
from qrowd.io.words import Words

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
    grades: Words = None,
) -> Qrels:
    """Qrels (gold) from TREC's four columns, a table with a header, or a data frame.

    The second column of TREC's form is ignored. A pair may repeat only with the same grade.
    """
    return qrels_of(tables(source, WANTED, columns, format, grades))


def qrels_of(found: Sequence[Table]) -> Qrels:
    """Qrels from tables with `topic doc grade`."""
    grades = np.concatenate([whole_numbers(table, "grade") for table in found])
    (topics, topic), (documents, document) = (
        encoded(stacked(found, name)) for name in ("topic", "doc")
    )
    say_what_is_odd(found[0].place.name, topics=topics, documents=documents)
    try:
        return Qrels.from_codes((topics, documents), (topic, document), grades)
    except InputError as error:
        raise placed(error, [table.place for table in found]) from None


def read_pairs(source: str | Path | Sequence[str | Path] | Any) -> Pairs:
    """The pairs of a pool: of qrels, or of a table with `topic` and `doc`."""
    found = tables(source, PAIRS, None, None)
    (topics, topic), (documents, document) = (
        encoded(stacked(found, name)) for name in ("topic", "doc")
    )
    return Pairs.from_codes(topics, documents, topic, document)[0]
