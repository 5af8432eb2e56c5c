"""Pairs that were chosen by what had been said before, and those drawn uniformly along the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import qrowd as q
from qrowd.cli.main import main
from qrowd.data.arrays import Mask
from qrowd.errors import DataWarning, FormatError, InputError, UsageError


def collection(seed: int = 3) -> q.Collection:
    return q.simulate(topics=20, documents=60, runs=8, assessors=5, votes=1, seed=seed)


def judged(made: q.Collection, chosen: Mask) -> q.Judgements:
    """An expert's judgements of these pairs, over the whole pool."""
    some = made.truth.select(chosen)
    names = some.pairs.topic_names, some.pairs.document_names
    rows = q.Judgements.of(*names, ["expert"] * len(some), some.grade)
    return rows.with_pool(made.truth.pairs)


def collected(made: q.Collection, share: float, seed: int, batches: int = 4) -> q.Judgements:
    """Batches of 100 that tell runs apart, of which a share is drawn uniformly; after 100 pairs
    that runs have at their top.
    """
    pairs = made.truth.pairs
    names = zip(pairs.topic_names, pairs.document_names, strict=True)
    place = {name: at for at, name in enumerate(names)}
    known, adaptive, uniform = np.zeros((3, len(pairs)), np.bool_)
    known[pairs.locate(made.runs.pool(2))] = True
    drawn = round(100 * share)
    for _ in range(batches):
        rows = judged(made, known)
        told = q.couples(rows, made.runs, q.MajorityVote().fit(rows), "AP")
        todo = told.worklist(100 - drawn, seed).with_uniform(rows, drawn, share, seed)
        at = np.array([place[name] for name in zip(todo.topic, todo.document, strict=True)])
        known[at] = True
        uniform[at[todo.goal == "uniform"]] = True
        adaptive[at[todo.goal != "uniform"]] = True
    choice = q.Choice(pairs, adaptive, uniform, ("systems",), len(pairs))
    return replace(judged(made, known), choice=choice)


def test_every_pair_can_be_drawn_whatever_was_said() -> None:
    made = collection()
    rows = judged(made, made.truth.grade > 0)  # as if all that is relevant were judged
    todo = q.undecided(rows, number=40)
    seen = np.zeros(len(rows.pairs))
    for seed in range(400):
        drawn = todo.with_uniform(rows, 30, 0.3, seed)
        uniform = drawn.goal == "uniform"
        assert uniform.sum() == 30
        assert np.unique(drawn.probability[uniform]).tolist() == [30 / 1200]
        assert len({*zip(drawn.topic, drawn.document, strict=True)}) == len(drawn) >= 40
        names = drawn.topic[uniform], drawn.document[uniform]
        seen[rows.pairs.locate(q.Pairs.of(*names))] += 1
    expected = 400 * 30 / 1200
    assert abs(seen[made.truth.grade > 0].mean() - expected) < 0.4  # 5 standard errors or so
    assert abs(seen[made.truth.grade == 0].mean() - expected) < 0.4
    assert seen.max() < expected + 6 * np.sqrt(expected)


def test_lists_go_on_where_the_last_one_ended() -> None:
    made = collection()
    known = np.zeros(1200, np.bool_)
    known[:200] = True
    pairs, parts = made.truth.pairs, []
    for _ in range(5):
        rows = judged(made, known)
        todo = q.undecided(rows, number=1).with_uniform(rows, 10, 0.1, seed=4)
        first = q.Pairs.of(todo.topic[:10], todo.document[:10])
        parts.append(set(pairs.locate(first).tolist()))
        more = np.flatnonzero(~known)[:100]
        known[more] = True
    assert len(set.union(*parts)) == 50
    assert "1 judgement so far" in " ".join(todo.reason)


def test_intervals_from_the_uniform_part_hold_where_others_are_biased() -> None:
    held, known, biases = 0, 0, []
    for seed in range(25):
        made = collection(seed)
        rows = collected(made, 0.3, seed)
        merged = q.MajorityVote().fit(rows)
        estimated = q.uniform_scores(made.runs, rows, merged, ["P@30"])
        true = q.evaluate(made.runs, made.truth, "P@30").means()[0, 0]
        assert 105 <= estimated.labels <= 120
        held += int(((estimated.low[0] <= true) & (true <= estimated.high[0])).sum())
        known += int((~np.isnan(estimated.low)).sum())
        plain = q.Qrels(made.truth.pairs, made.truth.grade).select(np.diff(rows.pair_starts) > 0)
        biases.append((q.evaluate(made.runs, plain, "P@30").means()[0, 0] - true).mean())
    assert known == 25 * 8
    assert 0.8 < held / known < 0.98
    assert np.mean(biases) < -0.08  # what is not judged counts as not relevant


