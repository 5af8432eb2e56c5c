"""Lines of `qrowd campaign`, and what they say."""

from __future__ import annotations

import shlex

import pytest

from qrowd.cli.main import main


def run(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> tuple[str, str]:
    """What a command prints: results and messages."""
    try:
        main(["campaign", *shlex.split(line)])
        got = 0
    except SystemExit as stop:
        got = int(stop.code or 0)
    out = capsys.readouterr()
    assert got == code, out.err
    return out.out, out.err


def said(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> str:
    """All that a command says; an error is one line."""
    out, err = run(capsys, line, code)
    assert not code or len(err.splitlines()) == 1
    return out + err
