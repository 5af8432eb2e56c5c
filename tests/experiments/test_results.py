"""Figures, tables and pictures from cells; the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.errors import DataWarning, InputError, UnknownNameError, UsageError
from qrowd.experiments import cells as cells_module
from qrowd.experiments import effects, printed, run
from qrowd.experiments import inputs as inputs_module
from qrowd.experiments.inputs import Inputs, load
from qrowd.experiments.plan import Plan, parse_plan, read_plan
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


# --- as printed -----------------------------------------------------------------------------------

PRINTED_ROWS = [
    "K-uple Size",
    "Approach",
    "Measure",
    "Systems",
    "Approach*Measure",
    "Approach*Systems",
    "Measure*Systems",
    "Error",
    "Total",
]
FERRANTE = """[experiment]
name = "ferrante"
[data]
pools = "trec21"
made = true
documents = 60
systems = 6
seed = 1
[grid]
approaches = ["mv", "em", "aware-uni", "binmv", "qbinmv"]
measures = ["AP", "eRAP", "RBP"]
statistics = ["tau_ap", "tau"]
gold = ["certain", "random"]
[names]
em = "ds(per_topic=true)"
eRAP = "AP(expected='ratio')"
RBP = "RBP(p=0.8)"
[panels]
sizes = [2, 3, 7]
each = 2
"""


def made_grid(book: run.Book, group: str) -> Results:
    """All cells of the thesis's grid, with made figures: 29 sizes, 18 approaches, 2 by 2."""
    plan = preset("trec21-aware")
    grid = plan.grid
    cells = list(product(plan.panels.sizes, grid.approaches, grid.measures, ("T08", "T13")))
    size, approach, measure, runs = zip(*cells, strict=True)
    frame = pl.DataFrame(
        {
            "size": size,
            "approach": approach,
            "measure": measure,
            "runs": runs,
            "gold": ["certain"] * len(cells),
            "set": [1] * len(cells),
            "panel": [1] * len(cells),
            "tau_ap": np.random.default_rng(1).random(len(cells)),
        }
    )
    return Results(replace(book, plan=plan), "tau_ap", group, frame)


def test_the_printed_analysis_of_variance(book: run.Book) -> None:
    """Degrees of freedom, and the labels of rows and columns of Tables 5.1, 5.2, A.1 to A.4."""
    results = made_grid(book, "train5")
    assert len(results.frame) == 2088
    table = printed.anova_table(results)
    assert list(table) == ["term", "SS", "DF", "MS", "F", "p-value", "SOA"]
    assert table["term"] == PRINTED_ROWS
    assert table["DF"] == [28, 17, 1, 1, 17, 17, 1, 2005, 2087]
    assert table["SOA"][0] == ""
    assert [bool(table[name][-1]) for name in ("SS", "MS", "F", "p-value", "SOA")] == [True] + [
        False
    ] * 4
    plan = preset("trec21-aware")
    groups = {
        number: printed.group_of(plan, topics) for number, (_, topics) in printed.ANOVA.items()
    }
    assert groups == {
        "5.1": "train5",
        "5.2": "train5",
        "A.1": "train7",
        "A.2": "train7",
        "A.3": "train3",
        "A.4": "train3",
    }


def test_every_printed_figure_has_a_picture(book: run.Book) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an extra")
    plan = preset("trec21-aware")
    two = replace(plan, runs={"T08": "a", "T13": "b"})
    names = {number: printed.picture_name(two, number) for number in printed.FIGURES}
    assert len(names) == 22 + 28
    assert names["5.2"] == "tau_ap-single-measure"
    assert names["5.8"] == "tau_ap-train5-main-size"
    assert names["5.17"] == "rmse-train5-main-runs"
    assert names["5.22"] == "rmse-topics"
    assert names["A.3"] == "tau_ap-train7-main-size"
    assert names["A.13"] == "rmse-train7-approach-measure"
    assert names["A.28"] == "rmse-train3-approach-runs"
    drawn = effects.figures(made_grid(book, "train5"))
    of_group = [name.removeprefix("tau_ap-train5-") for name in names.values() if "train5" in name]
    assert {name for name in of_group if not name.startswith("rmse")} <= set(drawn)
    with pytest.raises(UsageError, match="factor Systems"):
        printed.picture_name(plan, "5.10")
    with pytest.raises(UnknownNameError, match=r"5\.23"):
        printed.picture_name(plan, "5.23")


