"""`qrowd quality` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quality")
    c = q.simulate("graded", grades=3, topics=6, documents=30, assessors=20, votes=6, seed=2)
    q.save(c.judgements.binary(1), folder / "crowd.tsv")
    q.save(c.gold, folder / "gold.qrels")
    sets = q.Qrels.of(list("aaaaabbbbb"), list("1234512345"), [0, 1, 1, 2, 2, 1, 1, 1, 1, 1])
    q.save(sets, folder / "sets.qrels")
    return folder


def run(files: Path, *arguments: str) -> None:
    main(["quality", *(str(files / one) if (files / one).is_file() else one for one in arguments)])


def test_table_as_tsv_has_all_columns(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "crowd.tsv", "--gold", "gold.qrels", "--method", "mv")
    said = capsys.readouterr()
    lines = said.out.splitlines()
    expected = q.assessors(
        q.read_judgements(files / "crowd.tsv"),
        q.Given(gold=q.read_qrels(files / "gold.qrels")),
        merge=q.MajorityVote(),
    )
    assert lines[0].split("\t") == ["assessor", *expected.columns]
    assert len(lines) == 21
    judgements = [int(line.split("\t")[1]) for line in lines[1:]]
    assert judgements == sorted(judgements, reverse=True)
    assert "gold is relevant from grade 1;" in said.err


def test_sorting_choosing_columns_and_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "crowd.tsv", "--sort", "-agreement", "--show", "agreement,type", "--json")
    rows = json.loads(capsys.readouterr().out)
    assert list(rows[0]) == ["assessor", "agreement", "type"]
    values = [row["agreement"] for row in rows]
    assert values == sorted(values)
    run(files, "crowd.tsv", "--sort", "type", "--show", "type", "-q")
    kinds = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert kinds == sorted(kinds)


def test_output_can_be_read_again(files: Path, tmp_path: Path) -> None:
    for name in ("table.tsv", "table.parquet", "table.json"):
        run(files, "crowd.tsv", "--gold", "gold.qrels", "-o", str(tmp_path / name))
    assert len(pl.read_parquet(tmp_path / "table.parquet")) == 20
    again = q.read_assessors(tmp_path / "table.tsv")
    assert set(again["type"]) <= set(q.quality.suspicion.TYPES)
    assert len(json.loads((tmp_path / "table.json").read_text())) == 20


def test_agreement_overall_and_per_topic(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "crowd.tsv", "--agreement", "--bootstrap", "100", "--json")
    rows = {row["coefficient"]: row for row in json.loads(capsys.readouterr().out)}
    found = q.agreement(q.read_judgements(files / "crowd.tsv"), bootstrap=100)
    assert rows["ac1"]["value"] == pytest.approx(found["ac1"].value)
    assert rows["ac1"]["low"] == pytest.approx(found["ac1"].low)
    run(files, "crowd.tsv", "--agreement", "--per-topic", "--bootstrap", "0")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 9 * 7
    assert lines[0].split("\t") == ["topic", "coefficient", "value", "low", "high", "se"]


def test_weights_and_pairs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ("crowd.tsv", "--agreement", "--bootstrap", "0", "--weights")
    run(files, *said, "quadratic")
    assert "ac1" in capsys.readouterr().out  # of two grades all weights are the same
    run(files, *said, "1,.5;.5,1")
    assert "ac2" in capsys.readouterr().out
    run(files, "crowd.tsv", "--pairs")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "topic\tdoc\tjudgements\tgrade\tconsistency\tuncertainty"
    for weights in ("1,x;1,1", "1,0,0;0,1,0;0,0,1"):
        with pytest.raises(SystemExit):
            main(["quality", str(files / "crowd.tsv"), "--agreement", "--weights", weights])
        assert capsys.readouterr().err.count("\n") == 1


def test_screening_keeps_and_accounts(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.tsv"
    run(
        files,
        "crowd.tsv",
        "--gold",
        "gold.qrels",
        "--screen",
        "gold-accuracy(at_least=.6)",
        "-o",
        str(kept),
    )
    said = capsys.readouterr()
    assert "left out by gold-accuracy" in said.out
    assert "judgements kept" in said.err
    everybody = q.read_judgements(files / "crowd.tsv")
    gold = q.Given(gold=q.read_qrels(files / "gold.qrels"))
    expected = q.screen(everybody, [q.GoldAccuracy(0.6)], gold)
    assert expected.left_out
    assert set(q.read_judgements(kept).assessors) == set(expected.kept.assessors)


def test_screening_as_json_with_a_method_and_weights(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.tsv"
    run(
        files,
        "crowd.tsv",
        "--screen",
        "random-spam",
        "--screen",
        "few-judgements & trust",
        "--method",
        "mv",
        "--down-weight",
        "--json",
        "-o",
        str(kept),
        "-q",
    )
    found = json.loads(capsys.readouterr().out)
    assert found["rules"] == ["random-spam", "few-judgements & trust"]
    assert found["method"] == "mv"
    assert found["left_out"]
    assert {"assessor", "rules", "evidence", "weight", "change"} <= set(found["left_out"][0])
    weight = q.read_judgements(kept).weight
    assert weight is not None
    assert weight.min() < 1 == weight.max()


def test_checks_table_and_curve(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(files, "--simulate-checks", "--gold", "sets.qrels", "--json")
    said = capsys.readouterr()
    rows = {(row["gold"], row["worker"]): row for row in json.loads(said.out)}
    assert rows["0 1 1 2 2", "always relevant"]["both"] == pytest.approx(0.57, abs=0.005)
    assert rows["0 1 1 2 2", "random"]["both"] == pytest.approx(0.106, abs=0.0005)
    assert "gold 1 1 1 1 1: nobody can pass" in said.err
    run(files, "--simulate-checks", "--gold", "sets.qrels", "--ideal", "standard", "--curve")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("\t") == ["gold", "check", "worker", "at_least", "passing"]
    assert len(lines) == 1 + 2 * 3 * 5 * 101


def test_pictures_are_svg_with_words(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="comes with the extra `report`")
    from xml.etree import ElementTree as ET

    run(files, "crowd.tsv", "--gold", "gold.qrels", "--figures", str(tmp_path), "-q")
    run(files, "--simulate-checks", "--gold", "sets.qrels", "--figures", str(tmp_path))
    names = {path.name for path in tmp_path.iterdir()}
    of_people = {"assessors.svg", "agreement.svg", "speed.svg", "quantity.svg"}
    assert names == of_people | {"checks-1.svg", "checks-2.svg"}
    for name in names:
        text = (tmp_path / name).read_text()
        root = ET.fromstring(text)
        title = root.find("{http://www.w3.org/2000/svg}title")
        assert title is not None
        assert title.text
        assert "prefers-color-scheme: dark" in text
        assert "var(--c-one)" in text
    assert "chance" in (tmp_path / "assessors.svg").read_text()


def test_misuse(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = {
        ("--simulate-checks",): "name them with --gold",
        (): "no judgements given",
        ("crowd.tsv", "--screen", "gold-accuracy"): "needs gold",
        ("crowd.tsv", "--screen", "gold-acuracy"): "did you mean gold-accuracy",
        ("crowd.tsv", "--sort", "acuracy"): "no column 'acuracy'",
        ("crowd.tsv", "--show", "x"): "no column 'x'",
        ("crowd.tsv", "--method", "dss"): "did you mean ds",
        ("crowd.tsv", "--per-topic"): "--per-topic goes with --agreement",
        ("crowd.tsv", "--down-weight"): "--down-weight goes with --screen",
        ("crowd.tsv", "--curve"): "--curve goes with --simulate-checks",
    }
    for arguments, message in cases.items():
        with pytest.raises(SystemExit) as stop:
            run(files, *arguments)
        assert stop.value.code == 2
        assert message in capsys.readouterr().err


def test_gold_must_have_something_to_do_with_the_judgements(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(files, "crowd.tsv", "--gold", "gold.qrels", "--show", "accuracy")
    assert "; 180 of 180 gold pairs were judged" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        run(files, "crowd.tsv", "--gold", "sets.qrels")
    assert stop.value.code == 1
    assert "no pair in common" in capsys.readouterr().err


def test_a_type_looks_the_same_in_every_picture() -> None:
    pytest.importorskip("matplotlib", reason="comes with the extra `report`")
    from qrowd.quality.suspicion import TYPES
    from qrowd.reporting.figures import looks

    some = looks(["sloppy", "good", "good"])
    assert list(some) == ["good", "sloppy"]
    assert {kind: looks(TYPES)[kind] for kind in some} == some
    assert len({tuple(look.values()) for look in looks(TYPES).values()}) == len(TYPES)
    assert looks(["x"])["x"] == looks(["good"])["good"]


def test_pictures_of_what_is_not_known_are_left_out() -> None:
    pytest.importorskip("matplotlib", reason="comes with the extra `report`")
    from qrowd.reporting import figures as drawn

    c = q.simulate(topics=2, documents=10, assessors=5, timed=False, seed=1)
    table = q.assessors(c.judgements)
    assert drawn.sensitivity_specificity(table) is None
    assert drawn.speed_of(table) is None
    curve = (np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert "<svg" in drawn.roc({"random": {"10": curve}, "uniform": {"10": curve}}).svg


def test_accuracies_by_probabilities_that_merge_wrote(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written, crowd = tmp_path / "ds.tsv", q.read_judgements(files / "crowd.tsv")
    merged = q.DawidSkene().fit(crowd)
    q.save(merged, written)
    run(files, "crowd.tsv", "--method", "ds", "-q")
    expected = capsys.readouterr().out
    run(files, "crowd.tsv", "--probabilities", str(written), "-q")
    assert capsys.readouterr().out == expected
    with pytest.raises(SystemExit) as misuse:
        run(files, "crowd.tsv", "--probabilities", str(written), "--method", "ds")
    assert misuse.value.code == 2
    assert "not both" in capsys.readouterr().err
    q.save(merged[merged.topics.split(0.5, seed=1)[0]], written)
    with pytest.raises(SystemExit) as lacking:
        run(files, "crowd.tsv", "--probabilities", str(written))
    assert lacking.value.code == 1
    assert "lacks the pairs of" in capsys.readouterr().err


def test_one_table_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.tsv").write_text("topic\tdoc\tassessor\tgrade\nt\ta\tx\t1\nt\ta\ty\t0\n")
    with pytest.raises(SystemExit) as ended:
        main(["quality", str(tmp_path / "c.tsv"), "--pairs", "--agreement"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "qrowd: --agreement and --pairs print a table each: choose one of them\n"
    )
