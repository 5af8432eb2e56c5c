"""The checks of Xia et al. (2011): the paper's worked figures, and loops over pure functions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import qrowd as q
from qrowd.comparison.significance import wilson
from qrowd.errors import InputError, ParameterError
from qrowd.quality.against_gold import (
    best_ndcg_score,
    binary_score,
    binary_scores,
    check_set,
    dcg,
    ideal_dcg,
    ndcg_score,
    ndcg_scores,
    problems_of,
    unusable,
)

GOLD, RANKS = [1, 2, 2, 0, 1], [1, 2, 3, 4, 5]


def test_the_worked_example_of_the_paper() -> None:
    assert dcg(GOLD, RANKS) == pytest.approx(4.779642067948914, abs=1e-14)
    assert ideal_dcg(GOLD) == pytest.approx(7.2618595071429155, abs=1e-14)
    assert ndcg_score(GOLD, RANKS) == pytest.approx(0.6581843208681687, abs=1e-15)


def test_tied_gold_cannot_be_ranked_without_loss() -> None:
    assert best_ndcg_score([0, 1, 1, 2, 2]) == pytest.approx(0.80, abs=0.005)
    assert best_ndcg_score([0, 1, 1, 1, 1]) == pytest.approx(0.64, abs=0.005)
    assert best_ndcg_score([1, 1, 1, 1, 1]) == pytest.approx(0.59, abs=0.005)
    assert best_ndcg_score([0, 1, 1, 2, 2], "standard") == 1
    assert "best reachable NDCG score is 0.590" in unusable([1, 1, 1, 1, 1])
    assert "0/0" in unusable([0, 0, 0])
    assert unusable([0, 1, 1, 2, 2]) == ""
    assert math.isnan(ndcg_score([0, 0], [1, 2]))


def test_best_is_the_best_of_all_rankings() -> None:
    for gold in ([0, 1, 1, 2, 2], [0, 0, 1, 2], [2, 2, 1]):
        for ideal in ("tied", "standard"):
            every = [
                ndcg_score(gold, ranks, ideal)
                for ranks in itertools.permutations(range(1, len(gold) + 1))
            ]
            assert best_ndcg_score(gold, ideal) == pytest.approx(max(every))


@pytest.mark.parametrize(
    ("gold", "said", "score"),
    [
        ([0], [0], 1.0),
        ([0], [1], 10 / 15),
        ([1], [0], 5 / 12),
        ([1], [1], 1.0),
        ([2], [0], 0.0),
        ([2], [1], 1.0),
        ([3], [0], 0.0),
        ([-2], [1], 10 / 15),
        ([0, 1, 1, 2, 2], [1] * 5, 52 / 57),
        ([0, 1, 1, 2, 2], [0] * 5, 25 / 57),
    ],
)
def test_binary_score_counts_the_papers_points(
    gold: list[int], said: list[int], score: float
) -> None:
    assert binary_score(gold, said) == pytest.approx(score)


def test_answers_are_cut_at_rel() -> None:
    assert binary_score([0, 2], [1, 2], rel=2) == 1
    assert binary_score([0, 2], [1, 2], rel=1) == pytest.approx(19 / 24)


def test_compatibility_of_relevance_and_ranks() -> None:
    assert problems_of([1, 0, 1], [1, 3, 2]) == ()
    assert problems_of([0, 0], [2, 1]) == ()
    assert "above a relevant" in problems_of([1, 0], [2, 1])[0]
    assert "1 to 3, each once" in problems_of([1, 1, 1], [1, 1, 2])[0]


def test_check_set_names_what_failed() -> None:
    good = check_set([0, 1, 1, 2, 2], [0, 1, 1, 1, 1], [5, 4, 3, 2, 1], seconds=60)
    assert good.passed
    assert good.best_ndcg == pytest.approx(good.ndcg)
    quick = check_set([0, 1, 1, 2, 2], [0, 1, 1, 1, 1], [5, 4, 3, 2, 1], seconds=29)
    assert (quick.failed, quick.seconds) == (("seconds",), 5.8)
    bad = check_set([0, 1, 1, 2, 2], [1, 0, 0, 0, 0], [1, 2, 3, 4, 5])
    assert bad.failed == ("binary", "ndcg")
    mixed = check_set([0, 1, 1, 2, 2], [0, 1, 1, 1, 1], [1, 2, 3, 4, 5], ndcg_at_least=0.1)
    assert mixed.failed == ()
    assert not mixed.passed
    assert mixed.problems


def test_misuse_is_told() -> None:
    with pytest.raises(InputError, match="one length"):
        binary_score([0, 1], [1])
    with pytest.raises(InputError):
        ndcg_score([], [])
    with pytest.raises(ParameterError, match="tied, standard"):
        ndcg_score([1], [1], "odd")


def test_many_assessors_at_once_equal_one_by_one() -> None:
    c = q.simulate("graded", topics=6, documents=12, assessors=7, votes=4, grades=3, seed=5)
    made, gold = c.judgements.one_each(), dict(enumerate(c.truth.grade.tolist()))
    rows = list(zip(made.pair, made.assessor, made.grade, strict=True))
    truth = np.array([gold[p] for p, _, _ in rows])
    topic = made.pairs.topic[made.pair]
    binary = binary_scores(made.assessor, truth, made.grade >= 1, 7)
    ndcg, best = ndcg_scores(made.assessor, topic, truth, made.grade, 7)
    for who in range(7):
        mine = [(gold[p], g, made.pairs.topic[p]) for p, a, g in rows if a == who]
        assert binary[who] == pytest.approx(
            binary_score([z for z, _, _ in mine], [g for _, g, _ in mine])
        )
        scores, reach = [], []
        for t in range(6):
            here = [(z, g) for z, g, topic_of in mine if topic_of == t]
            golds = [z for z, _ in here]
            if len(here) > 1 and max(golds) > 0:
                scores.append(_expected_ndcg(here))
                reach.append(best_ndcg_score(golds))
        assert ndcg[who] == pytest.approx(np.mean(scores))
        assert best[who] == pytest.approx(np.mean(reach))


def _expected_ndcg(rows: list[tuple[int, int]]) -> float:
    """The mean over all orders that break the ties of the assessor's grades."""
    order = sorted(range(len(rows)), key=lambda i: -rows[i][1])
    blocks = [list(same) for _, same in itertools.groupby(order, key=lambda i: rows[i][1])]
    gain = [2.0 ** rows[i][0] - 1 for i in range(len(rows))]
    total, place = 0.0, 1
    for block in blocks:
        discounts = [1 / math.log2(1 + place + k) for k in range(len(block))]
        total += sum(gain[i] for i in block) * sum(discounts) / len(block)
        place += len(block)
    return total / ideal_dcg([z for z, _ in rows])


def test_wilson_of_known_cases() -> None:
    low, high = wilson(np.array([8, 0, 0]), np.array([10, 5, 0]))
    assert (low[0], high[0]) == pytest.approx((0.4902, 0.9433), abs=5e-5)
    assert low[1] == 0
    assert high[1] == pytest.approx(0.4345, abs=5e-5)
    assert np.isnan([low[2], high[2]]).all()