def test_tables_1_and_2_as_printed(tmp_path: Path) -> None:
    book = run.run(parse_plan(FERRANTE), tmp_path / "out", workers=1)
    first = printed.printed_table(book, "1")
    assert list(first) == ["gold", "measure", "made mean tau", "made mean tau_AP"]
    rows = list(zip(first["gold"], first["measure"], strict=True))
    assert rows == [
        *(("DGS", "AP"), ("DGS", "eRAP"), ("RGS", "eRAP")),
        *(("DGS", "RBP"), ("DGS", "eRRBP"), ("RGS", "eRRBP")),
    ]
    inputs = load(book.plan)
    single = single_assessors(inputs, 0.95)
    at = list(zip(*list(single.values())[1:4], strict=True)).index(("eRAP", "random", "random"))
    assert first["made mean tau"][2] == f"{single['tau'][at]:.4f} ± {single['tau +-'][at]:.4f}"
    second = printed.printed_table(book, "2")
    assert list(second) == ["systems", "gold", "merged", "M = 2", "M = 3"]
    assert second["merged"][:7] == [
        *("MV AP", "EM AP", "AWARE AP"),
        *("BINMV eRAP", "QBINMV eRAP", "BINMV eRAP", "QBINMV eRAP"),
    ]
    assert second["gold"] == ["DGS"] * 5 + ["RGS"] * 2 + ["DGS"] * 5 + ["RGS"] * 2
    results = Results.of(book)
    where = (pl.col("approach") == "binmv") & (pl.col("measure") == "eRAP")
    mean = results.frame.filter(where, pl.col("gold") == "random", pl.col("size") == 3)["tau_ap"]
    assert second["M = 3"][5] == round(mean.mean(), 4)
    # the uniform mean of scores is the expected measure under the votes, so that rows coincide
    assert second["M = 3"][7 + 2] == second["M = 3"][7 + 3]
    with pytest.raises(UsageError, match="no group of topic sets in which 5 topics"):
        printed.printed_table(book, "5.1")


def test_a_measure_has_a_short_name() -> None:
    """It is scored as its spec says, and a cell of another spec has another key."""
    plan = preset("trec21-aware")
    assert plan.grid.measures == ("AP", "nDCG@20")
    assert plan.measures == ("AP", "nDCG(dcg='jk', base=2, gains={1: 5})@20")
    own = parse_plan(FERRANTE)
    inputs = load(own)
    task = cells_module.Task("mv", (2,))
    other = replace(own, names={**own.names, "RBP": "RBP(p=0.5)"})
    assert cells_module.key_of(task, inputs) != cells_module.key_of(
        task, replace(inputs, plan=other)
    )
    scores = inputs.gold_scores["made", "certain"].values[2, 0]
    (runs,) = inputs.runs.values()
    np.testing.assert_array_equal(
        scores, q.evaluate(runs, inputs.gold, ["RBP(p=0.8)"]).values[0, 0]
    )


def test_pools_without_a_relevant_document_are_left_out(tmp_path: Path) -> None:
    text = FERRANTE.replace("seed = 1", 'seed = 1\nscreen = ["nothing-relevant"]', 1)
    inputs = load(parse_plan(FERRANTE))
    crowd = inputs.crowd
    lazy = crowd.assessors.names[3]
    said = crowd.grade.copy()
    on_first = crowd.pairs.topic[crowd.pair] == 0
    said[on_first & (crowd.assessor == 3)] = 0
    doubtful = replace(inputs, plan=parse_plan(text), crowd=replace(crowd, grade=said))
    kept = inputs_module._screened(doubtful)
    empty = {
        name
        for at, name in enumerate(crowd.assessors)
        for topic in range(len(crowd.topics))
        if not said[(crowd.assessor == at) & (crowd.pairs.topic[crowd.pair] == topic)].any()
    }
    assert lazy in empty
    assert len(empty) < 5
    assert set(crowd.assessors) - set(kept.crowd.assessors) == empty
    assert kept.caption.endswith(f"without {', '.join(sorted(empty))}")
    with pytest.raises(InputError, match=r"\[data\] screen: .*needs gold"):
        load(parse_plan(text.replace("nothing-relevant", "gold-accuracy")))


def test_runs_that_lack_a_topic_are_named(tmp_path: Path) -> None:
    made = load(parse_plan(FERRANTE))
    q.save(made.gold, tmp_path / "gold.qrels")
    (runs,) = made.runs.values()
    q.save(runs, tmp_path / "all.run")
    lines = (tmp_path / "all.run").read_text().splitlines(keepends=True)
    (tmp_path / "few.run").write_text(
        "".join(line for line in lines if not line.startswith(("416", "447")))
    )
    text = FERRANTE.replace("made = true", 'gold = "gold.qrels"')
    text += '[runs]\nall = "all.run"\nfew = "few.run"\n'
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(InputError, match=r"\[runs\] few: no run has topics 416, 447"):
        load(read_plan(tmp_path / "plan.toml"))
    # one run of several: it is scored 0 there, and that is said
    lacking = str(runs.runs.names[1])
    (tmp_path / "few.run").write_text(
        "".join(
            line for line in lines if not (line.startswith("416") and line.split()[-1] == lacking)
        )
    )
    with pytest.warns(DataWarning, match=rf"runs few: .* 1 run \({lacking} \(416\)\): scored 0"):
        load(read_plan(tmp_path / "plan.toml"))


def test_table_5_3_as_printed() -> None:
    """A row for each assessor, a column for each topic."""
    inputs = load(parse_plan(FERRANTE))
    table = printed.table_5_3(inputs)
    assert list(table) == ["assessor", *inputs.gold.topics]
    assert table["assessor"] == list(inputs.crowd.assessors)
    shares = agreement(inputs)
    topic = inputs.gold.topics.names[0]
    assert table[topic] == [f"{share:.4f}" for share in shares[topic]]
