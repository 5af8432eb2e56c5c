"""One topic as a measure sees it: the rankings, and what is known of the pool's documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Mask, Offsets
from qrowd.data.index import Pairs
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.runs import RunSet
from qrowd.data.scale import HIGHEST, Scale


@dataclass(frozen=True, eq=False)
class Ranked:
    """The documents of one topic's rankings that are in the pool, in rank order, run by run.

    Run r has the entries starts[r]..starts[r + 1]: `rank` (from 0 on) and `row` in the pool.
    `lengths` are the lengths of the whole lists.
    """

    lengths: Codes
    starts: Offsets
    rank: Codes
    row: Codes

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def depth(self) -> int:
        """The length of the longest list."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def run(self) -> Offsets:
        """The run of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def only(self, kept: Mask) -> Ranked:
        """The rankings without the other documents (a mask over the pool); ranks close up."""
        inside = kept[self.row]
        run = self.run[inside]
        lengths = np.bincount(run, minlength=len(self))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        rank = (np.arange(len(run)) - starts[run]).astype(np.int32)
        return Ranked(lengths.astype(np.int32), starts, rank, self.row[inside])

    def within(self, kept: Mask) -> Ranked:
        """The same rankings against a smaller pool (a mask over the pool); ranks stay."""
        inside = kept[self.row]
        starts = np.searchsorted(np.flatnonzero(inside), self.starts)
        row = (np.cumsum(kept) - 1)[self.row[inside]].astype(np.int32)
        return Ranked(self.lengths, starts, self.rank[inside], row)


class Rankings:
    """All topics' rankings against a pool."""

    def __init__(self, runs: RunSet, pool: Pairs) -> None:
        self.runs, self.pool = runs, pool
        self._document = runs.documents.find(pool.documents)

    def of_topic(self, in_runs: int, in_pool: int) -> Ranked:
        """The topic that has these codes among the runs' topics (-1: none) and the pool's."""
        size = len(self.runs)
        if in_runs < 0:
            nothing = np.zeros(0, np.int32)
            return Ranked(np.zeros(size, np.int32), np.zeros(size + 1, np.int64), nothing, nothing)
        at = self.runs.starts[in_runs * size : (in_runs + 1) * size + 1]
        row = self._rows(in_pool)[self.runs.document[at[0] : at[-1]]]
        entries = np.flatnonzero(row >= 0)
        starts = np.searchsorted(entries, at - at[0])
        first = np.repeat(at[:-1] - at[0], np.diff(starts))
        rank = (entries - first).astype(np.int32)
        return Ranked(np.diff(at).astype(np.int32), starts, rank, row[entries])

    def _rows(self, in_pool: int) -> Codes:
        """The pool row of each of the runs' documents on this topic; -1 where it is not there."""
        first, last = self.pool.topic_starts[in_pool : in_pool + 2]
        document = self._document[self.pool.document[first:last]]
        rows = np.full(len(self.runs.documents) + 1, -1, np.int32)  # the last: not in any run
        rows[document] = np.arange(last - first, dtype=np.int32)
        rows[-1] = -1
        return rows


