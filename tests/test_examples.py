"""Every example that a reader may type is typed here: of help texts, README and tutorial."""

from __future__ import annotations

import importlib.util
import inspect
import re
import runpy
import shlex
import shutil
import subprocess
import threading
import warnings
from http.server import ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest
from tests.example_files import platform_of, skip_without_extras

import qrowd as q
from qrowd.cli.main import main

ROOT = Path(__file__).parents[1]
CONSOLE_ONLY = ("docs/how-to/nginx.md", "docs/how-to/prolific.md")  # a server, a platform
A_MODEL = "docs/tutorials/language-model.md"
pytestmark = pytest.mark.usefixtures("quick_demo")


def _help_examples() -> list[str]:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    lines = [
        line.strip()
        for _, verb, _ in generate.verbs()
        for line in re.sub(r"\\\n\s*", " ", inspect.cleandoc(verb.help or "")).split("\n")
    ]
    return list(dict.fromkeys(line for line in lines if line.startswith("qrowd ")))


def _blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def _commands(page: str) -> list[str]:
    lines = "\n".join(_blocks(page, "sh")).replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.startswith(("qrowd ", "awk "))]


def _exit_code(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def _type(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not line.startswith("qrowd "):
        subprocess.run(["sh", "-c", line], check=True)
        return
    skip_without_extras(line)
    with warnings.catch_warnings(), platform_of(line):
        warnings.simplefilter("ignore", q.errors.QrowdWarning)
        assert _exit_code(shlex.split(line)[1:]) == 0, f"{line}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("line", _help_examples())
def test_examples_of_help_texts_run(
    line: str,
    example_files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(example_files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    _type(line, capsys)


def test_there_is_an_example_of_every_command() -> None:
    listed = {line.split()[1] for line in _help_examples()}
    from qrowd.cli.main import command

    assert listed >= set(command.list_commands(None))  # type: ignore[arg-type]


def _pages(folder: str) -> list[str]:
    return sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / folder).glob("*.md")
    )


def _walk(page: str, capsys: pytest.CaptureFixture[str]) -> int:
    """Type a page: `sh` and `python` blocks run, each line of a `text` block was printed before
    (`…` stands for anything). What is not run is in `console` blocks. Returns how many ran.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(\w+)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    said, ran = "", 0
    for language, block in blocks:
        if language == "python":
            exec(compile(block, page, "exec"), names)
        elif language == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                _type(line.split("  #")[0].strip(), capsys)
        elif language == "text":
            lines = [re.escape(line.strip()) for line in block.splitlines() if line.strip("… ")]
            missing = [line for line in lines if not re.search(line.replace("…", ".*"), said)]
            assert missing == [], f"{page}: not printed: {missing}\n{said}"
        ran += language in ("python", "sh")
        shown = capsys.readouterr()
        said += shown.out + shown.err
    return ran


@pytest.mark.parametrize("page", ["README.md", *_pages("tutorials")])
def test_pages_run_from_an_empty_folder(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if page == A_MODEL:
        pytest.skip("it wants models that answer; see below")
    pytest.importorskip("matplotlib", reason="the pages make reports")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    if page == "README.md":  # its code works on files that a reader has
        for line in _commands(page):
            _type(line, capsys)
    else:
        assert _walk(page, capsys) >= 2


@pytest.mark.parametrize("page", _pages("how-to"))
def test_how_to_pages_run(
    page: str,
    example_files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for extra in ("matplotlib", "sqlalchemy"):
        pytest.importorskip(extra, reason="the pages need the extras `report` and `serve`")
    shutil.copytree(example_files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    ran = _walk(page, capsys)
    assert ran or page in CONSOLE_ONLY


def test_a_language_model_and_200_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All blocks of the page in their order; the models answer at a port that is free."""
    for extra in ("httpx", "jinja2", "matplotlib"):
        pytest.importorskip(extra, reason="the page needs the extras `ask` and `report`")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / A_MODEL).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(sh|python|text)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    models = runpy.run_path(str(ROOT / "examples" / "language_model" / "models.py"))
    names: dict[str, object] = {}
    said = ""
    with ThreadingHTTPServer(("127.0.0.1", 0), models["Models"]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for language, block in blocks:
            if language == "python":
                exec(compile(block, A_MODEL, "exec"), names)
            elif language == "text":
                assert all(line in said for line in block.splitlines())
            else:
                lines = block.replace("\\\n", " ").splitlines()
                for line in lines:
                    if line.startswith("qrowd "):
                        _type(line.replace(":8080/", f":{server.server_port}/"), capsys)
                    else:
                        assert (ROOT / line.split()[1]).is_file(), line
            shown = capsys.readouterr()
            said += shown.out + shown.err
        server.shutdown()
    rows = pl.read_csv("scores.tsv", separator="\t").to_dicts()
    truth = q.evaluate(q.read_runs("lm/runs"), q.read_qrels("lm/gold.qrels"), "P(rel=2)@10")
    right = dict(zip(truth.runs, truth.means()[0, 0], strict=True))
    held = [row["low"] <= right[row["run"]] <= row["high"] for row in rows]
    assert len(held) == 10
    assert sum(held) >= 7  # of 90 % intervals
    report = Path("report.html").read_text(encoding="utf-8")
    assert "The machine judge quick/graded falls for made-up documents" in report
    assert all(f"{row['human']:.3f}" in report for row in rows)  # by the same cut of grades


def _pages_with_code() -> list[str]:
    pages = ["README.md", "docs/index.md", *_pages("explanation"), *_pages("reference")]
    return [page for page in pages if "import qrowd as q" in "".join(_blocks(page, "python"))]


@pytest.mark.parametrize("page", _pages_with_code())
def test_code_of_pages_runs(
    page: str, example_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="the pages' code makes a report")
    shutil.copytree(example_files, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    found = "\n".join(_blocks(page, "python"))
    exec(compile(found, page, "exec"), {})


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "examples").glob("*.py")))
def test_example_scripts_run(
    script: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_readme_code_is_short() -> None:
    lines = [line for line in "".join(_blocks("README.md", "python")).splitlines() if line.strip()]
    assert len(lines) <= 24
