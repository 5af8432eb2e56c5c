from __future__ import annotations

import pytest

from qrowd.kernel import in_blocks, ranges


def test_ranges_cover_once() -> None:
    assert ranges(5, 2) == [(0, 2), (2, 5)]
    assert ranges(0) == [(0, 0)]


def test_blocks_may_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QROWD_THREADS", "2")
    inner = in_blocks(lambda lo, hi: sum(in_blocks(lambda a, b: b - a, hi - lo)), 100)
    assert sum(inner) == 100
