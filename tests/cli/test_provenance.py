"""Where labels come from, as commands write, say and caution."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.io.source import PROVENANCE


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = q.simulate(topics=4, documents=20, assessors=8, votes=3, runs=3, seed=1)
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(made.truth, tmp_path / "gold.qrels")
    lines = (tmp_path / "gold.qrels").read_text().splitlines(keepends=True)
    (tmp_path / "some.qrels").write_text("".join(lines[:30]))
    (tmp_path / "runs").mkdir()
    q.save(made.runs, tmp_path / "runs" / "all.run")
    words = {doc: f"word{at % 5}" for at, doc in enumerate(made.judgements.pairs.documents)}
    q.save(q.Documents.of(words), tmp_path / "docs.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> None:
    main(line.split())


def failing(capsys: pytest.CaptureFixture[str], line: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as stopped:
        run(line)
    return stopped.value.code, capsys.readouterr().err


def sha(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def told(name: str) -> dict[str, object]:
    about = json.loads(Path(name + PROVENANCE).read_text())
    assert about["sha256"] == sha(name)
    return dict(about)


def test_merge_writes_it_beside_labels(files: Path) -> None:
    run("merge ds(max_iter=50) crowd.tsv --gold some.qrels -o m.qrels --probabilities p.tsv.gz -q")
    for name in ("m.qrels", "p.tsv.gz"):
        about = told(name)
        assert about["method"] == "ds(max_iter=50)"
        assert about["version"] == q.__version__
        assert about["inputs"] == {
            "judgements": {"rows": 240, "files": {"crowd.tsv": sha("crowd.tsv")}},
            "gold": {"rows": 30, "files": {"some.qrels": sha("some.qrels")}},
        }
        assert (about["ties"], about["seed"], about["cut"], about["text"]) == (
            "coin",
            0,
            None,
            False,
        )
        given = about["given"]
        assert isinstance(given, dict)
        assert sum(map(len, given.values())) == 30
        assert str(files) not in Path(name + PROVENANCE).read_text()
    before = Path(f"m.qrels{PROVENANCE}").read_bytes()
    run("merge ds(max_iter=50) crowd.tsv --gold some.qrels -o m.qrels -q")
    assert Path(f"m.qrels{PROVENANCE}").read_bytes() == before


def test_all_that_merge_reads_is_an_input(files: Path) -> None:
    run("merge ds crowd.tsv --assessors who.tsv -o m.qrels -q")
    (files / "topics.txt").write_text("t01\nt02\nt03\n")
    run(
        "merge ds crowd.tsv --priors who.tsv --pairs gold.qrels --topics topics.txt --rel 1 "
        "--ties relevant -o n.qrels"
    )
    about = told("n.qrels")
    inputs = about["inputs"]
    assert isinstance(inputs, dict)
    assert {name: source["files"] for name, source in inputs.items()} == {
        "judgements": {"crowd.tsv": sha("crowd.tsv")},
        "priors": {"who.tsv": sha("who.tsv")},
        "pairs": {"gold.qrels": sha("gold.qrels")},
        "topics": {"topics.txt": sha("topics.txt")},
    }
    assert (about["cut"], about["ties"]) == (1, "relevant")


def test_a_folder_is_one_input(files: Path) -> None:
    (files / "votes").mkdir()
    text = (files / "crowd.tsv").read_text()
    for name in ("a.tsv", "b.tsv"):
        (files / "votes" / name).write_text(text.replace("\tw", f"\t{name[0]}"))
    run("merge mv votes -o m.qrels -q")
    listed = "".join(f"{sha(f'votes/{name}')}  votes/{name}\n" for name in ("a.tsv", "b.tsv"))
    inputs = told("m.qrels")["inputs"]
    assert isinstance(inputs, dict)
    assert inputs["judgements"]["files"] == {"votes": hashlib.sha256(listed.encode()).hexdigest()}


def test_labels_on_stdout_have_none(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge mv crowd.tsv -q")
    assert len(capsys.readouterr().out.splitlines()) == 80
    run("merge mv crowd.tsv --ranking consensus.run -q")
    assert not list(files.glob(f"*{PROVENANCE}"))


def test_a_name_of_provenance_is_not_written_to(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = failing(capsys, f"merge mv crowd.tsv -o m{PROVENANCE}")
    assert code == 1
    assert err.count("\n") == 1
    assert "name another" in err


def test_evaluate_says_where_labels_come_from(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("merge ds crowd.tsv --gold some.qrels -o m.qrels --probabilities p.tsv -q")
    line = f"ds (qrowd {q.__version__}) from 240 judgements (crowd.tsv), 30 gold pairs (some.qrels)"
    for option in ("--qrels m.qrels", "--probabilities p.tsv"):
        run(f"evaluate --runs runs {option} -m AP")
        assert f"note: {option.split()[1]}: {line}\n" in capsys.readouterr().err
        run(f"evaluate --runs runs {option} -m AP --json")
        assert f"{option.split()[1]}: {line}" in json.loads(capsys.readouterr().out)["notes"]
    run("evaluate --runs runs --qrels gold.qrels -m AP")
    assert "qrowd" not in capsys.readouterr().err


@pytest.mark.parametrize(("method", "doubted"), [("ds", False), ("mv", True), ("auto", True)])
def test_evaluate_doubts_votes_that_are_informed(
    files: Path, capsys: pytest.CaptureFixture[str], method: str, doubted: bool
) -> None:
    run(f"merge {method} crowd.tsv --probabilities p.tsv -q")
    for source in ("--probabilities p.tsv", f"--judgements crowd.tsv --method {method}"):
        run(f"evaluate --runs runs {source} --informed -m AP --draws 5 --json")
        notes = "\n".join(json.loads(capsys.readouterr().out)["notes"])
        assert "3 runs scored here informed the labels" in notes
        assert (f"the probabilities of {method} are shares of votes" in notes) == doubted
    run("evaluate --runs runs --probabilities p.tsv -m AP")
    assert "shares of votes" not in capsys.readouterr().err


def test_evaluate_doubts_labels_that_text_has_bent(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn", reason="tf-idf needs the extra text")
    run("merge mvnn crowd.tsv --documents docs.jsonl -o m.qrels -q")
    about = told("m.qrels")
    assert about["text"] is True
    inputs = about["inputs"]
    assert isinstance(inputs, dict)
    assert inputs["documents"]["files"] == {"docs.jsonl": sha("docs.jsonl")}
    run("evaluate --runs runs --qrels m.qrels -m AP")
    assert "mvnn has read the documents, which favours systems that rank by words" in (
        capsys.readouterr().err
    )


def test_score_leaves_out_what_was_given(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --gold some.qrels -o m.qrels -q")
    run("score m.qrels gold.qrels --json")
    scores = json.loads(capsys.readouterr().out)
    assert (scores["pairs"], scores["given"]["pairs"]) == (50, 30)
    assert scores["notes"][0].startswith("m.qrels: ds (qrowd")
    run("score m.qrels some.qrels --json")  # the very file that was given
    scores = json.loads(capsys.readouterr().out)
    assert scores["pairs"] == 0
    assert scores["overall"]["accuracy"] is None
    assert "every pair with gold was given: nothing is left to score" in scores["notes"]
    run("score m.qrels gold.qrels --rel 1 -o by_topic.tsv")
    assert "note: 30 pairs whose gold was given are left out" in capsys.readouterr().err


def test_gold_that_is_merged_is_said(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge mv crowd.tsv -o mv.qrels -q")
    run("merge ds crowd.tsv -o ds.qrels -q")
    run("score ds.qrels mv.qrels")
    said = capsys.readouterr().out
    assert (
        "note: gold is merged labels itself, so that to agree with it is not to be right: " in said
    )
    run("merge ds crowd.tsv --gold mv.qrels -o m.qrels")
    assert "gold: mv.qrels: mv (qrowd" in capsys.readouterr().err
    for extra in ("jinja2", "matplotlib"):
        pytest.importorskip(extra, reason="pages need the extra `report`")
    run("report crowd.tsv --gold mv.qrels --runs runs --method ds --draws 20 -o page.html")
    assert "gold is merged labels itself" in Path("page.html").read_text()


def test_other_labels_get_one_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge mv crowd.tsv -o m.qrels --probabilities p.tsv -q")
    run("merge ds crowd.tsv -o other.qrels --probabilities other.tsv -q --ties relevant --seed 3")
    capsys.readouterr()
    for mine, other in (("m.qrels", "other.qrels"), ("p.tsv", "other.tsv")):
        Path(mine).write_bytes(Path(other).read_bytes())
        line = (
            f"qrowd: {mine}{PROVENANCE}: this is about other labels than {mine} has (the checksum "
            "differs); delete it, or merge again\n"
        )
        option = "--qrels" if mine == "m.qrels" else "--probabilities"
        for command in (
            f"evaluate --runs runs {option} {mine}",
            f"score {mine} gold.qrels",
            f"check {mine}",
            f"check {mine}{PROVENANCE}",
        ):
            assert failing(capsys, command) == (1, line)


def test_check_shows_it(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("merge ds crowd.tsv --gold some.qrels -o m.qrels --probabilities p.tsv -q")
    run(f"check m.qrels p.tsv m.qrels{PROVENANCE} --json")
    facts = {each["file"]: each for each in json.loads(capsys.readouterr().out)}
    line = f"ds (qrowd {q.__version__}) from 240 judgements (crowd.tsv), 30 gold pairs (some.qrels)"
    assert facts["m.qrels"]["facts"]["made by"] == line
    assert facts["p.tsv"]["facts"]["made by"] == line
    about = facts[f"m.qrels{PROVENANCE}"]
    assert about["kind"] == "provenance"
    assert about["facts"]["labels"] == "m.qrels"
    assert about["facts"]["made by"] == line
    assert about["facts"]["sha256 of judgements crowd.tsv"] == sha("crowd.tsv")
    assert about["facts"]["pairs whose gold was given"] == 30
    Path("m.qrels").unlink()
    run(f"check m.qrels{PROVENANCE}")
    assert "the labels, m.qrels, are not there" in capsys.readouterr().err


def test_a_pipe_has_no_checksum(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    stream = io.TextIOWrapper(io.BytesIO((files / "crowd.tsv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    run("merge mv - -o m.qrels -q")
    inputs = told("m.qrels")["inputs"]
    assert isinstance(inputs, dict)
    assert inputs == {"judgements": {"rows": 240, "files": {"-": ""}}}
