"""Normalised discounted cumulative gain."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.gains import DCG, discounts, gain_of, gains_of
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain
from qrowd.registry import measure, param


@measure("nDCG", paper="Jarvelin & Kekalainen 2002", aliases={"NDCG": "nDCG"})
class NDCG(Measure):
    r"""Normalised discounted cumulative gain: DCG over the DCG of the best possible ranking.

    $$\mathrm{nDCG@}k = \frac{\sum_{n \le k} g_n / d_n}{\sum_{n \le k} g^*_n / d_n}$$

    with $g_n$ the gain of the document at rank $n$ and $g^*$ the gains of all known documents in
    descending order. By default the gain is the grade and $d_n = \log_2(1 + n)$: equal to
    trec_eval's `ndcg` and `ndcg_cut`. `dcg='exp-log2'` has gains $2^g - 1$; `dcg='jk'` does not
    discount before rank `base` and divides by $\log_b n$ from there on; `gains={1: 5}` gives
    grades other gains (grades that are not named keep theirs).
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)
    dcg: str = param("log2", "gain and discount", choices=DCG)
    base: float = param(2.0, "of the logarithm, for dcg=jk", above=1)
    gains: dict[int, float] | None = param(None, "gain of each grade, as in {0: 0, 1: 5}")
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", gains_of(self.gains, "nDCG"))

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        if self.judged_only:
            return case.judged_only(self(judged_only=False).score)
        at, sums = case.ranked, np.zeros(case.shape)
        gain = gain_of(case.grades, self.dcg, gains_of(self.gains, "nDCG"))
        deep = min(self.depth, max(at.depth, len(gain)))
        discount = discounts(deep, self.dcg, self.base)
        kernels.gains(at.starts, at.rank, at.row, gain, discount, sums)
        return share(sums, ideal(gain, discount))


def ideal(gain: Floats, discount: Floats) -> Floats:
    """The DCG of the best ranking of the pool, for each column."""
    best = -np.sort(-gain, axis=0)[: len(discount)]
    return np.asarray(np.cumsum(best / discount[: len(best), None], axis=0)[-1])
