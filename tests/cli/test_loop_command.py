"""`qrowd loop`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = q.simulate(topics=3, documents=10, assessors=6, votes=4, runs=0, seed=4)
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(made.truth, tmp_path / "gold.qrels")
    names = list(made.truth.pairs.documents)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((len(names), 4)))
    (tmp_path / "x.ids").write_text("\n".join(names) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LOOP = ["loop", "crowd.tsv", "--gold", "gold.qrels", "--votes", "2", "--randomisations", "3", "-q"]


def test_curves_are_written(files: Path) -> None:
    main([*LOOP, "--method", "mv,ds", "-o", "curve.tsv"])
    frame = pl.read_csv("curve.tsv", separator="\t")
    assert frame.columns == ["method", "topic", "votes", "accuracy", "low", "high"]
    assert set(frame["method"]) == {"mv", "ds"}
    assert set(frame["topic"]) == {"all", "t01", "t02", "t03"}
    every = frame.filter((pl.col("topic") != "all") & (pl.col("votes") == 2))
    mean = frame.filter((pl.col("topic") == "all") & (pl.col("votes") == 2))
    for method in ("mv", "ds"):
        expected = every.filter(pl.col("method") == method)["accuracy"].mean()
        assert mean.filter(pl.col("method") == method)["accuracy"][0] == pytest.approx(expected)
    assert (
        (frame["low"] <= frame["accuracy"] + 1e-9) & (frame["accuracy"] <= frame["high"] + 1e-9)
    ).all()


def test_the_same_seed_gives_the_same_file(files: Path) -> None:
    for name in ("a.tsv", "b.tsv"):
        main([*LOOP, "--method", "mv", "--ties", "coin", "-o", name])
    assert Path("a.tsv").read_bytes() == Path("b.tsv").read_bytes()


def test_documents_sweeps_and_the_table(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = ["--sweep", "mvnn.similarity=0.2,0.9"]
    main(
        [
            *LOOP,
            "--vectors",
            "x.npy",
            "--method",
            "mv,mvnn,mev,gp",
            *sweep,
            "--table",
            "t.tsv",
            "--json",
        ]
    )
    told = json.loads(capsys.readouterr().out)
    assert told["methods"][:4] == ["mv", "mvnn", "mev", "gp"]
    assert len(told["methods"]) == 6
    assert {"votes", "method", "accuracy", "low", "high", "gain", "from", "to"} == set(
        told["summary"]
    )
    table = pl.read_csv("t.tsv", separator="\t", infer_schema=False)
    assert table["topic"].to_list() == ["t01", "t02", "t03", "overall"]


def test_the_order_of_systems(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = q.simulate(topics=3, documents=10, assessors=6, votes=4, runs=4, seed=4)
    q.save(made.runs, "runs.tsv")
    picks = ["--method", "mv", "--pick", "even", "--pick", "systems"]
    main([*LOOP, *picks, "--runs", "runs.tsv", "-m", "P@5", "-o", "order.tsv"])
    frame = pl.read_csv("order.tsv", separator="\t")
    assert frame.columns[-1] == "tau_ap"
    last = frame.filter((pl.col("topic") == "all") & (pl.col("votes") == 2))
    assert last["tau_ap"].cast(pl.Float64).is_between(-1, 1).all()
    main([*LOOP, *picks, "--runs", "runs.tsv"])
    assert "tau_ap" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main([*LOOP, *picks])
    assert "--pick systems needs --runs" in capsys.readouterr().err


def test_pictures(files: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra `report`")
    main(
        [*LOOP, "--vectors", "x.npy", "--sweep", "mev.votes=1,2", "--every", "10", "--figures", "f"]
    )
    assert {path.name for path in Path("f").iterdir()} == {"accuracy.svg", "mev.votes.svg"}


def test_topics_left_out(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.txt").write_text("t02\n")
    main([*LOOP, "--method", "mv", "--leave-out", "out.txt", "-o", "c.tsv"])
    assert set(pl.read_csv("c.tsv", separator="\t")["topic"]) == {"all", "t01", "t03"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--method", "gp"], "gp needs documents"),
        (["--method", "nonsense"], "no method 'nonsense'"),
        (["--method", "aware-uni"], "does not merge judgements"),
        (["--sweep", "mvnn"], "expected method.parameter=value"),
        (["--at", "7", "--table", "t.tsv"], "nearest point is 2"),
    ],
)
def test_misuse(
    more: list[str], message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*LOOP, *more])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
