from __future__ import annotations

import json

import numpy as np
import pytest

from qrowd.comparison.compare import STATISTICS, compare
from qrowd.comparison.correlation import tau_ap
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import InputError, ParameterError, UnknownNameError, UsageError

RUNS, TOPICS = 12, 30


def scores(values: Floats, measures: tuple[str, ...] = ("AP",)) -> Scores:
    runs = Index.of(f"run{at:02d}" for at in range(values.shape[-1]))
    topics = Index.of(f"t{at:02d}" for at in range(values.shape[-2]))
    dense = values.reshape(len(measures), 1, *values.shape[-2:])
    return Scores(measures, "", Index.of(["-"]), topics, runs, dense)


@pytest.fixture
def truth() -> Floats:
    random = np.random.default_rng(3)
    quality, topic = np.linspace(0.2, 0.6, RUNS), random.normal(0, 0.1, (TOPICS, 1))
    return np.asarray(quality + topic + random.normal(0, 0.05, (TOPICS, RUNS)))


def noisy(truth: Floats, spread: float, seed: int) -> Scores:
    return scores(truth + np.random.default_rng(seed).normal(0, spread, truth.shape))


def test_figures_are_of_the_means(truth: Floats) -> None:
    estimate = noisy(truth, 0.2, 1)
    found = compare({"A": estimate}, scores(truth))
    left, right = estimate.values[0, 0], truth
    for at, (name, function) in enumerate(STATISTICS.items()):
        assert found.value("A", name) == float(function(left.mean(0), right.mean(0)))
        assert found.per_topic[0, 0, at] == pytest.approx(function(left, right))
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    assert (found.low[..., 2] < found.values[..., 2]).all()


def test_the_reference_agrees_with_itself(truth: Floats) -> None:
    found = compare({"same": scores(truth)}, scores(truth), bootstrap=50)
    assert dict(zip(found.statistics, found.values[0, 0], strict=True)) == pytest.approx(
        {name: 0.0 if name in ("rmse", "max_drop") else 1.0 for name in STATISTICS}
    )
    assert found.low == pytest.approx(found.values)


def test_a_better_estimate_is_marked_and_a_coin_is_not(truth: Floats) -> None:
    near, far, twin = noisy(truth, 0.03, 1), noisy(truth, 0.4, 2), noisy(truth, 0.4, 4)
    found = compare({"near": near, "far": far, "twin": twin}, scores(truth))
    for at in range(len(found.statistics)):
        assert found.beats(0, 0, at) == (1, 2)
        assert found.beats(0, 1, at) == ()
        assert found.beats(0, 2, at) == ()
    assert found.p_values[0, 2, 1, 2] > 0.05
    assert np.isnan(found.p_values[0, 2, 1, 1])


def test_holm_only_raises_p(truth: Floats) -> None:
    estimates = {str(at): noisy(truth, 0.1, at) for at in range(4)}
    plain = compare(estimates, scores(truth), correction="none", bootstrap=0)
    holm = compare(estimates, scores(truth), bootstrap=0)
    known = ~np.isnan(plain.p_values)
    assert (holm.p_values[known] >= plain.p_values[known] - 1e-12).all()
    assert (holm.p_values[known] > plain.p_values[known]).any()
    assert np.isnan(plain.low).all()


def test_intervals_cover_what_as_many_other_topics_show_on_average() -> None:
    random = np.random.default_rng(4)
    quality = np.linspace(0.2, 0.5, 20)

    def world() -> tuple[Scores, Scores]:
        truth = quality + random.normal(0, 0.15, (30, 20))
        return scores(0.8 * truth + random.normal(0, 0.3, truth.shape)), scores(truth)

    found = [
        compare({"A": a}, b, bootstrap=200, level=0.9) for a, b in (world() for _ in range(80))
    ]
    expected = np.mean([one.values for one in found], axis=0)
    inside = np.mean([(one.low <= expected) & (expected <= one.high) for one in found], axis=0)
    assert inside.ravel() == pytest.approx(np.full(inside.size, 0.9), abs=0.1)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "randomisation"])
def test_every_test_runs(truth: Floats, test: str) -> None:
    found = compare(
        {"a": noisy(truth, 0.02, 1), "b": noisy(truth, 0.5, 2)}, scores(truth), test=test
    )
    assert found.p_values[0, 2, 0, 1] < 0.001


def test_topics_are_chosen_and_left_out(truth: Floats) -> None:
    estimate, reference = noisy(truth, 0.2, 1), scores(truth)
    train, test = reference.topics.split(0.3, seed=1)
    chosen = compare({"A": estimate}, reference, topics=test)
    left = compare({"A": estimate}, reference, leave_out=train)
    assert chosen.topics == test
    assert np.array_equal(chosen.values, left.values)
    assert "the reference: 9 of 30 topics not compared" in chosen.notes


