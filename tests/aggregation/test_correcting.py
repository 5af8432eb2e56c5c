"""Scores from few human labels beside many machine labels, in the library and by command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import qrowd as q
from qrowd.cli.main import command
from qrowd.data.merged import Merged
from qrowd.errors import InputError, ParameterError, ScaleError, UsageError


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=12, documents=50, assessors=5, votes=3, runs=6, seed=4)


@pytest.fixture(scope="module")
def machine(made: q.Collection) -> Merged:
    merged: Merged = q.get("mv").fit(made.judgements)
    return merged


def _truth(made: q.Collection, measure: str) -> list[float]:
    values: list[float] = q.evaluate(made.runs, made.truth, measure).means()[0, 0].tolist()
    return values


@pytest.mark.parametrize("by", ["random", "weight", "uncertainty", "topic"])
def test_samples_have_their_probabilities(made: q.Collection, by: str) -> None:
    samples = [q.sample(made.judgements, 100, by, runs=made.runs, seed=s) for s in range(300)]
    assert by == "topic" or {len(sample) for sample in samples} == {100}
    keys: dict[tuple[str, str], float] = {}
    hits: dict[tuple[str, str], int] = {}
    for sample in samples:
        names = zip(sample.pairs.topic_names, sample.pairs.document_names, strict=True)
        for name, chance in zip(names, sample.probability, strict=True):
            hits[name] = hits.get(name, 0) + 1
            assert keys.setdefault(name, chance) == chance  # the same in every sample
    gap = np.array([hits[name] / 300 - keys[name] for name in keys])
    assert abs(gap.mean()) < 0.02
    assert np.abs(gap).max() < 0.15
    again = q.sample(made.judgements, 100, by, runs=made.runs, seed=3)
    assert again.pairs == samples[3].pairs


@pytest.mark.parametrize("method", ["ppi", "recalibrate", "rg"])
def test_all_labels_give_the_truth(made: q.Collection, machine: Merged, method: str) -> None:
    found = q.correct(made.runs, machine, made.truth, ["P@10"], method=method, sampled="random")
    np.testing.assert_allclose(found.human[0], _truth(made, "P@10"), atol=1e-12)
    if method != "rg":
        np.testing.assert_allclose(found.value[0], _truth(made, "P@10"), atol=1e-12)


@pytest.mark.parametrize("by", ["random", "weight", "uncertainty"])
@pytest.mark.parametrize("measure", ["P@10", "DCG@10", "RBP"])
def test_pairs_hold_the_truth(made: q.Collection, machine: Merged, by: str, measure: str) -> None:
    held = []
    truth = np.array(_truth(made, measure))
    for seed in range(10):
        chosen = q.sample(machine, 200, by, runs=made.runs, measure=measure, seed=seed)
        found = q.correct(made.runs, machine, chosen.labelled(made.truth), measure)
        held.append((found.low[0] <= truth) & (truth <= found.high[0]))
    assert np.mean(held) > 0.75


@pytest.mark.parametrize("measure", ["AP", "nDCG@10", "RR", "P@10"])
def test_topics_hold_the_truth(made: q.Collection, machine: Merged, measure: str) -> None:
    chosen = q.sample(machine, 300, "topic", seed=1).labelled(made.truth)
    found = q.correct(made.runs, machine, chosen, measure)
    assert found.unit == "topic"
    assert (found.labels, found.size) == (6, 12)
    truth = np.array(_truth(made, measure))
    assert ((found.low[0] <= truth) & (truth <= found.high[0])).mean() > 0.6
    assert np.isfinite(found.human).all()


@pytest.mark.parametrize("sampled", ["random", "topic"])
def test_over_topics_all_labels_leave_the_choice_of_topics(
    made: q.Collection, machine: Merged, sampled: str
) -> None:
    names = ["P@10", "AP", "nDCG@10"]
    found = q.correct(made.runs, machine, made.truth, names, sampled=sampled, over="topics")
    each = q.evaluate(made.runs, made.truth, names).values[:, 0]
    np.testing.assert_allclose(found.value, each.mean(axis=1), atol=1e-9)
    error = each.std(axis=1, ddof=1) / np.sqrt(12)
    apart = (each[:, :, 0] - each[:, :, 1]).std(axis=1, ddof=1) / np.sqrt(12)
    for estimate, expected, between in zip(found.estimates, error, apart, strict=True):
        assert estimate is not None
        np.testing.assert_allclose(estimate.error, expected, atol=1e-9)
        assert estimate.couples()[0][0, 1] == pytest.approx(between, abs=1e-9)
    contrast = q.against(found, made.runs, "run02")
    assert ((contrast.high - contrast.low) > 0).all()
    assert "for the scores on more topics like these" in str(found)
    assert "for more topics like these" in str(contrast)
    # human labels alone have the same ends, as far as all is judged
    np.testing.assert_allclose(found.human_low[0], found.low[0], atol=0.05)


def test_over_topics_intervals_are_wider(made: q.Collection, machine: Merged) -> None:
    few = q.sample(machine, 200, "weight", runs=made.runs, seed=1).labelled(made.truth)
    pool, topics = (q.correct(made.runs, machine, few, over=over) for over in ("pool", "topics"))
    np.testing.assert_array_equal(pool.value, topics.value)
    assert ((topics.high - topics.low) > (pool.high - pool.low)).all()
    assert ((topics.human_high - topics.human_low) > (pool.human_high - pool.human_low)).all()
    with pytest.raises(UsageError, match="labels make no interval over topics"):
        topics.labels_needed(0.02)
    with pytest.raises(UsageError, match="by ppi, there are none by rg"):
        q.correct(made.runs, machine, few, method="rg", over="topics")
    with pytest.raises(UsageError, match="take one judge: merge the judges first"):
        q.correct(made.runs, made.judgements, few, over="topics")
    with pytest.raises(ParameterError, match="over must be one of pool, topics"):
        q.correct(made.runs, machine, few, over="topic")
    single = machine[q.Index.of([machine.topics.names[0]])]
    few = q.sample(single, 20).labelled(made.truth)
    with pytest.raises(UsageError, match="need two or more topics"):
        q.correct(made.runs, single, few, over="topics")


def test_several_judges_at_once(made: q.Collection) -> None:
    chosen = q.sample(made.judgements, 200, seed=2).labelled(made.truth)
    found = q.correct(made.runs, made.judgements, chosen, ["P@10", "DCG@10"])
    assert np.isfinite(found.value).all()
    few = q.sample(made.judgements, 20, seed=2).labelled(made.truth)
    with pytest.raises(UsageError, match="5 judges at once are too many"):
        q.correct(made.runs, made.judgements, few, "P@10")


def test_judges_who_cover_a_part_are_said(made: q.Collection) -> None:
    rows = made.judgements
    first = rows.assessors.names[0]
    kept = rows.select((rows.assessor != 0) | (rows.pair % 4 == 0))
    chosen = q.sample(rows, 200, seed=2).labelled(made.truth)
    found = q.correct(made.runs, kept, chosen, "P@10")
    assert np.isfinite(found.value).all()
    assert "5 of 5 judges cover a part of the pool only" in found.notes[0]
    assert f"(least: {first}, " in found.notes[0]
    table = q.judges(kept, chosen)
    assert table["pairs"][0] == (kept.assessor == 0).sum()


def test_corrected_scores_compose(made: q.Collection, machine: Merged, tmp_path: Path) -> None:
    few = q.sample(machine, 200, "weight", runs=made.runs).labelled(made.truth)
    found = q.correct(made.runs, machine, few, ["P@10", "DCG@10"], quantiles="bootstrap")
    assert isinstance(found, q.Scores)
    assert found.measure("DCG@10").low.tolist() == found.low[1:].tolist()
    gold = q.evaluate(made.runs, made.truth, ["P@10", "DCG@10"])
    machines = q.evaluate(made.runs, machine.qrels(), ["P@10", "DCG@10"])
    compared = q.compare({"ppi": found, "machine": machines}, gold)
    expected = float(q.tau_ap(found.value[0], gold.means()[0, 0]))
    assert compared.value("ppi") == pytest.approx(expected)
    assert any("has no scores by topic" in note for note in compared.notes)
    q.save(found, tmp_path / "ppi.tsv")
    again = q.read_scores(tmp_path / "ppi.tsv")
    assert again.averaged
    both = q.compare({"ppi": again}, gold).value("ppi")
    assert both == pytest.approx(expected)
    pytest.importorskip("jinja2", reason="pages need the extra `report`")
    page = q.report(found, compared).to_html()
    assert "Systems, corrected by human labels" in page
    assert "human labels only" in page


def test_what_cannot_be_estimated_is_said(made: q.Collection, machine: Merged) -> None:
    few = q.sample(machine, 8).labelled(made.truth)
    found = q.correct(made.runs, machine, few, "P@10")
    assert np.isnan(found.value).all()
    assert "8 pairs judged by a human are too few" in found.notes[0]
    some = q.sample(machine, 100).labelled(made.truth)
    found = q.correct(made.runs, machine, some, "RR")
    assert np.isnan(found.value).all()
    assert "sample whole topics" in found.notes[0]
    found = q.correct(made.runs, machine, some, "AP")
    assert np.isfinite(found.value).all()
    rich = q.simulate(topics=8, documents=80, prevalence=0.5, votes=3, runs=3, seed=1)
    merged = q.get("mv").fit(rich.judgements)
    found = q.correct(rich.runs, merged, q.sample(merged, 90).labelled(rich.truth), "AP")
    assert np.isfinite(found.low).all()
    thirty = q.sample(machine, 30).labelled(made.truth)
    found = q.correct(made.runs, machine, thirty, "AP")
    assert np.isfinite(found.value).all()
    assert np.isnan(found.low).all()
    assert any("judge 40 pairs" in note for note in found.notes)
    none = q.Qrels(some.pairs, np.zeros(100, np.int8))
    found = q.correct(made.runs, machine, none, "P@10", sampled="random")
    assert np.isnan(found.human_low).all()
    assert any(
        "all human labels that their scores depend on are alike" in note for note in found.notes
    )


def test_recalibrated_scores_have_no_interval(made: q.Collection, machine: Merged) -> None:
    few = q.sample(machine, 200, runs=made.runs, by="weight").labelled(made.truth)
    found = q.correct(made.runs, machine, few, ["P@10", "DCG@10"], method="recalibrate")
    assert not np.isnan(found.value).any()
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    assert not np.isnan(found.human_low).all()
    assert any("the order of systems" in note for note in found.notes)
    assert sorted(found.place[0]) == sorted(q.places(found.value[0]))


def test_topics_with_few_relevant_documents_have_no_interval() -> None:
    made = q.simulate(topics=30, documents=80, runs=5, prevalence=0.04, votes=3, seed=3)
    machine = q.get("mv").fit(made.judgements)
    few = q.sample(machine, 200, "weight", runs=made.runs, measure=["AP", "P@10"], seed=1)
    found = q.correct(made.runs, machine, few.labelled(made.truth), ["AP", "P@10"])
    assert np.isfinite(found.value).all()
    assert np.isnan(found.low[0]).all()
    assert np.isnan(found.place_low[0]).all()
    assert np.isfinite(found.low[1]).all()
    assert any(
        re.search(r"AP has no intervals: .* about \d+ relevant", note) for note in found.notes
    )


def test_without_any_interval_only_the_reason_for_all_runs_is_told(made: q.Collection) -> None:
    machine = q.get("mv").fit(made.judgements)
    few = q.sample(machine, 20, seed=1)
    alike = few.labelled(q.Qrels(few.pairs, np.ones(len(few), np.int8)))
    found = q.correct(made.runs, machine, alike, "P@10")
    assert [note for note in found.notes if "labels alone" not in note] == [
        "P@10 has no intervals: from 20 human labels they held too little; judge 40 pairs"
    ]


def test_runs_with_few_labelled_pairs_have_no_interval() -> None:
    """100 labels of a large pool are five in a run's top ten: from human labels alone, intervals
    held .8, not .9.
    """
    made = q.simulate(topics=40, documents=100, assessors=9, votes=3, runs=6, seed=4)
    machine = q.get("mv").fit(made.judgements)
    few = q.sample(machine, 60, seed=1).labelled(made.truth)
    found = q.correct(made.runs, machine, few, "P@10")
    assert not np.isnan(found.value).any()
    assert np.isnan(found.human_low).all()
    note = next(note for note in found.notes if "runs have no interval" in note)
    (wanted,) = map(int, re.findall(r"about (\d+) labels", note))
    assert 60 < wanted < 1000
    more = q.sample(machine, wanted, seed=2).labelled(made.truth)
    found = q.correct(made.runs, machine, more, "P@10")
    assert not np.isnan(found.human_low).any()
    # where few runs lack labels, not fewer labels than there are now would do
    assert made.runs is not None
    few = q.sample(machine, 500, seed=5).labelled(made.truth)
    ranked = made.runs.to_polars()
    kept = ranked.filter((pl.col("run") != "run01") | (pl.col("rank") == 1))
    shorter = q.RunSet.of(*(kept[name].to_numpy() for name in ("run", "topic", "doc", "score")))
    found = q.correct(shorter, machine, few, "P@10")
    note = next(note for note in found.notes if "runs have no interval" in note)
    (wanted,) = map(int, re.findall(r"about (\d+) labels", note))
    assert wanted > 500
    by_weight = q.sample(machine, 60, by="weight", runs=made.runs, seed=1).labelled(made.truth)
    found = q.correct(made.runs, machine, by_weight, "P@10")
    assert not np.isnan(found.low).any()
    assert not np.isnan(found.human_low).any()


def test_bad_labels_are_refused(made: q.Collection, machine: Merged) -> None:
    some = q.sample(machine, 100).labelled(made.truth)
    with pytest.raises(UsageError, match="say how they were chosen"):
        q.correct(made.runs, machine, some.qrels, "P@10")
    outside = q.Qrels.of(["t", "t"], ["x", "y"], [0, 1])
    with pytest.raises(InputError, match="2 of 2 human labels are about pairs that no machine"):
        q.correct(made.runs, machine, outside, "P@10", sampled="random")
    graded = q.Qrels(some.pairs, some.qrels.grade * 3)
    with pytest.raises(ScaleError, match=r"grades 0 3 .*--gold-rel"):
        q.correct(made.runs, machine, graded, "P@10", sampled="random", method="rg")
    with pytest.raises(InputError, match="pairs have no human label"):
        q.correct(made.runs, machine, some.qrels, "AP", sampled="topic")
    with pytest.raises(ParameterError, match="method must be one of ppi, recalibrate, rg"):
        q.correct(made.runs, machine, some, "P@10", method="pip")
    with pytest.raises(InputError, match="sampled pairs have no human grade"):
        q.sample(machine, 100).labelled(some.qrels.select(np.arange(100) < 50))


def test_order_by_labels_that_a_bad_judge_does_not_spoil(
    made: q.Collection, machine: Merged
) -> None:
    half = np.full((len(machine.pairs), 2), 0.5)
    silent = replace(machine, posterior=half, decided=None)
    coin = (np.random.default_rng(2).random(len(machine.pairs)) < 0.5).astype(float)
    noisy = replace(machine, posterior=np.stack([1 - coin, coin], axis=1), decided=None)
    few = q.sample(machine, 100, seed=5).labelled(made.truth)
    orders = [q.correct(made.runs, one, few, "P@10").order().tolist() for one in (silent, noisy)]
    assert orders[0] == orders[1]
    turned = replace(machine, posterior=machine.posterior[:, ::-1], decided=None)
    places = [q.correct(made.runs, one, few, "P@10").place[0] for one in (machine, turned)]
    assert float(q.tau_b(-places[0], -places[1])) > 0.8  # an opposite judge still orders systems


def test_labels_needed_shrink_the_interval(made: q.Collection, machine: Merged) -> None:
    found = q.correct(made.runs, machine, q.sample(machine, 100).labelled(made.truth), "P@10")
    now = float(np.nanmax(found.high - found.low)) / 2
    assert found.labels_needed(now)["P@10"] in (100, 101)
    assert 100 < found.labels_needed(now / 2)["P@10"] < 400
    assert found.means()[0, 0].tolist() == found.value[0].tolist()


@pytest.fixture
def files(made: q.Collection, tmp_path: Path) -> Path:
    q.save(made.judgements, tmp_path / "llm.tsv")
    q.save(made.runs, tmp_path / "all.run")
    q.save(made.truth, tmp_path / "truth.qrels")
    return tmp_path


def _label(folder: Path, truth: q.Qrels) -> None:
    sample = pl.read_csv(folder / "todo.tsv", separator="\t", infer_schema_length=0)
    grades = truth.to_polars().with_columns(pl.col("grade").cast(pl.String))
    sample.join(grades, on=["topic", "doc"]).write_csv(folder / "few.tsv", separator="\t")


def test_the_whole_way_by_command(files: Path, made: q.Collection) -> None:
    run, at = CliRunner().invoke, str(files)
    asked = ["sample", f"{at}/llm.tsv", "-n", "150", "--by", "weight"]
    done = run(command, [*asked, "--runs", f"{at}/all.run", "-o", f"{at}/todo.tsv"])
    assert done.exit_code == 0, done.output
    _label(files, made.truth)
    asked = ["evaluate", "--runs", f"{at}/all.run", "--judgements", f"{at}/llm.tsv"]
    asked += ["-m", "P@10", "--human", f"{at}/few.tsv", "--correct", "ppi"]
    done = run(command, [*asked, "-o", f"{at}/out.tsv", "--labels-needed", "0.01"])
    assert done.exit_code == 0, done.output
    assert "a human must judge" in done.output
    header = (files / "out.tsv").read_text().splitlines()[0].split("\t")
    expected = ["run", "measure", "value", "low", "high", "human", "human_low", "human_high"]
    assert header == [*expected, "machine", "infap", "place", "place_low", "place_high"]
    machine = q.get("mv").fit(made.judgements)
    sample = q.read_sample(files / "few.tsv")
    found = q.correct(made.runs, machine, sample, "P@10").to_polars()
    written = pl.read_csv(files / "out.tsv", separator="\t")
    np.testing.assert_allclose(written["value"], found["value"])
    shown = run(command, asked)
    assert "human only" in shown.output
    assert "150 of 600 pairs were judged" in shown.output


def test_measures_that_the_labels_can_correct(files: Path, made: q.Collection) -> None:
    run, at = CliRunner().invoke, str(files)
    asked = ["evaluate", "--runs", f"{at}/all.run", "--judgements", f"{at}/llm.tsv", "--json"]
    expected = {
        ("random", "ppi"): {"P@10", "AP", "nDCG@10"},
        ("random", "rg"): {"P@10"},
        ("topic", "ppi"): {"AP", "nDCG@20"},
    }
    for (by, how), names in expected.items():
        wanted = ["sample", f"{at}/llm.tsv", "-n", "250", "--by", by]
        assert run(command, [*wanted, "-o", f"{at}/todo.tsv"]).exit_code == 0
        _label(files, made.truth)
        done = run(command, [*asked, "--human", f"{at}/few.tsv", "--correct", how])
        rows = json.loads(done.stdout)["rows"]
        assert {row["measure"] for row in rows} == names
        bounded = [row for row in rows if row["low"] is not None]
        assert {"P@10", "AP"} & {row["measure"] for row in bounded}
        assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in bounded)


def test_misuse_by_command(files: Path) -> None:
    run, at = CliRunner().invoke, str(files)
    asked = ["evaluate", "--runs", f"{at}/all.run", "--judgements", f"{at}/llm.tsv"]
    alone = run(command, [*asked, "--correct", "ppi"])
    assert isinstance(alone.exception, UsageError)
    assert "name them with --human" in str(alone.exception)
    (files / "far.qrels").write_text("1 0 nosuch 1\n", encoding="utf-8")
    far = run(
        command, [*asked, "--correct", "ppi", "--human", f"{at}/far.qrels", "--sampled", "random"]
    )
    assert str(far.exception).startswith(f"{at}/far.qrels: 1 of 1 human labels")
    plain = run(command, [*asked, "--correct", "ppi", "--human", f"{at}/truth.qrels"])
    assert "--sampled" in str(plain.exception)
    (files / "twice.tsv").write_text(
        "topic\tdoc\tgrade\tprobability\n1\ta\t0\t0.5\n1\ta\t1\t0.5\n", encoding="utf-8"
    )
    twice = run(command, [*asked, "--correct", "ppi", "--human", f"{at}/twice.tsv"])
    assert "has grade 1 here and 0 earlier" in str(twice.exception)
    (files / "same.tsv").write_text(
        "topic\tdoc\tgrade\tprobability\n1\ta\t0\t0.5\n1\tb\t0\t0.5\n1\ta\t0\t0.5\n",
        encoding="utf-8",
    )
    same = run(command, [*asked, "--human", f"{at}/same.tsv"])
    assert str(same.exception).endswith(
        "same.tsv:4: this pair has an earlier row, too; keep one of them"
    )
    (files / "never.tsv").write_text(
        "topic\tdoc\tgrade\tprobability\n1\ta\t0\t0\n", encoding="utf-8"
    )
    never = run(command, [*asked, "--correct", "ppi", "--human", f"{at}/never.tsv"])
    assert "probability must be above 0" in str(never.exception)


def test_fewer_than_ten_labels_are_refused_in_one_line(files: Path, made: q.Collection) -> None:
    run, at = CliRunner().invoke, str(files)
    drawn = ["sample", f"{at}/llm.tsv", "-n", "9", "--by", "random", "-o", f"{at}/todo.tsv"]
    assert run(command, drawn).exit_code == 0
    _label(files, made.truth)
    named = ["--runs", f"{at}/all.run", "--human", f"{at}/few.tsv"]
    judged = ["--judgements", f"{at}/llm.tsv"]
    expected = (
        f"{at}/few.tsv: 9 pairs judged by a human are too few for an estimate; judge 10 or more"
    )
    for asked in (
        ["evaluate", *judged],
        ["compare", "--systems", *judged],
        ["report", f"{at}/llm.tsv", "--method", "mv", "--draws", "5", "-o", f"{at}/r.html"],
    ):
        refused = run(command, [*asked, *named])
        assert isinstance(refused.exception, InputError)
        assert str(refused.exception) == expected
    assert not (files / "r.html").exists()
