"""Systems against the one in use, from machine labels that human ones correct."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import qrowd as q
from qrowd.cli.main import command
from qrowd.data.sample import Sample
from qrowd.errors import UnknownNameError, UsageError
from qrowd.reporting.parts import Table
from qrowd.reporting.sections.systems import (
    contrast_section,
    corrected_section,
    unjudged_section,
)
from qrowd.reporting.verdicts import _best_by_humans

NAMES = ["P@10", "AP", "nDCG@10"]


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(
        topics=12, documents=80, assessors=5, votes=3, runs=6, prevalence=0.45, seed=4
    )


@pytest.fixture(scope="module")
def machine(made: q.Collection) -> q.Merged:
    merged: q.Merged = q.get("mv").fit(made.judgements)
    return merged


def _corrected(made: q.Collection, machine: q.Merged, seed: int = 0) -> q.Corrected:
    few = q.sample(machine, 150, "weight", runs=made.runs, measure=NAMES, seed=seed)
    return q.correct(made.runs, machine, few.labelled(made.truth), NAMES)


def test_differences_and_places_hold(made: q.Collection, machine: q.Merged) -> None:
    truth = q.evaluate(made.runs, made.truth, NAMES).means()[:, 0]
    held, placed = [], []
    for seed in range(8):
        corrected = _corrected(made, machine, seed)
        contrast = q.against(corrected, made.runs, "run02")
        expected = np.delete(truth - truth[:, [1]], 1, axis=1)
        held.append((contrast.low <= expected) & (expected <= contrast.high))
        place = q.places(truth)
        placed.append((corrected.place_low <= place) & (place <= corrected.place_high))
    assert np.mean(held) > 0.75
    assert np.mean(placed) > 0.8


def test_verdicts_are_for_all_runs_together(made: q.Collection, machine: q.Merged) -> None:
    truth = q.evaluate(made.runs, made.truth, NAMES).means()[:, 0]
    corrected, alone = _corrected(made, machine), []
    for at, base in enumerate(corrected.runs):
        contrast = q.against(corrected, made.runs, base)
        better, worse = contrast.verdict == "better", contrast.verdict == "worse"
        # as the places of the baseline have it
        assert (better.sum(axis=1) == corrected.place_low[:, at] - 1).all()
        assert (worse.sum(axis=1) == 6 - corrected.place_high[:, at]).all()
        assert (contrast.low[better] > 0).all()
        assert (contrast.high[worse] < 0).all()
        alone += contrast.verdict[(contrast.low > 0) | (contrast.high < 0)].tolist()
        right = np.delete(truth - truth[:, [at]], at, axis=1)
        assert (right[better] > 0).all()
        assert (right[worse] < 0).all()
    assert {"better", "worse", "open"} == set(alone)  # open beside an interval that leaves out 0


def test_runs_are_in_the_order_of_recalibrated_labels(
    made: q.Collection, machine: q.Merged
) -> None:
    corrected = _corrected(made, machine)
    contrast = q.against(corrected, made.runs, "run02")
    for name in NAMES:
        shown = [row["run"] for row in contrast.rows() if row["measure"] == name]
        order = [str(corrected.runs.names[at]) for at in corrected.order(name)]
        assert shown == [run for run in order if run != "run02"]


def test_a_difference_uses_what_two_runs_share(made: q.Collection, machine: q.Merged) -> None:
    (estimate,) = _corrected(made, machine).measure("AP").estimates
    assert estimate is not None
    apart, half = estimate.differences(0.9)
    error, _ = estimate.couples()
    assert apart[2, 4] == pytest.approx(estimate.value[2] - estimate.value[4])
    parts, beyond = estimate.parts, estimate.beyond
    assert parts is not None
    assert beyond is not None
    by_hand = np.square(parts[2] - parts[4]).sum() + beyond[2, 2] + beyond[4, 4] - 2 * beyond[2, 4]
    assert error[2, 4] == pytest.approx(np.sqrt(by_hand))
    assert (np.diag(half) == 0).all()
    few = estimate.of(np.array([4, 2]))
    assert few.differences(0.9)[1][0, 1] == pytest.approx(half[2, 4])


def test_topics_and_documents_behind_a_difference(made: q.Collection, machine: q.Merged) -> None:
    corrected = _corrected(made, machine)
    contrast = q.against(corrected, made.runs, "run02")
    assert list(contrast.runs) == ["run01", "run03", "run04", "run05", "run06"]
    assert (contrast.won + contrast.lost + contrast.tied == 12).all()
    assert corrected.by_topic is not None
    topics = corrected.by_topic.values[1, 0]
    assert contrast.won[1, 1] == (topics[:, 2] > topics[:, 1] + 1e-9).sum()
    assert contrast.spread[1, 1] > (topics[:, 2] - topics[:, 1]).std(ddof=1)  # expected scores
    move = next(m for m in contrast.moved if m["measure"] == "AP" and m["run"] == "run03")
    most = int(np.argmax(np.abs(topics[:, 2] - topics[:, 1])))
    assert move["topic"] == corrected.by_topic.topics.names[most]
    assert move["documents"]
    for each in move["documents"]:  # in the direction of the difference
        up = (each["rank"] or 999) < (each["was"] or 999)
        assert up == (move["difference"] > 0)
    need = contrast.topics_needed(0.02)["AP"]
    assert need == int(np.ceil((2.8016 * contrast.spread[1].max() / 0.02) ** 2))
    width = float(np.nanmax(contrast.high - contrast.low, axis=1)[1]) / 2
    assert contrast.labels_needed(width)["AP"] in (150, 151)
    with pytest.raises(UnknownNameError, match="run99"):
        q.against(corrected, made.runs, "run99")
    alone = q.correct(
        made.runs, machine, q.sample(machine, 100).labelled(made.truth), method="human"
    )
    with pytest.raises(UsageError, match="machine labels"):
        q.against(alone, made.runs, "run01")


def test_documents_behind_a_difference_are_where_the_measure_looks(
    made: q.Collection, machine: q.Merged
) -> None:
    contrast = q.against(_corrected(made, machine), made.runs, "run02")
    ranks: dict[str, list[int]] = {name: [] for name in NAMES}
    for move in contrast.moved:
        for each in move["documents"]:
            ranks[move["measure"]] += [each[side] for side in ("rank", "was") if each[side]]
    assert max(ranks["P@10"]) <= 10
    assert max(ranks["nDCG@10"]) <= 10
    assert max(ranks["AP"]) > 10


def test_a_difference_without_interval_says_why(made: q.Collection, machine: q.Merged) -> None:
    few = q.sample(machine, 30, runs=made.runs).labelled(made.truth)
    short = q.against(q.correct(made.runs, machine, few, "P@10"), made.runs, "run02")
    assert np.isnan(short.low).all()
    wanted = "P@10: 5 of 5 differences to run02 have no interval: the scores have none either"
    assert wanted in short.notes
    few = q.sample(machine, 150, runs=made.runs)
    alike = few.labelled(q.Qrels(few.pairs, np.ones(len(few), np.int8)))
    found = q.against(q.correct(made.runs, machine, alike, "P@10"), made.runs, "run02")
    assert [note for note in found.notes if "differences" in note] == [
        "P@10: 5 of 5 differences to run02 have no interval: all human labels that one of the two "
        "scores depends on are alike, so judge more pairs"
    ]
    corrected = _corrected(made, machine)
    (estimate,) = corrected.measure("P@10").estimates
    assert estimate is not None
    assert estimate.parts is not None
    same = estimate.parts.copy()
    same[0] = same[1]  # of run02: nothing that the two differ by is labelled
    hidden = replace(corrected, estimates=(replace(estimate, parts=same), None, None))
    told = q.against(hidden, made.runs, "run02").notes
    assert any(
        "1 of 5 differences" in note and "two equal ones; about 600 chosen like these 150" in note
        for note in told
    )


def test_a_column_has_its_own_name_where_the_machine_has_no_such_grade(
    made: q.Collection, machine: q.Merged
) -> None:
    assert made.runs is not None
    few = q.sample(machine, 150, "weight", runs=made.runs, measure=NAMES)
    twice = q.Qrels(made.truth.pairs, np.asarray(made.truth.grade * 2, np.int8))
    found = q.correct(made.runs, machine, few.labelled(twice), ["AP(rel=2)", "AP"])
    graded, plain = str(found).split("\n\n")[:2]
    assert graded.splitlines()[0].split()[-2:] == ["90%", "infAP"]
    assert plain.splitlines()[0].endswith("machine only   infAP")
    first = found.order("AP(rel=2)")[0]
    assert graded.splitlines()[1].split()[-1] == f"{found.infap[0, first]:.4f}"


def test_one_run_and_one_topic(made: q.Collection, machine: q.Merged) -> None:
    assert made.runs is not None
    few = q.sample(machine, 150, "weight", runs=made.runs).labelled(made.truth)
    alone = made.runs.of_runs(q.Index.of(["run02"]))
    with pytest.raises(UsageError, match="run02 is the only run"):
        q.against(q.correct(alone, machine, few), alone, "run02")
    topic = machine.topics.names[0]
    single = machine[q.Index.of([topic])]
    few = q.sample(single, 50, runs=made.runs).labelled(made.truth)
    contrast = q.against(q.correct(made.runs, single, few), made.runs, "run02")
    assert contrast.topics_needed(0.02) == {}


@pytest.fixture
def files(made: q.Collection, machine: q.Merged, tmp_path: Path) -> Path:
    q.save(made.judgements, tmp_path / "llm.tsv")
    q.save(made.runs, tmp_path / "all.run")
    few = q.sample(machine, 150, "weight", runs=made.runs, measure=NAMES)
    q.save(few.labelled(made.truth), tmp_path / "few.tsv")
    return tmp_path


def test_systems_by_human_labels_by_command(files: Path) -> None:
    run, at = CliRunner().invoke, str(files)
    asked = ["compare", "--systems", "--runs", f"{at}/all.run", "--judgements", f"{at}/llm.tsv"]
    asked += ["--human", f"{at}/few.tsv"]
    shown = run(command, asked)
    assert shown.exit_code == 0, shown.output
    assert "places" in shown.output
    assert "machine only" in shown.output
    assert "infAP" in shown.output
    based = run(
        command,
        [*asked, "--baseline", "run02", "--labels-needed", "0.01", "--topics-needed", "0.02"],
    )
    assert based.exit_code == 0, based.output
    for words in ("won  lost  tied", "human labels (150 now)", "with power .8 by", "are judged"):
        assert words in based.output
    told = json.loads(run(command, [*asked, "--baseline", "run02", "--json"]).stdout)
    assert {row["run"] for row in told["rows"]} == {f"run0{n}" for n in (1, 3, 4, 5, 6)}
    assert told["moved"][0]["documents"][0]["document"]
    assert told["unjudged"][0]["unjudged"] == 0
    wrong = run(command, [*asked, "--baseline", "nobody"])
    assert "nobody" in str(wrong.exception)
    (files / "scores.tsv").write_text("run\ttopic\tmeasure\tvalue\n", encoding="utf-8")
    scores = run(command, ["compare", "--systems", f"{at}/scores.tsv", "--human", f"{at}/few.tsv"])
    assert "--human cannot correct files of scores" in str(scores.exception)
    lonely = run(command, ["compare", "--systems", f"{at}/scores.tsv", "--labels-needed", "0.1"])
    assert "--labels-needed needs --human" in str(lonely.exception)
    plain = run(command, [*asked, "--labels-needed", "0.01"])
    assert "AP: scores within 0.01 to each side need" in plain.output
    nothing = run(command, ["compare", "--systems"])
    assert "name a file of scores" in str(nothing.exception)


@pytest.mark.parametrize(
    "option",
    [
        *(["--topics", "1"], ["--reference", "FEW"], ["--latex"], ["--test", "t"]),
        *(["--bootstrap", "10"], ["--leave-out", "FEW"], ["--correction", "none"]),
    ],
)
def test_options_that_human_labels_have_no_use_for(files: Path, option: list[str]) -> None:
    asked = ["compare", "--systems", "--runs", f"{files}/all.run", "--human", f"{files}/few.tsv"]
    asked += ["--judgements", f"{files}/llm.tsv"]
    asked += [part.replace("FEW", f"{files}/few.tsv") for part in option]
    refused = CliRunner().invoke(command, asked).exception
    assert str(refused) == f"{option[0]} is for files of scores, not for --human; leave it out"


@pytest.mark.parametrize("option", [["--average", "both"], ["--intervals"], ["--per-topic"]])
def test_options_that_corrected_scores_have_no_use_for(files: Path, option: list[str]) -> None:
    asked = ["evaluate", "--runs", f"{files}/all.run", "--human", f"{files}/few.tsv"]
    asked += ["--judgements", f"{files}/llm.tsv", *option]
    refused = CliRunner().invoke(command, asked).exception
    assert str(refused) == f"{option[0]} does not go with --human; leave it out"


def test_over_topics_by_command(files: Path) -> None:
    asked = ["--runs", f"{files}/all.run", "--human", f"{files}/few.tsv", "-m", "AP"]
    asked += ["--judgements", f"{files}/llm.tsv"]
    wide = {}
    for over in ([], ["--over", "topics"]):
        told = CliRunner().invoke(command, ["evaluate", *asked, *over, "--json"])
        rows = json.loads(told.stdout)["rows"]
        wide[len(over)] = [row["high"] - row["low"] for row in rows]
    assert (np.array(wide[2]) > np.array(wide[0])).all()
    based = ["compare", "--systems", "--baseline", "run02", "--over", "topics", *asked]
    shown = CliRunner().invoke(command, based)
    assert "for more topics like these, judged by a human" in shown.output
    for more, why in {
        ("evaluate", "--over", "draws"): "--human has intervals for this pool, or --over topics",
        ("evaluate", "--over", "topics", "--labels-needed", ".1"): "labels cannot replace topics",
        ("compare", "--systems", "--over", "topics", "--labels-needed", ".1"): "cannot replace",
    }.items():
        refused = CliRunner().invoke(command, [*more, *asked])
        assert why in str(refused.exception)
    lonely = CliRunner().invoke(command, ["compare", "--systems", "x", "--over", "topics"])
    assert "--over needs --human" in str(lonely.exception)
    old = CliRunner().invoke(command, ["compare", "x", "--over", "estimate"])
    assert "--over estimate is called --top-of estimate now" in old.output


def test_numbers_that_are_needed_are_unknown(
    files: Path, made: q.Collection, machine: q.Merged
) -> None:
    q.save(q.sample(machine, 30).labelled(made.truth), files / "few.tsv")
    asked = ["compare", "--systems", "--runs", f"{files}/all.run", "--human", f"{files}/few.tsv"]
    asked += ["--judgements", f"{files}/llm.tsv", "--baseline", "run02", "-m", "P@10"]
    shown = CliRunner().invoke(command, [*asked, "--labels-needed", "0.02"])
    assert "P@10: how many human labels are needed is unknown, there is no interval" in shown.output
    every = Sample(made.truth.pairs, np.ones(len(made.truth)), "weight", made.truth.grade)
    q.save(every, files / "few.tsv")
    shown = CliRunner().invoke(command, [*asked, "--labels-needed", "0.02"])
    assert "P@10: no more human labels are needed, all pairs are judged" in shown.output


def test_a_report_needs_probabilities(files: Path, made: q.Collection) -> None:
    q.save(made.truth, files / "few.qrels")
    asked = ["report", f"{files}/llm.tsv", "-o", f"{files}/page.html", "--method", "mv"]
    asked += ["--human", f"{files}/few.qrels", "--runs", f"{files}/all.run", "--draws", "20"]
    refused = str(CliRunner().invoke(command, asked).exception)
    assert "few.qrels has no probabilities, which a report needs" in refused


def test_a_report_begins_with_corrected_scores(files: Path) -> None:
    pytest.importorskip("jinja2", reason="pages need the extra `report`")
    run, at = CliRunner().invoke, str(files)
    asked = ["report", f"{at}/llm.tsv", "-o", f"{at}/page.html", "--method", "mv"]
    asked += ["--human", f"{at}/few.tsv", "--baseline", "run02", "--draws", "20"]
    refused = run(command, asked)
    assert "--human needs --runs" in str(refused.exception)
    nobody = run(command, [*asked, "--runs", f"{at}/all.run", "--baseline", "nobody"])
    assert "no baseline 'nobody'; known: run01" in str(nobody.exception)
    done = run(command, [*asked, "--runs", f"{at}/all.run"])
    assert done.exit_code == 0, done.output
    page = (files / "page.html").read_text(encoding="utf-8")
    assert "corrected by the human labels of 150 pairs" in page  # which system is best
    assert "Let a trusted person judge" not in page
    assert "--runs RUNS --judgements JUDGEMENTS --human FILE --baseline RUN" in page
    first = page.index("Systems, corrected by human labels")
    assert first < page.index("Systems against run02") < page.index("What was done")
    assert "Topics that moved most by AP" in page
    assert "All documents among the systems&#39; first 10 are judged." in page


def test_a_page_has_what_moved_and_what_nobody_judged(
    made: q.Collection, machine: q.Merged
) -> None:
    assert made.runs is not None
    contrast = q.against(_corrected(made, machine), made.runs, "run02")
    tables = [part for part in contrast_section(contrast).parts if isinstance(part, Table)]
    moved = next(table for table in tables if table.caption.startswith("Topics that moved most"))
    shown = [row["run"] for row in contrast.rows() if row["measure"] == "P@10"][:3]
    assert set(moved.columns["system"]) == set(shown)
    topic, first = moved.columns["topic"][0], moved.columns["system"][0]
    behind = next(move for move in contrast.moved if (move["run"], move["topic"]) == (first, topic))
    assert behind["documents"][0]["document"] in moved.columns["documents"][0]
    assert contrast.to_polars()["won"].dtype == pl.Int64  # a count, not 16.0
    assert tables[-1].columns == {
        "measure": NAMES,
        "pairs judged": list(contrast.labels_needed(0.02).values()),
        "topics": list(contrast.topics_needed(0.02).values()),
    }
    kept = np.ones(len(made.truth), np.bool_)
    top = made.runs.lists(0)[0][0, 0]  # the first document of the first run's first topic
    kept[made.truth.pairs.document_names == made.runs.documents.names[top]] = False
    missing = q.unjudged(made.runs, made.truth.select(kept), NAMES)
    (table,) = (part for part in unjudged_section(missing).parts if isinstance(part, Table))
    at = table.columns["system"].index("run01")
    assert table.columns["unjudged"][at] == 1
    assert table.columns["P@10"][at].text == f"{0.1 / 12:+.3f}"


def test_the_best_is_ahead_of_all_others_or_not(made: q.Collection, machine: q.Merged) -> None:
    corrected = _corrected(made, machine)
    first = int(corrected.order("P@10")[0])
    low, high = np.full((3, 6), 2.0), np.full((3, 6), 6.0)
    low[:, first], high[:, first] = 1, 2  # one other may be as good, though it is never first
    verdict = _best_by_humans(replace(corrected, place_low=low, place_high=high))
    assert verdict.level == "caution"
    assert "surely behind" not in verdict.reasons
    high[:, first] = 1
    verdict = _best_by_humans(replace(corrected, place_low=low, place_high=high))
    assert "all 5 others are surely behind it" in verdict.reasons


def test_a_place_that_is_not_known_is_empty_in_a_report(
    made: q.Collection, machine: q.Merged
) -> None:
    corrected = _corrected(made, machine)
    low, high = corrected.place_low.copy(), corrected.place_high.copy()
    low[:, 0] = high[:, 0] = np.nan
    section = corrected_section(replace(corrected, place_low=low, place_high=high))
    table = next(part for part in section.parts if isinstance(part, Table))
    assert table.columns["places"].count("") == 1
    assert not any("nan" in place for place in table.columns["places"])


def test_notes_say_when_they_are_about_human_labels_alone(
    made: q.Collection, machine: q.Merged
) -> None:
    few = q.sample(machine, 60).labelled(made.truth)
    notes = q.correct(made.runs, machine, few, "P@10").notes
    assert any(note.startswith("P@10, human labels alone: 6 of 6 runs") for note in notes)
    alone = q.correct(made.runs, machine, few, "P@10", method="human").notes
    assert any(note.startswith("P@10: 6 of 6 runs") for note in alone)


def test_how_much_topics_differ_is_near_to_the_truth(made: q.Collection, machine: q.Merged) -> None:
    true = q.evaluate(made.runs, made.truth, NAMES).values[:, 0]
    spread = (true[:, :, 1:] - true[:, :, :1]).std(axis=1, ddof=1)
    few = q.against(_corrected(made, machine), made.runs, "run01").spread
    assert 0.7 < np.median(few / spread) < 1.4
    whole = q.sample(machine, len(machine.pairs)).labelled(made.truth)
    known = q.against(q.correct(made.runs, machine, whole, NAMES), made.runs, "run01")
    np.testing.assert_allclose(known.spread, spread)


def test_how_much_topics_differ_from_whole_topics(made: q.Collection, machine: q.Merged) -> None:
    whole = q.sample(machine, len(machine.pairs), by="topic").labelled(made.truth)
    found = q.against(q.correct(made.runs, machine, whole, NAMES), made.runs, "run01")
    true = q.evaluate(made.runs, made.truth, NAMES).values[:, 0]
    spread = (true[:, :, 1:] - true[:, :, :1]).std(axis=1, ddof=1)
    np.testing.assert_allclose(found.spread, spread)
