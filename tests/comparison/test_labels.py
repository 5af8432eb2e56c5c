from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from qrowd.comparison.label_measures import (
    Counts,
    auc,
    calibration_of,
    counts_of,
    expected_ap,
    expected_ndcg,
    kappa,
    lam,
    rates,
)
from qrowd.comparison.labels import calibration_text, per_topic_text, score_labels
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Fit, Merged
from qrowd.data.qrels import Qrels, SoftQrels
from qrowd.data.scale import BINARY, Scale
from qrowd.errors import InputError, ParameterError, ScaleError, UnknownNameError, UsageError

ONE = np.zeros(1, np.int64)


def qrels(*grades: int, topics: str = "") -> Qrels:
    names = list(topics) or ["t"] * len(grades)
    return Qrels.of(names, [f"d{at:03d}" for at in range(len(grades))], np.array(grades))


def soft(*p: float, topics: str = "") -> SoftQrels:
    pairs = qrels(*[0] * len(p), topics=topics).pairs
    return SoftQrels(pairs, BINARY, np.array([[1 - x, x] for x in p]))


def merged(p: list[float], given: list[bool]) -> Merged:
    pairs = qrels(*[0] * len(p)).pairs
    nobody = AssessorTable(Index.of([]))
    return Merged(pairs, BINARY, soft(*p).p, nobody, Fit("none"), np.array(given))


# --- the papers' worked figures -------------------------------------------------------------------


def test_fractional_counts_of_the_paper() -> None:
    counts = counts_of(np.array([0.72]), np.array([0.72]), ONE, 1)
    assert [float(cell[0]) for cell in counts] == pytest.approx([0.5184, 0.2016, 0.2016, 0.0784])


def test_uniform_probabilities_of_the_paper() -> None:
    p = (np.arange(200_000) + 0.5) / 200_000
    zero = np.zeros(len(p), np.int64)
    quantised = rates(counts_of((p > 0.5).astype(float), p, zero, 1))
    fractional = rates(counts_of(p, p, zero, 1))
    assert float(quantised["precision"][0]) == pytest.approx(0.75, abs=1e-4)
    assert float(quantised["recall"][0]) == pytest.approx(0.75, abs=1e-4)
    assert float(fractional["precision"][0]) == pytest.approx(2 / 3, abs=1e-4)
    assert float(fractional["recall"][0]) == pytest.approx(2 / 3, abs=1e-4)


def test_the_verb_takes_gold_that_is_random_too() -> None:
    scores = score_labels(soft(0.72), soft(0.72))
    assert scores["fractional_precision"] == pytest.approx(0.72)
    assert scores["fractional_accuracy"] == pytest.approx(0.5184 + 0.0784)
    assert scores["mse"] == pytest.approx(0.72 * 0.28)


# --- single measures against plain loops ----------------------------------------------------------


def test_measures_of_a_small_table_by_hand() -> None:
    scores = score_labels(qrels(1, 1, 1, 0, 0, 0, 0), qrels(1, 1, 0, 1, 0, 0, 0))
    assert scores["accuracy"] == pytest.approx(5 / 7)
    assert scores["precision"] == pytest.approx(2 / 3)
    assert scores["recall"] == pytest.approx(2 / 3)
    assert scores["specificity"] == pytest.approx(3 / 4)
    assert scores["f1"] == pytest.approx(2 / 3)
    assert scores["balanced_accuracy"] == pytest.approx((2 / 3 + 3 / 4) / 2)
    assert scores["mse"] == pytest.approx(2 / 7)
    assert scores["rmse"] == pytest.approx(np.sqrt(2 / 7))
    assert scores["log_loss"] == pytest.approx(-2 / 7 * np.log(1e-15), rel=1e-3)
    assert scores["kappa"] == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))
    assert scores.confusion.tolist() == [[3, 1], [1, 2]]
    # FPR 1/4, FNR 1/3: odds 1/3 and 1/2
    odds = np.sqrt(1 / 3 * 1 / 2)
    assert scores["lam"] == pytest.approx(odds / (1 + odds))


