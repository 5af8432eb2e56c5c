"""Expected reciprocal rank."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.scale import HIGHEST
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("ERR", paper="Chapelle, Metzler, Zhang & Grinspan 2009")
class ERR(Measure):
    r"""Expected reciprocal rank: of the rank at which a user stops who reads down the list.

    $$\mathrm{ERR} = \sum_n \frac{1}{n} s_n \prod_{m < n} (1 - s_m), \qquad
      s_n = \frac{2^{g_n} - 1}{2^{g_{\max}}}$$

    with $s_n$ the probability that the document of grade $g_n$ at rank $n$ satisfies the user.
    $g_{\max}$ is `max_grade`, 4 as in gdeval.pl, so that scores of different collections can be
    compared: say `ERR(max_grade=1)` for binary judgements, or no document satisfies more than one
    user in sixteen. Grades above it count as it. Equal to gdeval.pl's `err@k`, which prints five
    digits. Under random relevance, documents being independent, the expectation has the expected
    $s_n$ in the place of $s_n$.

    >>> import qrowd as q
    >>> runs = q.RunSet.of(["s"] * 3, ["t"] * 3, ["d1", "d2", "d3"], [3, 2, 1])
    >>> gold = q.Qrels.of(["t"] * 3, ["d1", "d2", "d3"], [3, 2, 4])
    >>> round(q.evaluate(runs, gold, q.ERR @ 20).values.item(), 5)
    0.63306
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)
    max_grade: int = param(4, "the highest grade that there is", at_least=1, at_most=HIGHEST)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        at, stop = case.ranked, self._stops()
        rows = np.full((len(at), min(at.depth, self.depth)), -1, np.int64)
        shown = at.rank < self.depth
        rows[at.run[shown], at.rank[shown]] = at.row[shown]
        chance = np.vstack(
            [stop[case.grades.astype(np.int64) - NOT_JUDGED], np.zeros(case.shape[1])]
        )
        total, going_on = np.zeros(case.shape), np.ones(case.shape)
        for n, row in enumerate(rows.T, start=1):
            total += going_on * chance[row] / n
            going_on *= 1 - chance[row]
        return total

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        stop = self._stops()
        pool = case.gain(stop[np.array(case.scale.grades) - NOT_JUDGED])
        outside = case.unjudged * float(stop[case.lowest_relevant - NOT_JUDGED])
        s = case.along(pool, outside)[:, : self.depth]
        going_on = np.ones(s.shape)
        going_on[:, 1:] = np.cumprod(1 - s, axis=1)[:, :-1]
        return np.asarray((s * going_on / np.arange(1, s.shape[1] + 1)).sum(axis=1))

    def _stops(self) -> Floats:
        """P(satisfied) by grade - NOT_JUDGED."""
        grade = np.clip(np.arange(NOT_JUDGED, HIGHEST + 1), 0, self.max_grade)
        return np.asarray((np.exp2(grade) - 1) / np.exp2(self.max_grade))
