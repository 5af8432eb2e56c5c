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


def test_machine_judges_are_ranked_and_recalibrated_by_their_odds(real_data: Path) -> None:
    """DL 2021: probabilities of `ds` are mostly 0 and 1 exactly, its log odds still differ."""
    crowd = q.read_judgements(real_data / "dl21" / "judgements.tsv.gz")
    gold = q.read_qrels(real_data / "dl21" / "gold.qrels.gz").binary(2)
    scores = {spec: q.score_labels(q.get(spec).fit(crowd), gold) for spec in ("mv", "ds")}
    assert scores["ds"]["map"] == pytest.approx(0.681, abs=0.002)
    assert scores["mv"]["map"] == pytest.approx(0.626, abs=0.002)
    assert scores["mv"].errors["accuracy"] == pytest.approx(0.0188, abs=0.0005)
    full = crowd.per_assessor > 0.9 * len(crowd.pairs)
    panel = crowd.of_assessors(q.Index.of(crowd.assessors.names[full]))
    some = gold.select(np.random.default_rng(0).random(len(gold)) < 0.05)
    found = q.score_labels(q.recalibrate(q.get("ds").fit(panel), some), gold)
    assert found["log_loss"] < 0.45
    assert found["auc"] > 0.85
