"""Qrels, runs and judgements from Python's own objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import qrowd as q
from qrowd.errors import InputError, UsageError
from qrowd.io.source import sources

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}}
RUN = {"q1": {"d1": 0.5, "d2": 1.5}, "q2": {"d1": 3.0}}


class TrecQrel(NamedTuple):  # as ir_datasets has it
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class GenericScoredDoc(NamedTuple):
    query_id: str
    doc_id: str
    score: float


def qrels_iter() -> Iterator[TrecQrel]:
    for topic, documents in QRELS.items():
        for document, grade in documents.items():
            yield TrecQrel(topic, document, grade, "0")


def test_qrels() -> None:
    expected = q.Qrels.of(["q1", "q1", "q2"], ["d1", "d2", "d1"], [1, 0, 2])
    rows = [{"topic": row[0], "doc": row[1], "grade": row[2]} for row in qrels_iter()]
    columns = {"topic": ["q1", "q1", "q2"], "doc": ["d1", "d2", "d1"], "grade": [1, 0, 2]}
    for given in (QRELS, qrels_iter(), list(qrels_iter()), tuple(qrels_iter()), rows, columns):
        assert q.read_qrels(given) == expected


def test_one_run_and_several() -> None:
    scored = [GenericScoredDoc(t, d, s) for t, docs in RUN.items() for d, s in docs.items()]
    for given in (RUN, scored, iter(scored)):
        found = q.read_runs(given)
        assert (len(found), found.topics.names.tolist()) == (1, ["q1", "q2"])
    several = q.read_runs({"a": RUN, "b": {"q1": {"d1": 1}}})
    assert several.runs.names.tolist() == ["a", "b"]
    assert several.to_polars().rows()[0] == ("a", "q1", "d2", 1, 1.5)
    assert (
        len(q.read_runs({"q1": {"d1": 2, "d2": 1}}).document) == 2
    )  # whole numbers are scores, too


def test_judgements() -> None:
    found = q.read_judgements({"ann": QRELS, "bob": {"q1": {"d1": 0}}})
    assert found.to_polars().rows() == [
        ("q1", "d1", "ann", 1),
        ("q1", "d1", "bob", 0),
        ("q1", "d2", "ann", 0),
        ("q2", "d1", "ann", 2),
    ]


@pytest.mark.parametrize(
    "given",
    [3, {"q1": {"d1": "good"}}, {"q1": {"d1": {"a": {"b": 1}}}}, [("q1", "d1", 1)], {"q": {}}],
)
def test_what_is_no_table_is_refused(given: Any) -> None:
    with pytest.raises((UsageError, InputError), match="cannot read qrels from"):
        q.read_qrels(given)


def test_no_files_are_no_rows() -> None:
    with pytest.raises(InputError, match="no file was named"):
        q.read_qrels([])
    with pytest.raises(InputError, match="no file was named"):
        sources([])


def ranxs(kind: str, held: object, name: str | None) -> object:
    """An object as ranx makes them, without ranx, whose import compiles for half a minute."""
    inside = {"__module__": f"ranx.data_structures.{kind.lower()}", "to_dict": lambda self: held}
    return type(kind, (), {**inside, "name": name})()


def test_ranx() -> None:
    assert q.read_runs(ranxs("Run", RUN, "bm25")).runs.names.tolist() == ["bm25"]
    assert q.read_qrels(ranxs("Qrels", QRELS, None)) == q.read_qrels(QRELS)
    both = {"a": ranxs("Run", RUN, None), "b": RUN}
    assert q.read_runs(both).runs.names.tolist() == ["a", "b"]
