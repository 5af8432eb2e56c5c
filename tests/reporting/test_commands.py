"""The command beside a number of a report prints the same number."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import qrowd as q
from qrowd.cli.main import command
from qrowd.reporting import figures, paper_figures
from qrowd.reporting.commands import Commands, Files
from qrowd.reporting.parts import Matrix, Report, Shown, Table, cell_text

pytest.importorskip("jinja2", reason="pages need the extra `report`")
pytest.importorskip("matplotlib", reason="figures need the extra `report`")


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (paper_figures, figures):
        monkeypatch.setattr(module, "drawn", lambda *_: "<svg></svg>")


@dataclass(frozen=True)
class Number:
    """A number of a page: what it shows, in which row, and the command beside it."""

    table: str
    row: str
    column: str
    shown: str
    command: str


def tables_of(page: Report) -> list[Table | Matrix]:
    """All that a page shows in rows and columns."""
    parts = [part for section in page.sections for part in section.parts]
    return [part for part in parts if isinstance(part, Table | Matrix)]


def numbers_of(table: Table | Matrix) -> list[Number]:
    """All of its numbers."""
    title, found = table.caption, []
    if isinstance(table, Matrix):
        for a, row in zip(table.names, table.values, strict=True):
            for b, value in zip(table.names, row, strict=True):
                if a != b:
                    found.append(Number(title, a, f"beats {b}", f"{value:.2f}", table.command))
        return found
    names = list(table.columns)
    for row in table.rows():
        for name, value in zip(names[1:], row[1:], strict=True):
            if isinstance(value, Shown | int | float) and value == value:
                text = cell_text(value, table.digits_of(name))
                found.append(Number(title, str(row[0]), name, text, table.command))
    return found


class Terminal:
    """Runs commands once each, and remembers what they printed or wrote."""

    def __init__(self) -> None:
        self.printed: dict[str, str] = {}

    def lines(self, number: Number) -> list[str]:
        """What is printed about a number's row."""
        about: list[str] = []
        for line in number.command.splitlines():
            if line not in self.printed:
                typed = shlex.split(line)
                assert typed[0] == "qrowd"
                result = CliRunner().invoke(command, typed[1:])
                assert result.exit_code == 0, (line, result.output)
                written = typed[typed.index("--parameters") + 1] if "--parameters" in typed else ""
                self.printed[line] = result.stdout + (Path(written).read_text() if written else "")
            # a command about one method, or about everything
            words = [*shlex.split(line), *re.split(r"[\s.=]", line)]
            named = number.row in words or line.startswith("qrowd check")
            row = number.row.replace(" ", "_") if "--parameters" in line else number.row
            text = self.printed[line].splitlines()
            about += text if named else [part for part in text if part.strip().startswith(row)]
        return about


def printed_alike(number: Number, lines: list[str]) -> bool:
    """Whether the first figure that is shown, and its ends, are among what is printed."""
    figures = re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", " ".join(lines))
    printed = [float(text) for text in figures]
    for text in re.findall(r"-?\d+(?:\.\d+)?", number.shown.replace("\u202f", "")):
        places = len(text.partition(".")[2])
        near = 0.51 * 10**-places + 1e-4
        if not any(abs(float(text) - other) <= near for other in printed):
            return False
    return True


CASES = {
    "gold": "--gold gold.qrels",
    "no gold": "",
    "the usual methods": "--gold gold.qrels --method auto --chosen auto",
    "screened": "--gold gold.qrels --screen suspected(types='uniform')",
    "screened without gold": "--screen random-spam(at_least=0.2)",
    "given": "--gold gold.qrels --given given.qrels",
    "given without gold": "--given given.qrels",
    "cut": "--gold gold.qrels --rel 2",
    "cut and given": "--gold gold.qrels --given given.qrels --rel 2",
    "copies": "",
    "chains": "--method hier-bayes(chains=2,sweeps=200)",
}


@pytest.mark.filterwarnings("ignore::qrowd.errors.NotConvergedWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_command_beside_every_table_prints_its_numbers(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    size: dict[str, Any] = {"topics": 8, "documents": 30, "assessors": 14, "votes": 4, "runs": 6}
    size |= {"assessors": 8, "votes": 8} if case == "copies" else {}
    preset = ["graded"] if case.startswith("cut") else []
    made = q.simulate(*preset, **size, skew=0, seed=5)
    crowd = _copied(made.judgements) if case == "copies" else made.judgements
    q.save(crowd, "crowd.tsv")
    q.save(made.gold, "gold.qrels")
    q.save(made.runs, "systems.run")
    train, _ = made.gold.topics.split(0.3, seed=1)
    q.save(made.gold[train], "given.qrels")
    typed = ["report", "crowd.tsv", "--runs", "systems.run", "--draws", "60", "--method", "ds"]
    typed += ["--method", "mv", "--seed", "3", "--chosen", "ds", *CASES[case].split()]
    pages: list[Report] = []
    monkeypatch.setattr(q, "save", lambda page, _: pages.append(page))
    result = CliRunner().invoke(command, typed)
    assert result.exit_code == 0, result.output
    tables = tables_of(pages[0])
    assert [table.caption for table in tables if not table.command] == []
    if case == "copies":
        assert any(table.caption.startswith("Assessors who agree more") for table in tables)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    terminal = Terminal()
    numbers = [number for table in tables for number in numbers_of(table)]
    others = [one for one in numbers if not printed_alike(one, terminal.lines(one))]
    assert others == []


def _copied(crowd: q.Judgements) -> q.Judgements:
    """The judgements, of which every other assessor takes most answers from the one before."""
    said = {(p, a): g for p, a, g in zip(crowd.pair, crowd.assessor, crowd.grade, strict=True)}
    grade = [
        said.get((p, a - a % 2), g)
        for p, a, g in zip(crowd.pair, crowd.assessor, crowd.grade, strict=True)
    ]
    return replace(crowd, grade=np.array(grade, np.int8))


def test_types_are_those_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = q.simulate(topics=8, documents=30, assessors=14, votes=4, seed=5)
    q.save(made.judgements, "crowd.tsv")
    done = q.study(made.judgements, methods=["mv", "ds"])
    line = Commands(done, Files(judgements="crowd.tsv")).assessors
    result = CliRunner().invoke(command, shlex.split(line)[1:])
    printed = dict(row.split("\t")[0:4:3] for row in result.stdout.splitlines())
    assert printed.pop("assessor") == "type"
    assert printed == dict(zip(done.assessors.assessors, done.assessors["type"], strict=True))


def test_what_is_read_otherwise_is_said_in_every_command() -> None:
    made = q.simulate(topics=4, documents=20, runs=3, seed=1)
    done = q.study(made.judgements, made.runs, made.gold, methods=["mv"], draws=10)
    words = " --grades yes=1,no=0"
    by = Commands(done, Files(runs="--runs RUNS --run-names file", grades=words, cut=1))
    for commands in (by.data, by.assessors, by.merging, by.labels, by.comparison):
        assert words in commands
    assert "--gold GOLD --gold-rel 1" in by.data
    assert "qrowd merge mv GOLD --grades yes=1,no=0 --rel 1 -o binary-gold.qrels" in by.systems
    assert "--run-names file --qrels binary-gold.qrels" in by.comparison


def test_several_files_and_some_topics_have_no_command_that_counts_them() -> None:
    made = q.simulate(topics=4, documents=20, seed=1)
    done = q.study(made.judgements, methods=["mv"])
    by = Commands(done, Files(judgements="a.tsv b.tsv", checked="", pool=""))
    assert by.data == ""
    assert "qrowd merge mv a.tsv b.tsv" in by.merging
