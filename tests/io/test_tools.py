"""Files of annotation and retrieval tools, in the shapes that they write."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import qrowd as q
from qrowd.errors import DataWarning, FormatError
from qrowd.io import formats
from qrowd.io.formats import format_of
from qrowd.io.formats.format import Format
from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.source import Source

pytestmark = pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")


def named(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def lines(*records: object) -> str:
    return "".join(f"{named(record)}\n" for record in records)


def annotation(who: object, choice: str | None, **more: Any) -> dict[str, Any]:
    comment = {"from_name": "why", "type": "textarea", "value": {"text": ["so"]}}
    answer = {"from_name": "rel", "type": "choices", "value": {"choices": [choice]}}
    result = [comment, answer] if choice else [comment]
    return {"completed_by": who, "result": result, "was_cancelled": False, **more}


TASK = {
    "id": 1,
    "data": {"qid": "t", "docno": "d"},
    "annotations": [
        annotation({"id": 1, "email": "ann@x.org"}, "1", lead_time=2.5),
        annotation({"id": 2, "email": "bob@x.org"}, "0", was_cancelled=True),
        annotation({"id": 3, "email": "cy@x.org"}, "0", ground_truth=True),
        annotation({"id": 4, "email": "dee@x.org"}, None),
    ],
    "drafts": [annotation({"id": 5, "email": "eve@x.org"}, "1")],
    "predictions": [
        {
            "model_version": "m1",
            "result": [{"from_name": "rel", "type": "choices", "value": {"choices": ["1"]}}],
        }
    ],
}
BOOK = {
    "name": "b",
    "scale": [0, 1, 2, 3],
    "query_doc_pairs": [
        {
            "query_text": "t",
            "doc_id": "d",
            "judgements": [
                {"rating": 1.0, "unrateable": False, "judge_later": False, "user_email": "ann"},
                {"rating": None, "unrateable": True, "judge_later": False, "user_email": "bob"},
            ],
        },
        {"query_text": "t", "doc_id": "e", "judgements": []},
    ],
}
TOLOKA = {
    "user_id": "w",
    "status": "APPROVED",
    "tasks": [
        {
            "input_values": {"topic": "t", "docid": "d"},
            "known_solutions": [{"output_values": {"result": "0"}}],
        },
        {"input_values": {"topic": "t", "docid": "e"}},
    ],
    "solutions": [{"output_values": {"result": "1"}}, {"output_values": {"result": "0"}}],
}
ARGILLA = {
    "id": "r",
    "fields": {"text": "x"},
    "metadata": {"query_id": "t", "doc_id": "d"},
    "responses": {
        "relevance": [
            {"value": "1", "user_id": "u", "status": "submitted"},
            {"value": "0", "user_id": "v", "status": "discarded"},
        ]
    },
    "suggestions": {"relevance": {"value": "1", "agent": "gpt", "score": 0.5}},
}
UMBRELA = {
    "model": "gpt",
    "qid": "t",
    "query": "x",
    "docid": "d",
    "passage": "y",
    "prediction": "##final score: 1",
    "judgment": 1,
    "result_status": 1,
}
BATCH = (
    "HITId,WorkerId,AssignmentStatus,Input.topic,Input.docno,Answer.taskAnswers\n"
    'h,w,Approved,t,d,"[{""rel"":{""0"":false,""1"":true}}]"\n'
    'h,x,Rejected,t,d,"[{""rel"":{""0"":true,""1"":false}}]"\n'
)
# the name of a file, its format, what it holds, its judgements as `topic doc assessor grade`
FILES: dict[str, tuple[str, str, list[str]]] = {
    "a.json": ("label-studio", named([TASK]), ["t d ann@x.org 1", "t d m1 1"]),
    "stars.json": (
        "label-studio-table",
        named(
            [
                {"qid": "t", "docno": "d", "id": 1, "stars": [{"rating": 2}], "annotator": 7}
                | {"annotation_id": 1, "created_at": "", "updated_at": "", "lead_time": 1.5}
            ]
        ),
        ["t d 7 2"],
    ),
    "quoted.tsv": (
        "label-studio-table",
        '"annotation_id"\t"annotator"\t"created_at"\t"docno"\t"lead_time"\t"qid"\t"rel"\t"text"\t"updated_at"\n'
        '1\t"7"\t""\t"d"\t2.5\t"t"\t"1"\t"two\nlines"\t""\n',
        ["t d 7 1"],
    ),
    "ann.jsonl": (
        "doccano",
        lines({"id": 1, "text": "x", "qid": "t", "docno": "d", "label": ["1"], "Comments": []}),
        ["t d ann 1"],
    ),
    "argilla2.jsonl": ("argilla", lines(ARGILLA), ["t d gpt 1", "t d u 1"]),
    "argilla1.jsonl": (
        "argilla",
        lines(
            {
                "query_id": "t",
                "doc_id": "d",
                "relevance": [{"user_id": "u", "value": "1", "status": "submitted"}],
            }
        ),
        ["t d u 1"],
    ),
    "toloka.json": ("toloka", named([TOLOKA]), ["t d w 1", "t e w 0"]),
    "toloka.tsv": (
        "toloka",
        "INPUT:query\tINPUT:docid\tOUTPUT:result\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
        "t\td\t1\tw\tAPPROVED\nt\td\t0\tx\tREJECTED\n",
        ["t d w 1"],
    ),
    "book.json": ("quepid-book", named(BOOK), ["t d ann 1"]),
    "case.json": (
        "quepid-case",
        named({"queries": [{"query": "t", "ratings": {"d": 1.0}}]}),
        ["t d case 1"],
    ),
    "rre.json": (
        "rre",
        named(
            {
                "queries": [
                    {"placeholders": {"$query": "t"}, "relevant_documents": {"d": {"gain": 1}}}
                ]
            }
        ),
        ["t d rre 1"],
    ),
    "rank.json": (
        "rank-eval",
        named({"requests": [{"id": "t", "ratings": [{"_index": "i", "_id": "d", "rating": 1}]}]}),
        ["t d rank 1"],
    ),
    "bench.json": (
        "opensearch",
        named(
            {
                "name": "x",
                "judgmentRatings": [{"query": "t", "ratings": [{"docId": "d", "rating": "1.0"}]}],
            }
        ),
        ["t d bench 1"],
    ),
    "llm.jsonl": (
        "umbrela",
        lines(
            UMBRELA,
            UMBRELA | {"docid": "e", "judgment": 0, "result_status": 0},
            UMBRELA | {"docid": "f", "prediction": "no"},
        ),
        ["t d gpt 1"],
    ),
    "batch.csv": ("mturk", BATCH, ["t d w 1"]),
    "potato.jsonl": (
        "potato",
        lines({"instance_id": "i", "user_id": "u", "labels": {"rel": {"1": "1"}}}),
        ["t d u 1"],
    ),
    "potato1.tsv": (
        "potato",
        "user\tinstance_id\trel:::0\trel:::1\nu\ti\t\ttrue\n",
        ["t d u 1"],
    ),
}


@pytest.mark.parametrize("packed", ["as it is", "gz", "zip"])
@pytest.mark.parametrize("name", FILES)
def test_a_tools_file(name: str, packed: str, tmp_path: Path) -> None:
    form, text, expected = FILES[name]
    path = tmp_path / name
    path.write_text(text)
    assert format_of(Source(name, path)).name == form
    if packed == "gz":
        import gzip

        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(text.encode()))
    elif packed == "zip":
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"project/{name}", text)
            archive.writestr("__MACOSX/._x", "x")
    (tmp_path / "items.csv").write_text("id,query_id,doc_id\ni,t,d\n")
    found = q.read_judgements(path, documents=tmp_path / "items.csv")
    rows = found.to_polars().select("topic", "doc", "assessor", "grade").rows()
    assert [" ".join(map(str, row)) for row in rows] == expected


def test_machines_and_gold(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(named([TASK]))
    found = q.read_judgements(tmp_path / "a.json")
    assert found.kind_counts == {"machine": 1, "unknown": 1}
    assert q.read_qrels(tmp_path / "a.json").to_polars().rows() == [("t", "d", 0)]
    (tmp_path / "t.json").write_text(named([TOLOKA]))
    assert q.read_qrels(tmp_path / "t.json").to_polars().rows() == [("t", "d", 0)]
    (tmp_path / "b.json").write_text(named(BOOK))
    with pytest.raises(FormatError, match="Quepid's book: no gold in it"):
        q.read_qrels(tmp_path / "b.json")


def test_several_controls_are_not_mixed(tmp_path: Path) -> None:
    more = {"from_name": "easy", "type": "choices", "value": {"choices": ["9"]}}
    task = json.loads(named(TASK))
    task["annotations"][0]["result"].append(more)
    (tmp_path / "a.json").write_text(named([task]).replace('"rel"', '"x"'))
    with pytest.raises(FormatError, match=r"several controls .*--where 'annotations\[\]\.result"):
        q.read_judgements(tmp_path / "a.json")
    where = "annotations[].result[].from_name=x"
    assert len(q.read_judgements(tmp_path / "a.json", where=where)) == 2
    (tmp_path / "a.json").write_text(named([task]))
    assert len(q.read_judgements(tmp_path / "a.json")) == 2  # the control is called rel


def test_a_choice_of_several_words_is_no_grade(tmp_path: Path) -> None:
    text = named([TASK]).replace('"choices": ["1"]', '"choices": ["1", "0"]')
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match="grade must be a whole number"):
        q.read_judgements(tmp_path / "a.json")


def test_columns_that_are_stated_lead_into_a_tools_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(named([TASK]))
    columns = "doc=data.docno,assessor=annotations[].completed_by.id,grade=annotations[].lead_time"
    found = q.read_judgements(tmp_path / "a.json", columns=columns, cut=1)
    assert found.to_polars().rows() == [("tasks", "d", "1", 1)]


def test_excel(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="needs the extra excel")
    openpyxl = pytest.importorskip("openpyxl", reason="writes the file")
    book = openpyxl.Workbook()
    for row in (
        ["Query ID", "Document", "Rater", "Relevance"],
        ["t", 7, "ann", 1],
        ["t", 7, "b", 0],
    ):
        book.active.append(row)
    book.create_sheet("empty")
    book.save(tmp_path / "a.xlsx")
    found = q.read_judgements(tmp_path / "a.xlsx")
    assert found.to_polars().rows() == [("t", "7", "ann", 1), ("t", "7", "b", 0)]
    book["empty"].append(["a"])
    book["empty"].append(["b"])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(FormatError, match=r"several sheets have rows \(Sheet, empty\)"):
        q.read_judgements(tmp_path / "a.xlsx")


def test_what_contributing_says_is_all_that_a_tool_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    code = page[page.index("class Stars(Tool)") :].partition("```")[0]
    monkeypatch.setattr(Format, "classes", [*Format.classes])
    names: dict[str, Any] = {"Tool": Tool, "Layout": Layout, "Mapping": Mapping, "Any": Any}
    exec(code, names)
    monkeypatch.setitem(formats.FORMATS, "stars", names["Stars"]())
    stars = [{"by": "ann", "n": 3, "state": "done"}, {"by": "bob", "n": 0, "state": "draft"}]
    (tmp_path / "a.jsonl").write_text(lines({"q": "t", "page": {"id": "d"}, "stars": stars}))
    found = q.read_judgements(tmp_path / "a.jsonl", format="stars")
    assert found.to_polars().rows() == [("t", "d", "ann", 3)]


def test_lz4_says_how_to_save_it_again(tmp_path: Path) -> None:
    (tmp_path / "qrels.lz4").write_bytes(b"\x04\x22\x4d\x18\x64\x40\xa7\x00")
    with pytest.raises(FormatError, match="as ranx saves it; save it again"):
        q.read_qrels(tmp_path / "qrels.lz4")


def test_a_zip_of_nothing_and_a_broken_one(tmp_path: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(".hidden", "x")
    (tmp_path / "a.zip").write_bytes(whole.getvalue())
    with pytest.raises(FormatError, match="the zip holds no files"):
        q.read_judgements(tmp_path / "a.zip")
    (tmp_path / "a.zip").write_bytes(whole.getvalue()[:-12])
    with pytest.raises(FormatError, match="the zip cannot be unpacked"):
        q.read_judgements(tmp_path / "a.zip")


def test_files_of_a_collection_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        lines({"_id": "d", "title": "T", "text": "x", "metadata": {"a": 1}})
    )
    (tmp_path / "queries.jsonl").write_text(lines({"_id": "q", "text": "y", "metadata": {}}))
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    assert list(q.read_documents(tmp_path).index) == ["d"]
    assert list(q.read_topics(tmp_path).index) == ["q"]
    with pytest.warns(DataWarning, match="what they are about; left out"):
        assert q.read_qrels(tmp_path).to_polars().rows() == [("q", "d", 1)]
