"""Who the assessors are, by a file or by patterns: `--people`, `--machines`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qrowd.cli.main import main

CROWD = "topic\tdoc\tassessor\tgrade\n" + "".join(
    f"t1\td{d}\t{who}\t{d % 2}\n" for d in range(4) for who in ("ann", "bob", "gpt-1")
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("crowd.tsv").write_text(CROWD)
    return tmp_path


def _kinds(line: str, capsys: pytest.CaptureFixture[str]) -> object:
    main(["check", "crowd.tsv", "--json", *line.split()])
    return json.loads(capsys.readouterr().out)[0]["facts"].get("kinds of assessors")


def test_people_and_machines_say_who_is_who(capsys: pytest.CaptureFixture[str]) -> None:
    assert _kinds("", capsys) is None
    Path("people.tsv").write_text("assessor\tkind\nann\texpert\nbob\t\nzoe\tperson\n")
    assert _kinds("--people people.tsv", capsys) == {"expert": 1, "unknown": 2}
    both = _kinds("--people people.tsv --machines gpt*", capsys)
    assert both == {"expert": 1, "machine": 1, "unknown": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("assessor\tname\nann\tAnn\n", "people.tsv: no column kind"),
        ("assessor\tkind\nann\trobot\n", "people.tsv: the kind of ann must be one of person"),
        ("assessor\tkind\nann\tmachine\nann\tperson\n", "an assessor appears twice"),
        ("assessor\tkind\ngpt-1\tperson\n", "gpt-1 would be of the kind machine, and is person"),
    ],
)
def test_odd_people_are_one_line(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("people.tsv").write_text(text)
    with pytest.raises(SystemExit) as stop:
        main(["merge", "mv", "crowd.tsv", "--people", "people.tsv", "--machines", "gpt*"])
    assert stop.value.code == 1
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
