"""How the assessors rank the documents that they judged."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Orders
from qrowd.simulation.assessors import attentive
from qrowd.simulation.setting import KINDS, Setting


def sets_of(pairs: Pairs, size: int, random: np.random.Generator) -> Codes:
    """The set of each pair: a topic's documents at random, so many in each, fewer in the last."""
    order = np.lexsort((random.random(len(pairs)), pairs.topic))
    place = np.arange(len(pairs)) - pairs.topic_starts[pairs.topic[order]]
    sets = np.empty(len(pairs), np.int32)
    sets[order] = np.cumsum(place % size == 0) - 1
    return sets


def ranked(
    setting: Setting,
    judgements: Judgements,
    known: tuple[Codes, Codes, Floats],
    random: np.random.Generator,
) -> Orders:
    """A ballot for each set that an assessor judged.

    `known` are the set of each pair, the kind of each assessor, and how relevant each pair is.
    Spammers rank at random, adversarial assessors the other way round.
    """
    sets, kind, strength = known
    rows = judgements.one_each()
    insight = np.where(attentive(kind), setting.insight, 0.0)
    insight = np.where(kind == KINDS.index("adversarial"), -insight, insight)[rows.assessor]
    noise = random.standard_normal(len(rows.pair))
    seen = insight * strength[rows.pair] + np.sqrt(1 - insight**2) * noise
    ballot = sets[rows.pair].astype(np.int64) * len(rows.assessors) + rows.assessor
    first = -rows.grade.astype(np.int64) if setting.consistent else np.zeros(len(ballot))
    order = np.lexsort((-seen, first, ballot))
    new = np.concatenate([[True], np.diff(ballot[order]) != 0])
    place = np.empty(len(ballot), np.int64)
    at = np.arange(len(ballot))
    place[order] = at - np.maximum.accumulate(np.where(new, at, 0)) + 1
    names = Index(np.array([f"s{number:05}" for number in range(1, int(sets.max()) + 2)], object))
    pairs = judgements.pairs
    indexes = (pairs.topics, pairs.documents, rows.assessors)
    codes = (pairs.topic[rows.pair], pairs.document[rows.pair], rows.assessor)
    return Orders.from_codes(indexes, codes, place, (names, sets[rows.pair]))
