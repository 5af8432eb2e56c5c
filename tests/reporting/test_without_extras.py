"""Without the extra, the message is the line that installs it."""

from __future__ import annotations

import sys

import pytest

import qrowd as q
from qrowd.errors import MissingExtraError


def test_page_without_jinja(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    empty = q.Report("t", "l", (), (), "m")
    with pytest.raises(MissingExtraError, match=r"pip install 'qrowd\[report\]'"):
        empty.to_html()


def test_figures_without_matplotlib(
    monkeypatch: pytest.MonkeyPatch, tiny_crowd: q.Judgements
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'qrowd\[report\]'"):
        q.report(tiny_crowd)
