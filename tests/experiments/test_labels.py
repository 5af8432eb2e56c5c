"""Plans of labels: gold that is held out, figures and intervals, the preset of TREC 2011."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import InputError, UnknownNameError
from qrowd.experiments import run
from qrowd.experiments.cells import folds_of, tasks_of
from qrowd.experiments.inputs import load
from qrowd.experiments.plan import FIGURES, Plan, parse_plan
from qrowd.experiments.presets import preset
from qrowd.experiments.results import LabelResults

PLAN = """[experiment]
name = "labels"
[data]
judgements = "crowd.tsv"
gold = "gold.qrels"
[grid]
approaches = ["with", "without", "mv"]
statistics = ["accuracy", "map"]
[names]
with = "ds"
without = "ds(clamp=false)"
[labels]
folds = 3
answers = ["quantised", "fractional"]
ties = "nonrelevant"
"""


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate("carpenter", topics=6, documents=40, assessors=25, gold=0.5, seed=2)


@pytest.fixture(scope="module")
def folder(made: q.Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("labels")
    q.save(made.judgements, where / "crowd.tsv")
    q.save(made.gold, where / "gold.qrels")
    (where / "plan.toml").write_text(PLAN)
    return where


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return replace(parse_plan(PLAN), folder=str(folder))


@pytest.fixture(scope="module")
def results(plan: Plan, folder: Path) -> LabelResults:
    return LabelResults.of(run.run(plan, folder / "out", workers=1))


def test_parts_of_the_gold_are_equal(made: q.Collection) -> None:
    gold = made.gold
    fold = folds_of(gold, 3, 1)
    assert np.ptp(np.bincount(fold)[1:]) <= 1
    assert (folds_of(gold, 3, 2) != fold).any()


def test_gold_that_is_scored_was_not_given(results: LabelResults, made: q.Collection) -> None:
    """Each part by the long way: fitted with the others' gold, looked up on its own."""
    frame, gold = results.frame, made.gold
    fold = folds_of(gold, 3, 0)
    for part in (1, 2, 3):
        held = fold == part
        merged = q.get("ds").fit(made.judgements, q.Given(gold=gold.select(~held)))
        own = frame.filter((frame["approach"] == "with") & (frame["fold"] == part))
        own = own.sort("topic", "doc")
        pairs = gold.select(held).pairs
        assert own["doc"].to_list() == pairs.document_names.tolist()
        at = merged.pairs.locate(pairs)
        assert own["p(1)"].to_numpy() == pytest.approx(merged.relevant[at], abs=1e-12)
        assert not merged.given[at].any()


def test_an_approach_without_gold_is_fitted_once(plan: Plan, results: LabelResults) -> None:
    tasks = [str(task) for task in tasks_of(plan)]
    assert tasks == [
        "with (1)",
        "with (2)",
        "with (3)",
        "without (no gold)",
        "mv (1)",
        "mv (2)",
        "mv (3)",
    ]
    assert len(results.frame) == 3 * results.frame.n_unique(["topic", "doc"])


def test_figures_are_those_of_score_labels(results: LabelResults, made: q.Collection) -> None:
    merged = q.get("ds").fit(made.judgements)
    scores = q.score_labels(merged.soft(), made.gold, ties="nonrelevant")
    table = results.table()
    rows = list(zip(table["approach"], table["answers"], strict=True))
    assert rows == [
        (name, how) for name in ("with", "without", "mv") for how in ("quantised", "fractional")
    ]
    at = rows.index(("without", "quantised"))
    assert table["accuracy"][at] == pytest.approx(scores["accuracy"])
    assert table["map"][at] == pytest.approx(scores["map"])
    low, high = scores.interval("accuracy")
    assert table["accuracy +-"][at] == pytest.approx((high - low) / 2)
    assert table["accuracy"][at + 1] == pytest.approx(scores["fractional_accuracy"])
    assert set(FIGURES) <= set(scores.overall)
    assert "with: ds; without: ds(clamp=false)" in results.caption()


