"""Every judgement-level method runs through `qrowd merge`, with gold and with history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.cli.main import main

METHODS = [
    id for id, card in registry.cards().items() if card.level == "judgements" and not card.needs
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    random = np.random.default_rng(0)
    lines = ["topic\tdoc\tassessor\tgrade"]
    for doc in range(30):
        for who in random.permutation(8)[:4]:
            right = random.random() < 0.6 + 0.05 * who
            lines.append(f"t{doc % 2}\td{doc:02d}\ta{who}\t{doc % 2 if right else 1 - doc % 2}")
    (tmp_path / "crowd.tsv").write_text("\n".join(lines) + "\n")
    (tmp_path / "gold.qrels").write_text(
        "".join(f"t{d % 2} 0 d{d:02d} {d % 2}\n" for d in range(6))
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("id", METHODS)
def test_merge(files: Path, id: str) -> None:
    main(["merge", id, "crowd.tsv", "--gold", "gold.qrels", "-o", "merged.qrels"])
    merged = q.read_qrels("merged.qrels")
    gold = q.read_qrels("gold.qrels")
    assert len(merged) == 30
    assert (merged.grade[merged.pairs.locate(gold.pairs)] == gold.grade).all()


HISTORY = [id for id in METHODS if "priors" in registry.cards()[id].uses]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("id", HISTORY)
def test_merge_with_history(files: Path, id: str) -> None:
    main(["merge", id, "crowd.tsv", "-o", "a.qrels", "--assessors", "known.tsv"])
    main(["merge", id, "crowd.tsv", "-o", "b.qrels", "--priors", "known.tsv"])
    assert len(q.read_qrels("b.qrels")) == 30