def test_lam_smooths_zero_errors_by_half_an_error() -> None:
    perfect = Counts(*(np.array([x]) for x in (10.0, 0.0, 0.0, 30.0)))
    odds = np.sqrt((0.5 / 30.5) * (0.5 / 10.5))
    assert float(lam(perfect)[0]) == pytest.approx(odds / (1 + odds))
    nothing_relevant = Counts(*(np.array([x]) for x in (0.0, 1.0, 0.0, 3.0)))
    assert np.isnan(lam(nothing_relevant)[0])


def test_auc_is_the_share_of_pairs_in_order() -> None:
    random = np.random.default_rng(3)
    p, y = random.integers(0, 6, 60) / 5, random.integers(0, 2, 60).astype(float)
    topic = np.sort(random.integers(0, 4, 60))
    found = auc(p, y, topic, 5)
    for t in range(4):
        wins = [
            (a > b) + (a == b) / 2
            for a, b in itertools.product(p[(topic == t) & (y == 1)], p[(topic == t) & (y == 0)])
        ]
        assert found[t] == pytest.approx(np.mean(wins))
    assert np.isnan(found[4])


def plain_ap(order: tuple[int, ...], relevant: Floats) -> float:
    hits, total = 0.0, 0.0
    for rank, item in enumerate(order, 1):
        if relevant[item]:
            hits += 1
            total += hits / rank
    return total / float(relevant.sum())


def plain_ndcg(order: tuple[int, ...], gain: Floats) -> float:
    discount = 1 / np.log2(np.arange(len(gain)) + 2)
    return float((gain[list(order)] * discount).sum() / (np.sort(gain)[::-1] * discount).sum())


@pytest.mark.parametrize("seed", range(6))
def test_ap_and_ndcg_are_expectations_over_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    p, gain = random.integers(0, 3, 6) / 2, random.integers(0, 3, 6).astype(float)
    gain[0] = 1.0
    orders = [
        order
        for order in itertools.permutations(range(6))
        if all(p[a] >= p[b] for a, b in itertools.pairwise(order))
    ]
    relevant = (gain > 0).astype(float)
    zero = np.zeros(6, np.int64)
    ap = np.mean([plain_ap(order, relevant) for order in orders])
    ndcg = np.mean([plain_ndcg(order, gain) for order in orders])
    assert float(expected_ap(p, relevant, zero, 1)[0]) == pytest.approx(ap)
    assert float(expected_ndcg(p, gain, zero, 1)[0]) == pytest.approx(ndcg)


def test_map_is_the_mean_of_the_topics_with_relevant_pairs() -> None:
    scores = score_labels(
        soft(0.9, 0.1, 0.3, 0.6, 0.5, topics="aabbc"), qrels(1, 0, 1, 0, 0, topics="aabbc")
    )
    assert scores.by_topic["map"][:2].tolist() == [1.0, 0.5]
    assert np.isnan(scores.by_topic["map"][2])
    assert scores["map"] == 0.75
    assert scores.topic_means["map"] == 0.75


# --- calibration ----------------------------------------------------------------------------------


def test_brier_score_is_the_sum_of_its_parts() -> None:
    random = np.random.default_rng(5)
    p = random.random(4000)
    y = (random.random(4000) < p).astype(float)
    table = calibration_of(p, y)
    assert table.brier == pytest.approx(np.mean((p - y) ** 2))
    parts = table.reliability - table.resolution + table.uncertainty + table.within
    assert table.brier == pytest.approx(parts)
    assert table.reliability < 0.002
    assert table.expected_error < 0.03
    assert abs(table.within) < 0.005
    few = calibration_of(np.array([0.25, 0.25, 0.75]), np.array([0.0, 1.0, 1.0]), bins=2)
    assert few.within == pytest.approx(0)
    assert few.reliability == pytest.approx((2 * 0.25**2 + 0.25**2) / 3)
    assert [row["count"] for row in few.rows()] == [2, 1]


def test_overconfidence_shows_as_reliability() -> None:
    random = np.random.default_rng(6)
    p = random.random(4000)
    y = (random.random(4000) < 0.5 + (p - 0.5) / 2).astype(float)
    assert calibration_of(p, y).reliability > 0.01
    with pytest.raises(ParameterError, match="bins"):
        calibration_of(p, y, bins=0)


# --- what the verb promises -----------------------------------------------------------------------


