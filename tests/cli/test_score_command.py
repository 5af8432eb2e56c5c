from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from qrowd.cli.main import main

GOLD = "t1 0 d1 1\nt1 0 d2 0\nt1 0 d3 1\nt2 0 d1 0\n"
HARD = "t1 0 d1 1\nt1 0 d2 0\nt1 0 d3 0\nt2 0 d1 0\nt2 0 d9 1\n"
SOFT = """topic\tdoc\tgrade\tgiven\tp(0)\tp(1)
t1\td1\t1\t1\t0\t1
t1\td2\t0\t0\t0.8\t0.2
t1\td3\t1\t0\t0.5\t0.5
t2\td1\t0\t0\t0.9\t0.1
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"gold.qrels": GOLD, "hard.qrels": HARD, "soft.tsv": SOFT}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(files: Path, *arguments: str) -> None:
    main(["score", *(str(files / one) if (files / one).exists() else one for one in arguments)])


def test_hard_labels(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "hard.qrels", "gold.qrels")
    said = capsys.readouterr().out
    assert "4 pairs of 2 topics" in said
    rows = [line.split() for line in said.splitlines()]
    assert ["accuracy", "0.7500", "0.1667", "0.7500", "0.1667"] in rows
    assert "note: 1 merged pairs have no gold" in said


def test_probabilities_leave_out_what_was_given(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(files, "soft.tsv", "gold.qrels", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == 3
    assert found["given"]["pairs"] == 1
    assert found["overall"]["accuracy"] == 1.0  # the tie was decided in the file
    assert found["overall"]["fractional_accuracy"] == pytest.approx((0.8 + 0.5 + 0.9) / 3)


def test_given_may_be_named(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "seen.qrels").write_text("t1 0 d3 1\n")
    run(files, "hard.qrels", "gold.qrels", "--given", "seen.qrels", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["overall"]["accuracy"] == 1.0
    assert found["given"]["overall"]["accuracy"] == 0.0


def test_per_topic_and_calibration(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "soft.tsv", "gold.qrels", "--per-topic", "--calibration", "--bins", "5")
    said = capsys.readouterr().out
    assert "mean of topics" in said
    assert "reliability" in said
    assert "0.40-0.60" in said


def test_rows_per_topic_go_to_a_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "soft.tsv", "gold.qrels", "-o", str(files / "out.tsv"))
    table = pl.read_csv(files / "out.tsv", separator="\t")
    assert table["topic"].to_list() == ["t1", "t2"]
    assert table["pairs"].to_list() == [2, 1]
    said = capsys.readouterr()
    assert said.out == ""
    assert "1 pairs whose gold was given are left out" in said.err


def test_graded_gold_needs_a_cut(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "graded.qrels").write_text("t1 0 d1 3\nt1 0 d2 1\nt1 0 d3 2\n")
    with pytest.raises(SystemExit) as stop:
        run(files, "hard.qrels", "graded.qrels")
    assert stop.value.code == 1
    assert "--gold-rel" in capsys.readouterr().err
    run(files, "hard.qrels", "graded.qrels", "--gold-rel", "3", "--json")
    assert json.loads(capsys.readouterr().out)["overall"]["accuracy"] == 1.0


def test_graded_labels_can_be_cut_too(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "topic\tdoc\tp(0)\tp(1)\tp(2)\nt1\td1\t0.1\t0.3\t0.6\nt1\td2\t0.2\t0.5\t0.3\n"
    (files / "graded.tsv").write_text(rows)
    run(files, "graded.tsv", "gold.qrels", "--rel", "2", "--gold-rel", "1", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["grades"] == [0, 1]
    assert found["overall"]["fractional_accuracy"] == pytest.approx((0.6 + 0.7) / 2)


def test_a_file_of_neither(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "bad.tsv").write_text("topic\tdoc\tvalue\nt1\td1\t1\n")
    with pytest.raises(SystemExit) as stop:
        run(files, "bad.tsv", "gold.qrels")
    assert stop.value.code == 1
    assert "bad.tsv: neither grades nor columns p(0)" in capsys.readouterr().err


@pytest.mark.parametrize(("cut", "which"), [("5", "not one pair"), ("0", "every pair")])
def test_gold_of_one_kind_is_noted(
    files: Path, cut: str, which: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(files, "hard.qrels", "gold.qrels", "--gold-rel", cut)
    assert f"note: {which} of this gold is relevant" in capsys.readouterr().out
