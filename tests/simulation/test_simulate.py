from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import ParameterError, UnknownNameError
from qrowd.simulation import crowd
from qrowd.simulation.setting import KINDS, PRESETS


def only(kind: str) -> dict[str, Any]:
    return {name: float(name == kind) for name in KINDS}


def right(c: q.Collection) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(c.judgements.grade == c.truth.grade[c.judgements.pair])


def test_same_seed_same_collection_and_another_seed_another() -> None:
    a, b, c = (q.simulate(topics=4, documents=30, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(a.judgements.grade, b.judgements.grade)
    assert a.truth == b.truth
    assert np.array_equal(a.runs.score, b.runs.score)
    assert not np.array_equal(a.judgements.assessor, c.judgements.assessor)


def test_what_is_asked_is_what_comes() -> None:
    c = q.simulate(topics=6, documents=50, assessors=20, votes=4, runs=5, depth=20, gold=0.5)
    assert len(c.judgements) == 6 * 50 * 4
    assert (np.diff(c.judgements.pair_starts) == 4).all()
    assert c.runs.depth == 20
    assert len(c.runs.runs) == 5
    assert 100 < len(c.gold) < 200
    assert (c.truth.pairs.locate(c.gold.pairs) >= 0).all()
    key = c.judgements.pair.astype(np.int64) * 20 + c.judgements.assessor
    assert len(np.unique(key)) == len(key)  # nobody judges a pair twice


def test_prevalence_and_grades() -> None:
    c = q.simulate(topics=300, documents=40, grades=4, prevalence=0.4, votes=1, runs=0)
    share = np.bincount(c.truth.grade, minlength=4) / len(c.truth)
    assert abs(1 - share[0] - 0.4) < 0.03
    assert share[1] > share[2] > share[3] > 0
    per_topic = np.add.reduceat(c.truth.grade > 0, c.truth.pairs.topic_starts[:-1])
    assert per_topic.min() >= 1


@pytest.mark.parametrize("grades", [2, 4])
def test_confusions_are_distributions_and_come_true(grades: int) -> None:
    c = q.simulate(topics=40, documents=100, assessors=16, votes=16, grades=grades, runs=0, seed=2)
    assert np.allclose(c.confusion.sum(axis=2), 1)
    seen = np.zeros_like(c.confusion)
    np.add.at(
        seen, (c.judgements.assessor, c.truth.grade[c.judgements.pair], c.judgements.grade), 1
    )
    seen /= seen.sum(axis=2, keepdims=True)
    assert np.abs(seen - c.confusion).max() < 0.11
    assert np.abs(seen - c.confusion).mean() < 0.015


def test_kinds_behave_as_they_are_called() -> None:
    accuracy = {
        kind: right(
            q.simulate(topics=10, assessors=8, votes=3, prevalence=0.5, runs=0, **only(kind))
        ).mean()
        for kind in KINDS
    }
    assert accuracy["good"] > 0.85 > accuracy["sloppy"] > 0.65
    assert accuracy["adversarial"] < 0.2
    for kind in ("random", "yes", "no", "pattern"):
        assert 0.38 < accuracy[kind] < 0.62


def test_biased_assessors_lean_both_ways() -> None:
    table = q.simulate(topics=2, documents=9, assessors=10, runs=0, **only("biased")).assessors
    lenient = table["sensitivity"] > 0.75
    assert lenient.sum() == 5
    assert (table["specificity"][~lenient] > table["specificity"][lenient].max()).all()


def test_uniform_spammers_never_change_their_mind() -> None:
    c = q.simulate(topics=4, documents=30, assessors=5, votes=2, grades=3, **only("yes"))
    assert (c.judgements.grade == 2).all()


def test_pattern_spammers_repeat_in_the_order_of_their_judgements() -> None:
    c = q.simulate(topics=4, documents=60, assessors=3, votes=3, runs=0, **only("pattern"))
    assert c.judgements.time is not None
    for assessor in range(3):
        rows = np.flatnonzero(c.judgements.assessor == assessor)
        said = c.judgements.grade[rows[np.argsort(c.judgements.time[rows])]]
        assert any((said[length:] == said[:-length]).all() for length in range(2, 7))
        assert 0 < said.mean() < 1


def test_shares_by_largest_remainder() -> None:
    kinds = crowd.kinds_of(q.Setting(assessors=10, **(only("good") | {"sloppy": 0.5})))
    assert np.bincount(kinds, minlength=8).tolist() == [7, 3, 0, 0, 0, 0, 0, 0]


def test_difficulty_brings_errors_together_but_not_up() -> None:
    def errors(difficulty: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        c = q.simulate(
            topics=40,
            documents=50,
            assessors=8,
            votes=8,
            runs=0,
            difficulty=difficulty,
            **only("sloppy"),
        )
        return (~right(c)).reshape(-1, 8).astype(float)

    apart, together = errors(0.0), errors(0.5)
    assert abs(apart.mean() - together.mean()) < 0.03
    above = ~np.eye(8, dtype=bool)
    assert abs(np.asarray(np.corrcoef(apart.T))[above].mean()) < 0.03
    assert np.asarray(np.corrcoef(together.T))[above].mean() > 0.2


def test_workloads_are_as_skewed_as_asked() -> None:
    def most(skew: float) -> float:
        c = q.simulate(topics=10, assessors=50, votes=3, skew=skew, runs=0)
        return float(c.judgements.per_assessor.max() / c.judgements.per_assessor.mean())

    assert most(0) < 1.5 < 3 < most(1.5)


def test_whole_topics() -> None:
    c = q.simulate(topics=6, documents=10, assessors=9, votes=2, whole=True, runs=0)
    cells = np.unique(c.truth.pairs.topic[c.judgements.pair] * 9 + c.judgements.assessor)
    assert len(cells) == 12
    assert len(c.judgements) == 120


def test_pool_is_the_union_of_the_tops() -> None:
    c = q.simulate(topics=3, documents=60, runs=4, depth=30, pool=5, assessors=9, votes=2)
    tops = {
        (topic, document)
        for topic in range(3)
        for document in c.runs.lists(topic)[0][:, :5].ravel().tolist()
    }
    pool = c.truth.pairs
    assert tops == set(zip(pool.topic.tolist(), pool.document.tolist(), strict=True))


def test_better_runs_rank_better() -> None:
    c = q.simulate(topics=50, documents=80, runs=6, votes=1, depth=10)
    grade = np.zeros(len(c.truth.pairs.documents))
    grade[c.truth.pairs.document] = c.truth.grade
    found = np.mean([grade[c.runs.lists(topic)[0]].mean(axis=1) for topic in range(50)], axis=0)
    assert np.asarray(np.corrcoef(found, c.quality))[0, 1] > 0.95


def test_again_and_untimed() -> None:
    c = q.simulate(topics=5, documents=40, votes=2, again=0.5, timed=False)
    assert c.judgements.seconds is None
    assert 500 < len(c.judgements) < 700


def test_spammers_are_quick() -> None:
    slow, fast = (
        q.simulate(topics=3, votes=2, runs=0, **only(kind)).judgements.seconds
        for kind in ("good", "random")
    )
    assert slow is not None
    assert fast is not None
    assert np.median(slow) > 3 * np.median(fast)


def test_assignment_when_one_does_nearly_everything() -> None:
    workload = np.array([1 - 1e-9, *[1e-10] * 10])
    random = np.random.default_rng(0)
    pair, assessor = crowd.assigned(np.full(30, 4), workload, random)
    assert len(np.unique(pair * 11 + assessor)) == 120


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets(name: str) -> None:
    assert len(q.simulate(name, topics=2, documents=20).judgements) > 0


def test_misuse_is_explained() -> None:
    with pytest.raises(UnknownNameError, match="did you mean topics"):
        q.simulate(topic=3)
    with pytest.raises(ParameterError, match="votes must be a number above 0, got 0"):
        q.simulate(votes=0)
    with pytest.raises(ParameterError, match="one of good, sloppy"):
        q.simulate("demo", **dict.fromkeys(KINDS, 0.0))
    with pytest.raises(UnknownNameError, match="did you mean demo"):
        q.simulate("dmo")
    with pytest.raises(ParameterError, match="worst must be at most best"):
        q.simulate(worst=3.0)