def test_differences_have_an_interval_over_topics(results: LabelResults) -> None:
    table = results.against("mv", "map")
    assert table["approach"] == ["with", "with", "without", "without"]
    first, second = results.scores["with"], results.scores["mv"]
    gap = first.by_topic["map"] - second.by_topic["map"]
    known = gap[~np.isnan(gap)]
    half = 2.0150483733330233 * known.std(ddof=1) / np.sqrt(len(known))  # t, 5 degrees of freedom
    assert len(known) == 6
    assert table["less mv"][0] == pytest.approx(known.mean())
    assert table["high"][0] - table["less mv"][0] == pytest.approx(half)
    with pytest.raises(UnknownNameError, match="no approach of this plan 'mw'"):
        results.against("mw")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("folds = 3", "folds = 1", 13, "2 parts or more"),
        ("[labels]", "[panels]\nsizes = [2]\n[labels]", 12, "leave this out"),
        ('"mv"]', '"aware-uni"]', 7, "aware-uni merges scores"),
        ('"map"', '"mop"', 8, "no statistics 'mop'; did you mean map"),
        ('without = "ds(clamp=false)"', 'without = "dz"', 11, "no method 'dz'"),
        ("[names]", '[names]\nother = "mv"', 10, "no approach or measure of [grid] has this name"),
        ('judgements = "crowd.tsv"', 'pools = "trec11"', 3, "name a file, or let gold be made"),
        ('"fractional"', '"fraction"', 14, "no answers 'fraction'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in PLAN
    with pytest.raises(InputError) as wrong:
        parse_plan(PLAN.replace(old, new), "plan.toml")
    assert message in str(wrong.value)
    assert wrong.value.line == line


def test_graded_gold_needs_a_cut(plan: Plan, made: q.Collection, tmp_path: Path) -> None:
    q.save(made.judgements, tmp_path / "crowd.tsv")
    q.save(replace(made.gold, grade=made.gold.grade * 2), tmp_path / "gold.qrels")
    graded = replace(plan, folder=str(tmp_path))
    with pytest.raises(InputError, match=r"go up to 2; the judgements have 0 1 .*gold_rel = 1"):
        load(graded)
    cut = replace(graded, data=replace(graded.data, gold_rel=2))
    assert load(cut).gold.grade.tolist() == made.gold.grade.tolist()


def test_the_commands(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    main(["experiment", "run", "plan.toml", "-q"])
    main(["experiment", "table", "labels"])
    said = capsys.readouterr()
    assert "gold: as in gold.qrels; judgements: as in crowd.tsv" in said.err
    assert said.out.startswith("approach\tanswers\taccuracy\taccuracy +-\tmap\tmap +-\n")
    main(["experiment", "table", "labels", "--against", "mv", "--statistic", "map", "-q"])
    assert capsys.readouterr().out.startswith("approach\tanswers\tless mv\tlow\thigh\n")
    for line in ("anova labels", "plot labels -o pictures", "table labels --single"):
        with pytest.raises(SystemExit) as stop:
            main(["experiment", *line.split()])
        assert stop.value.code == 2
        assert "has labels" in capsys.readouterr().err


def test_the_preset_finds_the_real_crowd(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QROWD_DATA", str(real_data.resolve()))
    inputs = load(preset("trec11-consensus"))
    assert inputs.caption == "gold: as in gold.qrels.gz; judgements: as in judgements.tsv.gz"
    assert (len(inputs.crowd), len(inputs.gold)) == (89_624, 2_202)


def test_the_preset_runs_without_any_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QROWD_DATA", raising=False)
    inputs = load(preset("trec11-consensus"))
    assert inputs.caption.count("SIMULATED like TREC 2011") == 2
    assert (len(inputs.crowd), len(inputs.gold)) == (89_624, 2_275)
