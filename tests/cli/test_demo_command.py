from __future__ import annotations

import sys
from pathlib import Path

import pytest

import qrowd as q
from qrowd.cli.main import main

pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("matplotlib", reason="figures need the extra `report`")


def test_it_ends_with_the_judging_page_and_the_path_of_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/qrowd", "demo"])
    main(["demo", "-o", str(tmp_path / "new" / "demo"), "--seed", "2"])
    shown = capsys.readouterr()
    assert [line[:8] for line in shown.err.splitlines() if " of 4: " in line] == [
        f"{step} of 4: " for step in (1, 2, 3, 4)
    ]
    *_, judge, last = shown.out.splitlines()
    assert judge.endswith(": .venv/bin/qrowd serve --try")
    path = Path(last)
    assert path == tmp_path / "new" / "demo" / "report.html"
    page = path.read_text(encoding="utf-8")
    assert "qrowd simulate --preset demo --seed 2" in page
    made = q.read_judgements(path.parent / "crowd.tsv.gz")
    assert len(made.assessors) == 40


def test_report_on_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "c"
    main(["simulate", "-q", "-o", str(folder), "--topics", "4", "--documents", "20"])
    out = tmp_path / "page.html"
    files = ["--judgements", str(folder / "crowd.tsv.gz"), "--gold", str(folder / "gold.qrels")]
    more = ["--runs", str(folder / "runs"), "--draws", "20", "--method", "mv", "-m", "P@5"]
    main(["report", *files, *more, "--title", "Mine", "-o", str(out)])
    assert capsys.readouterr().out.splitlines()[-1] == str(out)
    page = out.read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in page
    assert "P@5" in page


def test_gold_on_another_scale_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny_crowd: q.Judgements
) -> None:
    q.save(tiny_crowd, tmp_path / "crowd.tsv")
    q.save(q.Qrels.of(["t1", "t1"], ["d1", "d2"], [3, 0]), tmp_path / "gold.qrels")
    arguments = [
        "--judgements",
        str(tmp_path / "crowd.tsv"),
        "--gold",
        str(tmp_path / "gold.qrels"),
    ]
    with pytest.raises(SystemExit) as stop:
        main(["report", *arguments, "-o", str(tmp_path / "r.html")])
    assert stop.value.code == 1
    assert "--gold-rel" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()
    main(["report", *arguments, "--gold-rel", "2", "-o", str(tmp_path / "r.html")])
    assert (tmp_path / "r.html").exists()