def test_scores_that_would_be_biased_are_refused() -> None:
    made = collection()
    rows = collected(made, 0.1, 1)
    merged = q.MajorityVote().fit(rows)
    for relevance in (merged.soft(), merged.qrels(), merged.draws(5), rows.by_assessor()):
        with pytest.raises(UsageError, match="scores under these labels would be biased"):
            q.evaluate(made.runs, relevance, "AP")
    assert rows.choice is not None
    for choice, message in (
        (None, "nothing says which pairs were drawn uniformly"),
        (replace(rows.choice, uniform=rows.choice.uniform & False), "no pair of these lists"),
        (replace(rows.choice, size=99), "from a pool of 99 pairs, but the pool here has 1200"),
    ):
        with pytest.raises(UsageError, match=message):
            q.uniform_scores(made.runs, replace(rows, choice=choice), merged)
    part = rows.select(rows.pair != np.flatnonzero(rows.choice.uniform)[0])
    with pytest.raises(InputError, match=r"1 of .* sampled pairs have no human grade"):
        q.uniform_scores(made.runs, part, merged)
    labels = replace(rows, choice=replace(rows.choice, goals=("labels",)))
    assert q.evaluate(made.runs, q.MajorityVote().fit(labels).qrels(), "AP") is not None
    assert "not about the pool" in q.agreement(labels, bootstrap=0).notes[0]


# --- files and commands ---------------------------------------------------------------------------


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> q.Collection:
    """Two lists, and judgements of all that they name."""
    monkeypatch.chdir(tmp_path)
    made = collection()
    q.save(made.runs, "runs.tsv")
    q.save(made.truth, "pool.qrels")
    known = np.zeros(1200, np.bool_)
    known[made.truth.pairs.locate(made.runs.pool(2))] = True
    for number in (1, 2):
        q.save(judged(made, known), "judged.tsv")
        more = ["-n", "100", "--uniform", "0.5", "-o", f"next{number}.tsv", "-q"]
        main([*SYSTEMS, *more])
        todo = q.read_choice(f"next{number}.tsv")
        known[made.truth.pairs.locate(todo.pairs)] = True
    q.save(judged(made, known), "judged.tsv")
    return made


SCORED = ["evaluate", "--runs", "runs.tsv", "--judgements", "judged.tsv", "--pairs", "pool.qrels"]
SYSTEMS = ["next", "judged.tsv", "--goal", "systems", "--runs", "runs.tsv", "--pairs", "pool.qrels"]
LISTS = ["--worklist", "next1.tsv", "--worklist", "next2.tsv"]


@pytest.mark.parametrize("goal", ["labels", "relevant"])
def test_lists_whose_other_rows_have_no_probability(lists: q.Collection, goal: str) -> None:
    runs = ["--runs", "runs.tsv"] if goal == "relevant" else []
    pool = ["--pairs", "pool.qrels", "-n", "20", "--uniform", "0.25", "-o", "list.tsv", "-q"]
    main(["next", "judged.tsv", "--goal", goal, *runs, *pool])
    frame = pl.read_csv("list.tsv", separator="\t")
    uniform = frame["goal"] == "uniform"
    assert uniform.sum() == 5
    assert frame["probability"].filter(uniform).to_list() == pytest.approx([5 / 1200] * 5)
    assert frame["probability"].filter(~uniform).null_count() == len(frame) - 5 > 0
    choice = q.read_choice("list.tsv")
    assert (choice.goals, int(choice.uniform.sum())) == ((goal,), 5)


def test_lists_say_how_pairs_were_chosen(lists: q.Collection) -> None:
    frame = pl.read_csv("next2.tsv", separator="\t")
    assert frame.columns[-2:] == ["probability", "goal"]
    assert frame["goal"].head(50).unique().to_list() == ["uniform"]
    choice = q.read_choice(["next1.tsv", "next2.tsv"])
    assert choice.goals == ("systems",)
    assert choice.size == 1200
    assert 95 <= choice.uniform.sum() <= 100
    assert str(choice).endswith("drawn uniformly from 1200")
    for column, value, message in (
        ("goal", pl.lit("fun"), "goal must be labels"),
        ("probability", pl.lit(0.5), "one and the same"),
    ):
        other = pl.when(pl.int_range(pl.len()) == 3).then(value).otherwise(pl.col(column))
        frame.with_columns(other.alias(column)).write_csv("bad.tsv", separator="\t")
        with pytest.raises(FormatError, match=message):
            q.read_choice("bad.tsv")
    frame.slice(10).write_csv("part.tsv", separator="\t")  # which is of 960 pairs, by its figures
    with pytest.raises(InputError, match="pools of different sizes"):
        q.read_choice(["next1.tsv", "part.tsv"])


