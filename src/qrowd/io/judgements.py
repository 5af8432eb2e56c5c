"""Judgements, and tables of assessors, from files and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Codes, Grades, Names
from qrowd.data.features import Features
from qrowd.data.index import Index
from qrowd.data.judgements import KINDS, UNKNOWN, Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.scale import Scale
from qrowd.errors import InputError, require_choice
from qrowd.io.columns import TRECS_ORDER, Columns, Reading, Wanted, Wide, tables
from qrowd.io.grades import Grading, Words
from qrowd.io.joins import JOINED, Texts, joined
from qrowd.io.origin import Origin, located, say
from qrowd.io.qrels import choice_of, is_worklist
from qrowd.io.roles import SYNONYMS
from qrowd.io.source import is_folder, is_part, stem
from qrowd.io.table import Table, encoded, extras, say_what_is_odd, stacked
from qrowd.io.where import Where

ONE_TOPIC = "tasks"
EXTRAS = ("weight", "seconds", "time")
_KINDS = (UNKNOWN, *KINDS)
JUDGEMENTS = Wanted(
    "judgements",
    needed=("doc", "grade"),
    optional=(
        *("topic", "assessor", "rank", *EXTRAS, "kind", "goal", "probability", *JOINED),
        *("sentence", "bucket"),
    ),
    plain=("topic", "assessor", "doc", "grade"),
    stated=True,
    graded=True,
    instead={"doc": ("doc_text", "instance"), "grade": ("bucket",)},
)
_FEW = 5  # rows, of which nobody can tell
_MANY = 5_000  # rows, of which anybody can
REPEATED = ("keep", "once")
ASSESSORS = Wanted("assessors", needed=("assessor",), others=r"(?s).*")
FEATURES = Wanted("features", needed=("doc",), others=r"(?s).*")


def read_judgements(
    source: str | Path | Sequence[str | Path] | Any,
    *,
    columns: Columns = None,
    format: str | None = None,
    grades: Words = None,
    where: Where = None,
    wide: Wide = None,
    missing: str = "skip",
    cut: float | None = None,
    fractions: str = "refuse",
    repeated: str = "keep",
    topics: Texts = None,
    documents: Texts = None,
    scale: Scale | None = None,
    relevant_from: int = 1,
) -> Judgements:
    """Judgements from a file, a folder, a glob, `-` (stdin), several of these, or a data frame.

    TSV, CSV, JSON lines, JSON or Parquet with a header (`topic doc assessor grade`, optionally
    `weight seconds time`, and `kind` of the assessor: person, expert or machine; common synonyms
    are recognised, also crowd-kit's `task worker label`), or TREC's four columns `topic assessor
    doc grade` without one. In a folder of TREC qrels each file is one assessor, named after the
    file. `columns` states other headers (`"topic=q,grade=stars"`) or the order without a header
    (`"doc,assessor,_,grade"`), or paths into nested records (`"grade=answers[].value"`).
    `where` chooses rows (`"status=APPROVED"`), `wide` says which columns are assessors. `grades`
    says what words mean; rows without a grade are left out (`missing="error"` refuses them), and
    fractions are refused unless there is a `cut`, or `fractions="weights"`. Rows that are identical
    are further votes (`repeated="once"` drops them). A column `goal`, as lists of `qrowd next` have
    it, says which pairs were chosen by what had been said before (`choice`). With a column
    `sentence` (a number) sentences are judged, each a document of its own: `doc#3`; a `bucket`
    instead of a grade is 1 where it is the topic's. `topics` and
    `documents` are files by which texts are found that stand for ids. `scale` is that of the
    grades that occur, relevant from `relevant_from` on, if not given.
    """
    require_choice("repeated", repeated, REPEATED)
    grading = Grading(grades, missing, cut, fractions)
    parts = tables(source, JUDGEMENTS, Reading(columns, format, where, wide, grading))
    parts = [_of_sentences(table) for table in joined(parts, topics, documents)]
    for table in parts:
        if "rank" in table:
            say(f"{table.origin.name}: ranks are no part of judgements; read_orders reads them")
    lists = [
        replace(table, frame=table.frame.clone())  # whose columns are taken once more below
        for table in parts
        if is_worklist(table)
    ]
    choice = choice_of(lists) if lists else None
    values = np.concatenate([table.whole_numbers("grade") for table in parts])
    files = _assessing_files(parts, several=len(parts) > 1 or is_folder(source))
    names, topic = encoded(
        stacked(parts, "topic", [None if "topic" in table else ONE_TOPIC for table in parts])
    )
    titles, document = encoded(stacked(parts, "doc"))
    assessors, assessor = encoded(stacked(parts, "assessor", files))
    origins = [table.origin for table in parts]
    say_what_is_odd(_where(origins), topics=names, documents=titles, assessors=assessors)
    if parts[0].guessed and len(parts) == 1 and len(values) > _FEW and len(assessors) > 1:
        _say_of_other_order(_where(origins), topic, document, assessor)
    words = parts[0].words
    scale = scale or (Scale.of_words(words) if words else Scale.of(values, relevant_from))
    with located(origins):
        kinds = _kinds(parts, assessors, assessor, stated=columns is not None)
        judgements = Judgements.from_codes(
            (names, titles, assessors),
            (topic, document, assessor),
            values,
            scale=scale,
            kinds=kinds,
            **extras(parts, EXTRAS),
        )
    judgements = replace(judgements, choice=choice)
    if not any("assessor" in table for table in parts):
        _say_of_contradictions(judgements, _where(origins))
    return _without_repeats(judgements, repeated, _where(origins))


def _of_sentences(table: Table) -> Table:
    """The table with sentences as documents of their own, where a column numbers them."""
    if "sentence" not in table:
        return table
    import polars as pl

    number = table.names("sentence", keep=True).cast(pl.Float64, strict=False)
    if number.null_count() == len(number):  # texts: they say nothing about which one it is
        return table
    bad = (number.is_null() | (number != number.floor()) | (number < 0)).fill_null(True).arg_true()
    if len(bad):
        said = table.names("sentence", keep=True)[bad[0]]
        raise table.origin.error(f"sentence must be a whole number, got {said!r}", bad[0])
    number = number.cast(pl.Int64).cast(pl.String)
    name = f"doc#{table.columns['sentence']}"
    frame = table.frame.with_columns((table.names("doc", keep=True) + "#" + number).alias(name))
    return replace(table, frame=frame, columns={**table.columns, "doc": name})


def _say_of_other_order(where: str, topic: Codes, document: Codes, assessor: Codes) -> None:
    """Where what is taken for assessors looks like documents, and the other way round."""
    topics, documents, assessors = (
        column[:_MANY].astype(np.int64) for column in (topic, document, assessor)
    )
    who, what = len(np.unique(assessors)), len(np.unique(documents))
    of_one = len(np.unique(assessors * (len(topics) + 1) + topics)) == who
    shared = len(np.unique(documents * (len(topics) + 1) + topics)) > 1.5 * what
    if who > what:
        say(f"{where}: more assessors than documents: {TRECS_ORDER}")
    elif of_one and shared and who > len(np.unique(topics)):
        say(f"{where}: each assessor judged for one topic, documents are in several: {TRECS_ORDER}")


def _without_repeats(crowd: Judgements, repeated: str, where: str) -> Judgements:
    """Identical rows are counted, and dropped where that was asked for."""
    columns: list[Array] = [crowd.pair, crowd.assessor, crowd.grade]
    columns += [extra for name in EXTRAS if (extra := getattr(crowd, name)) is not None]
    same = np.ones(max(len(crowd) - 1, 0), np.bool_)
    for column in columns:
        step = np.asarray(column[1:] == column[:-1])
        if column.dtype.kind == "f":
            step |= np.isnan(column[1:]) & np.isnan(column[:-1])
        same &= step
    count = int(same.sum())
    if not count:
        return crowd
    are = "rows are identical to others" if count > 1 else "row is identical to another"
    if repeated == "once":
        say(f"{where}: {count} {are} and left out")
        return crowd.select(np.concatenate([[True], ~same]))
    say(
        f"{where}: {count} {are} (same pair, assessor and grade) and counted as further votes; "
        "to drop them: --repeated once"
    )
    return crowd


def _where(origins: Sequence[Origin]) -> str:
    return origins[0].name + (f" and {len(origins) - 1} more" if len(origins) > 1 else "")


def _say_of_contradictions(crowd: Judgements, where: str) -> None:
    """Of pairs with two grades by somebody whom no column names."""
    same = (np.diff(crowd.pair) == 0) & (np.diff(crowd.assessor) == 0)
    contrary = crowd.pair[1:][same & (np.diff(crowd.grade) != 0)]
    pairs = len(np.unique(contrary))
    if pairs:
        have = "pairs have" if pairs > 1 else "pair has"
        say(
            f"{where}: {pairs} {have} two grades ({crowd.pairs.called(contrary[0])}), and there is "
            "no column for the assessor: all are taken as one assessor's; if a column says who "
            "judged, name it: --columns assessor=NAME,..."
        )


def _kinds(parts: Sequence[Table], assessors: Index, assessor: Codes, stated: bool) -> Names | None:
    """What each assessor is; one row that says so is enough, and no other may contradict it."""
    if not any("kind" in table for table in parts):
        return None
    row = np.concatenate([_kind_codes(table, stated) for table in parts])
    says = np.flatnonzero(row)
    kind = np.zeros(len(assessors), np.int8)
    kind[assessor[says[::-1]]] = row[says[::-1]]  # the first row that says it stays
    contrary = says[row[says] != kind[assessor[says]]]
    if len(contrary):
        at = contrary[0]
        one, other = _KINDS[row[at]], _KINDS[kind[assessor[at]]]
        name = assessors.names[assessor[at]]
        message = f"the kind of assessor {name} is {one} here and {other} before; keep one of them"
        raise InputError(message, row=int(at))
    return np.array(_KINDS, object)[kind]


def _kind_codes(table: Table, stated: bool) -> Grades:
    """The kind in each row, 0 where there is none.

    A column of that name may mean something else (check questions, repeats): it is used only where
    all of it is about assessors, unless somebody `stated` that it is.
    """
    import polars as pl

    if "kind" not in table:
        return np.zeros(len(table), np.int8)
    column = table.column("kind", filled=False).cast(pl.String)
    plain = column.str.strip_chars().str.to_lowercase().replace("", UNKNOWN).fill_null(UNKNOWN)
    odd = (~plain.is_in(_KINDS)).arg_true()
    if not len(odd):
        return plain.replace_strict(_KINDS, range(4), return_dtype=pl.Int8).to_numpy()
    message = f"kind must be {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {column[odd[0]]!r}"
    if stated:
        raise table.origin.error(message, odd[0])
    say(
        f"{table.origin.name}: the column {table.columns['kind']} is left alone, since it is not "
        f"about assessors: {message}"
    )
    return np.zeros(len(table), np.int8)


def _assessing_files(parts: list[Table], several: bool) -> list[str | None]:
    """The assessor of each file that is named after it; None where a column says who judged.

    A file is, where it has no such column, or where that says the same in all of several files, as
    the second column of qrels does (0, Q0).
    """
    named = [table for table in parts if "assessor" in table]
    names: set[str] = set()
    for table in named if several else ():
        if len(names) < 2:
            names |= set(table.names("assessor", keep=True).unique().head(2).to_list())
    alike = several and len(names) == 1 and len(named) == len(parts)
    unnamed = [table for table in parts if alike or "assessor" not in table]
    one = ""
    if len(unnamed) > 1 and all(is_part(table.origin.name) for table in unnamed):
        one = _stem(unnamed[0])
        say(
            f"{_where([table.origin for table in parts])}: these are called as parts of a dataset "
            "are, not after assessors; all are taken as one assessor's"
        )
    return [one or _stem(table) if alike or "assessor" not in table else None for table in parts]


def _stem(table: Table) -> str:
    if table.origin.source is None or not table.origin.source.named:
        words = ", ".join(SYNONYMS["assessor"].split()[:6])
        raise table.origin.error(f"no column for assessor; it may be called {words}")
    return stem(table.origin.name)


def read_assessors(source: str | Path | Any, *, format: str | None = None) -> AssessorTable:
    """A table of assessors as `save` wrote it; columns that are not numbers stay text."""
    return AssessorTable(*_named_columns(source, ASSESSORS, "assessor", format))


def read_features(source: str | Path | Any, *, format: str | None = None) -> Features:
    """What else is known of documents: a table with doc and further columns, numbers or texts."""
    return Features(*_named_columns(source, FEATURES, "doc", format))


def _named_columns(
    source: Any, wanted: Wanted, key: str, format: str | None
) -> tuple[Index, dict[str, Array]]:
    (table,) = tables(source, wanted, Reading(format=format))
    index, codes = encoded(stacked([table], key))
    if len(index) < len(codes):
        article = {"assessor": "an assessor", "doc": "a document"}[key]
        raise table.origin.error(f"{article} appears twice; keep one row of each")
    order = np.argsort(codes)
    names = [name for name in table.columns if name != key]
    return index, {name: _column(table, name)[order] for name in names}


def _column(table: Table, name: str) -> Array:
    """Whole numbers, numbers, or text: the first that all values of a column are."""
    import polars as pl

    column = table.column(name, filled=False)
    if column.dtype != pl.String:
        return column.to_numpy()
    whole, real = (column.cast(dtype, strict=False) for dtype in (pl.Int64, pl.Float64))
    if not whole.null_count():
        return whole.to_numpy()
    if real.null_count() == column.null_count():
        return real.to_numpy()
    return column.fill_null("").to_numpy()
