"""Recall at k."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.expectation import Quadrature
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("R", paper="van Rijsbergen 1979", aliases={"Recall": "R"})
class R(Measure):
    r"""Recall at k: the share of the relevant documents that is among the first k.

    $$\mathrm{R@}k = \frac{1}{R} \sum_{n \le k} x_n$$

    Equal to trec_eval's `recall_k`; without a cutoff, of the whole list (`set_recall`). Under
    random relevance the expectation is exact:

    $$E[\mathrm{R@}k] = \int_0^1 \prod_d (1 - p_d + p_d u) \sum_{n \le k} a_n(u) du,
      \qquad a_n(u) = \frac{p_n}{1 - p_n + p_n u}.$$
    """

    cutoff: int | None = param(None, "the first k documents", at_least=1)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, sums = case.ranked, np.zeros(case.shape)
        depth = np.full(case.shape[1], self.depth, np.int32)
        kernels.hits(at.starts, at.rank, at.row, case.grades, self.level, depth, sums)
        return share(sums, case.recall_base(self.level))

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        from qrowd.evaluation import kernels

        self._refuse_unjudged(case)
        at, by = case.ranked, Quadrature.of(case.chance(self.level))
        sums = np.zeros((len(at), len(by.node)))
        kernels.totals(at.starts, at.rank, at.row, by.ratio, self.depth, sums)
        return by.integral(sums)
