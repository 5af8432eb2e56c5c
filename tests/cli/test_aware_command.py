from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import qrowd as q
from qrowd import registry
from qrowd.cli.main import command, main

IDS = [id for id, card in registry.cards("method").items() if card.level == "scores"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aware")
    made = q.simulate(topics=6, documents=30, assessors=5, runs=5, seed=3)
    q.save(made.judgements, folder / "crowd.tsv")
    q.save(made.gold, folder / "gold.qrels")
    q.save(made.runs, folder / "all.run")
    return folder


def run(files: Path, *more: str) -> Result:
    fixed = ["--runs", str(files / "all.run"), "--judgements", str(files / "crowd.tsv")]
    return CliRunner().invoke(command, ["aware", *more, *fixed], catch_exceptions=False)


def gold_of(id: str, files: Path) -> list[str]:
    needs = registry.cards("method")[id].needs
    gold = ["--gold", str(files / "gold.qrels"), "--train-topics", "0.5"]
    return gold if "reference" in needs else []


@pytest.mark.parametrize("id", IDS)
def test_every_method_writes_scores_and_weights(id: str, files: Path, tmp_path: Path) -> None:
    scores, weights = tmp_path / "scores.tsv", tmp_path / "weights.tsv"
    options = ["-o", str(scores), "--assessors", str(weights), "-m", "AP", "-m", "P@5"]
    result = run(files, id, *options, *gold_of(id, files), "--replicates", "5")
    assert result.exit_code == 0
    written = q.read_scores(scores)
    assert written.measures == ("AP", "P@5")
    assert len(written.topics) == 6
    lines = weights.read_text().splitlines()
    head = lines[0].split("\t")
    at = head.index("weight(AP)")
    assert sum(float(line.split("\t")[at]) for line in lines[1:]) == pytest.approx(1)


def test_training_topics_from_a_list_and_a_file(files: Path, tmp_path: Path) -> None:
    gold = ["--gold", str(files / "gold.qrels")]
    topics = list(q.read_qrels(files / "gold.qrels").topics)[:2]
    (tmp_path / "train.txt").write_text("\n".join(topics))
    listed = run(files, "sup_apc", *gold, "--train-topics", ",".join(topics))
    filed = run(
        files, "aware-s", "--gap", "apc", *gold, "--train-topics", str(tmp_path / "train.txt")
    )
    assert listed.stdout == filed.stdout
    assert "learned on 2 topics" in listed.stderr
    assert "compare on the others" in filed.stderr


def test_json_and_intervals(files: Path) -> None:
    plain = json.loads(run(files, "aware-uni", "--json").stdout)
    assert len(plain["scores"]) == 5
    sure = run(files, "aware-uni", "--intervals", "--json")
    assert sure.exit_code == 0
    assert json.loads(sure.stdout)


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["aware-s"], "name it with --gold", 2),
        (["aware-uni", "--gold", "x.qrels"], "uses no gold", 2),
        (["aware-x"], "did you mean aware-", 2),
        (["ds"], "merges judgements, not scores: qrowd merge ds", 2),
        (["aware-s", "--gap", "far"], "'far' is not one of", 2),
        (["aware-s", "--gold", "GOLD", "--train-topics", "nowhere"], "topics without gold", 1),
    ],
)
def test_misuse(
    arguments: list[str],
    message: str,
    code: int,
    files: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stated = [str(files / "gold.qrels") if a == "GOLD" else a for a in arguments]
    fixed = ["--runs", str(files / "all.run"), "--judgements", str(files / "crowd.tsv")]
    with pytest.raises(SystemExit) as stop:
        main(["aware", *stated, *fixed])
    assert stop.value.code == code
    assert message in capsys.readouterr().err
