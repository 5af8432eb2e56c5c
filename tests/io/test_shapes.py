"""Shapes that no reader knows, read by options alone; and the general means one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qrowd as q
from qrowd.errors import DataWarning, FormatError, UsageError
from qrowd.io.paths import flat, parsed

TRUTH = [
    ("t 1", "d/1", "ann", 2),
    ("t 1", "d/1", "bob", 0),
    ("t 1", "d2", "ann", 1),
    ("t2", "d3", "bob", 0),
]


def csv(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def lines_of(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


# What a file holds, and the options by which it gives TRUTH.
SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "a wide table whose columns are anything.csv": (
        csv("search,page,notes,ann,bob", "t 1,d/1,x,2,0", "t 1,d2,,1,", "t2,d3,y,,0"),
        {"columns": "topic=search,doc=page", "wide": "ann,bob"},
    ),
    "words in another language.csv": (
        csv(
            "topic,doc,assessor,grade",
            "t 1,d/1,ann,Sehr RELEVANT",
            "t 1,d/1,bob,нет",
            "t 1,d2,ann,relevant",
            "t2,d3,bob,нет",
            "t2,d4,bob,weiß nicht",
        ),
        {"grades": "sehr relevant=2,relevant=1,нет=0,WEISS NICHT=_"},
    ),
    "an envelope around objects.json": (
        json.dumps(
            {
                "project": "x",
                "items": [
                    {
                        "q": {"name": "t 1"},
                        "d": "d/1",
                        "votes": [{"by": "ann", "v": 2}, {"by": "bob", "v": 0}],
                    },
                    {"q": {"name": "t 1"}, "d": "d2", "votes": [{"by": "ann", "v": 1}]},
                    {"q": {"name": "t2"}, "d": "d3", "votes": [{"by": "bob", "v": 0}]},
                ],
            }
        ),
        {
            "columns": "topic=items[].q.name,doc=items[].d,assessor=items[].votes[].by,"
            "grade=items[].votes[].v"
        },
    ),
    "objects by assessor.json": (
        json.dumps(
            {"ann": {"t 1": {"d/1": 2, "d2": 1}}, "bob": {"t 1": {"d/1": 0}, "t2": {"d3": 0}}}
        ),
        {"columns": "assessor={key},topic={}{key},doc={}{}{key},grade={}{}{}"},
    ),
    "lists side by side.jsonl": (
        lines_of(
            {"topic": "t 1", "doc": "d/1", "who": ["ann", "bob"], "what": [2, 0]},
            {"topic": "t 1", "doc": "d2", "who": ["ann"], "what": [1]},
            {"topic": "t2", "doc": "d3", "who": ["bob", "cy"], "what": [0, None]},
        ),
        {"columns": "topic=topic,doc=doc,assessor=who[],grade=what[]"},
    ),
    "rows that were taken back.tsv": (
        csv(
            "topic\tdoc\tassessor\tgrade\tstate",
            "t 1\td/1\tann\t2\tdone",
            "t 1\td/1\tbob\t0\tDone",
            "t 1\td2\tann\t0\tundone",
            "t 1\td2\tann\t1\tdone",
            "t2\td3\tbob\t0\tdone",
        ),
        {"where": "state=done"},
    ),
    "JSON in cells of CSV.csv": (
        csv(
            "topic,doc,user,answers",
            't 1,d/1,ann,"{""rel"": {""score"": 2}}"',
            't 1,d/1,bob,"{""rel"": {""score"": 0}}"',
            't 1,d2,ann,"{""rel"": {""score"": 1}}"',
            't2,d3,bob,"{""rel"": {""score"": 0}}"',
        ),
        {"columns": "topic=topic,doc=doc,assessor=user,grade=answers.rel.score"},
    ),
    "a column for each button.csv": (
        csv(
            "topic,doc,user,b_0,b_1,b_2",
            "t 1,d/1,ann,,,true",
            "t 1,d/1,bob,true,,",
            "t 1,d2,ann,false,true,false",
            "t2,d3,bob,TRUE,,",
        ),
        {"columns": "topic=topic,doc=doc,assessor=user,grade=b_*"},
    ),
    "no header and another order.txt": (
        csv(
            "0.9 d/1 2 ann t_1", "0.1 d/1 0 bob t_1", "0.5 d2 1 ann t_1", "0.5 d3 0 bob t2"
        ).replace("t_1", "t~1"),
        {"columns": "_,doc,grade,assessor,topic"},
    ),
    "answers of surveys, one column for each document.csv": (
        csv(
            "topic,doc,ResponseId:ann,ResponseId:bob,Finished",
            "t 1,d/1,2,0,1",
            "t 1,d2,1,,1",
            "t2,d3,,0,1",
            "t2,d4,1,1,0",
        ),
        {"columns": "topic=topic,doc=doc", "wide": "ResponseId:*", "where": "Finished=1"},
    ),
    "a survey, whose columns are documents.csv": (
        csv(
            "ResponseId,Q0,d/1,d2,d3",
            "Response ID,Which?,First page?,Second page?,Third page?",
            '"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}","{}","{}","{}"',
            "ann,t 1,2,1,",
            "bob,t 1,0,,",
            "bob,t2,,,0",
        ),
        {"columns": "assessor=ResponseId,topic=Q0", "wide": "d*"},
    ),
    "two keys for one thing.jsonl": (
        lines_of(
            {"topic": "t 1", "doc": "d/1", "by": {"human": "ann"}, "grade": 2},
            {"topic": "t 1", "doc": "d/1", "by": {"machine": "bob"}, "grade": 0},
            {"topic": "t 1", "doc": "d2", "by": {"human": "ann"}, "grade": 1},
            {"topic": "t2", "doc": "d3", "by": {"machine": "bob"}, "grade": 0},
        ),
        {"columns": "topic=topic,doc=doc,assessor=by.human|machine,grade=grade"},
    ),
}


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_by_options_alone(name: str, tmp_path: Path) -> None:
    text, options = SHAPES[name]
    (tmp_path / name).write_text(text)
    found = q.read_judgements(tmp_path / name, **options).to_polars()
    renamed = {"ResponseId:ann": "ann", "ResponseId:bob": "bob", "t~1": "t 1"}
    rows = found.select("topic", "doc", "assessor", "grade").rows()
    assert sorted(tuple(renamed.get(x, x) for x in row) for row in rows) == TRUTH


def test_nested_parquet_and_frames(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "topic": ["t 1", "t 1", "t2"],
            "doc": ["d/1", "d2", "d3"],
            "votes": [
                [{"by": "ann", "v": 2}, {"by": "bob", "v": 0}],
                [{"by": "ann", "v": 1}],
                [{"by": "bob", "v": 0}],
            ],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    columns = "topic=topic,doc=doc,assessor=votes[].by,grade=votes[].v"
    found = q.read_judgements(tmp_path / "a.parquet", columns=columns)
    assert found.to_polars().rows() == TRUTH
    with pytest.raises(FormatError, match=r"rows are nested: say where .* --columns"):
        q.read_judgements(tmp_path / "a.parquet")


# --- paths ----------------------------------------------------------------------------------------


def rows(record: object, **paths: str) -> list[tuple[object, ...]]:
    found = flat(record, {name: parsed(path) for name, path in paths.items()})
    return [tuple(row.values()) for row in found]


def test_paths() -> None:
    record = {"a.b": {"c": [1, 2]}, "a": {"x": 3}, "s": '{"k": [4]}', "l": [], "n": None}
    assert rows(record, p="a.b.c[0]", q="a.x", r="s.k[-1]", s="l[0]", t="n.k") == [
        (1, 3, 4, None, None)
    ]
    assert rows(record, p="a.b.c[]", q="a.x") == [(1, 3), (2, 3)]
    assert rows(record, p="l[].k", q="a.x") == [(None, 3)]
    assert rows(record, k="a.b{key}", v="a.b{}[1]") == [("c", 2)]
    # an item that has nothing is no row, unless none has anything
    parts = {"l": [{"v": 1}, {"w": 2}, {}], "who": "x"}
    assert rows(parts, v="l[].v", who="who") == [(1, "x")]
    assert rows({"l": [{}, {}], "who": "x"}, v="l[].v", who="who") == [(None, "x")]


def test_lists_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"doc":"d","who":["a"],"what":[1]}\n{"doc":"e","who":["a","b"],"what":[1]}\n'
    )
    with pytest.raises(FormatError, match=r"a\.jsonl:2: who\[\] and what\[\] differ in length"):
        q.read_judgements(tmp_path / "a.jsonl", columns="doc=doc,assessor=who[],grade=what[]")


def test_a_path_that_leads_nowhere_says_where_one_would(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"doc":"d","votes":[{"user":"a","grade":1}]}\n')
    with pytest.raises(FormatError, match=r"votes\.grade leads to nothing.*grade=votes\[\]\.grade"):
        q.read_judgements(
            tmp_path / "a.jsonl", columns="doc=doc,assessor=votes[].user,grade=votes.grade"
        )


# --- rows, wide tables, fractions -----------------------------------------------------------------


def test_rows_by_a_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "topic,doc,assessor,grade,status\nt,d,a,1,APPROVED\nt,d,b,0,REJECTED\nt,d,c,1,Late\n"
    )
    with pytest.warns(DataWarning, match="status!=rejected is wanted: 1 with rejected"):
        assert len(q.read_judgements(path, where="status!=REJECTED")) == 2
    with pytest.warns(DataWarning, match="1 with rejected"):
        assert len(q.read_judgements(path, where={"status": ["approved", "la*"]})) == 2
    with pytest.raises(FormatError, match="no row has status=gone; status: 1 with approved"):
        q.read_judgements(path, where=["status=gone"])
    with pytest.raises(FormatError, match="no column 'state'; there are: topic doc"):
        q.read_judgements(path, where=["state=x"])
    with pytest.raises(UsageError, match="column=value"):
        q.read_judgements(path, where="status")


@pytest.mark.filterwarnings("ignore:.*have no grade:qrowd.errors.DataWarning")
def test_a_wide_table_is_recognised_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("query,docid,Ann Bee,Carl Dee,AI Judge\nstar wars,11,3.0,2.0,\nq,12,0,,1\n")
    with pytest.warns(DataWarning, match=r"3 columns are taken for assessors: Ann Bee Carl Dee"):
        found = q.read_judgements(path)
    assert found.to_polars().rows() == [
        ("q", "12", "AI Judge", 1),
        ("q", "12", "Ann Bee", 0),
        ("star wars", "11", "Ann Bee", 3),
        ("star wars", "11", "Carl Dee", 2),
    ]


@pytest.mark.parametrize("header", ["clicks,views", "rank,position", "ann,year", "ann,comment_x"])
def test_a_wide_table_of_something_else_is_refused(header: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"query,docid,{header}\nq,d,1,200\nq,e,0,x\n")
    with pytest.raises(FormatError, match=r"no column for grade .*--wide"):
        q.read_judgements(tmp_path / "a.csv")


def test_fractions_are_refused_with_two_ways_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("topic,doc,assessor,grade\nt,d,a,0.7\nt,d,b,1\nt,e,a,0.25\n")
    with pytest.raises(FormatError, match=r"a\.csv:2: .*--cut \.5.*--fractions weights"):
        q.read_judgements(path)
    assert q.read_judgements(path, cut=0.5).to_polars()["grade"].to_list() == [1, 1, 0]
    with pytest.warns(DataWarning, match="2 grades are fractions.*agreement"):
        found = q.read_judgements(path, fractions="weights")
    assert found.to_polars().select("doc", "assessor", "grade", "weight").rows() == [
        ("d", "a", 0, pytest.approx(0.3)),
        ("d", "a", 1, 0.7),
        ("d", "b", 1, 1.0),
        ("e", "a", 0, 0.75),
        ("e", "a", 1, 0.25),
    ]
    assert q.read_qrels({"q": {"d": 0.75}}, cut=0.5).grade.tolist() == [1]
    with pytest.raises(UsageError, match="state one of them"):
        q.read_judgements(path, cut=0.5, fractions="weights")


def test_words_that_leave_no_doubt_need_no_option(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    words = ("Not relevant", "relevant", "Highly Relevant")
    lines = [f"t,d{n},a,{word}" for n, word in enumerate(words)]
    path.write_text(csv("topic,doc,assessor,grade", *lines))
    with pytest.warns(DataWarning, match="grades are words: Not relevant = 0, relevant = 1"):
        assert q.read_judgements(path).to_polars()["grade"].to_list() == [0, 1, 2]
    found = q.read_judgements(path, grades="not relevant=-1,relevant=1,highly relevant=5")
    assert found.to_polars()["grade"].to_list() == [-1, 1, 5]
    path.write_text(csv("topic,doc,assessor,grade", "t,d,a,Relevant", "t,e,a,Highly relevant"))
    with pytest.raises(FormatError, match=r"--grades 'Highly relevant=NUMBER,Relevant=NUMBER'"):
        q.read_judgements(path)  # what is 0?


def test_ids_by_texts(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"_id":"q1","text":"red  wine","metadata":{}}\n')
    (tmp_path / "d.jsonl").write_text(
        '{"_id":"d1","title":"Wine","text":"Grapes.","metadata":{}}\n'
    )
    (tmp_path / "a.csv").write_text("asked,shown,llm,grade\nred wine,Wine Grapes.,gpt,1\n")
    columns = "topic_text=asked,doc_text=shown,assessor=llm,grade=grade"
    files: Any = {"topics": tmp_path / "t.jsonl", "documents": tmp_path / "d.jsonl"}
    found = q.read_judgements(tmp_path / "a.csv", columns=columns, **files)
    assert found.to_polars().rows() == [("q1", "d1", "gpt", 1)]
    with pytest.raises(FormatError, match=r"texts of topics and no ids: .* --topics FILE"):
        q.read_judgements(tmp_path / "a.csv", columns=columns)
    (tmp_path / "a.csv").write_text("asked,shown,llm,grade\nred wine,Hops.,gpt,1\n")
    with pytest.raises(FormatError, match=r"a\.csv:2: no text of documents in .*d\.jsonl is that"):
        q.read_judgements(tmp_path / "a.csv", columns=columns, **files)
