"""Intervals hold the truth as often as they say when the model is right, and not when it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.coverage import Setting, coverage


def test_when_the_model_is_right() -> None:
    small = Setting(topics=8, documents=40, runs=10, votes=4)
    found = coverage(small, ("all known", "assessors known"), worlds=60, draws=150)
    exact = found["all known"]
    assert exact["scores"] == pytest.approx(0.9, abs=0.06)
    assert exact["places"] > 0.85
    assert exact["P(A>B) true"] == pytest.approx(exact["P(A>B) said"], abs=0.04)
    assert exact["best in set"] > 0.88
    blind = found["assessors known"]  # documents that systems like are likelier to be relevant
    assert blind["bias"] < -0.02
    assert blind["scores"] < 0.6
    assert blind["P(A>B) true"] == pytest.approx(blind["P(A>B) said"], abs=0.05)


def test_when_assessors_err_together() -> None:
    small = Setting(topics=8, documents=40, runs=10, votes=4)
    hard = coverage(replace(small, difficulty=2.0), ("all known",), 40, 150)
    assert hard["all known"]["scores"] < 0.75
    assert hard["all known"]["P(A>B) true"] < hard["all known"]["P(A>B) said"]
