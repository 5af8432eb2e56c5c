"""Every real collection loads, with the figures that its description states."""

from __future__ import annotations

from pathlib import Path

import pytest

import qrowd

# folder: (judgements, pairs, assessors, grades)
CROWDS = {
    "trec_rf10": (89_624, 19_033, 762, (0, 1)),
    "trec11_crowd_task1": (58_476, 3_387, 956, (0, 1)),
    "dl21": (653_352, 10_828, 82, (0, 1)),
    "cystic_fibrosis": (19_280, 4_812, 4, (0, 1, 2)),
    "product_er_text": (24_945, 8_315, 176, (0, 1)),
    "snow2008_rte": (8_000, 800, 164, (0, 1)),
    "spectral_bluebird": (4_212, 108, 39, (1, 2)),
    "dawid_skene_1979": (315, 45, 5, (1, 2, 3, 4)),
}
GOLD = {
    "trec_rf10/gold": 2_202,
    "trec11_crowd_task1/gold": 395,
    "dl21/gold": 10_828,
    "product_er_text/gold": 8_315,
    "snow2008_rte/gold": 800,
    "spectral_bluebird/gold": 108,
    "trec8_t21/nist": 18_260,
}


@pytest.mark.parametrize("name", CROWDS)
def test_crowds_load(name: str, real_data: Path) -> None:
    found = qrowd.read_judgements(real_data / name / "judgements.tsv.gz")
    sizes = (len(found), len(found.pairs), len(found.assessors), found.scale.grades)
    assert sizes == CROWDS[name]


@pytest.mark.parametrize("name", GOLD)
def test_gold_loads(name: str, real_data: Path) -> None:
    assert len(qrowd.read_qrels(real_data / f"{name}.qrels.gz")) == GOLD[name]


def test_runs_load(real_data: Path) -> None:
    runs = qrowd.read_runs(real_data / "trec8_t21" / "runs")
    assert (len(runs), len(runs.topics), runs.depth) == (129, 10, 1000)
    assert len(qrowd.read_runs(str(real_data / "dl21" / "runs" / "*.gz"))) == 63
