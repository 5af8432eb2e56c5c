from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd
from qrowd import Judgements, Merged, Qrels, RunSet, Scores
from qrowd.data.frames import Framed
from qrowd.data.index import Index
from qrowd.data.merged import AssessorTable, Fit
from qrowd.errors import FormatError


def rows(noun: Framed) -> list[tuple[object, ...]]:
    return noun.to_polars().rows()


JUDGEMENTS = {
    "a.tsv": "topic\tdoc\tassessor\tgrade\nt1\td1\tw1\t1\nt1\td1\tw2\t0\n",
    "a.csv": "query_id,docno,worker,label\nt1,d1,w2,0\nt1,d1,w1,1\n",
    "a.jsonl": '{"qid":"t1","docid":"d1","rater":"w1","rel":1}\n'
    '{"qid":"t1","docid":"d1","rater":"w2","rel":0}\n',
    "a.json": '[{"topic":"t1","doc":"d1","user":"w1","grade":1},'
    '{"topic":"t1","doc":"d1","user":"w2","grade":0}]',
    "a.qrels": "t1 w1 d1 1\r\n\r\nt1   w2\td1 0\r\n",
}


@pytest.mark.parametrize("name", JUDGEMENTS)
def test_judgements_of_every_format(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(JUDGEMENTS[name])
    found = qrowd.read_judgements(tmp_path / name)
    assert rows(found) == [("t1", "d1", "w1", 1), ("t1", "d1", "w2", 0)]


def test_crowd_kit_columns_are_one_topic(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,worker,label\nx,w1,1\ny,w1,0\n")
    found = qrowd.read_judgements(tmp_path / "a.csv")
    assert rows(found) == [("tasks", "x", "w1", 1), ("tasks", "y", "w1", 0)]


def test_folder_of_qrels_is_one_assessor_per_file(tmp_path: Path) -> None:
    (tmp_path / "ann.qrels").write_text("t1 0 d1 1\n")
    (tmp_path / "bob.qrels.gz").write_bytes(gzip.compress(b"t1 0 d1 0\n"))
    found = qrowd.read_judgements(tmp_path)
    assert rows(found) == [("t1", "d1", "ann", 1), ("t1", "d1", "bob", 0)]


def test_runs_sharing_a_tag_are_named_after_their_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.run").write_text("t1 Q0 d1 1 2.5 tag\nt1 Q0 d2 2 2.5 tag\n")
    with pytest.warns(qrowd.errors.DataWarning, match="share a tag"):
        found = qrowd.read_runs(tmp_path / "*.run")
    assert found.runs.names.tolist() == ["one", "two"]
    assert rows(found)[0] == ("one", "t1", "d2", 1, 2.5)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".json", ".jsonl", ".parquet", ".trec", ".xz"])
def test_nouns_come_back(
    suffix: str, tmp_path: Path, tiny_crowd: Judgements, tiny_gold: Qrels, tiny_runs: RunSet
) -> None:
    path = tmp_path / f"file{suffix}"
    qrowd.save(tiny_crowd, path)
    assert rows(qrowd.read_judgements(path)) == rows(tiny_crowd)
    qrowd.save(tiny_gold, path)
    assert qrowd.read_qrels(path) == tiny_gold
    qrowd.save(tiny_runs, path)
    assert rows(qrowd.read_runs(path)) == rows(tiny_runs)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("axis", ["", "assessor", "draw"])
@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".json", ".jsonl", ".parquet", ""])
def test_scores_come_back(suffix: str, axis: str, tmp_path: Path) -> None:
    columns = Index.of(["-"]) if not axis else Index.of(["0", "1"])
    values = np.random.default_rng(1).random((2, len(columns), 3, 2)) / 3
    values[0, 0, 1, 1] = np.nan
    topics, runs = Index.of(["01", "1", "1e5"]), Index.of(["a", "NA"])
    scores = Scores(("nDCG@20", "AP"), axis, columns, topics, runs, values)
    path = tmp_path / f"scores{suffix}"
    qrowd.save(scores, path)
    found = qrowd.read_scores(path)
    assert found.measures == scores.measures
    assert found.axis == axis
    assert (found.columns, found.topics, found.runs) == (columns, topics, runs)
    np.testing.assert_array_equal(found.values, values)


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".json", ".jsonl", ".parquet"])
def test_probabilities_come_back(suffix: str, tmp_path: Path, tiny_crowd: Judgements) -> None:
    posterior = np.array([[0.5, 0.5], [0.25, 0.75], [1 / 3, 2 / 3], [0.5, 0.5], [1, 0]])
    given = np.array([0, 0, 0, 0, 1], np.bool_)
    table = AssessorTable(tiny_crowd.assessors)
    merged = Merged(tiny_crowd.pairs, tiny_crowd.scale, posterior, table, Fit("x"), given)
    path = tmp_path / f"merged{suffix}"
    qrowd.save(merged, path, ties="relevant")
    found = qrowd.read_probabilities(path)
    assert found.pairs == merged.pairs
    np.testing.assert_array_equal(found.posterior, posterior)
    np.testing.assert_array_equal(found.given, given)
    np.testing.assert_array_equal(found.grades(), merged.grades("relevant"))


def test_assessors_come_back(tmp_path: Path) -> None:
    columns = {
        "judgements": np.array([3, 4]),
        "accuracy": np.array([0.1, np.nan]),
        "why": np.array(["01", "late"], dtype=object),
    }
    qrowd.save(AssessorTable(Index.of(["007", "7"]), columns), tmp_path / "a.tsv")
    found = qrowd.read_assessors(tmp_path / "a.tsv")
    assert found.assessors.names.tolist() == ["007", "7"]
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name], column)


def test_grades_may_be_true_and_false(tmp_path: Path) -> None:
    frame = pl.DataFrame({"task": ["a", "b"], "worker": ["x", "y"], "label": [True, False]})
    frame.write_parquet(tmp_path / "b.parquet")
    frame.write_csv(tmp_path / "b.csv")
    frame.write_ndjson(tmp_path / "b.jsonl")
    for source in (frame, *sorted(tmp_path.iterdir())):
        assert qrowd.read_judgements(source).grade.tolist() == [1, 0]
    with pytest.raises(FormatError, match="whole number from -127 to 127, got 'yes'"):
        qrowd.read_judgements(frame.with_columns(label=pl.Series(["true", "yes"])))


@pytest.mark.parametrize("absent", [(900, 501), (2_600, 2_501, 12)])
def test_the_first_row_without_a_value_is_named(absent: tuple[int, ...], tmp_path: Path) -> None:
    documents = [None if row in absent else f"d{row % 90}" for row in range(4_000)]
    frame = pl.DataFrame({"doc": documents, "assessor": "x", "grade": 1})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=300)
    with pytest.raises(FormatError, match=f"row {min(absent) + 1}: no value for doc"):
        qrowd.read_judgements(tmp_path / "a.parquet")


@pytest.mark.parametrize("topic", ['{"', '{"a"', "[{", '["', "{}", "{}x", "[]", '[{"a"'])
def test_topics_with_brackets_are_no_json(topic: str, tmp_path: Path) -> None:
    (tmp_path / "crowd.qrels").write_text(f"{topic} ann d1 0\n{topic} bob d1 1\n")
    assert qrowd.read_judgements(tmp_path / "crowd.qrels").topics.names.tolist() == [topic]
