"""Success at k."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("Success", paper="Buckley & Voorhees 2005", aliases={"Hits": "Success"})
class Success(Measure):
    r"""Success at k: 1 if a relevant document is among the first k, else 0.

    Equal to trec_eval's `success_k`. Needs its cutoff: `Success@10`. Its mean over topics is the
    share of topics on which a run finds anything. Under random relevance the expectation is
    $1 - \prod_{n \le k} (1 - p_n)$.
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
        return (sums > 0).astype(np.float64)

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        p = case.along(case.chance(self.level), case.outside(self.level))[:, : self.depth]
        return np.asarray(1 - np.prod(1 - p, axis=1))
