"""Samples of pairs with human labels, from files and frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.qrels import Qrels
from qrowd.data.sample import BY, Sample
from qrowd.errors import InputError
from qrowd.io.columns import Columns, Wanted, tables
from qrowd.io.encoding import encoded
from qrowd.io.place import placed
from qrowd.io.table import Table, as_names, numbers, whole_numbers
from qrowd.io.words import Words

WANTED = Wanted(
    "human labels",
    needed=("topic", "doc", "grade"),
    optional=("assessor", "probability", "by"),
    plain=("topic", "assessor", "doc", "grade"),
)


def read_sample(
    source: str | Path | Any, *, columns: Columns = None, grades: Words = None
) -> Sample | Qrels:
    """Human labels: with a column `probability` a `Sample`, else plain qrels.

    The file is one that `qrowd sample` wrote, with the human's `grade` added to each row.
    """
    (table,) = tables(source, WANTED, columns, None, grades)
    (topics, topic), (documents, document) = (
        encoded(as_names(table.column(name))) for name in ("topic", "doc")
    )
    chance = numbers(table, "probability") if "probability" in table else None
    by = _by(table) if "by" in table else "random"
    try:
        values = whole_numbers(table, "grade")
        qrels = Qrels.from_codes((topics, documents), (topic, document), values)
        if chance is None:
            return qrels
        if len(qrels) < len(values):
            raise InputError("a pair appears twice; keep one row of each")
        order = np.lexsort((document, topic))
        return Sample(qrels.pairs, np.nan_to_num(chance[order]), by, qrels.grade)
    except InputError as error:
        raise placed(error, [table.place]) from None


def _by(table: Table) -> str:
    """How all of the pairs were chosen."""
    found = as_names(table.column("by")).unique().to_list()
    if len(found) > 1 or found[0] not in BY:
        raise table.place.error(
            f"column by must hold one of {', '.join(BY)}, the same in all rows; "
            f"got {', '.join(sorted(found)[:4])}"
        )
    return str(found[0])
