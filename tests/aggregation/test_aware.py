"""AWARE: worked figures, edge cases, and slow loops for all thirty unsupervised estimators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import qrowd as q
from qrowd import registry
from qrowd.aggregation.gaps import GAPS, Divergence, judged_topics
from qrowd.aggregation.panels import panel_scores, panel_weights, resampled_scores
from qrowd.aggregation.scores.supervised import RegressionAware, SupervisedAware, TunedAware
from qrowd.aggregation.scores.unsupervised import UniformAware, UnsupervisedAware
from qrowd.data.arrays import Floats
from qrowd.errors import DataWarning, InputError, ParameterError

AS_IS = Divergence()


def scores_of(values: Floats, axis: str = "assessor", measure: str = "AP") -> q.Scores:
    """Scores from values[column, topic, run]."""
    columns, topics, runs = (
        q.Index.of([f"{letter}{i:03d}" for i in range(n)])
        for letter, n in zip("ktr", values.shape, strict=True)
    )
    return q.Scores((measure,), axis, columns, topics, runs, values[None])


def reference_of(gold: Floats) -> q.Given:
    return q.Given(reference=scores_of(gold[None], axis=""))


def made(seed: int = 0, assessors: int = 6) -> tuple[Floats, Floats]:
    """Assessors who see gold with more and more noise, on 5 topics and 9 runs."""
    random = np.random.default_rng(seed)
    gold = random.random((5, 9))
    noise = random.normal(size=(assessors, 5, 9)) * np.linspace(0.02, 0.5, assessors)[:, None, None]
    return np.clip(gold + noise, 0, 1), gold


def test_the_worked_example_of_the_thesis() -> None:
    """Recall base 3 under each assessor; uniform AWARE 0.7519 (Piazzon 2019, chapter 3)."""
    documents = ["d1", "d2", "d3", "d4", "d5"]
    said = {"w1": (1, 1, 0, 0, 0), "w2": (1, 1, 1, 0, 0), "w3": (0, 1, 1, 0, 1)}
    rows = [(d, w, g) for w, grades in said.items() for d, g in zip(documents, grades, strict=True)]
    rows.append(("unretrieved", "w1", 1))
    names, assessors, grades = zip(*rows, strict=True)
    crowd = q.Judgements.of(["t"] * len(rows), names, assessors, grades)
    runs = q.RunSet.of(["r"] * 5, ["t"] * 5, documents, [5.0, 4.0, 3.0, 2.0, 1.0])
    by_each = q.evaluate(runs, crowd.by_assessor(), [q.AP])
    assert by_each.values.ravel().round(4).tolist() == [0.6667, 1.0, 0.5889]
    assert UniformAware().fit(by_each).values.item() == pytest.approx(0.7519, abs=5e-5)


def test_every_name_of_the_thesis() -> None:
    for per in ("sgl", "tpc"):
        for gap in GAPS:
            for weight in ("md", "msd", "med"):
                wanted = UnsupervisedAware(gap=gap, weight=weight, per=per)
                assert registry.get(f"{per}_{gap}_{weight}") == wanted
    for gap in GAPS:
        assert registry.get(f"sup_{gap}") == SupervisedAware(gap=gap)


def random_columns(values: Floats) -> q.Scores:
    """Scores of random assessors, 3 chances, from values[3 * replicates, topic, run]."""
    plain = scores_of(values, axis="random")
    names = [f"{p}:{i:04d}" for p in (0.05, 0.5, 0.95) for i in range(len(values) // 3)]
    return q.Scores(
        plain.measures, "random", q.Index.of(names), plain.topics, plain.runs, plain.values
    )


def slow_accuracy(gap: str, weight: str, per: str, own: Floats, random: Floats, t: int) -> float:
    """The accuracy on topic t of one assessor's own[topic, run] by plain loops."""
    classes = []
    for p in range(3):
        found = []
        for h in range(4):
            replicate = random[p * 4 + h]
            if per == "sgl":
                g = GAPS[gap].overall(own[None], replicate[None], AS_IS).item()
            else:
                g = GAPS[gap].by_topic(own[None], replicate[None], AS_IS)[0, 0, t].item()
            found.append({"tau": 1 - abs(g), "apc": 1 - abs(g), "kld": 1 - np.exp(-g)}.get(gap, g))
        classes.append(sum(found) / 4)
    least = min(classes)
    return float({"md": least, "msd": least * least, "med": sum(classes)}[weight])


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("weight", ["md", "msd", "med"])
@pytest.mark.parametrize("per", ["sgl", "tpc"])
def test_unsupervised_by_loops(gap: str, weight: str, per: str) -> None:
    values, _ = made(3, assessors=3)
    random = np.random.default_rng(4).random((12, 5, 9))
    method = UnsupervisedAware(gap=gap, weight=weight, per=per)
    found = method.accuracies(scores_of(values), q.Given(random=random_columns(random)))
    for k in range(3):
        for t in range(5):
            wanted = slow_accuracy(gap, weight, per, values[k], random, t)
            assert found[0, k, t] == pytest.approx(wanted, abs=1e-12)


