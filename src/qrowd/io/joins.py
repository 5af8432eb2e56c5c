"""Ids that a file of judgements does not have, found in files of topics, documents or items.

A file of machine judges may have the texts of queries and passages and no ids (`topic_text`,
`doc_text`); one of an annotation tool, the name of an item (`instance`) whose topic and document
only its items file knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qrowd.errors import FormatError, InputError
from qrowd.io.formats import format_of
from qrowd.io.origin import tell
from qrowd.io.roles import recognised
from qrowd.io.source import sources
from qrowd.io.table import Table

if TYPE_CHECKING:
    import polars as pl

FOUND = "found"  # how facts about joined columns begin
JOINED = ("topic_text", "doc_text", "instance")
Texts = str | Path | Sequence[str | Path] | None


def joined(parts: Sequence[Table], topics: Texts, documents: Texts) -> list[Table]:
    """The tables with topics and documents, where they have texts or items instead."""
    done = []
    for table in parts:
        if "instance" in table:
            table = _by_items(table, documents)
        if "topic_text" in table and "topic" not in table:
            table = _by_texts(table, "topic", topics)
        if "doc_text" in table and "doc" not in table:
            table = _by_texts(table, "doc", documents)
        done.append(table)
    for table in done:
        tell(table.origin)
    return done


def _by_texts(table: Table, role: str, files: Texts) -> Table:
    noun = "topics" if role == "topic" else "documents"
    if not files:
        raise table.origin.error(
            f"there are texts of {noun} and no ids: name the files that have both, --topics FILE "
            "--documents FILE"
        )
    names: dict[str, str] = {}
    for name, text in _texts(role, files):
        if names.setdefault(text, name) != name:
            message = f"{names[text]} and {name} have the same text, so that it stands for no one"
            raise InputError(message, file=_first(files))
    found = [names.get(_squeezed(text)) for text in table.names(f"{role}_text", keep=True)]
    problem = f"no text of {noun} in {_first(files)} is that of this row"
    return _with(table, role, found, problem, f"{FOUND}, by its text in {_first(files)}")


def _texts(role: str, files: Texts) -> Iterator[tuple[str, str]]:
    """Names and texts, as they may stand in judgements: also with the title before the text."""
    from qrowd.io.documents import read_documents
    from qrowd.io.topics import read_topics

    if role == "topic":
        topics = read_topics(files)  # type: ignore[arg-type]
        yield from (
            (name, _squeezed(text)) for name, text in zip(topics.index, topics.query, strict=True)
        )
        return
    documents = read_documents(files)  # type: ignore[arg-type]
    titles = documents.title
    for name, title, text in zip(documents.index, titles, documents.text, strict=True):
        yield name, _squeezed(text)
        if title:
            yield name, _squeezed(f"{title} {text}")


def _squeezed(text: object) -> str:
    return " ".join(str(text).split())


def _by_items(table: Table, files: Texts) -> Table:
    if not files:
        if "doc" in table:
            return table
        raise table.origin.error(
            "topics and documents are in the tool's file of items: name it, --documents ITEMS"
        )
    wanted = table.names("instance", keep=True)
    rows = [row for source in sources(files) for _, row in format_of(source).rows(source)]
    key = next((key for key in rows[0] if _holds(wanted, (row.get(key) for row in rows))), None)
    roles = recognised([name for name in rows[0] if name != key], ("topic", "doc"))
    if key is None or "doc" not in roles:
        what = "no column of it has the items' names" if key is None else "no column for doc in it"
        raise FormatError(f"{what}, of which {wanted[0]!r} is one", file=_first(files))
    for role, column in roles.items():
        names = {str(row.get(key)): row.get(column) for row in rows}
        found = [names.get(item) for item in wanted]
        problem = f"this item is not in {_first(files)}"
        table = _with(table, role, found, problem, f"{FOUND}, {column} in {_first(files)}")
    return table


def _holds(wanted: pl.Series, values: Iterable[object]) -> bool:
    return bool(wanted.is_in(list({str(value) for value in values})).all())


def _with(table: Table, role: str, names: Sequence[object], problem: str, found_in: str) -> Table:
    import polars as pl

    column = pl.Series(f"joined {role}", [None if name is None else str(name) for name in names])
    lost = column.is_null().arg_true()
    if len(lost):
        raise table.origin.error(problem, lost[0])
    frame = table.frame.with_columns(column)
    origin = replace(table.origin, about={**table.origin.about, role: found_in})
    columns = {**table.columns, role: column.name}
    return replace(table, origin=origin, frame=frame, columns=columns)


def _first(files: Texts) -> str:
    return sources(files)[0].name  # type: ignore[arg-type]
