"""Figures, tables and pictures from cells; the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import UnknownNameError
from qrowd.experiments import effects, run
from qrowd.experiments.inputs import Inputs, load
from qrowd.experiments.plan import Plan, parse_plan
from qrowd.experiments.presets import preset
from qrowd.experiments.results import (
    Results,
    against,
    against_topics,
    agreement,
    by_size,
    significance,
)
from qrowd.experiments.singles import single_assessors, single_differences, with_singles

PLAN = """[experiment]
name = "small"
[data]
pools = "trec21"
made = true
documents = 60
systems = 8
seed = 1
[grid]
approaches = ["mv", "aware-uni", "sup_fro"]
measures = ["AP", "P@5"]
statistics = ["tau_ap", "rmse"]
[panels]
sizes = [2, 3, 5]
each = 2
[topics]
one = [["411"], ["416"], ["417"], ["420"]]
two = [["411", "416"], ["417", "420"]]
"""


@pytest.fixture(scope="module")
def plan() -> Plan:
    return parse_plan(PLAN)


@pytest.fixture(scope="module")
def inputs(plan: Plan) -> Inputs:
    return load(plan)


@pytest.fixture(scope="module")
def book(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> run.Book:
    return run.run(plan, tmp_path_factory.mktemp("results") / "out", workers=1)


def test_anova_is_that_of_the_means(book: run.Book) -> None:
    results = Results.of(book, "rmse", "two")
    table = results.anova()
    assert table.n == 3 * 3 * 2
    assert [(t.name, t.df) for t in table.terms] == [
        ("size", 2),
        ("approach", 2),
        ("measure", 1),
        ("approach*measure", 2),
        ("error", 10),
        ("total", 17),
    ]
    frame = results.frame
    mine = frame.filter(frame["approach"] == "mv")["rmse"].mean()
    rest = frame["rmse"].mean()
    means = results.means(["approach"])
    assert means.filter(means["approach"] == "mv")["rmse"][0] == pytest.approx(mine)
    levels = means["rmse"].to_numpy()
    assert table["approach"].ss == pytest.approx(6 * ((levels - rest) ** 2).sum())


def test_the_interval_is_that_of_topics_where_sets_are_topics(book: run.Book) -> None:
    """With one topic in each set the jackknife is the textbook interval of a mean."""
    from scipy.stats import ttest_1samp

    results = Results.of(book, "tau_ap", "one")
    found = results.estimate({"sup_fro": 1.0, "mv": -1.0}, measure="AP")
    frame = results.frame.filter(results.frame["measure"] == "AP")
    by_set = [
        [
            frame.filter((frame["approach"] == name) & (frame["set"] == at))["tau_ap"].mean()
            for at in (1, 2, 3, 4)
        ]
        for name in ("sup_fro", "mv")
    ]
    difference = np.array(by_set[0]) - np.array(by_set[1])
    assert found.value == pytest.approx(difference.mean())
    low, high = ttest_1samp(difference, 0.0).confidence_interval(0.9)
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(high)


def test_every_approach_against_one(book: run.Book) -> None:
    table = against(Results.of(book, "tau_ap", "one"), "mv", size=[2])
    assert table["approach"] == ["aware-uni", "sup_fro"]
    assert all(
        low < value < high
        for value, low, high in zip(table["less mv"], table["low"], table["high"], strict=True)
    )
    with pytest.raises(UnknownNameError, match="no approach of this plan 'mw'"):
        against(Results.of(book), "mw")
    with pytest.raises(UnknownNameError, match="no size of this plan '9'; known: 2, 3, 5"):
        against(Results.of(book), "mv", size=[9])
    with pytest.raises(UnknownNameError, match="no measure of this plan 'APP'; did you mean AP"):
        against(Results.of(book), "mv", measure=["APP"])


def test_table_by_size(book: run.Book) -> None:
    table = by_size(Results.of(book, "rmse", "two"))
    assert list(table) == ["measure", "approach", "2", "3", "5"]
    assert len(table["2"]) == 6
    frame = Results.of(book, "rmse", "two").frame
    chosen = (frame["measure"] == "P@5") & (frame["approach"] == "mv") & (frame["size"] == 3)
    at = list(zip(table["measure"], table["approach"], strict=True)).index(("P@5", "mv"))
    assert table["3"][at] == pytest.approx(frame.filter(chosen)["rmse"].mean())


def test_agreement_by_loops(inputs: Inputs) -> None:
    table = agreement(inputs, depth=3)
    assert list(table) == ["assessor", "411", "416", "417", "420", "mean"]
    (runs,) = inputs.runs.values()
    lists = np.split(runs.document, runs.starts[1:-1])  # of topic 411: the first runs
    seen = {runs.documents.names[d] for one in lists[: len(runs)] for d in one[:3]}
    frame = inputs.crowd.to_polars().filter(topic="411", assessor="NEUEM1")
    names = inputs.gold.pairs.document_names
    gold = {
        d: g
        for t, d, g in zip(inputs.gold.pairs.topic_names, names, inputs.gold.grade, strict=True)
        if t == "411"
    }
    right = [gold[d] == g for d, g in zip(frame["doc"], frame["grade"], strict=True) if d in seen]
    at = table["assessor"].index("NEUEM1")
    assert table["411"][at] == pytest.approx(np.mean(right))


def test_single_assessors(inputs: Inputs) -> None:
    table = single_assessors(inputs)
    assert table["assessors"][:3] == ["certain", "random", "random"]
    (runs,) = inputs.runs.values()
    each = q.evaluate(runs, inputs.crowd.by_assessor(), ["P@5"]).means()[0]
    truth = q.evaluate(runs, inputs.gold, ["P@5"]).means()[0, 0]
    at = table["measure"].index("P@5")
    assert table["tau_ap"][at] == pytest.approx(q.tau_ap(each, truth).mean())


def test_differences_of_single_assessors_by_the_long_way(inputs: Inputs) -> None:
    table = single_differences(inputs)
    (runs,), each = inputs.runs.values(), inputs.crowd.by_assessor()

    def less(topics: list[str]) -> float:
        scored, found = q.Index.of(topics), []
        for own, gold in (
            (each.soft(0.95, 0.05), inputs.gold.soft(0.95, 0.05)),
            (each, inputs.gold),
        ):
            truth = q.evaluate(runs, gold, ["AP"])[scored].means()[0, 0]
            values = q.evaluate(runs, own, ["AP"])[scored].means()[0]
            found.append(float(np.mean([q.tau_ap(one, truth) for one in values])))
        return found[0] - found[1]

    rows = zip(table["measure"], table["gold"], table["statistic"], strict=True)
    at = list(rows).index(("AP", "random", "tau_ap"))
    names = list(inputs.gold.topics)
    left = np.array([less([name for name in names if name != out]) for out in names])
    n = len(names)
    error = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    half = 2.3533634348018264 * error  # Student's t, 3 degrees of freedom
    assert table["less certain"][at] == pytest.approx(less(names))
    assert table["high"][at] - table["less certain"][at] == pytest.approx(half)


def test_approaches_against_single_assessors(book: run.Book, inputs: Inputs) -> None:
    results = with_singles(Results.of(book, "tau_ap", "one"), inputs)
    table = against(results, "single", size=[3], measure=["AP"])
    (runs,), each = inputs.runs.values(), inputs.crowd.by_assessor()
    values = q.evaluate(runs, each, ["AP"]).values[0]
    truth = q.evaluate(runs, inputs.gold, ["AP"]).values[0, 0]
    single = np.mean([q.tau_ap(values[:, at], truth[at]).mean() for at in range(4)])
    frame = Results.of(book, "tau_ap", "one").frame
    chosen = (frame["approach"] == "mv") & (frame["size"] == 3) & (frame["measure"] == "AP")
    assert table["less single"][0] == pytest.approx(frame.filter(chosen)["tau_ap"].mean() - single)
    assert table["low"][0] < table["less single"][0] < table["high"][0]


def test_single_assessors_where_a_plan_has_no_topic_sets(plan: Plan, tmp_path: Path) -> None:
    grid = replace(plan.grid, approaches=("mv",))
    whole = replace(plan, topics={}, grid=grid)
    results = Results.of(run.run(whole, tmp_path / "out", workers=1), "rmse")
    table = against(with_singles(results, load(whole)), "single")
    assert np.isfinite(table["less single"][0])
    assert np.isnan(table["low"][0])


def test_more_topics_against_fewer(book: run.Book) -> None:
    two, one = (Results.of(book, "rmse", group) for group in ("two", "one"))
    table = against_topics(two, "one")
    means = {r.group: dict(r.means(["approach"]).iter_rows()) for r in (two, one)}
    assert table["two less one"] == pytest.approx(
        [means["two"][name] - means["one"][name] for name in table["approach"]]
    )
    by_set = [
        [
            r.frame.filter((r.frame["approach"] == "mv") & (r.frame["set"] == at))["rmse"].mean()
            for at in range(1, len(r.sets) + 1)
        ]
        for r in (two, one)
    ]
    left = np.array(
        [  # without 411, 416, 417, 420
            by_set[0][1 - out // 2] - np.mean([by_set[1][at] for at in range(4) if at != out])
            for out in range(4)
        ]
    )
    half = 2.3533634348018264 * np.sqrt(3 / 4 * ((left - left.mean()) ** 2).sum())
    assert table["high"][0] - table["two less one"][0] == pytest.approx(half)


def test_the_strength_of_a_factor_has_an_interval(book: run.Book) -> None:
    results = Results.of(book, "rmse", "one")
    columns = results.anova_columns()
    at = columns["term"].index("approach")
    found = columns["strength"][at]
    assert found == results.anova()["approach"].strength
    left = []
    for out in (1, 2, 3, 4):
        rest = replace(results, frame=results.frame.filter(results.frame["set"] != out))
        left.append(rest.anova()["approach"].strength)
    error = np.sqrt(3 / 4 * ((np.array(left) - np.mean(left)) ** 2).sum())
    half = 2.3533634348018264 * error
    assert half > 0.001
    assert columns["low"][at] == pytest.approx(max(found - half, 0.0))
    assert columns["high"][at] == pytest.approx(min(found + half, 1.0))


def test_significant_differences_by_loops(inputs: Inputs) -> None:
    from scipy.stats import ttest_rel

    table = significance(inputs)
    (runs,) = inputs.runs.values()
    for at, measure in enumerate(("AP", "P@5")):
        values = q.evaluate(runs, inputs.gold, [measure]).values[0, 0]
        p = [
            ttest_rel(values[:, a], values[:, b]).pvalue
            for a in range(len(runs))
            for b in range(a + 1, len(runs))
            if (values[:, a] != values[:, b]).any()
        ]
        assert table["pairs"][at] == 28
        assert table["certain"][at] == (np.array(p) < 0.05).sum()
        assert table["kept"][at] <= min(table["certain Holm"][at], table["random Holm"][at])
        assert table["more"][at] == (table["random"][at] - table["certain"][at]) / 28
        assert table["low"][at] <= table["more"][at] <= table["high"][at]
        means = values.mean(axis=0)
        blurred = (
            q.evaluate(runs, inputs.gold.soft(0.95, 0.05), [measure]).values[0, 0].mean(axis=0)
        )
        couples = [(a, b) for a in range(len(runs)) for b in range(a)]
        turned = [(means[a] - means[b]) * (blurred[a] - blurred[b]) < 0 for a, b in couples]
        assert table["swaps"][at] == sum(turned)  # eight runs: all are among the first ten
        tied = sum(abs(means[a] - means[b]) < 1e-12 for a, b in couples)
        assert table["certain tied"][at] == tied
    assert table["certain tied"][1] > 0  # P@5 has few values


def test_names_at_the_ends_of_lines_do_not_touch() -> None:
    places = effects._apart(np.array([0.5, 0.5, 0.51, 0.9]), 0.05)
    assert np.diff(np.sort(places)).min() >= 0.05 - 1e-12
    assert places[3] == 0.9
    crowded = effects._apart(np.full(18, 0.95), 0.05)
    assert np.diff(np.sort(crowded)).min() >= 0.05 - 1e-12
    assert crowded.max() <= 1


def test_pictures(book: run.Book, inputs: Inputs) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    effects_of_one = {
        "main-approach",
        "main-measure",
        "main-size",
        "approach-size",
        "measure-size",
        "approach-measure",
    }
    found = effects.pictures(book, inputs)
    expected = {
        f"{statistic}-{group}-{name}"
        for statistic in ("tau_ap", "rmse")
        for group in ("one", "two")
        for name in effects_of_one
    }
    expected |= {
        f"{statistic}-{name}"
        for statistic in ("tau_ap", "rmse")
        for name in ("topics", "single", "single-measure")
    }
    assert set(found) == expected
    assert "SIMULATED" in found["tau_ap-one-approach-size"].caption
    assert ">sup_fro<" in found["tau_ap-one-approach-size"].svg
    assert ">SSEC3excl<" in found["rmse-single"].svg
    chosen = effects.pictures(book, inputs, "rmse", "two")
    assert set(chosen) == {
        name for name in expected if name.startswith(("rmse-two", "rmse-single"))
    }


def test_lines_by_topics_end_at_most_topics(book: run.Book) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    several = [Results.of(book, "rmse", group) for group in ("two", "one")]
    figure = effects.by_topics(several)
    means = several[0].means(["approach"])
    ends = ", ".join(f"{name} {value:.3f}" for name, value in means.iter_rows())
    assert f"at the right end: {ends}." in figure.alt


def test_lines_are_drawn_six_at_a_time_those_of_a_kind_together() -> None:
    plan = preset("trec21-aware")
    lots = effects.families(plan, plan.grid.approaches)
    assert [len(lot) for lot in lots] == [3, 5, 5, 5]
    assert lots[0] == ["mv", "em", "aware-uni"]
    assert all(name.startswith("sup_") for name in lots[3])
    assert [len(lot) for lot in effects.families(plan, [f"m{n}" for n in range(14)])] == [6, 6, 2]


def test_all_42_pictures_of_two_run_sets(tmp_path: Path) -> None:
    """Four main effects and three interactions of each statistic and number of topics."""
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    made = load(parse_plan(PLAN))
    (runs,) = made.runs.values()
    q.save(made.gold, tmp_path / "gold.qrels")
    q.save(runs, tmp_path / "all.run")
    text = PLAN.replace("made = true", 'gold = "gold.qrels"')
    text = text.replace("[grid]", '[runs]\nA = "all.run"\nB = "all.run"\n[grid]')
    text += 'three = [["411", "416", "417"], ["416", "417", "420"]]\n'
    plan = replace(parse_plan(text), folder=str(tmp_path))
    found = effects.pictures(run.run(plan, tmp_path / "out", workers=1), load(plan))
    seven = (
        "main-approach",
        "main-size",
        "main-measure",
        "main-runs",
        "approach-size",
        "approach-measure",
        "approach-runs",
    )
    wanted = [
        f"{statistic}-{group}-{name}"
        for statistic in ("tau_ap", "rmse")
        for group in ("one", "two", "three")
        for name in seven
    ]
    assert len(wanted) == 42
    assert set(wanted) <= set(found)
    assert {"tau_ap-single-runs", "rmse-single-runs"} <= set(found)


# --- the commands ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_from_plan_to_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["experiment", "run", "plan.toml", "--topics", "one", "--part", "1/2"])
    assert "tasks are left" in capsys.readouterr().err
    main(["experiment", "run", "plan.toml", "--topics", "one", "--part", "2/2", "-q"])
    main(["experiment", "resume", "small", "-q"])
    main(["experiment", "join", "small", "-q"])
    capsys.readouterr()
    main(["experiment", "anova", "small", "--json"])
    said = capsys.readouterr()
    assert "SIMULATED" in said.err
    assert [row["term"] for row in json.loads(said.out)][:2] == ["size", "approach"]
    main(["experiment", "table", "small", "--against", "mv", "--size", "2", "-q"])
    assert capsys.readouterr().out.splitlines()[0].split("\t")[1] == "less mv"
    main(["experiment", "table", "small", "--single", "-o", "single.tex", "-q"])
    assert (folder / "single.tex").read_text().startswith("% runs: SIMULATED")
    main(["experiment", "table", "small", "--agreement", "-q"])
    assert capsys.readouterr().out.startswith("assessor\t411\t416")


def test_presets_are_listed_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["experiment", "presets"])
    assert "trec21-aware" in capsys.readouterr().out
    main(["experiment", "presets", "trec21-merging"])
    assert parse_plan(capsys.readouterr().out).experiment.name == "trec21-merging"


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("experiment run plan.toml --part 3/2", 2, "--part must be like 3/32"),
        ("experiment run plan.toml --on moon", 2, "--on must be threads, processes, dask or"),
        ("experiment run plan.toml --runs nowhere", 2, "--runs takes NAME=FILES"),
        ("experiment run plan.toml --gold nowhere", 1, "[data] gold: there is no"),
        ("experiment run nowhere.toml", 1, "nowhere.toml: cannot be read"),
        ("experiment resume nowhere", 1, "name a folder of `experiment run`"),
        ("experiment tabel small", 2, "did you mean table?"),
        ("experiment table small --single --agreement", 2, "are one table each"),
    ],
)
def test_misuse(
    line: str, code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == code
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
