"""A vote weighted by accuracy on gold."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import over
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("gold-mv", paper="Ustalov, Pavlichenko & Tseitlin 2024", uses=("gold",), shares=True)
class GoldMajorityVote:
    r"""Majority vote, weighted by how often an assessor agreed with gold.

    With $G_j$ the gold pairs that assessor $j$ judged and $y^*_i$ their grades,

    $$w_j = \frac{\sum_{i \in G_j} 1[y_{ij} = y^*_i]}{|G_j|}, \qquad
      p_i(g) = \frac{\sum_j w_j\, 1[y_{ij} = g]}{\sum_j w_j}$$

    An assessor who judged no gold has the mean weight of the others (crowd-kit wants everybody to
    have judged some); without gold all votes are equal. Gold pairs have their gold label.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 1, 0, 1, 0, 0]
    ... )
    >>> gold = q.Qrels.of(["t", "t"], ["a", "b"], [1, 0])
    >>> q.GoldMajorityVote().fit(crowd, q.Given(gold=gold)).assessors["weight"].tolist()
    [1.0, 0.5, 0.5]

    Reference: Ustalov, Pavlichenko & Tseitlin, Learning from crowds with Crowd-Kit, 2024.
    """

    clamp: bool = param(True, "use gold: it gives the weights, and its pairs their grades")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        rows, gold = fitting.judgements, fitting.gold[fitting.judgements.pair]
        times = np.where(gold != UNKNOWN, 1.0 if rows.weight is None else rows.weight, 0.0)
        size = len(rows.assessors)
        right = np.bincount(rows.assessor, times * (gold == rows.grade), size)
        weight = over(right, np.bincount(rows.assessor, times, size))
        known = np.isfinite(weight)
        weight = np.where(known, weight, weight[known].mean() if known.any() else 1.0)
        shares = Ballot(rows, fitting.gold).shares(weight)
        return fitting.merged(fitting.clamped(shares), {"weight": weight})
