"""The command beside a number of a report prints the same number."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    row: str
    column: str
    shown: str
    command: str


def numbers_of(page: Report) -> list[Number]:
    """All numbers that have a command."""
    found = []
    for part in (part for section in page.sections for part in section.parts):
        if isinstance(part, Table) and part.command:
            names = list(part.columns)
            for row in part.rows():
                for name, value in zip(names[1:], row[1:], strict=True):
                    if isinstance(value, Shown | int | float) and value == value:
                        text = cell_text(value, part.digits_of(name))
                        found.append(Number(str(row[0]), name, text, part.command))
        elif isinstance(part, Matrix) and part.command:
            for a, row in zip(part.names, part.values, strict=True):
                for b, value in zip(part.names, row, strict=True):
                    if a != b:
                        found.append(Number(a, f"beats {b}", f"{value:.2f}", part.command))
    return found


class Terminal:
    """Runs commands once each, and remembers what they printed."""

    def __init__(self) -> None:
        self.printed: dict[str, str] = {}

    def lines(self, number: Number) -> list[str]:
        """What is printed about a number's row."""
        about = []
        for line in number.command.splitlines():
            if line not in self.printed:
                words = shlex.split(line)
                assert words[0] == "qrowd"
                result = CliRunner().invoke(command, words[1:])
                assert result.exit_code == 0, (line, result.output)
                self.printed[line] = result.stdout
            named = number.row in re.split(r"[\s.=]", line)  # a command about one method
            text = self.printed[line].splitlines()
            about += (
                text if named else [part for part in text if part.strip().startswith(number.row)]
            )
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


@pytest.mark.parametrize("case", ["gold", "no gold", "screened", "given"])
def test_the_command_beside_a_number_prints_it(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = q.simulate(topics=8, documents=30, assessors=14, votes=4, runs=6, skew=0, seed=5)
    q.save(made.judgements, "crowd.tsv")
    q.save(made.gold, "gold.qrels")
    q.save(made.runs, "systems.run")
    typed = ["report", "crowd.tsv", "--runs", "systems.run", "--draws", "60", "--method", "ds"]
    typed += ["--method", "mv", "--seed", "3", "--chosen", "ds"]
    if case != "no gold":
        typed += ["--gold", "gold.qrels"]
    if case == "screened":
        typed += ["--screen", "suspected(types='uniform')"]
    if case == "given":
        train, _ = made.gold.topics.split(0.3, seed=1)
        q.save(made.gold[train], "given.qrels")
        typed += ["--given", "given.qrels"]
    pages: list[Report] = []
    monkeypatch.setattr(q, "save", lambda page, _: pages.append(page))
    result = CliRunner().invoke(command, typed)
    assert result.exit_code == 0, result.output
    numbers = numbers_of(pages[0])
    tables = {number.command for number in numbers}
    assert len(tables) == {"gold": 4, "no gold": 2, "screened": 5, "given": 3}[case]
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    terminal = Terminal()
    others = [one for one in numbers if not printed_alike(one, terminal.lines(one))]
    assert others == []


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


def test_a_cut_of_gold_leaves_out_what_no_command_prints() -> None:
    made = q.simulate("graded", topics=4, documents=20, runs=3, seed=1)
    crowd, gold = made.judgements.binary(1), made.gold.binary(2)
    done = q.study(crowd, made.runs, gold, methods=["mv"], draws=10)
    by: Any = Commands(done, Files(gold="GOLD --gold-rel 2", gold_cut=True))
    assert by.comparison == ""
    assert "--gold-rel 2" in by.labels
    assert "qrowd merge mv JUDGEMENTS" in by.systems