def test_runs_and_measures_are_those_in_common(truth: Floats) -> None:
    both = scores(np.stack([truth, truth / 2]), ("P@10", "AP"))
    fewer = scores(truth).of_runs(Index.of([f"run{at:02d}" for at in range(3, 9)]))
    found = compare({"A": fewer}, both, bootstrap=10)
    assert found.measures == ("AP",)
    assert len(found.runs) == 6
    assert "the reference: 6 of 12 runs not compared" in found.notes
    assert found.value("A", "tau_b") == 1


def test_over_and_ties_reach_tau_ap(truth: Floats) -> None:
    estimate = noisy(truth, 0.4, 1)
    found = compare({"A": estimate}, scores(truth), over="reference", bootstrap=0)
    means = estimate.values[0, 0].mean(0), truth.mean(0)
    assert found.value("A") == float(tau_ap(*means, over="reference")) != float(tau_ap(*means))


def test_seeds(truth: Floats) -> None:
    estimate = {"A": noisy(truth, 0.2, 1)}
    one, two = (compare(estimate, scores(truth), seed=seed, bootstrap=99).low for seed in (5, 5))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, compare(estimate, scores(truth), seed=6, bootstrap=99).low)


def test_one_topic_has_no_interval_and_no_test(truth: Floats) -> None:
    found = compare(
        {"a": noisy(truth[:1], 0.2, 1), "b": noisy(truth[:1], 0.1, 2)}, scores(truth[:1])
    )
    assert np.isnan(found.low).all()
    assert np.isnan(found.p_values).all()
    assert "a a" in str(found)


def test_text_latex_tsv_json_and_frames(truth: Floats) -> None:
    estimates = {"near_by": noisy(truth, 0.03, 1), "far": noisy(truth, 0.4, 2)}
    found = compare(estimates, scores(truth), bootstrap=100)
    text = str(found)
    assert "AP: 12 runs, 30 topics" in text
    assert "90% interval over topics (100 bootstrap samples, recentred)" in text
    assert "randomisation test (p < 0.05, Holm's correction" in text
    tex = found.to_latex()
    assert r"near\_by" in tex
    assert r"$\tau_{AP}$" in tex
    assert r"$^{b}$" in tex
    assert tex.count(r"\textbf") == len(STATISTICS)
    rows = found.to_tsv().splitlines()
    assert rows[0].split("\t")[:5] == ["measure", "estimate", "statistic", "value", "low"]
    assert len(rows) == 1 + 2 * len(STATISTICS)
    assert len(found.to_polars()) == 2 * len(STATISTICS)
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert again["rows"][0]["beats"] == ["far"]
    assert all(row["beats"] == [] for row in again["rows"] if row["estimate"] == "far")
    assert len(again["tests"]) == len(STATISTICS)


def test_misuse_is_explained(truth: Floats) -> None:
    reference = scores(truth)
    two, both = Index.of(["0", "1"]), np.stack([truth, truth])[None]
    many = Scores(("AP",), "draw", two, reference.topics, reference.runs, both)
    with pytest.raises(UsageError, match="A has 2 draws"):
        compare({"A": many}, reference)
    with pytest.raises(UsageError, match="at least one"):
        compare({}, reference)
    with pytest.raises(InputError, match="no measure is in all"):
        compare({"A": scores(truth, ("RR",))}, reference)
    with pytest.raises(ParameterError, match="test must be one of"):
        compare({"A": reference}, reference, test="sign")
    with pytest.raises(UnknownNameError, match="did you mean tau_ap"):
        compare({"A": reference}, reference, statistics=("tau_apx",))
    with pytest.raises(InputError, match="two runs"):
        compare({"A": reference.of_runs(Index.of(["run01"]))}, reference)


def test_forty_estimates_can_be_marked(truth: Floats) -> None:
    """780 tests: as many flips as Holm's correction needs."""
    estimates = {f"e{at:02d}": noisy(truth, 0.01, at) for at in range(20)}
    estimates |= {f"f{at:02d}": noisy(truth, 1.0, 50 + at) for at in range(20)}
    found = compare(estimates, scores(truth), statistics=("tau_a",), bootstrap=0)
    assert all(len(found.beats(0, at, 0)) >= 18 for at in range(20))
    assert all(not found.beats(0, at, 0) for at in range(20, 40))


def test_few_topics_that_can_mark_nothing_are_said(truth: Floats) -> None:
    estimates = {"a": noisy(truth[:4], 0.01, 1), "b": noisy(truth[:4], 1.0, 2)}
    assert "nothing can be marked" in str(compare(estimates, scores(truth[:4]), bootstrap=0))
