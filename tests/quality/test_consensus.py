"""What merging gains, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

import qrowd as q
from qrowd.quality.consensus import consensus_gain


def test_shares_by_plain_loops() -> None:
    made = q.simulate(topics=5, documents=12, assessors=7, votes=3, seed=4)
    judgements, gold = made.judgements, made.gold
    merged = q.MajorityVote().fit(judgements)
    found = consensus_gain(judgements, merged, gold)
    assert found is not None
    names = list(zip(gold.pairs.topic_names, gold.pairs.document_names, strict=True))
    truth = dict(zip(names, (gold.grade >= 1).tolist(), strict=True))
    labels = merged.qrels()
    own = list(zip(labels.pairs.topic_names, labels.pairs.document_names, strict=True))
    right = [truth[name] == (grade >= 1) for name, grade in zip(own, labels.grade, strict=True)]
    single = [
        truth[own[pair]] == (judgements.scale.grades[grade] >= 1)
        for pair, grade in zip(judgements.pair, judgements.grade, strict=True)
    ]
    assert found.merged.value == pytest.approx(np.mean(right))
    assert found.single.value == pytest.approx(np.mean(single))
    assert found.gain.value == pytest.approx(np.mean(right) - np.mean(single))
    assert (found.answers, found.pairs, found.topics) == (len(single), len(right), 5)
    for share in (found.single, found.merged, found.gain):
        assert share.low <= share.value <= share.high
    assert found.single.low < found.single.high


def test_one_answer_each_tells_nothing_of_merging() -> None:
    """A method that overrules a lone answer was said to gain -17.5 %."""
    crowd = q.Judgements.of(list("sstt"), list("abcd"), list("xyxy"), [1, 0, 1, 1])
    gold = q.Qrels.of(list("sstt"), list("abcd"), [1, 0, 0, 1])
    for merged in (q.MajorityVote().fit(crowd), None):
        found = consensus_gain(crowd, merged, gold)
        assert found is not None
        assert not found.known
        assert np.isnan([found.merged.value, found.gain.value]).all()
        assert (found.single.value, found.answers, found.pairs, found.usual) == (0.75, 4, 4, 0.5)


def test_only_pairs_with_several_answers_are_compared() -> None:
    crowd = q.Judgements.of(list("tttt"), list("aaab"), list("xyzx"), [1, 1, 0, 0])
    gold = q.Qrels.of(list("tt"), list("ab"), [1, 1])
    found = consensus_gain(crowd, q.MajorityVote().fit(crowd), gold)
    assert found is not None
    assert found.known
    assert [found.single.value, found.merged.value] == pytest.approx([2 / 3, 1.0])
    assert (found.answers, found.pairs) == (3, 1)


def test_one_topic_has_no_interval_and_no_gold_no_answer() -> None:
    crowd = q.Judgements.of(["t"] * 3, ["a", "a", "b"], ["x", "y", "x"], [1, 0, 1])
    merged = q.MajorityVote().fit(crowd)
    found = consensus_gain(crowd, merged, q.Qrels.of(["t", "t"], ["a", "c"], [1, 0]))
    assert found is not None
    assert (found.single.value, found.answers, found.pairs) == (0.5, 2, 1)
    assert np.isnan(found.gain.low)
    assert consensus_gain(crowd, merged, q.Qrels.of(["t"], ["c"], [1])) is None
