"""Folds of gold, to learn on some and look at the rest."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.index import Pairs

FOLDS = 5


def topic_folds(pairs: Pairs, known: Array) -> Array:
    """The fold of each known pair: whole topics, dealt out in the order of their hashes.

    Pairs themselves, by their hashes, where there is one topic.
    """
    topic = pairs.topic[known]
    distinct, which = np.unique(topic, return_inverse=True)
    if len(distinct) < 2:
        coins = pairs.hashes(known.astype(np.int32), 0)
        return (coins % np.uint64(FOLDS)).astype(np.int64)
    turn = np.argsort(np.argsort(pairs.topics.hashes(distinct.astype(np.int32))))
    return np.asarray(turn[which] % FOLDS)
