from __future__ import annotations

import numpy as np

import qrowd as q


def test_shares() -> None:
    rows = q.Judgements.of(
        ["t"] * 5,
        list("aaabb"),
        ["x", "y", "z", "x", "y"],
        [2, 2, 0, 1, 0],
        scale=q.Scale((0, 1, 2)),
    )
    merged = q.MajorityVote().fit(rows)
    np.testing.assert_allclose(merged.posterior, [[1 / 3, 0, 2 / 3], [0.5, 0.5, 0]])
    np.testing.assert_allclose(merged.assessors["accuracy"], [(2 / 3 + 0.5) / 2, 7 / 12, 1 / 3])


def test_weighted_votes() -> None:
    rows = q.Judgements.of(
        ["t"] * 3, ["d"] * 3, ["x", "y", "z"], [1, 0, 0], weight=np.array([3.0, 0.5, 0.5])
    )
    assert q.MajorityVote().fit(rows).relevant.tolist() == [0.75]


def test_a_vote_of_no_weight_is_no_vote() -> None:
    rows = q.Judgements.of(["t"], ["d"], ["x"], [1], weight=np.array([0.0]))
    assert q.MajorityVote().fit(rows).relevant.tolist() == [0.5]


def test_gold_overwrites_unless_told_otherwise() -> None:
    rows = q.Judgements.of(["t"] * 2, ["d", "e"], ["x", "x"], [1, 1])
    given = q.Given(gold=q.Qrels.of(["t"], ["d"], [0]))
    merged = q.MajorityVote().fit(rows, given)
    assert merged.relevant.tolist() == [0.0, 1.0]
    assert merged.fit.notes == ("gold fixes 1 pairs",)
    assert q.MajorityVote(clamp=False).fit(rows, given).relevant.tolist() == [1.0, 1.0]


def test_ties_do_not_depend_on_row_order() -> None:
    """Half of the pairs are tied: the coin falls by (seed, topic, document) and nothing else."""
    docs = [f"d{i:03d}" for i in range(200) for _ in range(2)]
    who = ["x", "y"] * 200
    said = [0, 1] * 200
    one = q.MajorityVote().fit(q.Judgements.of(["t"] * 400, docs, who, said))
    other = q.MajorityVote().fit(q.Judgements.of(["t"] * 400, docs[::-1], who[::-1], said[::-1]))
    assert np.array_equal(one.grades(), other.grades())
    assert 60 < one.grades().sum() < 140
    assert not np.array_equal(one.grades(seed=1), one.grades(seed=2))
    assert one.grades(ties="relevant").all()
    assert not one.grades(ties="nonrelevant").any()