@dataclass(frozen=True, eq=False)
class Certain:
    """One topic under certain relevance: grades[pool, columns], NOT_JUDGED where there is none."""

    ranked: Ranked
    grades: Grades

    @property
    def shape(self) -> tuple[int, int]:
        """(runs, columns): the shape of the scores."""
        return len(self.ranked), self.grades.shape[1]

    @cached_property
    def counts(self) -> Codes:
        """How many documents of each column have each grade: [columns, grade - NOT_JUDGED]."""
        from qrowd.evaluation import kernels

        counts = np.zeros((self.grades.shape[1], 256), np.int32)
        kernels.counts(self.grades, counts)
        return counts

    def hits(self, level: int, depth: int | Offsets) -> Floats:
        """hits[runs, columns]: documents of this grade or a higher one above rank `depth`, which
        may differ by column.
        """
        from qrowd.evaluation import kernels

        return self.summed(kernels.hits, level, np.full(self.shape[1], depth, np.int32))

    def summed(self, kernel: Callable[..., None], *arguments: Any) -> Floats:
        """sums[runs, columns]: what a kernel makes of the rankings and the grades."""
        at, sums = self.ranked, np.zeros(self.shape)
        kernel(at.starts, at.rank, at.row, self.grades, *arguments, sums)
        return sums

    def along(self, by_grade: Floats, depth: int = HIGHEST**4) -> Floats:
        """values[ranks, runs, columns]: of the grade (- NOT_JUDGED) at each rank, 0 where none is.

        No deeper than the longest list.
        """
        at, shape = self.ranked, self.shape
        values = np.zeros((min(at.depth, depth), *shape))
        shown = at.rank < depth
        grade = self.grades[at.row[shown]].astype(np.int64)
        values[at.rank[shown], at.run[shown]] = by_grade[grade - NOT_JUDGED]
        return values

    def relevant(self, level: int, depth: int = HIGHEST**4) -> Floats:
        """x[ranks, runs, columns]: 1 where the document has this grade or a higher one, else 0."""
        return self.along((np.arange(NOT_JUDGED, HIGHEST + 1) >= level).astype(np.float64), depth)

    def recall_base(self, level: int) -> Offsets:
        """How many documents of each column have this grade or a higher one."""
        return np.asarray(self.counts[:, level - NOT_JUDGED :].sum(axis=1), dtype=np.int64)

    @property
    def nothing(self) -> Mask:
        """Which columns have no grade at all here."""
        return np.asarray(self.counts[:, 1:].sum(axis=1) == 0, dtype=np.bool_)

    def judged_only(self, score: Callable[[Certain], Floats]) -> Floats:
        """Scores when every column's rankings hold only what this column has judged."""
        result = np.zeros(self.shape)
        for column in range(self.shape[1]):
            grades = self.grades[:, column : column + 1]
            case = Certain(self.ranked.only(grades[:, 0] >= 0), grades)
            result[:, column] = score(case)[:, 0]
        return result


@dataclass(frozen=True, eq=False)
class Random:
    """One topic under random relevance: p[pool, grades of the scale], independent documents.

    `unjudged` is the probability that a document outside the pool is relevant.
    """

    ranked: Ranked
    scale: Scale
    p: Floats
    unjudged: float = 0.0

    def chance(self, level: int) -> Floats:
        """The probability of each document of the pool to have this grade or a higher one."""
        return np.asarray(self.p[:, np.array(self.scale.grades) >= level].sum(axis=1))

    def gains(self, by_grade: Floats) -> tuple[Floats, float]:
        """The expected gain of each document of the pool, and of a document outside it.

        `by_grade` has the gain of every grade that there can be, by grade - NOT_JUDGED.
        """
        pool = np.asarray(self.p @ by_grade[np.array(self.scale.grades) - NOT_JUDGED])
        return pool, self.unjudged * float(by_grade[self.lowest_relevant - NOT_JUDGED])

    def outside(self, level: int) -> float:
        """The probability of a document outside the pool to have this grade or a higher one.

        If it is relevant at all, it has the lowest relevant grade of the scale.
        """
        return self.unjudged if self.lowest_relevant >= level else 0.0

    @property
    def lowest_relevant(self) -> int:
        """The lowest grade of the scale that is relevant."""
        return min(g for g in (*self.scale.grades, HIGHEST) if g >= self.scale.relevant_from)

    def along(self, values: Floats, otherwise: float = 0.0) -> Floats:
        """values[pool] laid along the rankings: [runs, depth]; `otherwise` outside the pool."""
        inside = np.arange(self.ranked.depth)[None, :] < self.ranked.lengths[:, None]
        result = np.where(inside, otherwise, 0.0)
        result[self.ranked.run, self.ranked.rank] = values[self.ranked.row]
        return result

    def relevant(self, level: int, depth: int) -> Floats:
        """p[runs, ranks up to `depth`]: the probability of this grade or a higher one there."""
        return self.along(self.chance(level), self.outside(level))[:, :depth]

    def judged_only(self) -> Random:
        """The same topic with rankings that hold only documents of the pool."""
        return replace(self, ranked=self.ranked.only(np.ones(len(self.p), np.bool_)))
