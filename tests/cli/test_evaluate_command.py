from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection as files, and probabilities of its majority vote."""
    folder = tmp_path_factory.mktemp("collection")
    made = q.simulate(topics=3, documents=30, runs=4, assessors=6, votes=3, seed=5)
    q.save(made.runs, folder / "all.run")
    q.save(made.gold, folder / "gold.qrels")
    q.save(made.judgements, folder / "crowd.tsv")
    q.save(q.get("mv").fit(made.judgements), folder / "merged.tsv")
    return folder


def evaluate(files: Path, *arguments: str) -> None:
    named = [
        str(files / one) if "." in one and (files / one).exists() else one for one in arguments
    ]
    main(["evaluate", "--runs", str(files / "all.run"), *named])


def test_means_on_the_screen(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(files, "--qrels", "gold.qrels", "-m", "AP", "-m", "P@5")
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == "run\tAP\tP@5"
    by_ap = [float(row.split("\t")[1]) for row in rows]
    assert by_ap == sorted(by_ap, reverse=True)
    runs, gold = q.read_runs(files / "all.run"), q.read_qrels(files / "gold.qrels")
    assert sorted(by_ap) == sorted(q.evaluate(runs, gold, q.AP).means()[0, 0].tolist())


def test_file_and_reading_back(files: Path, tmp_path: Path) -> None:
    evaluate(files, "--qrels", "gold.qrels", "-o", str(tmp_path / "scores.tsv"))
    scores = q.read_scores(tmp_path / "scores.tsv")
    assert scores.measures == ("AP", "nDCG@20")
    runs, gold = q.read_runs(files / "all.run"), q.read_qrels(files / "gold.qrels")
    np.testing.assert_array_equal(scores.values, q.evaluate(runs, gold, scores.measures).values)


def test_every_topic_on_the_screen(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(files, "--qrels", "gold.qrels", "-m", "AP", "-q")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "run\ttopic\tmeasure\tvalue"
    assert len(lines) == 1 + 4 * (3 + 1)


def test_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(files, "--qrels", "gold.qrels", "-m", "map", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["measures"] == ["AP"]
    assert set(found["scores"][0]) == {"run", "AP"}


def test_per_assessor(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "each.tsv")
    evaluate(files, "--judgements", "crowd.tsv", "--per-assessor", "-m", "AP", "-o", out)
    assert q.read_scores(out).axis == "assessor"
    evaluate(files, "--judgements", "crowd.tsv", "--per-assessor", "-m", "AP")
    assert capsys.readouterr().out.startswith("assessor\trun\tAP\n")


def test_expected_measures(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(files, "--probabilities", "merged.tsv", "-m", "AP", "-m", "P@5", "--json")
    found = json.loads(capsys.readouterr().out)
    soft = q.read_probabilities(files / "merged.tsv").soft()
    expected = q.evaluate(q.read_runs(files / "all.run"), soft, [q.AP, q.P @ 5]).means()[0, 0]
    assert max(row["AP"] for row in found["scores"]) == expected.max()
    assert any("p = 0" in note for note in found["notes"])


def test_draws_and_intervals(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(files, "--merged", "merged.tsv", "--draws", "20", "-m", "AP", "--keep", "means")
    said = capsys.readouterr()
    assert said.out.startswith("run\tAP\tsd AP\n")
    assert "means over 3 topics" in said.err
    evaluate(files, "--merged", "merged.tsv", "--draws", "20", "-m", "AP", "--intervals")
    assert "20 draws of relevance" in capsys.readouterr().out
    evaluate(files, "--qrels", "gold.qrels", "--intervals", "--over", "topics", "--json")
    assert json.loads(capsys.readouterr().out)["over"] == "topics"


def test_judgements_are_merged_on_the_way(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(files, "--merged", "merged.tsv", "--draws", "20", "--json")
    from_file = json.loads(capsys.readouterr().out)
    by_method = ("--judgements", "crowd.tsv", "--method", "mv")
    evaluate(files, *by_method, "--draws", "20", "--json")
    merged = json.loads(capsys.readouterr().out)
    assert merged["scores"] == from_file["scores"]
    assert "mv has no posterior draws: each pair drawn from its probabilities" in merged["notes"]
    evaluate(files, *by_method, "--gold", "gold.qrels", "-m", "AP", "--json")
    with_gold = json.loads(capsys.readouterr().out)
    evaluate(files, "--qrels", "gold.qrels", "-m", "AP", "--json")
    by_gold = json.loads(capsys.readouterr().out)["scores"]
    for mine, gold in zip(with_gold["scores"], by_gold, strict=True):
        assert mine["run"] == gold["run"]
        assert mine["AP"] == pytest.approx(gold["AP"], abs=1e-10)


def test_runs_may_inform_the_belief(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_method = ("--judgements", "crowd.tsv", "--method", "ds", "-m", "AP", "--json")
    evaluate(files, *by_method)
    plain = json.loads(capsys.readouterr().out)["scores"]
    evaluate(files, *by_method, "--informed")
    informed = json.loads(capsys.readouterr().out)["scores"]
    assert np.mean([row["AP"] for row in informed]) > np.mean([row["AP"] for row in plain])


def test_belief_may_be_recalibrated_by_gold(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merged = q.read_probabilities(files / "merged.tsv")
    gold = q.read_qrels(files / "gold.qrels")
    q.save(gold.select(np.arange(len(gold)) % 5 == 0), files / "some.qrels")
    evaluate(files, "--merged", "merged.tsv", "--recalibrate", "some.qrels", "-m", "AP", "--json")
    found = {row["run"]: row["AP"] for row in json.loads(capsys.readouterr().out)["scores"]}
    corrected = q.recalibrate(merged, q.read_qrels(files / "some.qrels")).soft()
    expected = q.evaluate(q.read_runs(files / "all.run"), corrected, q.AP)
    assert found == dict(zip(expected.runs, expected.means()[0, 0].tolist(), strict=True))


def test_intervals_in_a_file_say_where_draws_come_from(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--merged", "merged.tsv", "--draws", "20", "--intervals")
    evaluate(files, *arguments, "-o", str(tmp_path / "intervals.tsv"))
    said = capsys.readouterr()
    assert not said.out
    assert "no posterior draws: each pair drawn from its probabilities" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "scored under one of --qrels, --judgements, --probabilities; got none"),
        (["--qrels", "gold.qrels", "--merged", "merged.tsv"], "got --qrels and --probabilities"),
        (["--qrels", "gold.qrels", "--draws", "3"], "--draws needs --probabilities"),
        (["--qrels", "gold.qrels", "--recalibrate", "gold.qrels"], "--recalibrate needs --prob"),
        (["--qrels", "gold.qrels", "--over", "topics"], "they need --intervals"),
        (["--merged", "merged.tsv", "--draws", "1", "--intervals"], "two or more draws"),
        (["--qrels", "gold.qrels", "--per-assessor"], "need --judgements"),
        (["--qrels", "gold.qrels", "--method", "mv"], "need --judgements"),
        (["--judgements", "crowd.tsv", "--method", "aware-uni"], "merges scores, not judgements"),
        (["--judgements", "crowd.tsv"], "merged first by a --method"),
        (["--qrels", "gold.qrels", "-m", "ap"], "did you mean AP"),
        (["--qrels", "gold.qrels", "-m", "P"], "P needs a cutoff"),
        (["--qrels", "gold.qrels", "--unjudged", "0.1"], "needs soft qrels"),
    ],
)
def test_misuse(
    files: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        evaluate(files, *arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