def test_given_pairs_are_left_out_and_reported_apart() -> None:
    scores = score_labels(merged([1, 0, 0.9, 0.2], [True, True, False, False]), qrels(1, 0, 0, 0))
    assert len(scores) == 2
    assert scores["accuracy"] == 0.5
    assert scores.given is not None
    assert scores.given["accuracy"] == 1.0
    assert "2 pairs whose gold was given are left out" in scores.notes
    named = score_labels(soft(1, 0, 0.9, 0.2), qrels(1, 0, 0, 0), given=qrels(1, 0))
    assert named.overall == pytest.approx(scores.overall, nan_ok=True)


def test_all_given_leaves_nothing() -> None:
    scores = score_labels(merged([1.0, 0.0], [True, True]), qrels(1, 0))
    assert len(scores) == 0
    assert np.isnan(scores["accuracy"])
    assert any("nothing is left" in note for note in scores.notes)


def test_pairs_on_one_side_only_are_counted() -> None:
    scores = score_labels(qrels(1, 0, 1), qrels(1, 0, 1, 0))
    assert len(scores) == 3
    assert "1 gold pairs have no merged label and are not scored" in scores.notes
    assert len(score_labels(qrels(1, 0, 1), qrels(1, 0))) == 2
    with pytest.raises(InputError, match="no pair in common"):
        score_labels(qrels(1), Qrels.of(["u"], ["e"], [1]))


def test_gold_on_another_scale_needs_a_cut() -> None:
    graded = qrels(0, 1, 2, 3)
    with pytest.raises(ScaleError, match="--gold-rel"):
        score_labels(qrels(0, 0, 1, 1), graded)
    assert score_labels(qrels(0, 0, 1, 1), graded.binary(2))["accuracy"] == 1
    assert score_labels(qrels(0, 0, 1, 1), qrels(-2, 0, 1, 1))["accuracy"] == 1


def test_grades_are_compared_as_grades() -> None:
    scores = score_labels(qrels(0, 1, 2, 2), qrels(0, 1, 2, 3))
    assert scores["accuracy"] == 0.75
    assert scores["recall"] == 1.0
    assert scores.confusion.shape == (4, 4)
    weight = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    chance = np.outer([1, 1, 1, 1], [1, 1, 2, 0]) / 4
    assert scores["kappa"] == pytest.approx(1 - 1 / (weight * chance).sum())
    assert "gold 3" in str(scores)


def test_graded_fractional_accuracy_and_ranking_by_expected_grade() -> None:
    scale = Scale((0, 1, 2))
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1], [0.3, 0.6, 0.1]])
    scores = score_labels(SoftQrels(qrels(0, 0, 0).pairs, scale, p), qrels(2, 0, 1))
    assert scores["fractional_accuracy"] == pytest.approx((0.7 + 0.5 + 0.6) / 3)
    assert scores["ndcg"] == pytest.approx(1)


def test_kappa_of_two_grades_is_cohens() -> None:
    table = np.array([[20.0, 5.0], [10.0, 15.0]])
    assert float(kappa(table, np.array([0.0, 1.0]))[0]) == pytest.approx(0.4)


def test_overall_pools_the_topics() -> None:
    random = np.random.default_rng(8)
    topics = "".join(sorted("abc"[t] for t in random.integers(0, 3, 90)))
    p, y = random.random(90), random.integers(0, 2, 90)
    scores = score_labels(soft(*p, topics=topics), qrels(*y, topics=topics))
    weights = scores.pairs_by_topic / 90
    for name in ("accuracy", "fractional_accuracy", "log_loss", "mse"):
        assert scores[name] == pytest.approx(float(weights @ scores.by_topic[name]))
    alone = score_labels(
        soft(*p, topics=topics)[Index.of(["b"])], qrels(*y, topics=topics)[Index.of(["b"])]
    )
    at = list(scores.topics).index("b")
    for name, values in scores.by_topic.items():
        assert values[at] == pytest.approx(alone.by_topic[name][0])


