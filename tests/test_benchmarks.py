"""How benchmarks end: an empty table or a missing figure fails, what is absent is skipped."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks import _results

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
MODULE = """
from dataclasses import dataclass
from functools import partial

from benchmarks._benchmark import Table, attempt, need, option, run


@dataclass(frozen=True)
class Options:
    rows: int = 5
    words: tuple[str, ...] = option((), positional=True)


def main(options: Options) -> None:
{main}


run(main, Options(), Options(rows=2), "About it.")
"""


def test_each_is_listed() -> None:
    names = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")}
    listed = (ROOT / "benchmarks" / "README.md").read_text()
    assert names == set(re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE))


def ended(main: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = MODULE.format(main=textwrap.indent(textwrap.dedent(main), "    "))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


FILLED = """
    table = Table("row", "figure")
    for number in range(options.rows):
        table.row(number, f"{number:.2f} {' '.join(options.words)}")
"""


def test_short_form_and_options() -> None:
    assert ended(FILLED).stdout.count("\n| ") == 6
    assert ended(FILLED, "--short").stdout.count("\n| ") == 3
    done = ended(FILLED, "--short", "--rows", "1", "seconds", "each")
    assert done.returncode == 0
    assert "| 0 | 0.00 seconds each |" in done.stdout
    assert "5; short: 2" in ended(FILLED, "--help").stdout


@pytest.mark.parametrize(
    ("main", "problem"),
    [
        ("pass", "no table was printed"),
        ("Table('a', 'b')", "the table | a | b | is empty"),
        ("Table('a', 'b').row('x', '')", "row 1 (x) lacks its 'b'"),
        ("Table('a', 'b').row('x', f'{float(\"nan\"):.3f} s')", "row 1 (x) lacks its 'b'"),
        ("Table('a', 'b').row('x', '-')", "row 1 (x) lacks its 'b'"),
        ("raise ValueError('broken')", "ValueError: broken"),
    ],
)
def test_what_fails(main: str, problem: str) -> None:
    done = ended(main)
    assert done.returncode == 1
    assert problem in done.stderr


def test_what_may_be_empty() -> None:
    assert ended("Table('a', 'b', optional=('b',)).row('x', '')").returncode == 0
    assert ended("Table('a', 'b').row('a peer that failed', '-', complete=False)").returncode == 0


def test_what_is_absent_is_skipped() -> None:
    whole = ended("need(False, 'no data')")
    assert (whole.returncode, whole.stdout.strip()) == (0, "skipped: no data")
    part = ended("attempt(partial(need, None, 'no peer'))\nTable('a', 'b').row('x', 1)")
    assert part.returncode == 0
    assert part.stdout.endswith("skipped in part: no peer\n")


def test_each_stored_result_was_written_by_a_run() -> None:
    results = [_results._read(path.stem) for path in _results.FOLDER.glob("*.json")]
    assert [result["command"] for result in results if not result["sources"]] == []


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Results in a folder of their own, of a run that loads one file; the file."""
    source = tmp_path / "src" / "qrowd" / "counting.py"
    source.parent.mkdir(parents=True)
    source.write_text('"""Counts."""\n\ndef count():\n    """Two."""\n    return 2\n')
    monkeypatch.setattr(_results, "ROOT", tmp_path)
    monkeypatch.setattr(_results, "FOLDER", tmp_path)
    monkeypatch.setattr(_results, "_elsewhere", set())
    _results.also_all("")
    tables = {"1": (["crowd", "right"], [["rte", ".9"], ["dl21", ".7"]])}
    _results.store("counted", "python -m benchmarks.counted", "simulated", tables)
    _results._read.cache_clear()
    yield source
    _results._read.cache_clear()


def test_a_stored_result(kept: Path) -> None:
    assert _results.names() == ["counted"]
    assert _results.cell("counted", "dl21", "right") == ".7"
    assert "`python -m benchmarks.counted` · simulated · 20" in _results.markdown("counted")


def test_a_result_is_stale_when_its_source_does_something_else(kept: Path) -> None:
    assert list(_results.stale()) == []
    kept.write_text('"""It counts."""\n\ndef count():  # why two\n\n    return 2\n')
    assert list(_results.stale()) == []
    kept.write_text("def count():\n    return 3\n")
    (line,) = _results.stale()
    assert "src/qrowd/counting.py" in line
    assert line.endswith("python -m benchmarks.counted")
