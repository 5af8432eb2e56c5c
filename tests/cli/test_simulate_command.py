from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main


def test_files_are_read_back_as_what_was_simulated(tmp_path: Path) -> None:
    arguments = ["--topics", "3", "--documents", "20", "--runs", "4", "--votes", "3", "--seed", "5"]
    main(["simulate", "-o", str(tmp_path / "made"), *arguments])
    made = q.simulate(topics=3, documents=20, runs=4, votes=3, seed=5)
    crowd = q.read_judgements(tmp_path / "made" / "crowd.tsv.gz")
    assert np.array_equal(crowd.grade, made.judgements.grade)
    assert np.array_equal(crowd.seconds, made.judgements.seconds)  # type: ignore[arg-type]
    assert q.read_qrels(tmp_path / "made" / "gold.qrels") == made.gold
    runs = q.read_runs(tmp_path / "made" / "runs")
    assert runs.runs == made.runs.runs
    assert np.array_equal(runs.score, made.runs.score)
    table = (tmp_path / "made" / "assessors.tsv").read_text().splitlines()
    assert table[0].split("\t")[:3] == ["assessor", "kind", "sensitivity"]
    assert len(table) == 31


def test_preset_and_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["simulate", "-o", str(tmp_path), "--preset", "graded", "--topics", "2", "--no-timed"])
    said = capsys.readouterr()
    assert "grades 0 1 2 3" in said.err
    assert said.out.splitlines()[-1] == str(tmp_path / "runs")
    assert q.read_judgements(tmp_path / "crowd.tsv.gz").seconds is None


def test_another_collections_runs_are_not_mixed_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["simulate", "-q", "-o", str(tmp_path), "--topics", "2", "--documents", "9", "--runs"]
    main([*small, "3"])
    with pytest.raises(SystemExit) as stop:
        main([*small, "2"])
    assert stop.value.code == 1
    assert "run03.run.gz" in capsys.readouterr().err


def test_bad_value_is_misuse(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["simulate", "-o", str(tmp_path), "--votes", "-1"])
    assert stop.value.code == 2
    assert "votes must be a number above 0, got -1.0" in capsys.readouterr().err