def test_unsupervised_wants_random_scores() -> None:
    with pytest.raises(InputError, match="random_scores"):
        UnsupervisedAware().fit(scores_of(made()[0]))


def test_random_scores_are_seeded_and_judge_the_whole_pool() -> None:
    runs = q.RunSet.of(["r"] * 3, ["1"] * 3, ["a", "b", "c"], [3.0, 2.0, 1.0])
    pool = q.Pairs.of(["1"] * 4, ["a", "b", "c", "z"])
    one = q.random_scores(runs, pool, [q.P @ 3], replicates=200, seed=1)
    assert one.axis == "random"
    assert len(one.columns) == 600
    means = one.values[0, :, 0, 0].reshape(3, 200).mean(axis=1)
    assert means == pytest.approx([0.05, 0.5, 0.95], abs=0.05)
    again = q.random_scores(runs, pool, [q.P @ 3], replicates=200, seed=1)
    assert np.array_equal(one.values, again.values)
    with pytest.raises(ParameterError, match="chances in"):
        q.random_scores(runs, pool, [q.P @ 3], chances=[1.5])


@pytest.mark.parametrize("gap", GAPS)
def test_supervised_prefers_who_is_closer(gap: str) -> None:
    values, gold = made(1)
    accuracy = SupervisedAware(gap=gap).accuracies(scores_of(values), reference_of(gold))[0, :, 0]
    assert accuracy[0] == accuracy.max()
    assert accuracy[0] > accuracy[-1]
    merged = SupervisedAware(gap=gap, power=8).fit(scores_of(values), reference_of(gold))
    uniform = UniformAware().fit(scores_of(values))
    errors = [np.abs(m.values[0, 0] - gold).mean() for m in (merged, uniform)]
    assert errors[0] < errors[1]


def test_a_reversed_assessor_counts_nothing_unless_taken_literally() -> None:
    values, gold = made(2, assessors=3)
    values[2] = 1 - gold
    given = reference_of(gold)
    for gap in ("tau", "apc"):
        zero = SupervisedAware(gap=gap).accuracies(scores_of(values), given)[0, 2, 0]
        literal = SupervisedAware(gap=gap, negative="absolute").accuracies(scores_of(values), given)
        assert zero == 0
        assert literal[0, 2, 0] == pytest.approx(1)


def test_a_heavy_contrarian_is_named() -> None:
    values, gold = made(2, assessors=4)
    values[3] = 1 - gold
    literal = SupervisedAware(gap="tau", negative="absolute", power=4)
    with pytest.warns(DataWarning, match=r"k003 .*against the rest"):
        literal.fit(scores_of(values), reference_of(gold))


@pytest.mark.parametrize("gap", GAPS)
def test_an_assessor_who_found_nothing_counts_nothing(gap: str) -> None:
    values, gold = made(1)
    values[1] = 0.0
    values[2, 3] = 0.0  # nothing on one topic only
    random = random_columns(np.random.default_rng(4).random((12, 5, 9)))
    given = q.Given(reference=scores_of(gold[None], axis=""), random=random)
    assert SupervisedAware(gap=gap).accuracies(scores_of(values), given)[0, 1, 0] == 0
    for per in ("sgl", "tpc"):
        found = UnsupervisedAware(gap=gap, per=per).accuracies(scores_of(values), given)[0]
        assert (found[1] == 0).all()
        assert (found[2, 3] == 0) == (per == "tpc")
        assert (found[0] > 0).all()


