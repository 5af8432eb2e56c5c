from __future__ import annotations

import json

import pytest

from qrowd import registry
from qrowd.cli.main import main
from qrowd.evaluation.measure import Measure


def test_all_measures_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert {row["measure"] for row in rows} == set(registry.cards("measure"))
    drawn = {row["measure"] for row in rows if row["expected"] == "by draws"}
    assert {"Bpref", "infAP", "IPrec"} < drawn
    assert drawn.isdisjoint({"AP", "P", "nDCG", "NumRet"})


def test_a_new_measure_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    @registry.measure("Nothing", paper="Nobody 1900")
    class Nothing(Measure):
        """Nothing at all."""

        size: int = registry.param(1, "how much of it")

    try:
        main(["measures"])
        assert "Nothing\tNothing at all\tsize" in capsys.readouterr().out
    finally:
        registry.forget("Nothing", "measure")


def test_one_measure_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    main(["measures", "ndcg_cut_10"])
    said = capsys.readouterr().out
    assert "also NDCG = nDCG" in said
    assert "judged_only = False" in said
    main(["measures", "AP", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [p["name"] for p in found["parameters"]] == ["cutoff", "rel", "judged_only", "expected"]
