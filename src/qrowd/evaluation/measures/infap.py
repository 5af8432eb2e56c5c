"""Inferred average precision."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain
from qrowd.registry import measure, param


@measure("infAP", paper="Yilmaz & Aslam 2006")
class InfAP(Measure):
    r"""Inferred average precision: AP estimated from a sample of the pool's judgements.

    The precision at a relevant document of rank $k$ is estimated as

    $$\frac{1}{k} + \frac{k - 1}{k} \cdot \frac{|\mathrm{pool}|}{k - 1} \cdot
      \frac{|\mathrm{rel}| + \epsilon}{|\mathrm{rel}| + |\mathrm{nonrel}| + 2\epsilon}$$

    with counts of the documents above it, $\epsilon = 10^{-5}$. A negative grade says that a
    document was in the pool but not in the sample; documents that the qrels do not have were not in
    the pool. Equal to trec_eval's `infAP`. It has no exact expectation under random relevance:
    score draws.
    """

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, sums = case.ranked, np.zeros(case.shape)
        kernels.inferred(at.starts, at.rank, at.row, case.grades, self.level, sums)
        return share(sums, case.recall_base(self.level))
