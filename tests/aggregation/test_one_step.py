"""AP and nDCG from few sampled labels: what a pair's grade does to scores, and what comes of it."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation.one_step import OneStep, ScoredPool
from qrowd.data.arrays import Floats
from qrowd.data.sample import Sample
from qrowd.evaluation.linear import pair_weights
from qrowd.evaluation.measure import measures_of


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=8, documents=60, runs=5, assessors=6, votes=3, prevalence=0.6, seed=4)


@pytest.fixture(scope="module")
def machine(made: q.Collection) -> q.Merged:
    return q.MajorityVote().fit(made.judgements)


def moved(pool: ScoredPool, measure: q.Measure, p: Floats, pair: int) -> Floats:
    """By how much each run's expected score moves where a pair is surely relevant, or not."""
    ends = []
    for grade in (1, 0):
        sure = p.copy()
        sure[pair] = np.eye(2)[grade]
        ends.append(pool.expected(measure, sure))
    return ends[0] - ends[1]


@pytest.mark.parametrize("name", ["AP", "AP@20", "P@10", "RBP", "nDCG@10", "nDCG"])
def test_influence_is_what_a_grade_moves(made: q.Collection, name: str) -> None:
    assert made.runs is not None
    pairs = made.truth.pairs
    pool = ScoredPool(made.runs, pairs, q.Scale((0, 1)))
    chance = np.random.default_rng(1).uniform(0.05, 0.6, len(pairs))
    p = np.stack([1 - chance, chance], axis=1)
    (measure,) = measures_of(name)
    at = np.array([0, 7, 100, 479])
    influence = pool.influence(measure, p, at)
    for pair, by in zip(at, influence.transpose(1, 2, 0), strict=True):
        # nDCG is drawn, with the same coins on both sides
        assert by[1] - by[0] == pytest.approx(moved(pool, measure, p, pair), abs=1e-8)


@pytest.mark.parametrize("name", ["AP", "P@10", "DCG@10", "nDCG@10"])
def test_what_is_expected_is_as_elsewhere(made: q.Collection, name: str) -> None:
    assert made.runs is not None
    pairs = made.truth.pairs
    p = np.random.default_rng(1).dirichlet([3, 1, 1], len(pairs))
    soft = q.SoftQrels(pairs, q.Scale((0, 1, 2)), p)
    (measure,) = measures_of(name)
    found = ScoredPool(made.runs, pairs, soft.scale).expected(measure, p)
    # both draw grades for nDCG: 400 and 1,000 times
    off = 0.01 if name == "nDCG@10" else 1e-9
    assert found == pytest.approx(q.evaluate(made.runs, soft, name).means()[0, 0], abs=off)


@pytest.mark.parametrize("name", ["AP", "nDCG@10", "P@10"])
def test_all_labels_give_the_truth(made: q.Collection, machine: q.Merged, name: str) -> None:
    assert made.runs is not None
    truth = made.truth.binary(1)
    everything = Sample(truth.pairs, np.ones(len(truth)), "random", truth.grade)
    (measure,) = measures_of(name)
    estimate = OneStep(made.runs, machine, everything).of(measure)
    expected = q.evaluate(made.runs, truth, measure).means()[0, 0]
    assert estimate.value == pytest.approx(expected, abs=1e-9)
    assert estimate.error == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("by", ["random", "weight"])
def test_intervals_hold(made: q.Collection, machine: q.Merged, by: str) -> None:
    truth, names = made.truth.binary(1), ["AP", "nDCG@10"]
    expected = q.evaluate(made.runs, truth, names).means()[:, 0]
    held = []
    for seed in range(8):
        chosen = q.sample(machine, 90, by, runs=made.runs, measure=names, seed=seed)
        found = q.correct(made.runs, machine, chosen.labelled(truth), names)
        known = ~np.isnan(found.low)
        held += ((found.low <= expected) & (expected <= found.high))[known].tolist()
    assert len(held) > 20
    assert np.mean(held) > 0.75


@pytest.mark.parametrize("name", ["P@10", "RBP"])
def test_pairs_that_nobody_judged_are_in_the_error_of_a_difference(
    made: q.Collection, machine: q.Merged, name: str
) -> None:
    """Also where hardly a sampled pair tells two runs apart."""
    assert made.runs is not None
    (measure,) = measures_of(name)
    one, other = pair_weights(made.runs, machine.pairs, measure).toarray()[:2]
    drawn = q.sample(machine, 200, seed=1)
    alike = np.abs(one - other)[machine.pairs.locate(drawn.pairs)] == 0
    few = Sample(drawn.pairs.select(alike), drawn.probability[alike], "random")
    step = OneStep(made.runs, machine, few.labelled(made.truth.binary(1)))
    p = step.labels.relevant
    left = np.sqrt((np.square(one - other) * p * (1 - p)).sum() / 2)
    assert step.of(measure).couples()[0][0, 1] >= left * (1 - 1e-9)


def test_humans_may_use_more_grades_than_the_machine(made: q.Collection, machine: q.Merged) -> None:
    graded = q.Qrels(made.truth.pairs, (made.truth.grade * 2).astype(np.int8))
    chosen = q.sample(machine, 90, "weight", runs=made.runs, measure="nDCG@10", seed=1)
    found = q.correct(made.runs, machine, chosen.labelled(graded), "nDCG@10")
    assert np.isfinite(found.value).all()