def test_text_json_and_frames() -> None:
    scores = score_labels(soft(0.9, 0.2, 0.4, topics="aab"), qrels(1, 0, 0, topics="aab"))
    assert "balanced_accuracy" in str(scores)
    assert "accuracy 1.0000" in repr(scores)
    found = json.loads(json.dumps(scores.to_dict(), allow_nan=False))
    assert found["overall"]["accuracy"] == 1.0
    assert found["by_topic"]["b"]["recall"] is None
    assert found["calibration"]["brier"] == pytest.approx(scores["mse"])
    assert scores.to_polars()["topic"].to_list() == ["a", "b"]
    assert per_topic_text(scores).splitlines()[-1].startswith("mean of topics")
    assert "reliability" in calibration_text(scores.calibration)
    with pytest.raises(UnknownNameError, match="did you mean accuracy"):
        scores["acuracy"]


# --- beyond what a probability can hold, random gold, topics as a sample ------------------------


def sure(odds: Floats, topics: str = "") -> Merged:
    """A belief with these log odds, in both columns."""
    pairs = qrels(*[0] * len(odds), topics=topics).pairs
    p = np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)
    nobody = AssessorTable(Index.of([]))
    return Merged(pairs, BINARY, p, nobody, Fit("none"), np.zeros(len(odds), np.bool_))


def test_pairs_that_are_all_certain_are_still_ranked() -> None:
    belief = sure(np.array([90.0, 80.0, 70.0, 60.0, 50.0, 45.0]))
    assert (belief.relevant == 1).all()
    scores = score_labels(belief, qrels(1, 1, 0, 1, 0, 0))
    assert scores["auc"] == pytest.approx(8 / 9)
    assert scores["map"] == pytest.approx((1 + 1 + 3 / 4) / 3)


def test_a_probability_of_nothing_is_the_least_there_is() -> None:
    odds = BINARY.log_odds(np.array([[1.0, 0.0], [1.0, 1e-300], [0.5, 0.5], [0.0, 1.0]]))
    assert np.isfinite(odds).all()
    assert (np.diff(odds) > 0).all()
    assert odds[2] == 0


def test_graded_pairs_that_tie_in_the_expected_grade_go_by_their_odds() -> None:
    pairs = qrels(*[0] * 3).pairs
    p = np.array([[1e-30, 1e-25, 1.0], [1e-40, 1e-25, 1.0], [1e-20, 1e-25, 1.0]])
    nobody = AssessorTable(Index.of([]))
    belief = Merged(pairs, Scale((0, 1, 2)), p, nobody, Fit("none"), np.zeros(3, np.bool_))
    assert score_labels(belief, qrels(0, 2, 0))["map"] == 1


def test_kappa_against_random_gold_expects() -> None:
    p = (np.arange(2000) + 0.5) / 2000
    assert score_labels(soft(*p), soft(*p))["kappa"] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("measure", ["map", "ndcg", "kappa", "accuracy"])
def test_random_gold_gives_expectations(measure: str) -> None:
    """The mean over all certain truths, weighted by their probabilities; some answers tie."""
    chance, answer = [0.2, 0.9, 0.5, 0.7, 0.35], soft(0.9, 0.4, 0.4, 0.8, 0.4)
    found, total = score_labels(answer, soft(*chance))[measure], 0.0
    if measure == "kappa":  # of the expected table, not the expectation of kappa
        label = np.array([1, 0, 0, 1, 0])
        table = np.zeros((2, 2))
        for at, p in enumerate(chance):
            table[:, label[at]] += [1 - p, p]
        assert found == pytest.approx(float(kappa(table[None], np.array([0.0, 1.0]))[0]))
        return
    for truth in itertools.product((0, 1), repeat=5):
        weight = float(np.prod([p if x else 1 - p for p, x in zip(chance, truth, strict=True)]))
        value = score_labels(answer, qrels(*truth))[measure] if any(truth) else 0.0
        if measure == "accuracy" and not any(truth):
            value = score_labels(answer, qrels(*truth))[measure]
        total += weight * value
    assert found == pytest.approx(total, abs=1e-12)


