"""Labels of several teams against one gold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import InputError

TEAMS = """topic\tdoc\tteam\tlabel\trank\tset
t\ta\tone\t1\t2\t1
t\tb\tone\t0\t1\t1
t\tc\tone\t.5\t3\t1
t\ta\ttwo\t.8\t\t1
t\tb\ttwo\t.4\t\t1
"""
GOLD = "t 0 a 2\nt 0 b 0\nt 0 c 1\n"


def write(folder: Path, teams: str = TEAMS) -> tuple[Path, Path]:
    (folder / "teams.tsv").write_text(teams)
    (folder / "gold.qrels").write_text(GOLD)
    return folder / "teams.tsv", folder / "gold.qrels"


def test_figures_by_hand(tmp_path: Path) -> None:
    teams, gold = write(tmp_path)
    one, two, mean = q.score_teams(q.read_teams(teams, "team"), q.read_qrels(gold).binary(1))
    # one: a right, b right, c (a half) counts as not relevant: wrong
    assert (one["team"], one["pairs"], one["accuracy"]) == ("one", 3, pytest.approx(2 / 3))
    assert one["fractional accuracy"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert (one["recall"], one["precision"], one["specificity"]) == (0.5, 1.0, 1.0)
    # its own ranking is b a c: relevant at ranks 2 and 3
    assert one["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    gain = 1 / np.log2([2, 3, 4])
    assert one["ndcg"] == pytest.approx((gain[1] + gain[2]) / (gain[0] + gain[1]))
    assert (one["ranks"], two["ranks"]) == ("own", "by label")
    assert two["fractional accuracy"] == pytest.approx((0.8 + 0.6) / 2)
    assert two["map"] == 1.0
    assert mean["team"] == "mean"
    assert mean["accuracy"] == pytest.approx((one["accuracy"] + two["accuracy"]) / 2)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    teams, gold = write(tmp_path, TEAMS.replace(".8", "1.8"))
    with pytest.raises(InputError, match=r"teams.tsv:5: a label must lie between 0 and 1, got 1.8"):
        q.read_teams(teams, "team")
    teams, _ = write(tmp_path, TEAMS + "t\tz\tthree\t1\t\t1\n")
    rows = q.score_teams(q.read_teams(teams, "team"), q.read_qrels(gold).binary(1))
    assert [(row["team"], row["pairs"]) for row in rows[:3]] == [
        ("one", 3),
        ("two", 2),
        ("three", 0),
    ]
    assert rows[-1]["accuracy"] == pytest.approx((rows[0]["accuracy"] + rows[1]["accuracy"]) / 2)
    only = {"three": q.read_teams(teams, "team")["three"]}
    with pytest.raises(InputError, match="no team has a label on any pair of the gold"):
        q.score_teams(only, q.read_qrels(gold).binary(1))
    teams, _ = write(tmp_path, TEAMS + "t\ta\ttwo\t1\t\t1\n")
    with pytest.raises(InputError, match="two has two labels on one pair"):
        q.read_teams(teams, "team")


def test_a_ranking_of_nothing_relevant_has_no_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked = TEAMS + "t\tb\tthree\t0\t1\t1\nt\ta\tthree\t1\t\t1\nt\tc\tthree\t1\t\t1\n"
    teams, gold = write(tmp_path, ranked)  # three ranks b alone, which is not relevant
    one, three, two, mean = q.score_teams(q.read_teams(teams, "team"), q.read_qrels(gold).binary(1))
    assert three["team"] == "three"
    assert np.isnan([three["map"], three["ndcg"]]).all()
    assert three["accuracy"] == 1
    assert mean["map"] == pytest.approx((one["map"] + two["map"]) / 2)
    main(["score", str(teams), str(gold), "--by", "team"])
    row = capsys.readouterr().out.splitlines()[2]
    assert row.split("\t")[-3:] == ["", "", "own"]
    only = {"three": q.read_teams(teams, "team")["three"]}
    assert np.isnan(q.score_teams(only, q.read_qrels(gold).binary(1))[-1]["map"])


def test_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teams, gold = write(tmp_path)
    main(["score", str(teams), str(gold), "--by", "team"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["team", "one", "two", "mean"]
    with pytest.raises(SystemExit) as stop:
        main(["score", str(teams), str(gold), "--by", "group"])
    assert stop.value.code in (1, 2)
    assert "group" in capsys.readouterr().err


def test_the_teams_of_2011(real_data: Path) -> None:
    teams = q.read_teams(real_data / "trec11_teams" / "labels.tsv.gz", "team")
    gold = q.read_qrels(real_data / "trec11_crowd_task1" / "gold.qrels.gz").binary(1)
    rows = q.score_teams(teams, gold)
    assert len(rows) == 9
    assert [row["team"] for row in rows if row["ranks"] == "own"] == ["team3", "team4"]
    assert 0.5 < rows[-1]["accuracy"] < 1
