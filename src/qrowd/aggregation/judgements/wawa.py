"""Worker agreement with aggregate."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import TIES_INSIDE, Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import over
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("wawa", paper="Appen 2021", uses=("gold",), shares=True)
class Wawa:
    r"""Worker agreement with aggregate: a vote weighted by how often one agrees with the vote.

    With $\hat y_i$ the majority vote on pair $i$ and $N_j$ the pairs that assessor $j$ judged,

    $$w_j = \frac{\sum_{i \in N_j} 1[y_{ij} = \hat y_i]}{|N_j|}, \qquad
      p_i(g) = \frac{\sum_j w_j\, 1[y_{ij} = g]}{\sum_j w_j}$$

    It is `wmv-iter` after one step, with weights that are never below 0. A tied pair counts in
    equal parts for the tied grades (`ties` may decide it by the rule of qrels instead); crowd-kit
    decides it by the order of labels. Gold pairs have their gold label.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> q.Wawa().fit(crowd).assessors["weight"].round(2).tolist()
    [1.0, 1.0, 0.33]

    Reference: Appen, Calculating worker agreement with aggregate (Wawa), 2021; crowd-kit's `Wawa`.
    """

    ties: str = param("split", "what to do with tied labels", choices=TIES_INSIDE)
    clamp: bool = param(True, "treat gold as certain, and learn weights from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        step = ballot.expect(np.ones(ballot.shape), np.zeros(ballot.width), self.ties)
        weight = over(step.counts.sum(axis=1), ballot.votes.sum(axis=1), 0.0)
        return fitting.merged(fitting.clamped(ballot.shares(weight)), {"weight": weight})
