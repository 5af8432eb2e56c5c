from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qrowd as q
from qrowd.aggregation.revision import evidence, inform, newton_step
from qrowd.data.index import Index, Pairs
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.runs import RunSet
from qrowd.data.scale import BINARY, Scale
from qrowd.errors import DataWarning


@pytest.fixture(scope="module")
def made() -> q.Collection:
    return q.simulate(topics=6, documents=60, runs=10, assessors=12, votes=3, seed=4)


@pytest.fixture(scope="module")
def merged(made: q.Collection) -> Merged:
    found: Merged = q.get("ds").fit(made.judgements)
    return found


def test_labels_and_scores_come_nearer_to_the_truth(made: q.Collection, merged: Merged) -> None:
    informed = inform(merged, made.runs)
    before, after = (q.score_labels(one, made.truth) for one in (merged, informed))
    assert after["log_loss"] < before["log_loss"]
    assert after["auc"] > before["auc"]
    truth, plain, better = (
        q.evaluate(made.runs, one, ["AP"]).means()[0, 0]
        for one in (made.truth, merged.soft(), informed.soft())
    )
    assert abs((better - truth).mean()) < abs((plain - truth).mean())
    assert informed.fit.method == "ds informed by 10 runs"


def test_evidence_by_plain_loops() -> None:
    runs = RunSet.of(
        ["a", "a", "a", "b", "b"], ["t"] * 5, ["x", "y", "z", "y", "w"], [3, 2, 1, 2, 1]
    )
    pairs = Pairs.of(["t", "t", "t", "u"], ["x", "y", "v", "x"])
    worth = {"x": np.log(4), "y": np.log(4 / 2) + np.log(3), "v": 0.0}
    plain = np.array([worth[name] for name in ("v", "x", "y")])
    found = evidence(runs, pairs)
    assert found[:3] == pytest.approx((plain - plain.mean()) / plain.std())
    assert found[3] == 0


def test_what_rankings_do_not_know_changes_little(made: q.Collection, merged: Merged) -> None:
    random = np.random.default_rng(0)
    n = len(made.runs.document)
    scores = random.random(n)
    cell = np.repeat(np.arange(len(made.runs.starts) - 1), np.diff(made.runs.starts))
    topic, run = np.divmod(cell, len(made.runs))
    names = (made.runs.runs, made.runs.topics, made.runs.documents)
    codes = (run.astype(np.int32), topic.astype(np.int32), made.runs.document)
    shuffled = RunSet.from_codes(names, codes, scores)
    informed = inform(merged, shuffled)
    assert np.abs(informed.relevant - merged.relevant).mean() < 0.05


def test_given_pairs_stay(made: q.Collection) -> None:
    train, _ = made.truth.topics.split(0.4, seed=1)
    merged = q.get("ds").fit(made.judgements, q.Given(gold=made.truth[train]))
    informed = inform(merged, made.runs)
    assert merged.given.any()
    assert np.allclose(informed.posterior[merged.given], merged.posterior[merged.given])
    assert not np.allclose(informed.posterior[~merged.given], merged.posterior[~merged.given])


def test_draws_follow_the_new_posterior(made: q.Collection, merged: Merged) -> None:
    random = np.random.default_rng(1)
    samples = (random.random((len(merged.pairs), 2000)) < merged.relevant[:, None]).astype(np.int8)
    informed = inform(replace(merged, samples=samples), made.runs)
    assert informed.samples is not None
    assert np.abs(informed.samples.mean(axis=1) - informed.relevant).max() < 0.06
    changed = (informed.samples != samples).mean(axis=1)
    assert changed == pytest.approx(np.abs(informed.relevant - merged.relevant), abs=0.06)


def test_grades_keep_their_proportions(made: q.Collection, merged: Merged) -> None:
    p = merged.relevant
    three = np.stack([1 - p, 0.25 * p, 0.75 * p], axis=1)
    graded = replace(merged, scale=Scale((0, 1, 2)), posterior=three, decided=None)
    informed = inform(graded, made.runs)
    assert informed.posterior.sum(axis=1) == pytest.approx(np.ones(len(p)))
    assert informed.posterior[:, 1] * 3 == pytest.approx(informed.posterior[:, 2])
    assert informed.relevant == pytest.approx(inform(merged, made.runs).relevant)


def test_runs_that_know_no_pair_say_so(made: q.Collection) -> None:
    pairs = Pairs.of(["elsewhere"], ["nothing"])
    nobody = AssessorTable(Index.of([]))
    merged = Merged(pairs, BINARY, np.array([[0.4, 0.6]]), nobody, Fit("m"), np.array([False]))
    with pytest.warns(DataWarning, match="rank none of the merged pairs"):
        assert inform(merged, made.runs) is merged


@pytest.mark.parametrize("start", [(0.0, 0.0), (9.0, -9.0), (-20.0, 5.0)])
def test_steps_reach_the_optimum_from_anywhere(start: tuple[float, float]) -> None:
    random = np.random.default_rng(2)
    x, topic = random.normal(size=500) ** 3, np.arange(500) % 5
    design = np.stack([np.ones(500), x], axis=1)
    target = (random.random(500) < 1 / (1 + np.exp(4 - x))).astype(np.float64)
    beta, shift = np.array(start), np.zeros(5)
    for _ in range(60):
        beta, shift = newton_step(design, topic, target, beta, shift, np.zeros(2))
    mean = 1 / (1 + np.exp(-(design @ beta + shift[topic])))
    assert design.T @ (target - mean) == pytest.approx(0.01 * beta, abs=1e-6)
    assert np.bincount(topic, target - mean) == pytest.approx(shift, abs=1e-6)


@pytest.mark.parametrize(
    ("method", "told"),
    [("auto", True), ("mv", True), ("wmv-iter(max_iter=5)", True), ("ds", False)],
)
def test_rankings_on_top_of_a_vote_are_cautioned_against(method: str, told: bool) -> None:
    made = q.simulate(topics=4, documents=20, runs=5, assessors=6, votes=3, seed=3)
    informed = inform(q.get(method).fit(made.judgements), made.runs)
    by_draw = q.evaluate(made.runs, informed.draws(5), "AP")
    assert ("are shares of votes" in str(q.intervals(by_draw))) == told
    done = q.study(made.judgements, made.runs, methods=[method], informed=True, draws=5)
    assert any("are shares of votes" in note for note in done.notes) == told
