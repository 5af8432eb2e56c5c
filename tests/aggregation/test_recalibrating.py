from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation.revision import recalibrate
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError, ScaleError


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=8, documents=80, assessors=12, votes=5, difficulty=0.6, seed=6)


@pytest.fixture(scope="module")
def merged(made: q.Collection) -> Merged:
    found: Merged = q.get("ds").fit(made.judgements)
    return found


@pytest.fixture(scope="module")
def some(made: q.Collection) -> Qrels:
    return made.truth.select(np.random.default_rng(1).random(len(made.truth)) < 0.25)


def test_probabilities_come_to_mean_what_they_say(
    made: q.Collection, merged: Merged, some: Qrels
) -> None:
    found = recalibrate(merged, some)
    before = q.score_labels(merged, made.truth, given=some)
    after = q.score_labels(found, made.truth)
    assert after.calibration.reliability < before.calibration.reliability / 2
    assert after["log_loss"] < before["log_loss"]
    assert len(after) == len(before)


def test_gold_is_certain_and_given(merged: Merged, some: Qrels) -> None:
    found = recalibrate(merged, some)
    at = merged.pairs.locate(some.pairs)
    assert found.given[at].all()
    assert found.given.sum() == len(some)
    assert np.array_equal(found.grades()[at], some.grade)
    assert np.array_equal(found.relevant[at], some.grade)


def test_the_order_within_a_topic_stays(merged: Merged, some: Qrels) -> None:
    found = recalibrate(merged, some)
    rows = (merged.pairs.topic == 0) & ~found.given
    order = np.argsort(merged.relevant[rows])
    assert (np.diff(found.relevant[rows][order]) >= -1e-12).all()


def test_draws_follow(merged: Merged, some: Qrels) -> None:
    random = np.random.default_rng(1)
    drawn = (random.random((len(merged.pairs), 1500)) < merged.relevant[:, None]).astype(np.int8)
    found = recalibrate(replace(merged, samples=drawn), some)
    assert found.samples is not None
    assert np.abs(found.samples.mean(axis=1) - found.relevant).max() < 0.07


def test_right_probabilities_change_little() -> None:
    random = np.random.default_rng(3)
    pairs = q.Pairs.of([f"t{at % 10}" for at in range(4000)], [f"d{at}" for at in range(4000)])
    p = random.beta(1, 1, 4000)
    truth = Qrels(pairs, (random.random(4000) < p).astype(np.int8))
    nobody = q.AssessorTable(q.Index.of([]))
    posterior, given = np.stack([1 - p, p], axis=1), np.zeros(4000, np.bool_)
    right = Merged(pairs, q.Scale((0, 1)), posterior, nobody, q.Fit("right"), given)
    found = recalibrate(right, truth.select(random.random(4000) < 0.25))
    rest = ~found.given
    assert np.abs(found.relevant - p)[rest].mean() < 0.04


def test_misuse(merged: Merged) -> None:
    with pytest.raises(InputError, match="no pair in common"):
        recalibrate(merged, Qrels.of(["x"], ["y"], [1]))
    name = merged.pairs.topic_names[0], merged.pairs.document_names[0]
    with pytest.raises(ScaleError, match="cut it"):
        recalibrate(merged, Qrels.of([name[0]], [name[1]], [3]))


def test_pairs_that_are_certain_are_corrected_too() -> None:
    """Forty identical assessors, right on 70 %: every pair is certain, and 30 % are wrong."""
    random = np.random.default_rng(6)
    n, topics = 1000, [f"t{at % 10}" for at in range(1000)]
    truth = Qrels.of(topics, [f"d{at:04d}" for at in range(n)], random.integers(0, 2, n))
    said = np.where(random.random(n) < 0.7, truth.grade, 1 - truth.grade).astype(np.int8)
    names = q.Index.of(f"a{at:02d}" for at in range(40))
    pair = np.repeat(np.arange(n, dtype=np.int32), 40)
    assessor = np.tile(np.arange(40, dtype=np.int32), n)
    crowd = q.Judgements(truth.pairs, names, q.Scale((0, 1)), pair, assessor, said[pair])
    merged = q.get("ds").fit(crowd)
    some = truth.select(random.random(n) < 0.5)
    assert q.score_labels(merged, truth, given=some)["log_loss"] > 8
    assert q.score_labels(recalibrate(merged, some), truth)["log_loss"] < 0.63


def test_the_order_of_certain_pairs_stays(made: q.Collection, some: Qrels) -> None:
    pairs = made.truth.pairs
    odds = np.random.default_rng(0).normal(0, 60, len(pairs))
    p = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)
    nobody = q.AssessorTable(q.Index.of([]))
    sure = Merged(pairs, q.Scale((0, 1)), p, nobody, q.Fit("sure"), np.zeros(len(p), np.bool_))
    found = recalibrate(sure, some)
    rows = (pairs.topic == 0) & ~found.given
    order = np.argsort(odds[rows])
    steps = np.diff(found.log_odds[rows][order])
    assert (steps > 0).all() or (steps < 0).all()


def test_draws_know_that_gold_is_a_sample(merged: Merged, some: Qrels) -> None:
    """Coefficients are learned again for every draw: draws of a topic's share spread wider."""
    fixed = recalibrate(merged, some).draws(300, seed=1)
    found = recalibrate(merged, some, seed=1, draws=300)
    assert found.samples is not None
    assert found.samples.shape == (len(merged.pairs), 300)
    at = found.pairs.locate(some.pairs)
    assert (found.samples[at] == some.grade[:, None]).all()
    assert np.abs(found.samples.mean(axis=1) - found.relevant).mean() < 0.06
    assert fixed.dense is not None
    free = ~found.given
    spread = [drawn[free].mean(axis=0).std() for drawn in (fixed.dense, found.samples)]
    assert spread[1] > 1.2 * spread[0]
    again = recalibrate(merged, some, seed=1, draws=300).samples
    assert again is not None
    assert np.array_equal(found.samples, again)


def test_own_draws_stay_related(merged: Merged, some: Qrels) -> None:
    random = np.random.default_rng(1)
    drawn = (random.random((len(merged.pairs), 50)) < merged.relevant[:, None]).astype(np.int8)
    found = recalibrate(replace(merged, samples=drawn), some, draws=40)
    assert found.samples is not None
    assert found.samples.shape[1] == 40
    free = ~found.given
    assert (found.samples[free] == drawn[free, :40]).mean() > 0.8


def test_a_unanimous_vote_is_no_infinite_evidence(made: q.Collection, some: Qrels) -> None:
    """Shares of votes are exactly 0 or 1 where all agree; all others must still be told apart."""
    shares = q.get("mv").fit(made.judgements)
    assert ((shares.relevant == 0) | (shares.relevant == 1)).mean() > 0.1
    found = recalibrate(shares, some)
    free = ~found.given
    means = [
        found.relevant[free & (np.round(shares.relevant, 1) == share)].mean()
        for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    ]
    assert (np.diff(means) > 0.01).all()
    scores = q.score_labels(found, made.truth)
    assert scores["log_loss"] < q.score_labels(shares, made.truth, given=some)["log_loss"]