def test_constant_random_replicates_are_skipped() -> None:
    values, _ = made(1)
    random = np.random.default_rng(4).random((12, 5, 9))
    spoiled = random.copy()
    spoiled[0] = 0.0
    accuracy = UnsupervisedAware(gap="fro").accuracies(
        scores_of(values), q.Given(random=random_columns(spoiled))
    )
    for k in range(len(values)):
        left = np.mean(
            [GAPS["fro"].overall(values[[k]], random[[h]], AS_IS).item() for h in (1, 2, 3)]
        )
        rest = [
            np.mean(
                [
                    GAPS["fro"].overall(values[[k]], random[[p * 4 + h]], AS_IS).item()
                    for h in range(4)
                ]
            )
            for p in (1, 2)
        ]
        assert accuracy[0, k, 0] == pytest.approx(min(left, *rest) ** 2)


def test_all_zero_accuracies_are_uniform() -> None:
    values, gold = made(2, assessors=2)
    values[:] = 1 - gold
    merged = SupervisedAware(gap="tau").fit(scores_of(values), reference_of(gold))
    assert merged.values[0, 0] == pytest.approx(values.mean(axis=0))


def test_sparse_assessors_count_where_they_judged() -> None:
    values, gold = made(2, assessors=3)
    values[0, 1] = np.nan
    merged = SupervisedAware(gap="fro").fit(scores_of(values), reference_of(gold))
    weight = SupervisedAware(gap="fro").accuracies(scores_of(values), reference_of(gold))[0, :, 1]
    wanted = (weight[1] * values[1, 1] + weight[2] * values[2, 1]) / (weight[1] + weight[2])
    assert merged.values[0, 0, 1] == pytest.approx(wanted)
    assert any("assessors per topic: 2 to 3 of 3" in note for note in merged.notes)


def test_an_assessor_without_a_training_topic_gets_the_mean_accuracy() -> None:
    values, gold = made(2, assessors=3)
    values[1, :2] = np.nan
    train = q.Index.of(["t000", "t001"])
    given = q.Given(reference=scores_of(gold[None], axis="")[train])
    accuracy = SupervisedAware(gap="apc").accuracies(scores_of(values), given)[0, :, 0]
    assert accuracy[1] == pytest.approx((accuracy[0] + accuracy[2]) / 2)


def test_shrinking_leads_to_uniform() -> None:
    values, gold = made(1)
    spread = [
        np.ptp(SupervisedAware(gap="apc", power=4, shrink=s).accuracy(values, gold[None]))
        for s in (0.0, 5.0, 1e9)
    ]
    assert spread[0] > 0
    assert spread[1] > spread[2]
    assert spread[2] < 1e-6


def test_training_topics_must_be_shared() -> None:
    values, gold = made(1)
    other = q.Scores(
        ("AP",),
        "",
        q.Index.of(["-"]),
        q.Index.of(["elsewhere"]),
        scores_of(values).runs,
        gold[None, None, :1],
    )
    with pytest.raises(InputError, match="no topic in common"):
        SupervisedAware().fit(scores_of(values), q.Given(reference=other))
    with pytest.raises(InputError, match="Given\\(reference"):
        SupervisedAware().fit(scores_of(values))
    with pytest.raises(InputError, match="not per assessor"):
        UniformAware().fit(scores_of(gold[None], axis=""))


def test_large_scores_are_scaled_before_gaps_are_taken() -> None:
    """DCG is not within [0, 1]: divided by the largest, of a topic or of all."""
    values, gold = made(1)
    stretched = np.array([1.0, 5.0, 10.0, 20.0, 40.0])[:, None]
    top = np.maximum(values.max(axis=(0, 2)), gold.max(axis=1))[:, None]
    large = SupervisedAware(gap="kld").accuracies(
        scores_of(values * stretched), reference_of(gold * stretched)
    )
    scaled = SupervisedAware(gap="kld").accuracies(
        scores_of(values / top), reference_of(gold / top)
    )
    assert large == pytest.approx(scaled)
    random = np.random.default_rng(4).random((12, 5, 9))
    most = max(values.max(), random.max())
    far = [
        UnsupervisedAware(gap="kld").accuracies(
            scores_of(values * by), q.Given(random=random_columns(random * by))
        )
        for by in (40.0, 1 / most)
    ]
    assert far[0] == pytest.approx(far[1])


def test_many_panels_are_one_product() -> None:
    values, gold = made(1)
    values[2, 1] = np.nan
    scores = scores_of(values)
    accuracy = SupervisedAware(gap="fro").accuracies(scores, reference_of(gold))[0]
    panels = np.array([[1, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1]], float)
    found = panel_scores(values, panel_weights(accuracy, judged_topics(values), panels))
    for row, panel in enumerate(panels):
        members = scores.columns.names[panel > 0].tolist()
        single = SupervisedAware(gap="fro").fit(scores.of_columns(members), reference_of(gold))
        assert found[row] == pytest.approx(single.values[0, 0])


