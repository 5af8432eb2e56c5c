"""Figures on real crowds that a correct implementation reproduces; skipped without the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q


def accuracy(merged: q.Merged, gold: q.Qrels) -> float:
    at = merged.pairs.locate(gold.pairs)
    found = at >= 0
    return float(np.mean(merged.grades()[at[found]] == gold.grade[found]))


@pytest.fixture(scope="module")
def relevance_feedback(real_data: Path) -> tuple[q.Judgements, q.Qrels]:
    folder = real_data / "trec_rf10"
    return q.read_judgements(folder / "judgements.tsv.gz"), q.read_qrels(folder / "gold.qrels.gz")


@pytest.mark.parametrize(
    ("spec", "low", "high"),
    [
        ("mv", 0.63, 0.66),
        ("one-coin", 0.54, 0.57),  # heavy all-relevant workers look accurate
        ("glad", 0.54, 0.58),
        ("two-coin", 0.69, 0.71),
        ("mace", 0.69, 0.71),
    ],
)
def test_relevance_feedback(
    relevance_feedback: tuple[q.Judgements, q.Qrels], spec: str, low: float, high: float
) -> None:
    judgements, gold = relevance_feedback
    assert low < accuracy(q.get(spec).fit(judgements), gold.binary(1)) < high
