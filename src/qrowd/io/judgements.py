"""Judgements, and tables of assessors, from files and frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array, Codes
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.scale import Scale
from qrowd.io.columns import Columns, Wanted, tables
from qrowd.io.names import encoded, say_what_is_odd
from qrowd.io.origin import Origin, located, say
from qrowd.io.roles import SYNONYMS
from qrowd.io.source import is_folder, stem
from qrowd.io.table import Table, as_names, numbers, stacked, whole_numbers
from qrowd.io.values import Words, times

if TYPE_CHECKING:
    import polars as pl


ONE_TOPIC = "tasks"
EXTRAS = ("weight", "seconds", "time")
WANTED = Wanted(
    "judgements",
    needed=("doc", "grade"),
    optional=("topic", "assessor", "rank", *EXTRAS),
    plain=("topic", "assessor", "doc", "grade"),
)


def read_judgements(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    columns: Columns = None,
    format: str | None = None,
    grades: Words = None,
    scale: Scale | None = None,
    relevant_from: int = 1,
) -> Judgements:
    """Judgements from a file, a folder, a glob, `-` (stdin), several of these, or a data frame.

    TSV, CSV, JSON lines, JSON or Parquet with a header (`topic doc assessor grade`, optionally
    `weight seconds time`; common synonyms are recognised, also crowd-kit's `task worker label`), or
    TREC's four columns `topic assessor doc grade` without one. In a folder of TREC qrels each file
    is one assessor, named after the file. `columns` states other headers (`"topic=q,grade=stars"`)
    or the order without a header (`"doc,assessor,_,grade"`). `scale` is that of the grades that
    occur, relevant from `relevant_from` on, if not given.
    """
    found = tables(source, WANTED, columns, format, grades)
    for table in found:
        if "rank" in table:
            say(f"{table.origin.name}: ranks are no part of judgements; read_orders reads them")
    values = np.concatenate([whole_numbers(table, "grade") for table in found])
    by_file = _named_by_file(found, several=len(found) > 1 or is_folder(source))
    coded = (_topics(found), encoded(stacked(found, "doc")), _assessors(found, by_file))
    (topics, topic), (documents, document), (assessors, assessor) = coded
    indexes, codes = (topics, documents, assessors), (topic, document, assessor)
    extras, origins = _extras(found), [table.origin for table in found]
    say_what_is_odd(_where(origins), topics=topics, documents=documents, assessors=assessors)
    scale = scale or Scale.of(values, relevant_from)
    with located(origins):
        made = Judgements.from_codes(indexes, codes, values, scale=scale, **extras)
    if not any("assessor" in table for table in found):
        _say_of_contradictions(made, _where(origins))
    return made


def _where(origins: Sequence[Origin]) -> str:
    return origins[0].name + (f" and {len(origins) - 1} more" if len(origins) > 1 else "")


def _say_of_contradictions(made: Judgements, where: str) -> None:
    """Of pairs with two grades by somebody whom no column names."""
    other = (np.diff(made.pair) == 0) & (np.diff(made.assessor) == 0) & (np.diff(made.grade) != 0)
    pairs = len(np.unique(made.pair[1:][other]))
    if pairs:
        first = made.pair[1:][other][0]
        topic, document = made.pairs.topic_names[first], made.pairs.document_names[first]
        have = "pairs have" if pairs > 1 else "pair has"
        say(
            f"{where}: {pairs} {have} two grades (topic {topic} document {document}), and there is "
            "no column for the assessor: all are taken as one assessor's; if a column says who "
            "judged, name it: --columns assessor=NAME,..."
        )


def _extras(found: list[Table]) -> dict[str, Array]:
    """Weights, seconds and times, where all files have them."""
    return {
        name: np.concatenate(
            [times(table) if name == "time" else numbers(table, name) for table in found]
        )
        for name in EXTRAS
        if all(name in table for table in found)
    }


def _topics(found: list[Table]) -> tuple[Index, Codes]:
    import polars as pl

    if not any("topic" in table for table in found):
        return Index.of([ONE_TOPIC]), np.zeros(sum(map(len, found)), np.int32)
    parts = (
        as_names(table.take("topic")) if "topic" in table else _repeated(ONE_TOPIC, table)
        for table in found
    )
    return encoded(pl.concat(parts))


def _named_by_file(found: list[Table], several: bool) -> list[bool]:
    """Whether the assessor is the file's name: where there is no column, or where it says the same
    in all of several files, as the second column of qrels does (0, Q0).
    """
    said: set[str] = set()
    for table in found:
        if "assessor" in table and len(said) < 2 and several:
            said |= set(as_names(table.column("assessor")).unique().head(2).to_list())
    alike = several and len(said) == 1 and all("assessor" in table for table in found)
    return [alike or "assessor" not in table for table in found]


def _assessors(found: list[Table], by_file: list[bool]) -> tuple[Index, Codes]:
    import polars as pl

    parts = (
        _repeated(_stem(table), table) if by else as_names(table.take("assessor"))
        for table, by in zip(found, by_file, strict=True)
    )
    return encoded(pl.concat(parts))


def _stem(table: Table) -> str:
    if table.origin.source is None or table.origin.source.path is None:
        known = ", ".join(SYNONYMS["assessor"].split()[:6])
        raise table.origin.error(f"no column for assessor; it may be called {known}")
    return stem(table.origin.name)


def _repeated(value: str, table: Table) -> pl.Series:
    import polars as pl

    return pl.repeat(value, len(table), dtype=pl.String, eager=True)


ASSESSORS_WANTED = Wanted("assessors", needed=("assessor",), others=r"(?s).*")


def read_assessors(source: str | Path | Any, *, format: str | None = None) -> AssessorTable:
    """A table of assessors as `save` wrote it; columns that are not numbers stay text."""
    (table,) = tables(source, ASSESSORS_WANTED, None, format)
    index, codes = encoded(stacked([table], "assessor"))
    if len(index) < len(codes):
        raise table.origin.error("an assessor appears twice; keep one row of each")
    order = np.argsort(codes)
    names = [name for name in table.columns if name != "assessor"]
    return AssessorTable(index, {name: _column(table, name)[order] for name in names})


def _column(table: Table, name: str) -> Array:
    """Whole numbers, numbers, or text: the first that all values of a column are."""
    import polars as pl

    given = table.column(name, filled=False)
    if given.dtype != pl.String:
        return given.to_numpy()
    whole, real = (given.cast(dtype, strict=False) for dtype in (pl.Int64, pl.Float64))
    if not whole.null_count():
        return whole.to_numpy()
    if real.null_count() == given.null_count():
        return real.to_numpy()
    return given.fill_null("").to_numpy()