def test_resampled_panels_spread_around_the_merged_scores() -> None:
    values, _ = made(1)
    scores = scores_of(values)
    draws = resampled_scores(scores, UniformAware().accuracies(scores), 2000, seed=3)
    assert draws.axis == "draw"
    centre = UniformAware().fit(scores).values[0, 0]
    assert draws.values[0].mean(axis=0) == pytest.approx(centre, abs=0.02)
    again = resampled_scores(scores, UniformAware().accuracies(scores), 2000, seed=3)
    assert np.array_equal(draws.values, again.values)


def test_regression_finds_the_assessors_that_make_up_gold() -> None:
    values, _ = made(1)
    gold = 0.7 * values[1] + 0.3 * values[4]
    weights = RegressionAware(ridge=1e-6).accuracies(scores_of(values), reference_of(gold))[0, :, 0]
    assert weights / weights.sum() == pytest.approx([0, 0.7, 0, 0, 0.3, 0], abs=1e-3)
    even = RegressionAware(ridge=1e9).accuracies(scores_of(values), reference_of(gold))[0, :, 0]
    assert even / even.sum() == pytest.approx([1 / 6] * 6, abs=1e-6)


def test_tuning_stays_uniform_where_nothing_can_be_learned() -> None:
    random = np.random.default_rng(8)
    values, gold = random.random((6, 5, 9)), random.random((5, 9))
    merged = TunedAware(guard=3).fit(scores_of(values), reference_of(gold))
    assert merged.values == pytest.approx(UniformAware().fit(scores_of(values)).values)
    assert any("chosen AP: uniform" in note for note in merged.notes)


def test_tuning_finds_a_better_ranking_where_there_is_one() -> None:
    random = np.random.default_rng(9)
    gold = random.random((12, 20)) * 0.2 + np.linspace(0.2, 0.8, 20)
    noise = random.normal(size=(8, 12, 20)) * 0.02
    values = np.clip(gold + noise, 0, 1)
    values[3:] = np.clip(1 - values[3:], 0, 1)  # most assessors are reversed
    train = scores_of(values).topics.split(0.5, seed=0)[0]
    given = q.Given(reference=scores_of(gold[None], axis="")[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        merged = TunedAware().fit(scores_of(values), given)
    truth = gold.mean(axis=0)
    found = np.corrcoef(merged.means()[0, 0], truth)[0, 1]
    assert found > 0.9
    assert np.corrcoef(UniformAware().fit(scores_of(values)).means()[0, 0], truth)[0, 1] < 0


def test_weights_are_learned_again_on_topics_drawn_anew() -> None:
    from dataclasses import replace

    from qrowd.aggregation.aware import _replicate, aware

    made = q.simulate(topics=8, documents=30, assessors=6, votes=4, runs=7, seed=4)
    train = q.Index.of(list(made.truth.topics)[:3])
    done = aware(
        q.get("aware-s"), made.runs, made.judgements, ["AP", "P@5"], gold=made.truth[train]
    )
    drawn, given = _replicate(done.by_each, done.given, np.random.default_rng(0))
    assert given.reference is not None
    assert len(drawn.topics) == 8
    assert len(given.reference.topics) == 3
    whole = done.given.reference
    assert whole is not None
    copies = drawn.topics.find(given.reference.topics)
    for copy, at in enumerate(copies):
        same = (done.by_each.values == drawn.values[:, :, [at]]).all(axis=(0, 1, 3))
        name = done.by_each.topics.names[np.flatnonzero(same)[0]]
        assert name in train
        expected = whole[q.Index.of([name])].values[:, :, 0]
        assert np.array_equal(given.reference.values[:, :, copy], expected)
    found = done.resampled(60, seed=2)
    assert found.averaged
    assert found.values.shape == (2, 60, 1, 7)
    wide = q.intervals(found)
    assert wide.over == "draws"
    assert (
        (wide.low <= done.merged.means()[:, 0]) & (done.merged.means()[:, 0] <= wide.high)
    ).all()
    seen: list[float] = []
    learn = type(done.method).accuracies

    class Watched(type(done.method)):  # type: ignore[misc]
        def accuracies(self, scores: q.Scores, given: q.Given = q.NOTHING) -> Floats:
            result = np.asarray(learn(self, scores, given))
            seen.append(float(result[0, 0, 0]))
            return result

    replace(done, method=Watched()).resampled(10)
    assert len(set(seen)) > 5
