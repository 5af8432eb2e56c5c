"""Intervals of worths hold the truth as often as they say."""

from __future__ import annotations

import pytest
from benchmarks.orders_simulated import covered


@pytest.mark.parametrize("method", ["plackett-luce", "crowd-bt"])
def test_ninety_percent_intervals(method: str) -> None:
    assert 0.87 < covered(method) < 0.93
