"""Probabilities of grades from files: `topic doc grade given p(0) p(1) ...`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.index import Index, Pairs
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.qrels import Qrels
from qrowd.data.scale import Scale
from qrowd.io.columns import Wanted, tables
from qrowd.io.encoding import encoded
from qrowd.io.qrels import qrels_of
from qrowd.io.table import Table, numbers, stacked, whole_numbers
from qrowd.io.words import Words

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


def read_labels(
    source: str | Path | Any, *, format: str | None = None, grades: Words = None
) -> Merged | Qrels:
    """Merged labels from a file of probabilities, or of qrels: whichever it is."""
    (table,) = tables(source, LABELS, None, format, grades)
    if any(_P.fullmatch(name) for name in table.columns):
        return _of_table(table, 1)
    if "grade" not in table:
        raise table.place.error("neither grades nor columns p(0) p(1) ...: these are no labels")
    return qrels_of([table])


def _of_table(table: Table, relevant_from: int) -> Merged:
    grades = sorted(int(found[1]) for name in table.columns if (found := _P.fullmatch(name)))
    if len(grades) < 2:
        raise table.place.error("no columns p(0) p(1) ...: not a file of probabilities")
    posterior = np.stack([numbers(table, f"p({grade})") for grade in grades], axis=1)
    _refuse_what_is_no_distribution(table, posterior)
    (topics, topic), (documents, document) = (
        encoded(stacked([table], name)) for name in ("topic", "doc")
    )
    pairs, pair = Pairs.from_codes(topics, documents, topic, document)
    if len(pairs) < len(pair):
        raise table.place.error("a pair appears twice; keep one of its rows")
    order = np.argsort(pair)
    given, decided = _numbers(table, "given"), _numbers(table, "grade")
    return Merged(
        pairs,
        Scale(tuple(grades), relevant_from),
        posterior[order],
        AssessorTable(Index.of([])),
        Fit(table.place.name),
        np.zeros(len(pairs), np.bool_) if given is None else given[order] > 0,
        decided=None if decided is None else decided[order],
    )


def _numbers(table: Table, name: str) -> Array | None:
    return whole_numbers(table, name) if name in table else None


def _refuse_what_is_no_distribution(table: Table, posterior: Array) -> None:
    bad = ~((posterior >= 0).all(axis=1) & (np.abs(posterior.sum(axis=1) - 1) < 1e-6))
    if bad.any():
        row = int(np.argmax(bad))
        shown = " ".join(f"{p:g}" for p in posterior[row])
        raise table.place.error(f"probabilities must be at least 0 and sum to 1, got {shown}", row)