def test_labels_that_are_all_alike_tell_no_error() -> None:
    made = q.simulate(
        topics=8, documents=120, runs=5, assessors=9, votes=3, prevalence=0.01, seed=0
    )
    machine = q.MajorityVote().fit(made.judgements)
    few = q.sample(machine, 60, "random", runs=made.runs)
    grades = np.zeros(len(few), np.int8)
    sample = few.labelled(q.Qrels(few.pairs, grades))
    found = q.correct(made.runs, machine, sample, ["P@10", "AP", "nDCG@10"])
    for part in (found.low, found.high, found.human_low, found.place_low, found.place_high):
        assert np.isnan(part).all()
    assert any("P@10" in note and "alike" in note for note in found.notes)
    assert np.isnan(q.against(found, made.runs, "run01").low).all()


def test_a_run_whose_labels_are_alike_has_no_interval(
    made: q.Collection, machine: q.Merged
) -> None:
    assert made.runs is not None
    few = q.sample(machine, 200, "random", runs=made.runs)
    own = made.runs.of_runs(q.Index.of(["run01"])).pool(10)
    grade = np.where(own.locate(few.pairs) >= 0, 0, np.arange(len(few)) % 2).astype(np.int8)
    sample = few.labelled(q.Qrels(few.pairs, grade))
    found = q.correct(made.runs, machine, sample, ["P@10", "nDCG@10"])
    unknown = np.array(list(made.runs.runs)) == "run01"
    for part in (found.low[0], found.place_low[0], found.place_high[0]):
        assert np.isnan(part).tolist() == unknown.tolist()
    contrast = q.against(found, made.runs, "run02")
    assert np.isnan(contrast.low[0]).tolist() == [True, False, False, False]
    (estimate,) = found.measure("nDCG@10").estimates
    assert estimate is None or estimate.alike.tolist() == unknown.tolist()


@pytest.mark.parametrize("quantiles", ["t", "bootstrap"])
def test_what_all_was_judged_of_is_known(
    made: q.Collection, machine: q.Merged, quantiles: str
) -> None:
    assert made.runs is not None
    names = ["P@10", "AP", "nDCG@10"]
    everything = Sample(made.truth.pairs, np.ones(len(made.truth)), "weight", made.truth.grade)
    found = q.correct(made.runs, machine, everything, names, quantiles=quantiles)
    truth = q.evaluate(made.runs, made.truth, names).means()[:, 0]
    for part in (found.low, found.high, found.human_low, found.human_high):
        assert part == pytest.approx(truth)
    place = q.places(truth)
    assert (found.place_low <= place).all()
    assert (found.place_high - found.place_low <= 1).all()  # two runs may be tied
    assert not any("interval" in note for note in found.notes)
    contrast = q.against(found, made.runs, "run01")
    assert contrast.low == pytest.approx(contrast.high)
    assert contrast.low == pytest.approx((truth - truth[:, [0]])[:, 1:])


def test_a_run_of_judged_documents_is_known(made: q.Collection, machine: q.Merged) -> None:
    assert made.runs is not None
    first = made.runs.of_runs(q.Index.of(["run01"])).pool(10)
    sure = first.locate(made.truth.pairs) >= 0
    kept = sure | (np.random.default_rng(1).random(len(sure)) < 0.3)
    truth = made.truth.select(kept)
    sample = Sample(truth.pairs, np.where(sure, 1.0, 0.3)[kept], "weight", truth.grade)
    found = q.correct(made.runs, machine, sample, "P@10")
    score = q.evaluate(made.runs, made.truth, "P@10").means()[0, 0, 0]
    for part in (found.low, found.high, found.human_low, found.human_high):
        assert part[0, 0] == pytest.approx(score)
    assert (found.low[0, 2:] < found.high[0, 2:]).all()


def test_documents_that_nobody_drew_are_not_known(made: q.Collection, machine: q.Merged) -> None:
    assert made.runs is not None
    first = made.runs.of_runs(q.Index.of(["run01"])).pool(10)
    own = first.locate(made.truth.pairs) >= 0
    kept = ~own & (np.random.default_rng(1).random(len(own)) < 0.3)
    truth = made.truth.select(kept)
    sample = Sample(truth.pairs, np.full(len(truth), 0.3), "weight", truth.grade)
    found = q.correct(made.runs, machine, sample, "P@10")
    assert np.isnan(found.low[0, 0])
    assert np.isnan(found.human_low[0, 0])


def test_labels_as_they_could_be(made: q.Collection, machine: q.Merged) -> None:
    few = q.sample(machine, 150, seed=4).labelled(made.truth)
    step = OneStep(made.runs, machine, few)
    drawn = step.drawn(400, seed=1)
    grades = np.concatenate([drawn.block(t, 0, 400) for t in range(len(drawn.topics))])
    assert (grades[step.at] == few.qrels.grade[:, None]).all()
    np.testing.assert_allclose(grades.mean(axis=1), step.labels.p[:, 1], atol=0.12)
    # errors of a topic's documents go together
    by_topic = np.add.reduceat(grades, machine.pairs.topic_starts[:-1], axis=0, dtype=np.int64)
    alone = np.add.reduceat(
        (grades.mean(axis=1) * (1 - grades.mean(axis=1))), machine.pairs.topic_starts[:-1]
    )
    assert np.median(by_topic.var(axis=1) / alone) > 1.5
    again = step.drawn(3, seed=1)
    assert all((again.block(t, 0, 3) == drawn.block(t, 0, 3)).all() for t in range(8))
