from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import InputError, ParameterError, UsageError

MEASURES = [q.AP, q.nDCG @ 20, q.P @ 5]


def test_worked_example() -> None:
    """Piazzon 2019, chapter 3, recall base 3 (one relevant document is not retrieved)."""
    documents = ["d1", "d2", "d3", "d4", "d5", "d6", "d7"]
    runs = q.RunSet.of(["s"] * 5, ["t"] * 5, documents[:5], [5, 4, 3, 2, 1])
    panel = {
        "gold": ((1, 0, 1, 0, 0, 1, 0), 0.5556),
        "first": ((1, 1, 0, 0, 0, 1, 0), 0.6667),
        "second": ((1, 1, 1, 0, 0, 0, 0), 1.0),
        "third": ((0, 1, 1, 0, 1, 0, 0), 0.5889),
    }
    crowd = q.Judgements.of(
        ["t"] * 28,
        documents * 4,
        [name for name in panel for _ in documents],
        [grade for grades, _ in panel.values() for grade in grades],
    )
    scores = q.evaluate(runs, crowd.by_assessor(), q.AP)
    for column, name in enumerate(scores.columns):
        assert round(scores.values[0, column, 0, 0], 4) == panel[name][1]
    three = scores.of_columns(["first", "second", "third"]).values.mean()
    assert round(three, 4) == 0.7519


def make_crowd(case: Any, assessors: int, seed: int = 1) -> q.Judgements:
    """Assessors who judge part of the pool; one of them nothing on the first topics."""
    random = np.random.default_rng(seed)
    pairs = case.qrels.pairs
    rows = np.flatnonzero(random.random(assessors * len(pairs)) < 0.6)
    who, pair = np.divmod(rows, len(pairs))
    kept = (who > 0) | (pairs.topic[pair] > 2)
    who, pair = who[kept], pair[kept]
    grades = random.integers(0, 3, len(pair))
    return q.Judgements.of(
        pairs.topic_names[pair], pairs.document_names[pair], [f"a{w:02d}" for w in who], grades
    )


def test_columns_equal_one_at_a_time(made: Any) -> None:
    many = make_crowd(made, 40).by_assessor()
    together = q.evaluate(made.runs, many, MEASURES)
    assert together.axis == "assessor"
    for column, name in enumerate(many.columns):
        alone = q.evaluate(made.runs, many.qrels(name), MEASURES)
        at = together.topics.codes(alone.topics.names)
        np.testing.assert_array_equal(together.values[:, column, at], alone.values[:, 0])


def test_an_assessor_without_judgements_on_a_topic_is_undefined(made: Any) -> None:
    scores = q.evaluate(made.runs, make_crowd(made, 5).by_assessor(), MEASURES)
    nothing = scores.columns.code("a00")
    assert np.isnan(scores.values[:, nothing, :3]).all()
    assert not np.isnan(scores.values[:, nothing + 1 :, 4:]).any()
    assert any("no judgement at all" in note for note in scores.notes)


def test_threads_do_not_matter(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many = make_crowd(made, 70).by_assessor()
    monkeypatch.setenv("QROWD_THREADS", "1")
    one = q.evaluate(made.runs, many, MEASURES).values
    monkeypatch.setenv("QROWD_THREADS", "3")
    assert q.evaluate(made.runs, many, MEASURES).values.tobytes() == one.tobytes()


def test_means_are_the_means(made: Any) -> None:
    many = make_crowd(made, 70).by_assessor()
    kept = q.evaluate(made.runs, many, MEASURES)
    means = q.evaluate(made.runs, many, MEASURES, keep="means")
    assert means.averaged
    assert not kept.averaged
    np.testing.assert_allclose(means.means(), kept.means(), rtol=1e-14)
    assert any(f"means over {len(kept.topics)} topics" in note for note in means.notes)
    one = q.evaluate(made.runs, made.qrels, MEASURES, keep="means")
    np.testing.assert_allclose(
        one.values[:, 0, 0], q.evaluate(made.runs, made.qrels, MEASURES).means()[:, 0], rtol=1e-14
    )


def test_missing_and_empty_topics_are_reported() -> None:
    runs = q.RunSet.of(["a", "a", "b"], ["1", "2", "1"], ["x", "x", "x"], [1, 1, 1])
    qrels = q.Qrels.of(["1", "2", "3", "4"], ["x", "x", "x", "y"], [1, 1, 0, 1])
    scores = q.evaluate(runs, qrels, q.AP)
    np.testing.assert_array_equal(scores.values[0, 0], [[1, 1], [1, 0], [0, 0], [0, 0]])
    assert "topics missing from 2 runs (a (2), b (3)): scored 0" in scores.notes
    assert "no document of grade 1 or higher on 1 topic (3): scored 0" in scores.notes
    both = q.evaluate(runs, qrels, q.AP, topics="both")
    assert list(both.topics) == ["1", "2"]
    np.testing.assert_array_equal(both.values[0, 0], [[1, 1], [1, np.nan]])
    assert "topics missing from 1 run (b (1)): left out" in both.notes
    np.testing.assert_array_equal(both.means()[0, 0], [1, 1])


def test_topics_of_runs_alone_are_reported(made: Any) -> None:
    scores = q.evaluate(made.runs, made.qrels, q.AP)
    assert "unjudged" not in scores.topics
    assert "no judgements for 1 topic (unjudged) of the runs: left out" in scores.notes


def test_misuse(made: Any) -> None:
    with pytest.raises(ParameterError, match="topics must be one of"):
        q.evaluate(made.runs, made.qrels, q.AP, topics="all")
    with pytest.raises(ParameterError, match="keep must be one of"):
        q.evaluate(made.runs, made.qrels, q.AP, keep="none")
    with pytest.raises(UsageError, match="needs soft qrels"):
        q.evaluate(made.runs, made.qrels, q.AP, unjudged=0.1)
    with pytest.raises(InputError, match="no topic in common"):
        q.evaluate(made.runs, q.Qrels.of(["z"], ["x"], [1]), q.AP, topics="both")
    with pytest.raises(InputError, match="no topic in common"):
        q.evaluate(made.runs, q.Qrels.of(["z"], ["x"], [1]), q.AP)
    with pytest.raises(InputError, match="no judged topics"):
        q.evaluate(made.runs, q.Qrels.of([], [], []), q.AP)


def test_negative_grades_alone_score_0() -> None:
    """Where trec_eval's Python face crashes."""
    runs = q.RunSet.of(["a"], ["1"], ["x"], [1])
    scores = q.evaluate(runs, q.Qrels.of(["1", "1"], ["x", "y"], [-1, -2]), ["AP", "nDCG", "RR"])
    np.testing.assert_array_equal(scores.values.ravel(), 0)


def test_merged_counts_as_its_method_means_it() -> None:
    crowd = q.Judgements.of(["1"] * 3, ["a"] * 3, ["x", "y", "z"], [1, 1, 0])
    runs = q.RunSet.of(["r"], ["1"], ["a"], [1.0])
    hard = q.evaluate(runs, q.get("mv").fit(crowd), [q.P @ 1])
    soft = q.evaluate(runs, q.get("binmv").fit(crowd), [q.P @ 1])
    assert hard.values.item() == 1.0
    assert soft.values.item() == pytest.approx(2 / 3)