def test_scores_by_command(lists: q.Collection, capsys: pytest.CaptureFixture[str]) -> None:
    main([*SCORED, "--method", "mv", *LISTS, "-m", "P@30", "-o", "scores.tsv"])
    frame = pl.read_csv("scores.tsv", separator="\t")
    true = q.evaluate(lists.runs, lists.truth, "P@30").means()[0, 0]
    names = {str(name): value for name, value in zip(lists.runs.runs, true, strict=True)}
    known = frame.drop_nulls("low")
    inside = [row["low"] <= names[row["run"]] <= row["high"] for row in known.to_dicts()]
    assert len(inside) >= 6
    assert np.mean(inside) > 0.6
    main([*SCORED, "--method", "mv", *LISTS, "-m", "RR", "--json"])
    assert "cannot be estimated from a sample" in json.loads(capsys.readouterr().out)["notes"][0]
    main([*SCORED, "--method", "mv", *LISTS, "-m", "AP", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(0 < row["value"] < 1 for row in rows)
    main(
        ["next", "judged.tsv", "--goal", "relevant", "--runs", "runs.tsv", "-n", "9", "-o", "r.tsv"]
    )
    for more, message in (
        (["--method", "mv", *LISTS[:2], "--worklist", "r.tsv", "--pairs", "judged.tsv"], "1200"),
        (["--method", "mv", "--worklist", "r.tsv"], "no pair of these lists was drawn uniformly"),
        (["--per-assessor", *LISTS], "merged by a --method"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main([*SCORED, *more])
        assert message in capsys.readouterr().err


def test_marks_go_along(lists: q.Collection, capsys: pytest.CaptureFixture[str]) -> None:
    main(["merge", "mv", "judged.tsv", *LISTS, "-o", "merged.qrels", "-q"])
    told = json.loads(Path("merged.qrels.provenance.json").read_text("utf-8"))
    assert told["chosen"] == ["systems"]
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", "--runs", "runs.tsv", "--qrels", "merged.qrels"])
    assert "would be biased" in capsys.readouterr().err
    for command in (["quality", "judged.tsv"], ["sample", "judged.tsv", "-n", "5"]):
        main([*command, *LISTS])
        assert "not about the pool" in capsys.readouterr().err
    # a list to which grades were added is marked by itself
    frame = pl.read_csv("next1.tsv", separator="\t")
    grades = dict(
        zip(
            zip(lists.truth.pairs.topic_names, lists.truth.pairs.document_names, strict=True),
            lists.truth.grade.tolist(),
            strict=True,
        )
    )
    said = [grades[row] for row in frame.select("topic", "doc").iter_rows()]
    frame.with_columns(assessor=pl.lit("e"), grade=pl.Series(said)).write_csv(
        "graded.tsv", separator="\t"
    )
    rows = q.read_judgements("graded.tsv")
    assert rows.choice is not None
    assert rows.choice.uniform.sum() == 50
    main(["check", "graded.tsv"])
    assert "50 drawn uniformly from 1200" in capsys.readouterr().out
    with pytest.warns(DataWarning, match="50 of 9. rows were drawn uniformly"):
        sample = q.read_sample("graded.tsv")
    assert isinstance(sample, q.Sample)
    assert (len(sample), sample.by) == (50, "random")
    assert np.allclose(sample.probability, 50 / 1200)
    assert q.read_judgements("judged.tsv").choice is None  # plain votes do not tell
    other = frame.with_columns(assessor=pl.lit("e"), grade=pl.Series(said), goal=pl.lit("buy"))
    assert q.read_judgements(other).choice is None  # somebody else's goals


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--uniform", "0.1"], "Say -n"),
        (["--uniform", "1", "-n", "9"], "that is `qrowd sample`"),
        (["--goal", "errors", "--uniform", "0.1"], "not for errors"),
    ],
)
def test_what_uniform_refuses(
    more: list[str], message: str, lists: q.Collection, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["next", "judged.tsv", *more])
    assert message in capsys.readouterr().err
