"""Random relevance for every assessor at once equals one assessor at a time."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.errors import ParameterError

MEASURES = ["DCG", "RBP", "P@3", "AP", "AP(expected='ratio')", "R@5"]


@pytest.mark.parametrize("unjudged", [0.0, 0.05])
def test_equals_each_assessor_alone(unjudged: float) -> None:
    made = q.simulate(topics=4, documents=30, assessors=6, votes=3, runs=5, seed=3)
    soft = made.judgements.by_assessor().soft(0.95, 0.05)
    measures = MEASURES[: 3 if unjudged else None]  # the others need the recall base
    together = q.evaluate(made.runs, soft, measures, unjudged=unjudged)
    assert together.axis == "assessor"
    for at, name in enumerate(made.judgements.assessors.names):
        alone = q.evaluate(made.runs, soft.soft_qrels(name), measures, unjudged=unjudged)
        for topic_at, topic in enumerate(together.topics.names):
            ours = together.values[:, at, topic_at]
            if topic in alone.topics.names:
                where = alone.topics.code(topic, "topic")
                np.testing.assert_array_equal(ours, alone.values[:, 0, where])
            else:
                assert np.isnan(ours).all()


def test_certain_probabilities_give_the_measure_itself(tiny_crowd: q.Judgements) -> None:
    runs = q.RunSet.of(["a"] * 3, ["t1"] * 3, ["d2", "d1", "d3"], [3.0, 2.0, 1.0])
    each = tiny_crowd.by_assessor()
    hard = q.evaluate(runs, each, ["DCG", "RBP"])
    soft = q.evaluate(runs, each.soft(), ["DCG", "RBP"])
    np.testing.assert_allclose(soft.values, hard.values, atol=1e-15)


def test_chances_outside_0_to_1_are_refused(tiny_crowd: q.Judgements) -> None:
    with pytest.raises(ParameterError, match=r"0\.\.1, got 1\.5"):
        tiny_crowd.by_assessor().soft(1.5, 0.0)
