"""What merging gains: how often single answers are right, and how often the merged ones are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.comparison.significance import interval
from qrowd.data.arrays import Floats
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.quality.agreement import Coefficient


@dataclass(frozen=True)
class ConsensusGain:
    """Shares that are right (relevant or not) against gold: of answers, of merged labels.

    `gain` is their difference. Intervals draw topics again, the same ones for all three; they are
    NaN where there is only one topic.
    """

    single: Coefficient
    merged: Coefficient
    gain: Coefficient
    answers: int
    pairs: int
    topics: int


def consensus_gain(
    judgements: Judgements,
    merged: Merged,
    gold: Qrels,
    *,
    gold_rel: int = 1,
    draws: int = 1000,
    level: float = 0.9,
    seed: int = 0,
) -> ConsensusGain | None:
    """How much better merged labels are than single answers, where gold is known; else None.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=20, assessors=9, votes=5, seed=1)
    >>> merged = q.MajorityVote().fit(made.judgements)
    >>> gain = consensus_gain(made.judgements, merged, made.gold)
    >>> gain.merged.value > gain.single.value
    True
    """
    pair, relevant = judgements.pair, judgements.scale.relevant
    at = judgements.pairs.locate(gold.pairs)
    truth = np.full(len(judgements.pairs), -1)  # 1 relevant, 0 not, -1 without gold
    truth[at[at >= 0]] = (gold.grade >= gold_rel)[at >= 0]
    if not (truth >= 0).any():
        return None
    with_gold = truth[pair] >= 0
    right = (relevant[judgements.grade] == (truth[pair] == 1)) & with_gold
    believed = relevant[np.argmax(merged.posterior, axis=1)]
    pairs_with_gold = (truth >= 0) & (np.diff(judgements.pair_starts) > 0)
    pairs_right = (believed == (truth == 1)) & pairs_with_gold
    topic, n = judgements.pairs.topic, len(judgements.topics)
    counted = (
        (right, topic[pair]),
        (with_gold, topic[pair]),
        (pairs_right, topic),
        (pairs_with_gold, topic),
    )
    sums = np.stack([np.bincount(at, weights=flags, minlength=n) for flags, at in counted])
    used = sums[:, sums[1] > 0].astype(np.float64)
    return _gain(used, draws, level, np.random.default_rng(seed))


def _gain(sums: Floats, draws: int, level: float, random: np.random.Generator) -> ConsensusGain:
    topics = sums.shape[1]
    weights = random.multinomial(topics, np.full(topics, 1 / topics), size=draws)
    drawn = weights @ sums.T if topics > 1 else np.full((draws, 4), np.nan)
    total = sums.sum(axis=1)
    shares = {"single": (0, 1), "merged": (2, 3)}
    values = {name: total[a] / total[b] for name, (a, b) in shares.items()}
    samples = {name: drawn[:, a] / drawn[:, b] for name, (a, b) in shares.items()}
    values["gain"] = values["merged"] - values["single"]
    samples["gain"] = samples["merged"] - samples["single"]
    gains = {
        name: Coefficient(float(values[name]), *map(float, interval(samples[name], level)))
        for name in values
    }
    return ConsensusGain(**gains, answers=int(total[1]), pairs=int(total[3]), topics=topics)
