"""crowd-kit 1.4.2's figures on a crowd without tied votes (frozen: it is no test dependency)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import qrowd as q

KEPT = json.loads(Path(__file__).with_name("crowd_kit.json").read_text())
ROWS = [row.split(":") for row in KEPT["rows"].split()]
CROWD = q.Judgements.of(
    ["t"] * len(ROWS), *zip(*[(f"d{d}", f"w{w}", int(g)) for d, w, g in ROWS], strict=True)
)
GOLD = [row.split(":") for row in KEPT["gold"].split()]


def gold() -> q.Qrels:
    return q.Qrels.of(["t"] * len(GOLD), [f"d{d}" for d, _ in GOLD], [int(g) for _, g in GOLD])


@pytest.mark.parametrize("method", ["wawa", "zbs", "gold-mv"])
def test_weights_and_probabilities(method: str) -> None:
    given = q.Given(gold=gold()) if method == "gold-mv" else q.Given()
    merged = q.get(method).fit(CROWD, given)
    expected = KEPT[method]
    weights = dict(zip(merged.assessors.assessors, merged.assessors["weight"], strict=True))
    assert weights == pytest.approx(expected["skills"], abs=1e-8)
    documents = list(merged.pairs.document_names)
    known = set(gold().pairs.document_names) if method == "gold-mv" else set()
    left = {doc: p for doc, p in expected["p"].items() if doc not in known}  # gold is certain here
    assert len(left) >= 3
    for doc, p in left.items():
        np.testing.assert_allclose(merged.posterior[documents.index(doc)], p, atol=1e-8)


def test_mmsr() -> None:
    merged = q.MMSR().fit(CROWD)
    weights = dict(zip(merged.assessors.assessors, merged.assessors["weight"], strict=True))
    assert weights == pytest.approx(KEPT["mmsr"]["skills"], abs=1e-4)
    labels = dict(zip(merged.pairs.document_names, merged.qrels().grade.tolist(), strict=True))
    assert labels == KEPT["mmsr"]["labels"]


def test_mmsr_turns_adversaries_around() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60)
    rows = [
        ("t", f"d{pair:02}", f"w{who}", int(grade if who < 5 else 1 - grade))
        for pair, grade in enumerate(truth)
        for who in range(7)
        if rng.random() < 0.9
    ]
    merged = q.MMSR().fit(q.Judgements.of(*map(list, zip(*rows, strict=True))))
    assert (merged.assessors["weight"][:5] > 0).all()
    assert (merged.assessors["weight"][5:] < 0).all()
    np.testing.assert_array_equal(merged.qrels().grade, truth)


def test_gold_of_nobody_gives_equal_votes() -> None:
    crowd = q.Judgements.of(["t"] * 3, ["d"] * 3, ["a", "b", "c"], [1, 1, 0])
    merged = q.GoldMajorityVote().fit(crowd, q.Given(gold=q.Qrels.of(["t"], ["x"], [1])))
    assert merged.assessors["weight"].tolist() == [1, 1, 1]
