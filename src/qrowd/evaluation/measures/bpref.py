"""Binary preference."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import Measure, share
from qrowd.evaluation.relevance import Certain
from qrowd.registry import measure, param


@measure("Bpref", paper="Buckley & Voorhees 2004", aliases={"BPref": "Bpref"})
class Bpref(Measure):
    r"""Binary preference: how rarely a judged non-relevant document is above a relevant one.

    $$\mathrm{bpref} = \frac{1}{R} \sum_r \Bigl(1 - \frac{\min(n_r, R)}{\min(N, R)}\Bigr)$$

    over the relevant documents r that are retrieved, with $n_r$ of the $N$ judged non-relevant
    documents above it. Documents that nobody judged, and those of a negative grade, are passed
    over. Equal to trec_eval's `bpref`. It has no exact expectation under random relevance: score
    draws.
    """

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        from qrowd.evaluation import kernels

        at, sums = case.ranked, np.zeros(case.shape)
        base = case.recall_base(self.level)
        others = case.recall_base(0) - base
        kernels.preferences(at.starts, at.row, case.grades, self.level, base, others, sums)
        return share(sums, base)
