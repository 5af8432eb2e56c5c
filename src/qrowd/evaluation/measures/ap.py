"""Average precision."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain
from qrowd.registry import measure, param


@measure("AP", paper="Harman 1992; Ferrante, Ferro & Losiouk 2019", aliases={"MAP": "AP"})
class AP(Measure):
    r"""Average precision: the mean, over all relevant documents, of the precision at their ranks.

    $$\mathrm{AP} = \frac{1}{R} \sum_n \frac{x_n}{n} \sum_{s \le n} x_s$$

    with $x_n = 1$ where the document at rank $n$ is relevant and $R$ the number of relevant
    documents that are known. Equal to trec_eval's `map` (with a cutoff: `map_cut`).
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        if self.judged_only:
            return case.judged_only(self(judged_only=False).score)
        at, sums = case.ranked, np.zeros(case.shape)
        kernels.precisions(at.starts, at.rank, at.row, case.grades, self.level, self.depth, sums)
        return share(sums, case.recall_base(self.level))
