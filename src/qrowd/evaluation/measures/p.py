"""Precision at k."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("P", paper="van Rijsbergen 1979", aliases={"Precision": "P"})
class P(Measure):
    r"""Precision at k: the share of relevant documents among the first k.

    $$\mathrm{P@}k = \frac{1}{k} \sum_{n \le k} x_n$$

    A list that is shorter than k is filled up with documents that are not relevant. Equal to
    trec_eval's `P_k`. Needs its cutoff: `P@10`. Under random relevance the expectation has
    $p_n$ in the place of $x_n$.
    """

    cutoff: int | None = param(None, "the first k documents", at_least=1)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def check(self) -> None:
        """It needs its cutoff."""
        self._needs_cutoff()

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, sums = case.ranked, np.zeros(case.shape)
        depth = np.full(case.shape[1], self.depth, np.int32)
        kernels.hits(at.starts, at.rank, at.row, case.grades, self.level, depth, sums)
        return sums / self.depth

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        p = case.along(case.chance(self.level), case.outside(self.level))
        return np.asarray(p[:, : self.depth].sum(axis=1) / self.depth)
