"""Measures that are weighted sums of gains: P, DCG and RBP as one sparse matrix over the pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.index import Pairs
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.runs import RunSet
from qrowd.errors import UsageError
from qrowd.evaluation.engine import Task
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.measures.cascade import RBP
from qrowd.evaluation.measures.gain import DCG, discounts
from qrowd.evaluation.measures.precision import P


def is_linear(measure: Measure) -> bool:
    """Whether a run's score is a sum over pairs of a weight times the pair's gain."""
    plain = not getattr(measure, "judged_only", False)
    return plain and (
        isinstance(measure, P | DCG) or (isinstance(measure, RBP) and measure.part == "base")
    )


def pair_weights(runs: RunSet, pool: Pairs, measure: Measure) -> Any:
    """Sparse weights[run, pair]: a run's mean score over topics is weights @ gains of the pool."""
    from scipy.sparse import csr_array

    task = Task(runs, pool, (measure,), False)
    row, column, weight = [], [], []
    for topic, ranked in task.rankings:
        kept = ranked.rank < measure.depth
        row.append(ranked.run[kept])
        column.append(ranked.row[kept] + pool.topic_starts[topic])
        weight.append(_by_rank(measure, ranked.depth)[ranked.rank[kept]])
    values = np.concatenate(weight) / len(task.topics)
    where = np.concatenate(row), np.concatenate(column)
    return csr_array((values, where), shape=(len(runs), len(pool)))


def _by_rank(measure: Measure, depth: int) -> Floats:
    """The weight of a gain at each rank."""
    depth = min(measure.depth, depth)
    if isinstance(measure, P):
        return np.full(depth, 1 / measure.depth)
    if isinstance(measure, DCG):
        return np.asarray(1 / discounts(depth, measure.dcg, measure.base))
    if isinstance(measure, RBP):
        return np.asarray((1 - measure.p) * measure.p ** np.arange(depth, dtype=np.float64))
    raise UsageError(f"{measure!r} is not a weighted sum over pairs; P, DCG and RBP are")


def pair_gains(measure: Measure, grades: Array) -> Floats:
    """What a pair of each of these grades adds to a score at weight 1."""
    at = np.asarray(grades, np.int64) - NOT_JUDGED
    if isinstance(measure, DCG):
        return np.asarray(measure.by_grade[at], np.float64)
    gain = np.asarray(np.asarray(grades) >= measure.level, np.float64)
    for grade, own in (getattr(measure, "gains", None) or {}).items():
        gain[np.asarray(grades) == grade] = own
    return gain
