"""Discounted cumulative gain."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.gains import (
    FORMS,
    discounts,
    expected_gains,
    gains_by_grade,
    gains_of,
    sums_of_gains,
)
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("DCG", paper="Jarvelin & Kekalainen 2002; Ferrante, Ferro & Losiouk 2019")
class DCG(Measure):
    r"""Discounted cumulative gain: the gains of the documents, each divided by its rank's discount.

    $$\mathrm{DCG@}k = \sum_{n \le k} g_n / d_n$$

    By default the gain is the grade and $d_n = \log_2(1 + n)$. `dcg='exp-log2'` has gains
    $2^g - 1$; `dcg='jk'` does not discount before rank `base` and divides by $\log_b n$ from there
    on: `DCG(dcg='jk', base=10)` is that of Ferrante, Ferro & Losiouk (2019); `gains={1: 5}` gives
    grades other gains. Not bounded by 1. Under random relevance the expectation has the expected
    gain in the place of $g_n$ (their eRDCG).
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)
    dcg: str = param("log2", "gain and discount", choices=FORMS)
    base: float = param(2.0, "of the logarithm, for dcg=jk", above=1)
    gains: dict[int, float] | None = param(None, "gain of each grade, as in {0: 0, 1: 5}")
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", gains_of(self.gains, "DCG"))

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        discount = discounts(min(self.depth, case.ranked.depth), self.dcg, self.base)
        return sums_of_gains(case, gains_by_grade(self.dcg, self.gains), discount)

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        pool, outside = expected_gains(case, self.dcg, self.gains)
        gain = case.along(pool, outside)[:, : self.depth]
        return np.asarray((gain / discounts(gain.shape[1], self.dcg, self.base)).sum(axis=1))