def test_standard_errors_leave_each_topic_out() -> None:
    random = np.random.default_rng(2)
    topics = "".join(sorted(random.choice(list("abcdef"), 90)))
    truth = qrels(*random.integers(0, 2, 90), topics=topics)
    belief = sure(random.normal(0, 3, 90) + 2 * truth.grade - 1, topics)
    scores = score_labels(belief, truth)
    left = [truth[truth.topics.without(Index.of([name]))] for name in truth.topics]
    for name in ("accuracy", "kappa", "auc", "log_loss", "f1", "fractional_recall", "rmse"):
        without = np.array([score_labels(belief, gold)[name] for gold in left])
        n = len(without)
        error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
        assert scores.errors[name] == pytest.approx(error, rel=1e-9), name
    by_topic = scores.by_topic["map"]
    assert scores.errors["map"] == pytest.approx(by_topic.std(ddof=1) / np.sqrt(len(by_topic)))
    low, high = scores.interval("kappa")
    assert low < scores["kappa"] < high


def test_a_hundred_of_a_hundred_right_is_no_proof_of_perfection() -> None:
    topics = "".join(name * 10 for name in "abcdefghij")
    gold = qrels(*[1, 0] * 50, topics=topics)
    scores = score_labels(gold, gold)
    low, high = scores.interval("accuracy")
    assert high == pytest.approx(1)
    # Wilson's of so many independent pairs as 100 are whose errors correlate by .1 in ten topics
    effective, t = 100 / 1.9, 1.8216
    assert low == pytest.approx(effective / (effective + t**2), abs=1e-4)
    low, high = scores.interval("kappa")
    assert high == pytest.approx(1)
    assert 0.85 < low < 0.95


def test_errors_in_a_few_topics_leave_few_degrees_of_freedom() -> None:
    """The same accuracy, with all errors in one topic of twenty, or one in each."""
    topics = "".join(name * 20 for name in "abcdefghijklmnopqrst")
    gold = qrels(*[1, 0] * 200, topics=topics)
    few, many = np.zeros(400, np.int8), np.zeros(400, np.int8)
    few[:20], many[::20] = 1, 1  # a whole topic wrong, or one pair of each
    wide, narrow = (
        score_labels(qrels(*(gold.grade ^ wrong), topics=topics), gold).interval("accuracy")
        for wrong in (few, many)
    )
    assert wide[0] < 0.9 < narrow[0]
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_intervals_stay_inside_and_hold() -> None:
    """Student's t about the value gave accuracies of 1.03 and held half as often near 1."""
    random, held = np.random.default_rng(5), []
    topics = "".join(name * 20 for name in "abcdefghij")
    gold = qrels(*[1, 0] * 100, topics=topics)
    for _ in range(200):
        wrong = random.random(200) < 0.02
        merged = qrels(*(gold.grade ^ wrong), topics=topics)
        scores = score_labels(merged, gold)
        for name in ("accuracy", "kappa", "balanced_accuracy"):
            low, high = scores.interval(name, 0.95)
            assert -1 <= low <= scores[name] <= high + 1e-12 <= 1 + 1e-12
        low, high = scores.interval("accuracy", 0.9)
        held.append(low <= 0.98 <= high)
    assert 0.9 <= np.mean(held) <= 0.99


def test_one_topic_has_no_error() -> None:
    scores = score_labels(soft(0.9, 0.2, 0.6), qrels(1, 0, 0))
    assert np.isnan(scores.errors["accuracy"])
    assert "only one" in str(scores)


def test_the_best_constant_answer_stands_beside_accuracy() -> None:
    scores = score_labels(soft(0.9, 0.2, 0.6, 0.1), qrels(1, 0, 0, 0))
    assert scores["constant_accuracy"] == 0.75
    assert str(scores).splitlines()[1].startswith("kappa")
    assert "the best constant answer has 0.7500" in str(scores)


def test_the_clip_of_the_log_loss_is_named_with_it() -> None:
    gold = Qrels.of(["t"] * 2, ["a", "b"], [1, 0])
    assert "log_loss: probabilities clipped at 1e-15" in str(score_labels(gold, gold))
    other = score_labels(gold, gold, clip=1e-3)
    assert "clipped at 0.001" in str(other)
    assert other.to_dict()["clip"] == 1e-3


def test_judgements_are_not_labels() -> None:
    crowd = Judgements.of(["t"], ["a"], ["x"], [1])
    with pytest.raises(UsageError, match="merge judgements first"):
        score_labels(crowd, qrels(1))  # type: ignore[arg-type]
