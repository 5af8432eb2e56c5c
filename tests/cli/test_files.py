"""What commands read and write: once, never both, and no traceback whatever happens to a file."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from qrowd.cli.main import main

CROWD = "topic\tdoc\tassessor\tgrade\nt1\td1\ta\t1\nt1\td1\tb\t0\nt1\td2\ta\t1\nt2\td1\tb\t0\n"
WORDS = CROWD.replace("\t1\n", "\tgood\n").replace("\t0\n", "\tbad\n")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crowd.tsv").write_text(CROWD)
    (tmp_path / "words.tsv").write_text(WORDS)
    (tmp_path / "gold.qrels").write_text("t1 0 d1 good\nt1 0 d2 bad\n")
    (tmp_path / "plain.qrels").write_text("t1 0 d1 1\nt1 0 d2 0\n")
    (tmp_path / "a.run").write_text("t1 Q0 d1 1 2 a\nt1 Q0 d2 2 1 a\nt2 Q0 d1 1 1 a\n")
    return tmp_path


def failing(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1, said
    return int(stop.value.code or 0), said


@pytest.mark.parametrize(
    "line",
    [
        "merge mv crowd.tsv -o crowd.tsv",
        "merge mv . -o crowd.tsv",
        "merge mv *.tsv -o crowd.tsv",
        "merge mv -o ./crowd.tsv crowd.tsv",
        "merge mv crowd.tsv --gold plain.qrels -o plain.qrels",
        "evaluate --runs a.run --qrels plain.qrels -o plain.qrels",
        "evaluate --runs a.run --judgements crowd.tsv --per-assessor -o crowd.tsv",
        "score plain.qrels plain.qrels -o plain.qrels",
        "report crowd.tsv -o crowd.tsv",
    ],
)
def test_an_output_that_is_an_input_is_refused(
    line: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    code, said = failing(capsys, *line.split())
    assert (code, "would be overwritten by --output" in said) == (2, True)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize(
    "line",
    [
        "check words.tsv --gold gold.qrels",
        "merge mv -q words.tsv --gold gold.qrels",
        "quality words.tsv --gold gold.qrels",
        "score gold.qrels gold.qrels",
        "evaluate --runs a.run --qrels gold.qrels",
        "evaluate --runs a.run --judgements words.tsv --per-assessor",
    ],
)
@pytest.mark.usefixtures("here")
def test_words_as_grades_on_every_command(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*line.split(), "--grades", "good=1,bad=0"])
    assert capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(line.split())
    assert "say what they mean: --grades" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_report_takes_files_by_position_and_columns(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2", reason="pages need the extra `report`")
    pytest.importorskip("matplotlib", reason="pages need the extra `report`")
    Path("odd.csv").write_text("url,who,stars\nx,ann,1\nx,bob,0\ny,ann,1\n")
    columns = "doc=url,assessor=who,grade=stars"
    main(["report", "odd.csv", "--columns", columns, "--method", "mv", "-o", "page.html"])
    assert capsys.readouterr().out == "page.html\n"
    assert failing(capsys, "report", "-o", "page.html")[0] == 2


def make_bad_files() -> dict[str, str]:
    """Files, and what is said of them."""
    many = pl.DataFrame(
        {"topic": "t", "doc": [f"d{i * 7919 % 30011}" for i in range(20_000)], "assessor": "a"}
    ).with_columns(grade=pl.lit(1))
    many.write_parquet("middle.parquet", compression="zstd")
    data = bytearray(Path("middle.parquet").read_bytes())
    data[len(data) // 3 : len(data) // 3 + 400] = bytes(400)
    Path("middle.parquet").write_bytes(data)
    row = {"topic": ["t"], "assessor": ["a"], "grade": [1]}
    pl.DataFrame({**row, "doc": [["d", "e"]]}).write_parquet("lists.parquet")
    pl.DataFrame({**row, "doc": [b"\xff"]}).write_parquet("bytes.parquet")
    Path("nested.json").write_text('[{"topic": "t", "doc": {"a": 1}, "assessor": "a", "grade": 1}]')
    Path("deep.json").write_text('{"a": {"b": {"c": {"d": 1}}}}')
    Path("mixed.json").write_text('{"a": {"b": 1}, "c": 2}')
    Path("cut16.tsv").write_bytes(b"\xff\xfet\x00o")
    return {
        "middle.parquet": "damaged in the middle",
        "lists.parquet": "'doc' holds lists",
        "bytes.parquet": "'doc' holds bytes that are no text",
        "nested.json": "'doc' holds objects",
        "deep.json": "cannot tell what this is from the columns a; say what they are",
        "mixed.json": "cannot tell what this is from the columns a c; say what they are",
        "cut16.tsv": "starts as UTF-16 but is not",
        "x" * 100_000: "cannot be read: File name too long",
        "crowd.tsv/x": "no such file",
    }


@pytest.mark.usefixtures("here")
def test_bad_files_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for name, message in make_bad_files().items():
        code, said = failing(capsys, "check", name)
        assert (code, message in said) == (1, True), said[:300]
        assert len(said) < 400


@pytest.mark.usefixtures("here")
def test_what_cannot_be_opened_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        patched.setattr(Path, "iterdir", refuse)
        for name in ("crowd.tsv", "."):
            assert "cannot be read: Permission denied" in failing(capsys, "check", name)[1]
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", refuse)
        code, said = failing(capsys, "merge", "mv", "-q", "crowd.tsv", "-o", "out.qrels")
        assert (code, said) == (1, "qrowd: out.qrels: cannot be written: Permission denied\n")
    assert not Path("out.qrels").exists()


@pytest.mark.usefixtures("here")
def test_process_substitution(capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, CROWD.encode())
    os.close(writing)
    main(["check", f"/dev/fd/{reading}"])
    os.close(reading)
    assert "\tjudgements\tassessors\t2\n" in capsys.readouterr().out
