"""What every command does about closed streams, full disks, clashing files and wild numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import DataWarning, ParameterError

FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manners")
    made = q.simulate(topics=3, documents=12, assessors=8, votes=3, runs=2, seed=1)
    q.save(made.judgements, folder / "crowd.tsv")
    q.save(made.gold, folder / "gold.qrels")
    (folder / "runs").mkdir()
    q.save(made.runs, folder / "runs" / "all.run")
    return folder


def _fails(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return int(stop.value.code or 0), said


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("merge mv crowd.tsv -o crowd.tsv", "crowd.tsv is read (as an argument) and would be"),
        ("merge mv crowd.tsv --gold gold.qrels -o gold.qrels", "is read (--gold) and would be"),
        ("merge mv crowd.tsv -o a.tsv --probabilities a.tsv", "by both --output and --prob"),
        ("evaluate --runs runs --qrels gold.qrels -o runs/all.run", "is read (--runs) and"),
        ("evaluate --runs runs/*.run --qrels gold.qrels -o runs/all.run", "is read (--runs) and"),
        ("compare A=crowd.tsv --reference gold.qrels -o crowd.tsv", "is read (as an argument)"),
        ("evaluate --runs runs --qrels gold.qrels --draws 1000000000", "not in the range"),
    ],
)
def test_misuse(
    line: str,
    message: str,
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    code, said = _fails(line.split(), capsys)
    assert code == 2
    assert message in said
    assert before == {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}


def test_a_file_may_be_replaced_and_dev_null_written_twice(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crowd, out = str(files / "crowd.tsv"), str(tmp_path / "out.qrels")
    for _ in range(2):
        main(["merge", "mv", crowd, "-o", out, "-q"])
    main(["merge", "mv", crowd, "-o", os.devnull, "--probabilities", os.devnull, "-q"])
    assert capsys.readouterr().err == ""


def test_a_cut_above_every_grade_is_told(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crowd, gold = str(files / "crowd.tsv"), str(files / "gold.qrels")
    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        main(["merge", "mv", crowd, "--rel", "9", "-o", os.devnull, "-q"])
        assert "--rel 9 is above every grade (0 1), so nothing" in capsys.readouterr().err
        main(["merge", "mv", crowd, "--gold", gold, "--gold-rel", "7", "-o", os.devnull, "-q"])
        assert "--gold-rel 7 is above every grade (0 1)" in capsys.readouterr().err


def test_a_parameter_given_twice_is_told(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crowd = str(files / "crowd.tsv")
    main(["merge", "ds(smoothing=0.5)", crowd, "--smoothing", "0.7", "-o", os.devnull, "-q"])
    said = capsys.readouterr().err
    assert said.startswith("warning: smoothing is given twice, in 'ds(smoothing=0.5)' and by --sm")
    main(["merge", "ds(smoothing=0.5)", crowd, "-o", os.devnull, "-q"])
    assert capsys.readouterr().err == ""


def test_a_folder_that_cannot_be_made(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = str(files / "crowd.tsv" / "folder")
    code, said = _fails(["simulate", "-q", "--topics", "2", "-o", inside], capsys)
    assert code == 1
    assert "cannot be made: Not a directory" in said


def test_too_many_draws_of_many_pairs() -> None:
    made = q.simulate(topics=3, documents=12, assessors=8, votes=3, seed=1)
    with pytest.raises(ParameterError, match="draws of 36 pairs are too many; use at most"):
        q.MajorityVote().fit(made.judgements).draws(10**9)


def _shell(script: str, folder: Path) -> tuple[int, str]:
    command = script.replace("QROWD", f"{sys.executable} -m qrowd")
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_closed_streams_and_broken_pipes(files: Path) -> None:
    assert _shell("QROWD merge mv - <&-", files) == (
        2,
        "qrowd: stdin is closed; name a file instead of -\n",
    )
    code, said = _shell("QROWD methods >&-", files)
    assert (code, "stdout is closed" in said) == (2, True)
    assert _shell("QROWD methods | head -n 1 > /dev/null", files) == (0, "")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_full_disk(files: Path) -> None:
    code, said = _shell("QROWD merge mv crowd.tsv -q > /dev/full", files)
    assert (code, said) == (1, "qrowd: output: No space left on device\n")
    code, said = _shell("QROWD merge mv crowd.tsv -q -o /dev/full", files)
    assert (code, said) == (1, "qrowd: /dev/full: cannot be written: No space left on device\n")
