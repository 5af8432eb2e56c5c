"""The demo's campaign: from qualification to qrels, by robots, the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

import qrowd as q

pytest.importorskip("fastapi", reason="campaigns need the extra serve")
pytest.importorskip("sqlalchemy", reason="campaigns need the extra serve")


def test_from_qualification_to_qrels(tmp_path: Path) -> None:
    from qrowd.web.robots.demo import demo_campaign

    section = demo_campaign(tmp_path, seed=0)
    judgements = q.read_judgements(tmp_path / "campaign" / "judgements.tsv")
    assert len(judgements.pairs) > 50
    assert section.title == "A campaign"
    assert f"{len(judgements)} judgements count" in section.parts[0].text  # type: ignore[attr-defined]
    kinds = {
        line.split("\t")[-1]
        for line in (tmp_path / "campaign" / "controls.tsv").read_text().splitlines()[1:]
    }
    assert kinds == {"gold", "qualification"}
