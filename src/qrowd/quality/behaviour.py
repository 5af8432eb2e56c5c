"""How assessors work, whatever they say: order of answers, runs, entropy, speed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets, over, starts_of
from qrowd.data.judgements import Judgements


@dataclass(frozen=True, eq=False)
class Sequences:
    """Every assessor's answers one after the other.

    `rows` are rows of the judgements; assessor k's are rows[starts[k]:starts[k + 1]], by time where
    it is known (`timed`), else by topic and document.
    """

    rows: Offsets
    starts: Offsets
    assessor: Array
    grade: Array
    timed: bool


def sequences(judgements: Judgements) -> Sequences:
    """The answers of each assessor in the order in which they were given, as far as is known."""
    if judgements.time is not None:
        rows = np.lexsort((judgements.pair, judgements.time, judgements.assessor))
    else:  # a stable sort of small numbers: rows are in the order of pairs already
        rows = np.argsort(judgements.assessor, kind="stable")
    assessor = judgements.assessor[rows]
    starts = starts_of(assessor, len(judgements.assessors))
    return Sequences(rows, starts, assessor, judgements.grade[rows], judgements.time is not None)


def longest_runs(ordered: Sequences) -> Offsets:
    """The longest run of the same answer of each assessor."""
    result = np.zeros(len(ordered.starts) - 1, np.int64)
    if not len(ordered.grade):
        return result
    grade, assessor = ordered.grade, ordered.assessor
    new = (np.diff(grade, prepend=-1) != 0) | (np.diff(assessor, prepend=-1) != 0)
    begin = np.flatnonzero(new)
    length = np.diff(np.append(begin, len(grade)))
    first = np.flatnonzero(np.diff(assessor[begin], prepend=-1))
    result[assessor[begin][first]] = np.maximum.reduceat(length, first)
    return result


def repeats(ordered: Sequences, longest: int = 6) -> Floats:
    """The largest share of answers that equal the one `period` places before, period 1..longest.

    1 for somebody who answers in a fixed pattern of that length; compare it with the share that
    the assessor's own mix of answers gives by chance.
    """
    assessors, sizes = len(ordered.starts) - 1, np.diff(ordered.starts)
    best = np.full(assessors, np.nan)
    for period in range(1, longest + 1):
        assessor, n = ordered.assessor[period:], np.maximum(sizes - period, 0)
        equal = ordered.grade[period:] == ordered.grade[:-period]
        equal &= assessor == ordered.assessor[:-period]
        best = np.fmax(best, over(np.bincount(assessor[equal], minlength=assessors), n))
    return best


def answer_counts(judgements: Judgements) -> Offsets:
    """How often each assessor gave each grade: [assessors, grades]."""
    shape = (len(judgements.assessors), len(judgements.scale))
    return crossed(judgements.assessor, judgements.grade, shape)


def crossed(row: Array, column: Array, shape: tuple[int, int]) -> Offsets:
    """How often each two codes, of a row and of a column, come together."""
    cells = row.astype(np.int64) * shape[1] + column
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def entropies(counts: Offsets) -> Floats:
    """The entropy of each assessor's answers in bits; NaN without any."""
    total = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = counts / total
        terms = np.where(counts > 0, share * np.log2(share), 0.0)
    return np.where(total[:, 0] > 0, np.maximum(-terms.sum(axis=1), 0.0), np.nan)


def topics_judged(judgements: Judgements) -> Offsets:
    """In how many topics each assessor judged something."""
    topics = max(len(judgements.topics), 1)
    key = judgements.assessor.astype(np.int64) * topics + judgements.pairs.topic[judgements.pair]
    if len(judgements.assessors) * topics > 50_000_000:
        return np.bincount(np.unique(key) // topics, minlength=len(judgements.assessors))
    judged = np.zeros(len(judgements.assessors) * topics, np.bool_)
    judged[key] = True
    return np.asarray(judged.reshape(-1, topics).sum(axis=1), np.int64)


def median_seconds(judgements: Judgements) -> Floats:
    """The median time of each assessor's judgements; NaN where no time is known."""
    result = np.full(len(judgements.assessors), np.nan)
    if judgements.seconds is None:
        return result
    timed = ~np.isnan(judgements.seconds)
    assessor, seconds = judgements.assessor[timed], judgements.seconds[timed]
    order = np.lexsort((seconds, assessor))
    starts = starts_of(assessor[order], len(result))
    sizes = np.diff(starts)
    some = sizes > 0
    lower = seconds[order][(starts[:-1] + (sizes - 1) // 2)[some]]
    upper = seconds[order][(starts[:-1] + sizes // 2)[some]]
    result[some] = (lower + upper) / 2
    return result
