"""Normalised discounted cumulative gain."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.gains import (
    DCG,
    discounts,
    expected_gains,
    gains_by_grade,
    gains_of,
    sums_of_gains,
)
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("nDCG", paper="Jarvelin & Kekalainen 2002", aliases={"NDCG": "nDCG"})
class NDCG(Measure):
    r"""Normalised discounted cumulative gain: DCG over the DCG of the best possible ranking.

    $$\mathrm{nDCG@}k = \frac{\sum_{n \le k} g_n / d_n}{\sum_{n \le k} g^*_n / d_n}$$

    with $g_n$ the gain of the document at rank $n$ and $g^*$ the gains of all known documents in
    descending order. By default the gain is the grade and $d_n = \log_2(1 + n)$: equal to
    trec_eval's `ndcg` and `ndcg_cut`. `dcg='exp-log2'` has gains $2^g - 1$; `dcg='jk'` does not
    discount before rank `base` and divides by $\log_b n$ from there on; `gains={1: 5}` gives
    grades other gains (grades that are not named keep theirs). Piazzon (2019) has
    `nDCG(dcg='jk', base=2, gains={1: 5})@20`.

    Under random relevance: the expected DCG over the DCG of the expected gains in descending order.
    That is *not* the expectation of nDCG; the mean over draws is.
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

        gain = gains_by_grade(self.dcg, self.gains)
        discount = self._discounts(case.ranked.depth, len(case.grades))
        best_first = np.argsort(-gain, kind="stable")[: int((gain > 0).sum())].astype(np.int32)
        best = np.zeros(case.shape[1])
        kernels.ideals(case.counts, best_first, gain, discount, best)
        return share(sums_of_gains(case, gain, discount), best)

    def expectation(self, case: Random) -> Floats:
        """The expected DCG[runs] of one topic over the ideal DCG of the expected gains."""
        pool, outside = expected_gains(case, self.dcg, self.gains)
        gain = case.along(pool, outside)[:, : self.depth]
        discount = self._discounts(gain.shape[1], len(pool))
        sums = (gain / discount[: gain.shape[1]]).sum(axis=1)
        best = -np.sort(-pool)[: len(discount)]
        return share(sums, np.asarray((best / discount[: len(best)]).sum()))

    def _discounts(self, ranked: int, pool: int) -> Floats:
        return discounts(min(self.depth, max(ranked, pool)), self.dcg, self.base)

    def notes(self, unjudged: float) -> tuple[str, ...]:
        """It is not an expectation, and not bounded by 1 when unjudged > 0."""
        what = f"{self!r} is the expected DCG over the ideal DCG of the expected gains, not an "
        more = (self._above_one("ideal"),) if unjudged else ()
        return (what + "expectation of nDCG (score draws for that)", *more)
