"""What people's files do to new options: each ends in figures or in one line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import DataWarning, QrowdError
from qrowd.io.anything import read_any


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of a command, and what it prints: results and messages."""
    code = 0
    try:
        main(list(words))
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    made = q.simulate("graded", topics=3, documents=20, assessors=12, votes=4, runs=3, seed=1)
    q.save(made.judgements, folder / "crowd.tsv")
    q.save(made.gold, folder / "gold.qrels")
    (folder / "runs").mkdir()
    for name in made.runs.runs:
        q.save(made.runs.of_runs(q.Index.of([name])), folder / "runs" / f"{name}.run")
    return folder


def test_a_group_called_0_is_a_group(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = made / "people.tsv"
    rows = [f"a{at:02}\t{'' if at == 12 else at % 2}\n" for at in range(1, 13)]
    people.write_text("assessor\ttraining\n" + "".join(rows))
    files = ["--gold", str(made / "gold.qrels"), "--people", str(people)]
    code, out, error = run(
        capsys,
        "quality",
        str(made / "crowd.tsv"),
        *files,
        "--by",
        "training",
        "--least",
        "1",
        "--json",
    )
    assert code == 0, error
    groups = {str(row["group"]) for row in json.loads(out)} if out.startswith("[") else out
    assert "0" in groups
    assert "nan" not in groups


def test_trec_evals_list_with_another_measure_and_a_bound(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--qrels", str(made / "gold.qrels"), "--runs", str(made / "runs")]
    code, out, error = run(
        capsys, "evaluate", *files, "-m", "official", "-m", "AP(rel=2)", "--rel", "2"
    )
    assert code == 0, error
    of_one = out.split("runid")[1]
    values = dict(line.split("\tall\t") for line in of_one.splitlines()[1:])
    by_name = {name.strip(): value for name, value in values.items()}
    assert by_name["map"] == by_name["AP(rel=2)"]


def test_pairs_of_one_topic(made: Path) -> None:
    crowd = q.read_judgements(made / "crowd.tsv")
    some = crowd.select(crowd.assessor < 6)
    assert len(q.pair_agreement(some)) == len(some.pairs)


def test_three_columns_are_a_run_only_where_they_count_ranks(tmp_path: Path) -> None:
    path = tmp_path / "three.txt"
    path.write_text("q1 d1 1\nq1 d2 2\nq2 d3 1\nq2 d4 2\n")
    assert isinstance(read_any(path), q.RunSet)
    for grades in ("q1 d1 1\nq1 d2 0\nq2 d3 1\n", "q1 d1 1\nq2 d2 1\n", "q1,d1,1\nq1,d2,1\n"):
        path.write_text(grades)
        try:
            found: object = read_any(path)
        except QrowdError:
            continue
        assert not isinstance(found, q.RunSet), grades


def test_ties_of_a_run_with_scores_beside_one_of_ranks(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("q1 d1 1\nq1 d2 2\n")
    (tmp_path / "b.run").write_text("q1 Q0 d1 1 3.5 b\nq1 Q0 d2 2 3.5 b\n")
    assert len(q.read_runs([tmp_path / "a.txt", tmp_path / "b.run"]).runs) == 2


def test_documents_with_an_empty_address_first(tmp_path: Path) -> None:
    path = tmp_path / "docs.tsv"
    path.write_text("d1\t\tTitle one\tText one\nd2\thttp://x.example\tTitle two\tText two\n")
    assert q.read_documents(path).text.tolist() == ["Text one", "Text two"]


def test_columns_of_an_arena_beside_judgements_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text("option_a,option_b,doc,assessor,label\nx,y,d1,w1,1\nx,y,d2,w1,0\n")
    assert isinstance(read_any(path), q.Judgements)


def test_sentences_and_buckets_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    head = "topic,doc,sentence,assessor,bucket\n"
    path.write_text(head + "t1,d1,1.0,w1,t1\nt1,d1,02,w1,\nt1,d1,3,w1,none\n")
    with pytest.warns(DataWarning, match="1 row has no grade"):
        crowd = q.read_judgements(path)
    assert crowd.pairs.document_names.tolist() == ["d1#1", "d1#3"]
    path.write_text(head + "t1,d1,1,w1,t1\nt1,d1,x,w1,t1\n")
    with pytest.raises(QrowdError, match="sentence must be a whole number, got 'x'"):
        q.read_judgements(path)
    path.write_text(head + "t1,d1,1,w1,T1\n")
    with pytest.warns(DataWarning, match="no bucket is called as its topic"):
        q.read_judgements(path)


def test_gold_for_merge_in_every_form(made: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"task": ["a", "a", "b"], "worker": ["w", "v", "w"], "label": [1, 0, 1]})
    for gold in (pl.DataFrame({"task": ["a"], "label": [1]}), {"a": 1}):
        assert q.merge(frame, "mv", gold=gold).given.sum() == 1
    crowd = q.read_judgements(made / "crowd.tsv")
    with pytest.raises(QrowdError, match="gold must be qrels, got Judgements"):
        q.merge(crowd, "mv", gold=crowd)
    with pytest.raises(QrowdError, match="expected a method or its name, got 5"):
        q.merge(crowd, 5)


def test_marks_of_bad_people_are_0_or_1(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = made / "known.tsv"
    known.write_text("assessor\tbad\n" + "".join(f"a{at:02}\tno\n" for at in range(1, 13)))
    files = ["--gold", str(made / "gold.qrels"), "--screen", "learned", "--known", str(known)]
    code, _, error = run(capsys, "quality", str(made / "crowd.tsv"), *files)
    assert code == 1
    assert "bad must be 1 or 0, got 'no' for a01" in error


def test_teams_are_not_topics(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = str(made / "gold.qrels")
    code, _, error = run(capsys, "score", str(made / "crowd.tsv"), gold, "--by", "topic")
    assert code == 2
    assert "says whose a label is, not topic" in error


def test_requests_of_another_project_are_refused_and_own_ones_kept(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    like, out = tmp_path / "like.json", tmp_path / "out.json"
    rated = [{"_index": "mine", "_id": "t01-d01", "rating": 0}]
    asked = {"id": "t01", "template_id": "one", "params": {"q": "x"}, "ratings": rated}
    own = {"requests": [asked], "metric": {"precision": {"k": 5}}, "templates": [{"id": "one"}]}
    like.write_text(json.dumps(own))
    convert = ["convert", str(made / "gold.qrels"), "--to", "rank-eval", "-o", str(out)]
    code, _, error = run(capsys, *convert, "--like", str(like))
    assert code == 0, error
    written = json.loads(out.read_text())
    assert written["metric"] == own["metric"]
    assert written["templates"] == own["templates"]
    first = next(each for each in written["requests"] if each["id"] == "t01")
    assert (first["template_id"], first["ratings"][0]["_index"]) == ("one", "mine")
    like.write_text(json.dumps({**own, "requests": [{**asked, "id": "other"}]}))
    code, _, error = run(capsys, *convert, "--like", str(like))
    assert code == 1
    assert "is it another project's?" in error


@pytest.mark.filterwarnings("ignore::qrowd.errors.DataWarning")
@pytest.mark.parametrize(
    "line",
    [
        "merge mv words.tsv --probabilities p.tsv",
        "judges words.tsv --human words.qrels",
        "evaluate --runs words.run --judgements words.tsv --method mv --human words.qrels "
        "--sampled random",
    ],
)
def test_labels_without_an_order_are_refused_where_relevance_is_meant(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["t1\td1\ta\tja", "t1\td1\tb\tja", "t1\td2\ta\tnein", "t2\td3\ta\tnein"]
    Path("words.tsv").write_text("\n".join(["topic\tdoc\tassessor\tgrade", *rows]) + "\n")
    Path("words.qrels").write_text("t1 0 d1 ja\nt1 0 d2 nein\n")
    Path("words.run").write_text("t1 Q0 d1 1 2 r\nt1 Q0 d2 2 1 r\n")
    code, _, said = run(capsys, *shlex.split(line))
    assert code == 1
    assert "needs grades that have an order" in said
    assert not Path("p.tsv").exists()
