"""The share of judged documents."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.scale import LOWEST
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("Judged", paper="ir_measures")
class Judged(Measure):
    """Judged at k: the share of the first k documents that have a judgement, of whatever grade.

    Of a list that is shorter than k, the share of the list, as in ir_measures. Of an assessor, the
    share that this assessor judged. Under random relevance, the share that is in the pool.
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, sums = case.ranked, np.zeros(case.shape)
        depth = np.full(case.shape[1], self.depth, np.int32)
        kernels.hits(at.starts, at.rank, at.row, case.grades, LOWEST, depth, sums)
        return share(sums, np.minimum(at.lengths, self.depth)[:, None])

    def expectation(self, case: Random) -> Floats:
        """The share of the first k documents that is in the pool."""
        known = case.along(np.ones(len(case.p)))[:, : self.depth].sum(axis=1)
        return share(known, np.minimum(case.ranked.lengths, self.depth))
