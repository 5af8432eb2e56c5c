"""What merging gains: how often single answers are right, and how often the merged ones are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison.significance import interval
from qrowd.data.arrays import Floats
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import Qrels
from qrowd.errors import InputError
from qrowd.quality.agreement import Coefficient


@dataclass(frozen=True)
class ConsensusGain:
    """Shares that are right (relevant or not) against gold: of answers, of merged labels.

    `gain` is their difference; all three are of pairs with two answers or more. Where no pair has
    two, merging has nothing to do: `merged` and `gain` are NaN, and `single` is of all answers.
    `usual` is the share that is right where every answer is the commonest one of gold. Intervals
    draw topics again, the same ones for all; they are NaN where there is only one topic.
    """

    single: Coefficient
    merged: Coefficient
    gain: Coefficient
    usual: float
    answers: int
    pairs: int
    topics: int

    @property
    def known(self) -> bool:
        """Whether it can be known what merging gains."""
        return self.gain.value == self.gain.value


def consensus_gain(
    judgements: Judgements,
    merged: Merged | None,
    gold: Qrels,
    *,
    gold_rel: int = 1,
    draws: int = 1000,
    level: float = 0.9,
    seed: int = 0,
) -> ConsensusGain | None:
    """How much better merged labels are than single answers, where gold is known; else None.

    Pairs that only `merged` has are left alone; it may be None where no pair has two answers.

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
    votes = np.diff(judgements.pair_starts)
    several = (truth >= 0) & (votes > 1)
    kept = several if merged is not None and several.any() else (truth >= 0) & (votes > 0)
    if not kept.any():
        return None
    with_gold = kept[pair]
    right = (relevant[judgements.grade] == (truth[pair] == 1)) & with_gold
    pairs_right = np.full(len(kept), np.nan)
    if merged is not None and kept is several:
        belief = merged.posterior[merged.pairs.locate(judgements.pairs)]
        pairs_right = ((relevant[np.argmax(belief, axis=1)] == (truth == 1)) & kept) * 1.0
    topic, n = judgements.pairs.topic, len(judgements.topics)
    counted = ((right, topic[pair]), (with_gold, topic[pair]), (pairs_right, topic), (kept, topic))
    sums = np.stack([np.bincount(at, weights=flags, minlength=n) for flags, at in counted])
    used = sums[:, sums[1] > 0].astype(np.float64)
    share = float((truth[pair[with_gold]] == 1).mean())
    return _gain(used, max(share, 1 - share), draws, level, np.random.default_rng(seed))


def _gain(
    sums: Floats, usual: float, draws: int, level: float, random: np.random.Generator
) -> ConsensusGain:
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
    return ConsensusGain(
        **gains, usual=usual, answers=int(total[1]), pairs=int(total[3]), topics=topics
    )


def gain_by_topic(
    judgements: Judgements,
    merged: Merged,
    gold: Qrels,
    *,
    gold_rel: int = 1,
    level: float = 0.9,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """How often single answers and merged labels are right: all topics with intervals, then each
    topic, from the one whose single answers are worst on: the curve of the one over the other.

    Of pairs with gold and two answers or more; `merged` should not have seen the gold.
    """
    whole = consensus_gain(judgements, merged, gold, gold_rel=gold_rel, level=level, seed=seed)
    if whole is None or not whole.known:
        raise InputError("no pair with gold has two answers or more: merging has nothing to do")
    rows = [{"topic": "all", **_account(whole)}]
    each = []
    for topic in judgements.topics:
        one = Index.of([topic])
        own = consensus_gain(judgements[one], merged[one], gold[one], gold_rel=gold_rel, draws=1)
        if own is not None and own.known:
            each.append({"topic": topic, **_account(own)})
    return [*rows, *sorted(each, key=lambda row: (row["single"], row["merged"]))]


def _account(gain: ConsensusGain) -> dict[str, Any]:
    return {
        "answers": gain.answers,
        "pairs": gain.pairs,
        "single": gain.single.value,
        "merged": gain.merged.value,
        "gain": gain.gain.value,
        "low": gain.gain.low,
        "high": gain.gain.high,
    }
