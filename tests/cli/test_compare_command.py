from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from qrowd.cli.main import main


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Scores of a reference, of an estimate near to it, and of one far from it."""
    random = np.random.default_rng(2)
    quality = np.linspace(0.2, 0.7, 8)
    truth = {m: quality + random.normal(0, 0.05, (20, 8)) for m in ("AP", "P@10")}
    for name, spread in {"nist": 0.0, "near": 0.02, "far": 0.5}.items():
        lines = ["run\ttopic\tmeasure\tvalue"]
        for measure, values in truth.items():
            noisy = values + random.normal(0, spread, values.shape)
            lines += [
                f"s{run}\t{400 + topic}\t{measure}\t{value}"
                for (topic, run), value in np.ndenumerate(noisy)
            ]
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(files: Path, *arguments: str) -> None:
    reference = ["--reference", str(files / "nist.tsv"), "--bootstrap", "50"]
    main(
        [
            "compare",
            *(str(files / one) if (files / one).exists() else one for one in arguments),
            *reference,
        ]
    )


def test_text(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "near.tsv", "far.tsv")
    said = capsys.readouterr().out
    assert "AP: 8 runs, 20 topics" in said
    assert "P@10: 8 runs, 20 topics" in said
    near = next(line for line in said.splitlines() if line.startswith("a near"))
    assert near.count(" b") == 7


def test_json_names_and_measure(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, f"N={files / 'near.tsv'}", "-m", "P@10", "--test", "t", "--json")
    found = json.loads(capsys.readouterr().out)
    assert {row["estimate"] for row in found["rows"]} == {"N"}
    assert {row["measure"] for row in found["rows"]} == {"P@10"}
    assert found["test"] == "t"


def test_topics_are_read_from_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "test.txt").write_text("# held out\n401\n402\n403\n")
    (files / "train.qrels").write_text("401 0 d1 1\n401 0 d2 0\n")
    run(files, "near.tsv", "--topics", "test.txt", "--leave-out", "train.qrels", "--json")
    assert json.loads(capsys.readouterr().out)["topics"] == ["402", "403"]


def test_files_and_latex(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "near.tsv", "far.tsv", "-o", str(files / "out.tsv"))
    assert len(pl.read_csv(files / "out.tsv", separator="\t")) == 2 * 2 * 7
    run(files, "near.tsv", "-o", str(files / "out.tex"))
    assert (files / "out.tex").read_text().count(r"\begin{tabular}") == 2
    assert capsys.readouterr().out == ""
    run(files, "near.tsv", "--latex")
    assert capsys.readouterr().out == (files / "out.tex").read_text()


def test_misuse(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        run(files, "near.tsv", "near.tsv")
    assert stop.value.code == 2
    assert "two of the scores are named 'near'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        run(files, "near.tsv", "-m", "AQ")
    assert stop.value.code == 2
    assert "did you mean AP" in capsys.readouterr().err
    (files / "none.txt").write_text("\n")
    with pytest.raises(SystemExit) as stop:
        run(files, "near.tsv", "--topics", "none.txt")
    assert stop.value.code == 1


def test_what_is_no_table_of_scores(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "gold.qrels").write_text("401 0 d1 1\n")
    with pytest.raises(SystemExit):
        run(files, "gold.qrels")
    assert "scores need a header with run topic measure value" in capsys.readouterr().err


def test_systems(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", "--systems", str(files / "nist.tsv"), "-m", "AP"])
    said = capsys.readouterr().out
    assert said.splitlines()[0].split()[0] == "AP"
    assert "Holm's correction over 28 tests" in said
    main(["compare", "--systems", str(files / "nist.tsv"), "--baseline", "s3", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["baseline"] == "s3"
    assert len(found["tests"]) == 2 * 7
    main(["compare", "--systems", str(files / "nist.tsv"), "--correction", "fdr", "--latex"])
    assert r"\begin{tabular}{lrr}" in capsys.readouterr().out
    main(["compare", "--systems", str(files / "nist.tsv"), "-o", str(files / "systems.tsv")])
    assert len(pl.read_csv(files / "systems.tsv", separator="\t")) == 16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nist.tsv"], "--reference FILE or --systems"),
        (["--systems", "nist.tsv", "--reference", "nist.tsv"], "--reference FILE or --systems"),
        (["--systems", "nist.tsv", "near.tsv"], "one file of scores"),
        (["near.tsv", "--reference", "nist.tsv", "--baseline", "s1"], "--baseline needs"),
    ],
)
def test_misuse_of_systems(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    named = [str(files / one) if one.endswith(".tsv") else one for one in arguments]
    with pytest.raises(SystemExit) as left:
        main(["compare", *named])
    assert left.value.code == 2
    assert message in capsys.readouterr().err
