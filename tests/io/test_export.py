"""Labels, runs, topics and documents in the files of other tools, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.cli import check
from qrowd.cli.main import main
from qrowd.errors import DataWarning, InputError, ScaleError, UnknownNameError, UsageError
from qrowd.io.export import LIKE, TARGETS

LABELS = q.Qrels.of(["q 1", "q 1", "q2"], ["d1", "dé", "d1"], [0, 2, 1])
RUN = q.RunSet.of(["r"] * 3, ["q1", "q1", "q2"], ["a", "b", "a"], [2.5, 1.0, 3.0])
PLAIN = [name for name in TARGETS if name not in ("beir", "label-studio", "argilla")]


def task(number: int, topic: str, doc: str, *words: str, **more: Any) -> dict[str, Any]:
    answers = [
        {
            "completed_by": who,
            "was_cancelled": False,
            "result": [
                {"from_name": "why", "to_name": "t", "type": "textarea", "value": {"text": ["x"]}},
                {
                    "from_name": "relevance",
                    "to_name": "t",
                    "type": "choices",
                    "value": {"choices": [word]},
                },
            ],
        }
        for who, word in enumerate(words)
    ]
    return {"id": number, "data": {"qid": topic, "docno": doc}, "annotations": answers, **more}


TASKS = [
    task(7, "q 1", "d1", "Not relevant", "Relevant"),
    task(8, "q 1", "dé", "Highly relevant"),
    task(9, "q2", "d1"),
    task(10, "q2", "elsewhere", "Relevant"),
]
FLAT = [
    {
        "id": f"{topic}-{doc}",
        "query_id": topic,
        "doc_id": doc,
        "relevance.responses": [word],
        "relevance.responses.users": ["u1"],
        "relevance.responses.status": ["submitted"],
    }
    for topic, doc, word in (("q 1", "d1", "0"), ("q 1", "dé", "2"), ("q2", "d1", "1"))
]
NESTED = [
    {
        "id": each["id"],
        "metadata": {"query_id": each["query_id"], "doc_id": each["doc_id"]},
        "responses": {
            "relevance": [
                {
                    "value": each["relevance.responses"][0],
                    "user_id": "u1",
                    "status": "submitted",
                }
            ]
        },
    }
    for each in FLAT
]


@pytest.fixture(scope="module")
def merged() -> q.Merged:
    rows = [
        ("q 1", "d1", "a", 0),
        ("q 1", "d1", "b", 0),
        ("q 1", "dé", "a", 2),
        ("q2", "d1", "b", 1),
    ]
    return q.MajorityVote().fit(q.Judgements.of(*map(list, zip(*rows, strict=True))))


def saved(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(records, ensure_ascii=False))
    return path


def test_the_command_knows_all() -> None:
    assert set(check.TARGETS) == set(TARGETS)


@pytest.mark.parametrize("to", PLAIN)
@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
def test_qrels_come_back(to: str, tmp_path: Path) -> None:
    suffix = {"hugging-face": "parquet", "quepid": "csv", "pyterrier": "tsv", "msmarco": "tsv"}
    path = tmp_path / f"labels.{suffix.get(to, 'json')}"
    labels = LABELS
    if to == "msmarco":
        labels = q.Qrels.of(["1", "1", "2"], ["a", "b", "a"], [0, 2, 1])
    q.convert(labels, path, to)
    assert q.read_qrels(path) == labels


@pytest.mark.parametrize("to", ["ranx", "msmarco"])
@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
def test_runs_come_back(to: str, tmp_path: Path) -> None:
    path = tmp_path / ("r.json" if to == "ranx" else "r.tsv")
    q.convert(RUN, path, to)
    back = q.read_runs(path)
    np.testing.assert_array_equal(back.document, RUN.document)
    assert list(back.topics) == list(RUN.topics)


def test_a_folder_of_beir(tmp_path: Path) -> None:
    topics = q.Topics.of({"q 1": "cats", "q2": "dogs"})
    documents = q.Documents.of({"d1": "a cat", "dé": "un chat"})
    q.convert(LABELS, tmp_path / "beir", "beir", topics=topics, documents=documents)
    assert q.read_qrels(tmp_path / "beir" / "qrels" / "test.tsv") == LABELS
    assert q.read_topics(tmp_path / "beir" / "queries.jsonl")["q2"].query == "dogs"
    assert list(q.read_documents(tmp_path / "beir" / "corpus.jsonl").text) == ["a cat", "un chat"]
    first = json.loads((tmp_path / "beir" / "corpus.jsonl").read_text().splitlines()[0])
    assert first == {"_id": "d1", "title": "", "text": "a cat"}


def test_what_a_file_cannot_hold_is_said(merged: q.Merged, tmp_path: Path) -> None:
    with pytest.warns(DataWarning, match="one grade of each pair: their probabilities are left"):
        q.convert(merged, tmp_path / "a.csv", "quepid")
    topics = q.Topics.of({"t": "cats"}, description={"t": "Young ones."})
    with pytest.warns(DataWarning, match="have one text: description of topics left out"):
        q.convert(topics, tmp_path / "beir", "beir")


def test_queries_are_texts(tmp_path: Path) -> None:
    topics = q.Topics.of({"q 1": "cats, young", "q2": "dogs"})
    q.convert(LABELS, tmp_path / "a.csv", "quepid", topics=topics)
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == '"cats, young",d1,0'
    q.convert(LABELS, tmp_path / "a.json", "opensearch", topics=topics)
    written = json.loads((tmp_path / "a.json").read_text())
    assert written["type"] == "IMPORT_JUDGMENT"
    assert written["judgmentRatings"][1] == {
        "query": "dogs",
        "ratings": [{"docId": "d1", "rating": "1.0"}],
    }
    with pytest.raises(InputError, match="no query for topic q2"):
        q.convert(LABELS, tmp_path / "b.csv", "quepid", topics=q.Topics.of({"q 1": "cats"}))


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
def test_rank_eval_keeps_requests(tmp_path: Path) -> None:
    request = {"query": {"match": {"title": "dogs"}}}
    rating = {"_index": "shop", "_id": "x", "rating": 1}
    like = {"requests": [{"id": "q2", "request": request, "ratings": [rating]}]}
    (tmp_path / "like.json").write_text(json.dumps(like))
    q.convert(LABELS, tmp_path / "a.json", "rank-eval", like=tmp_path / "like.json")
    first, second = json.loads((tmp_path / "a.json").read_text())["requests"]
    assert second["request"] == request
    assert first["request"] == {"query": {"query_string": {"query": "q 1"}}}
    assert {row["_index"] for row in first["ratings"]} == {"shop"}


def test_predictions_go_back_to_label_studio(tmp_path: Path, merged: q.Merged) -> None:
    like = saved(tmp_path / "export.json", TASKS)
    q.convert(merged, tmp_path / "predictions.json", "label-studio", like=like)
    first, second, third = json.loads((tmp_path / "predictions.json").read_text())
    assert (first["id"], first["data"]) == (7, {"qid": "q 1", "docno": "d1"})
    (prediction,) = second["predictions"]
    assert prediction["score"] == 1.0
    assert prediction["model_version"] == "mv"
    assert prediction["result"] == [
        {
            "from_name": "relevance",
            "to_name": "t",
            "type": "choices",
            "value": {"choices": ["Highly relevant"]},
        }
    ]
    assert third["predictions"][0]["result"][0]["value"] == {"choices": ["Relevant"]}


@pytest.mark.parametrize("records", [FLAT, NESTED], ids=["flat", "nested"])
@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
def test_suggestions_go_back_to_argilla(
    records: list[dict[str, Any]], tmp_path: Path, merged: q.Merged
) -> None:
    like = saved(tmp_path / "export.json", records)
    q.convert(merged, tmp_path / "back.jsonl", "argilla", like=like)
    back = q.read_judgements(tmp_path / "back.jsonl").of_kind("machine")
    assert list(back.assessors) == ["mv"]
    assert back.by_assessor().qrels("mv") == LABELS


@pytest.mark.parametrize("to", ["label-studio", "argilla"])
def test_like_must_fit(to: str, tmp_path: Path) -> None:
    records = TASKS if to == "label-studio" else FLAT
    like = saved(tmp_path / "like.json", records)
    path = tmp_path / "out.json"
    with pytest.raises(UsageError, match="needs --like"):
        q.convert(LABELS, path, to)
    with pytest.raises(InputError, match="is it of another project"):
        q.convert(q.Qrels.of(["x"], ["y"], [1]), path, to, like=like)
    other = saved(tmp_path / "other.json", FLAT if to == "label-studio" else TASKS)
    with pytest.raises(InputError, match=f"--like must be an export of {to}"):
        q.convert(LABELS, path, to, like=other)
    assert not path.exists()


def test_words_of_grades(tmp_path: Path) -> None:
    like = saved(tmp_path / "like.json", [task(1, "t", "d", "gut"), task(2, "t", "e", "schlecht")])
    labels = q.Qrels.of(["t", "t"], ["d", "e"], [0, 1])
    with pytest.raises(InputError, match=r"words \(gut, schlecht\), and none is known for grade 0"):
        q.convert(labels, tmp_path / "a.json", "label-studio", like=like)
    words = {"gut": 1, "schlecht": 0}
    q.convert(labels, tmp_path / "a.json", "label-studio", like=like, grades=words)
    first, second = json.loads((tmp_path / "a.json").read_text())
    assert first["predictions"][0]["result"][0]["value"] == {"choices": ["schlecht"]}
    assert second["predictions"][0]["result"][0]["value"] == {"choices": ["gut"]}


JUDGED = q.Judgements.of(
    ["q 1", "q 1", "q 1", "q2", "q2"],
    ["d1", "d1", "d1", "d1", "d1"],
    ["0", "1", "gpt", "1", "gpt"],
    [0, 1, 2, 1, 1],
    seconds=[1.5, 2, 0.5, 3, 0.5],
)


def test_judgements_go_back_to_label_studio(tmp_path: Path) -> None:
    """Its annotators' as annotations, all others' as predictions."""
    like = saved(tmp_path / "export.json", TASKS)
    path = tmp_path / "back.json"
    with pytest.warns(
        DataWarning, match=r"1 assessor \(gpt\): not annotators of the project; thei"
    ):
        q.convert(JUDGED, path, "label-studio", like=like)
    first, second = json.loads(path.read_text())
    assert [each["completed_by"] for each in first["annotations"]] == [0, 1]
    assert first["annotations"][0]["lead_time"] == 1.5
    assert [each["model_version"] for each in first["predictions"]] == ["gpt"]
    assert second["id"] == 9
    with pytest.warns(DataWarning, match="grades are words"):
        back = q.read_judgements(path)
    assert back.to_polars().select("topic", "doc", "assessor", "grade").rows() == (
        JUDGED.to_polars().select("topic", "doc", "assessor", "grade").rows()
    )
    assert list(back.of_kind("machine").assessors) == ["gpt"]
    mailed = [dict(each) for each in TASKS]
    who = {"id": 1, "email": "ann@example.org", "first_name": ""}
    mailed[0]["annotations"] = [{**TASKS[0]["annotations"][0], "completed_by": who}]
    by_mail = q.Judgements.of(["q 1"], ["d1"], ["ann@example.org"], [1])
    q.convert(by_mail, path, "label-studio", like=saved(tmp_path / "mailed.json", mailed))
    (only,) = json.loads(path.read_text())
    assert only["annotations"][0]["completed_by"] == {"email": "ann@example.org"}


@pytest.mark.parametrize("records", [FLAT, NESTED], ids=["flat", "nested"])
def test_judgements_go_back_to_argilla(records: list[dict[str, Any]], tmp_path: Path) -> None:
    crowd = q.Judgements.of(
        ["q 1", "q 1", "q 1", "q2"],
        ["d1", "d1", "dé", "d1"],
        ["u1", "gpt", "u1", "u1"],
        [1, 2, 0, 2],
    )
    like, path = saved(tmp_path / "like.json", records), tmp_path / "back.jsonl"
    with pytest.warns(DataWarning, match=r"1 assessor \(gpt\): not users of the dataset; a record"):
        q.convert(crowd, path, "argilla", like=like)
    back = q.read_judgements(path)
    assert back.to_polars().select("topic", "doc", "assessor", "grade").rows() == (
        crowd.to_polars().rows()
    )
    assert list(back.of_kind("machine").assessors) == ["gpt"]


def test_judgements_in_a_table_of_hugging_face(tmp_path: Path) -> None:
    path = tmp_path / "crowd.parquet"
    q.convert(JUDGED, path, "hugging-face")
    assert q.read_judgements(path).to_polars().rows() == JUDGED.to_polars().rows()


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
def test_words_without_an_order_go_back_as_words(tmp_path: Path) -> None:
    tasks = [task(1, "t", "d", "Cat", "dog"), task(2, "t", "e", "dog", "dog")]
    like = saved(tmp_path / "like.json", tasks)
    merged = q.merge(like, "mv")
    path = tmp_path / "a.json"
    q.convert(merged, path, "label-studio", like=like)
    (_, second) = json.loads(path.read_text())
    assert second["predictions"][0]["result"][0]["value"] == {"choices": ["dog"]}
    with pytest.raises(ScaleError, match="quepid needs grades that have an order"):
        q.convert(merged, path, "quepid")
    q.convert(merged.qrels(), tmp_path / "a.parquet", "hugging-face")
    again = q.read_qrels(tmp_path / "a.parquet")
    assert again.to_polars()["grade"].to_list()[1] == "dog"


def test_topics_with_one_query(tmp_path: Path) -> None:
    topics = q.Topics.of({"q 1": "cats", "q2": "cats"})
    for to in ("quepid", "opensearch"):
        with pytest.raises(InputError, match="topics q 1 and q2 have the same query, 'cats'"):
            q.convert(LABELS, tmp_path / "a", to, topics=topics)


def test_a_folder_of_beir_is_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    q.save(q.Qrels.of(["1"], ["a"], [1]), tmp_path / "a.qrels")
    folder = tmp_path / "folder"
    folder.mkdir()
    words = ["convert", str(tmp_path / "a.qrels"), "--to", "beir", "-o", str(folder)]
    main(words)
    with pytest.raises(SystemExit):
        main(words)
    assert "there is something in this folder (qrels); name a new one" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words[:2], "-o", str(folder)])
    assert "this is a folder" in capsys.readouterr().err


def test_what_a_format_cannot_hold(tmp_path: Path) -> None:
    crowd = q.Judgements.of(["t"], ["d"], ["a"], [1])
    two = q.RunSet.of(["r", "s"], ["t", "t"], ["d", "d"], [1, 1])
    for noun, to, message in (
        (crowd, "quepid", "quepid cannot hold judgements, .* merge them first"),
        (crowd, "msmarco", "msmarco cannot hold judgements, .* merge them first"),
        (q.AssessorTable(q.Index.of(["a"]), {}), "ranx", "ranx cannot hold a table of assessors"),
        (RUN, "opensearch", "opensearch cannot hold runs; it holds qrels"),
        (two, "ranx", "ranx holds one run; there are 2"),
        (LABELS, "lighthouse", "no format to write 'lighthouse'"),
    ):
        with pytest.raises((UsageError, UnknownNameError), match=message):
            q.convert(noun, tmp_path / "a", to)
    with pytest.raises(UsageError, match="quepid needs none"):
        q.convert(LABELS, tmp_path / "a", "quepid", like="x")
    assert "quepid" not in LIKE
    with pytest.warns(DataWarning, match="scores are left out"):
        q.convert(RUN, tmp_path / "a.tsv", "msmarco")


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    q.save(q.Qrels.of(["1", "2"], ["a", "b"], [1, 0]), "a.qrels")
    Path("topics.tsv").write_text("1\tcats\n2\tdogs\n")
    main(["convert", "a.qrels", "--to", "quepid", "--topics", "topics.tsv", "-o", "a.csv"])
    assert Path("a.csv").read_text() == "query,docid,rating\ncats,a,1\ndogs,b,0\n"
    main(["convert", "topics.tsv", "--as", "topics", "--to", "beir", "-o", "folder"])
    assert json.loads(Path("folder/queries.jsonl").read_text().splitlines()[0])["text"] == "cats"
    Path("crowd.tsv").write_text("topic\tdoc\tassessor\tgrade\n1\ta\tw\t1\n1\ta\tv\t0\n")
    for words in (["crowd.tsv", "--to", "ranx", "-o", "x.json"], ["a.qrels", "--to", "ranx"]):
        with pytest.raises(SystemExit) as ended:
            main(["convert", *words])
        assert ended.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
