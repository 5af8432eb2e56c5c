r"""AWARE with equal accuracies (Ferrante, Ferro & Maistro 2017)."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.panels import by_assessor, merge_scores
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.scores import Scores
from qrowd.registry import method


@method("aware-uni", paper="Ferrante, Ferro & Maistro 2017")
class UniformAware:
    r"""Mean of the scores under each assessor.

    Scores every run under every assessor's own judgements, then takes the mean over assessors,
    topic by topic; no common truth is ever made:

    $$\mathrm{aware}(t, s) = \frac{1}{m} \sum_{k=1}^{m} M_k[t, s]$$

    On each topic the mean is over the assessors who judged there.

    Reference: M. Ferrante, N. Ferro and M. Maistro, *AWARE: Exploiting Evaluation Measures to
    Combine Multiple Assessors*, ACM TOIS 36(2), 2017.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["1"] * 4, ["a", "b", "a", "b"], ["x", "x", "y", "y"], [1, 0, 1, 1])
    >>> runs = q.RunSet.of(["r", "r"], ["1", "1"], ["a", "b"], [2.0, 1.0])
    >>> by_each = q.evaluate(runs, crowd.by_assessor(), [q.P @ 2])
    >>> q.UniformAware().fit(by_each).values.item()
    0.75
    """

    def accuracies(self, scores: Scores, given: Given = NOTHING) -> Floats:
        """One for every (measure, assessor, topic)."""
        return np.ones(by_assessor(scores).values.shape[:3])

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """The mean over assessors."""
        return merge_scores(scores, self.accuracies(scores, given), repr(self))
