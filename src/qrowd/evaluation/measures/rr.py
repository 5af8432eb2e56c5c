"""Reciprocal rank."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("RR", paper="Kantor & Voorhees 2000", aliases={"MRR": "RR"})
class RR(Measure):
    r"""Reciprocal rank: 1 over the rank of the first relevant document, 0 if there is none.

    Equal to trec_eval's `recip_rank`. Under random relevance the expectation is

    $$E[\mathrm{RR}] = \sum_n \frac{p_n}{n} \prod_{s < n} (1 - p_s).$$
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, best = case.ranked, np.zeros(case.shape)
        kernels.firsts(at.starts, at.rank, at.row, case.grades, self.level, self.depth, best)
        return best

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        p = case.along(case.chance(self.level), case.outside(self.level))[:, : self.depth]
        none_above = np.ones(p.shape)
        none_above[:, 1:] = np.cumprod(1 - p, axis=1)[:, :-1]
        return np.asarray((p * none_above / np.arange(1, p.shape[1] + 1)).sum(axis=1))
