"""Precision at the recall base."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.expectation import precision_at_recall_base
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("Rprec", paper="Buckley & Voorhees 2005", aliases={"RPrec": "Rprec"})
class Rprec(Measure):
    r"""R-precision: the precision at rank R, where R is the number of relevant documents.

    Equal to trec_eval's `Rprec`. Under random relevance R is random too, and the expectation is

    $$E[\mathrm{Rprec}] = \sum_n p_n \sum_{r \ge n} \frac{1}{r}
      P\Bigl(\sum_{d \ne n} x_d = r - 1\Bigr),$$

    exact, with the distributions of the number of relevant documents from a discrete Fourier
    transform.
    """

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, sums, base = case.ranked, np.zeros(case.shape), case.recall_base(self.level)
        depth = base.astype(np.int32)
        kernels.hits(at.starts, at.rank, at.row, case.grades, self.level, depth, sums)
        return share(sums, base)

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        self._refuse_unjudged(case)
        at = case.ranked
        worth = precision_at_recall_base(case.chance(self.level), at.depth)
        by_rank = worth[at.row, at.rank]
        return np.asarray(np.bincount(at.run, by_rank, len(at)), dtype=np.float64)
