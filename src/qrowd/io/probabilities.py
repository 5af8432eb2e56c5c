"""Probabilities of grades from files: `topic doc grade given p(0) p(1) ...`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.index import Index, Pairs
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.qrels import Qrels
from qrowd.data.scale import Scale
from qrowd.errors import FormatError, InputError
from qrowd.io.coding import encoded
from qrowd.io.columns import Wanted, tables
from qrowd.io.qrels import qrels_of
from qrowd.io.table import Table, numbers, place, whole_numbers

_P = re.compile(r"p\((-?\d+)\)")
WANTED = Wanted(
    "probabilities", needed=("topic", "doc"), optional=("grade", "given"), others=_P.pattern
)
LABELS = Wanted(
    "labels",
    needed=("topic", "doc"),
    optional=("assessor", "grade", "given"),
    plain=("topic", "assessor", "doc", "grade"),
    others=_P.pattern,
)


def read_probabilities(
    source: str | Path | Any, *, format: str | None = None, relevant_from: int = 1
) -> Merged:
    """What `save` wrote of a `Merged`: the posterior of each pair, and which pairs were given.

    The assessors' table is empty; `grades()` gives the grades of the file.
    """
    (table,) = tables(source, WANTED, None, format)
    return _of_table(table, relevant_from)


def read_labels(source: str | Path | Any, *, format: str | None = None) -> Merged | Qrels:
    """Merged labels from a file of probabilities, or of qrels: whichever it is."""
    (table,) = tables(source, LABELS, None, format)
    if any(_P.fullmatch(name) for name in table.frame.columns):
        return _of_table(table, 1)
    if "grade" not in table.frame.columns:
        raise table.error("neither grades nor columns p(0) p(1) ...: these are no labels")
    return qrels_of([table])


def _of_table(table: Table, relevant_from: int) -> Merged:
    import polars as pl

    grades = sorted(int(m[1]) for name in table.frame.columns if (m := _P.fullmatch(name)))
    if len(grades) < 2:
        raise FormatError("no columns p(0) p(1) ...: not a file of probabilities", file=table.name)
    posterior = np.stack([numbers(table, f"p({grade})") for grade in grades], axis=1)
    topics, documents = (encoded(table.frame[c].cast(pl.String)) for c in ("topic", "doc"))
    pairs, pair = Pairs.from_codes(topics[0], documents[0], topics[1], documents[1])
    if len(pairs) < len(pair):
        raise FormatError("a pair appears twice; keep one of its rows", file=table.name)
    order = np.argsort(pair)
    try:
        return _merged(table, pairs, Scale(tuple(grades), relevant_from), posterior[order], order)
    except InputError as error:
        raise place(error, [table]) from None


def _merged(table: Table, pairs: Pairs, scale: Scale, posterior: Any, order: Any) -> Merged:
    empty = AssessorTable(Index.of([]))
    given = np.zeros(len(pairs), np.bool_)
    if "given" in table.frame.columns:
        given = whole_numbers(table, "given")[order] > 0
    decided = None
    if "grade" in table.frame.columns:
        decided = whole_numbers(table, "grade")[order].astype(np.int8)
    return Merged(pairs, scale, posterior, empty, Fit(table.name), given, decided=decided)
