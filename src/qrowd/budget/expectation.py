"""The majority vote's curve without any randomisation."""

from __future__ import annotations

import numpy as np

from qrowd.budget.requests import Pool
from qrowd.data.arrays import Floats
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels


def expected_majority(
    judgements: Judgements, gold: Qrels, votes: int, *, at_least: int = 1
) -> Floats:
    """The expected accuracy of each topic's majority votes at so many resampled votes per document.

    A document's votes are drawn from its real ones with replacement, so that the relevant ones
    among them are binomial; a tie is half right. The mean over topics is where `vote_by_vote`'s
    curve of `mv` tends to.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, ["d"] * 4, list("abcd"), [1, 1, 1, 0])
    >>> q.expected_majority(crowd, q.Qrels.of(["t"], ["d"], [1]), 3).round(6).tolist()
    [0.84375]
    """
    from scipy.special import bdtr, bdtrc

    pool = Pool.of(judgements, gold, at_least=at_least)
    pairs = pool.judgements.pairs
    count = pool.judgements.votes
    share = count[:, 1] / count.sum(axis=1)
    chance = np.where(pool.truth == 1, share, 1 - share)
    right = bdtrc(votes // 2, votes, chance)
    if votes % 2 == 0:
        half = votes // 2
        right += (bdtr(half, votes, chance) - (bdtr(half - 1, votes, chance) if half else 0)) / 2
    known = pool.truth >= 0
    total = np.bincount(pairs.topic[known], right[known], len(pairs.topics))
    return np.asarray(total / np.bincount(pairs.topic[known], minlength=len(pairs.topics)))


def gold_minus_majority(judgements: Judgements, gold: Qrels) -> dict[str, float]:
    """Gold less the majority vote, from -1 to 1: the mean over each topic's documents with gold.

    All real votes count; a tie is a half. Above 0 the crowd misses relevant documents, below 0 it
    calls too many relevant; far from 0, no way of merging will be right.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, list("ddde"), list("abca"), [1, 1, 0, 0])
    >>> q.gold_minus_majority(crowd, q.Qrels.of(["t", "t"], ["d", "e"], [1, 1]))
    {'t': 0.5}
    """
    pool = Pool.of(judgements, gold)
    pairs, votes = pool.judgements.pairs, pool.judgements.votes
    label = 0.5 * (1 + np.sign(votes[:, 1] - votes[:, 0]))
    known = pool.truth >= 0
    gap = np.bincount(pairs.topic[known], (pool.truth - label)[known], len(pairs.topics))
    mean = gap / np.bincount(pairs.topic[known], minlength=len(pairs.topics))
    return dict(zip(map(str, pairs.topics), mean.tolist(), strict=True))
