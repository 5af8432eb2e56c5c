"""Zero-based skill."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import TIES_INSIDE, Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import over
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("zbs", paper="Ustalov, Pavlichenko & Tseitlin 2024", uses=("gold",), shares=True)
class ZeroBasedSkill:
    r"""Zero-based skill: weights that start at chance and move towards agreement with the vote.

    From $w_j = 1/K + 10^{-5}$, in each of `steps` steps the vote is taken with the weights, and

    $$w_j \leftarrow w_j + \eta\,(a_j - w_j)$$

    with $a_j$ how often $j$ agrees with it, and $\eta$ the `rate`, which is halved at every 20th
    step. crowd-kit's, but for ties, which count in equal parts here. Gold pairs have their gold
    label.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> q.ZeroBasedSkill().fit(crowd).assessors["weight"].round(2).tolist()
    [1.0, 1.0, 0.33]

    Reference: Ustalov, Pavlichenko & Tseitlin, Learning from crowds with Crowd-Kit, 2024.
    """

    steps: int = param(100, "how often weights move", at_least=1)
    rate: float = param(1.0, "how far weights move at first", above=0, at_most=1)
    ties: str = param("split", "what to do with tied labels while it moves", choices=TIES_INSIDE)
    clamp: bool = param(True, "treat gold as certain, and learn weights from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        weight, rate = np.full(ballot.shape[0], 1 / ballot.width + 1e-5), self.rate
        for at in range(1, self.steps + 1):
            rate = rate / 2 if at % 20 == 0 else rate
            table = np.repeat(weight[:, None], ballot.width, axis=1)
            step = ballot.expect(table, np.zeros(ballot.width), self.ties)
            weight = weight + rate * (
                over(step.counts.sum(axis=1), ballot.votes.sum(axis=1), 0.0) - weight
            )
        return fitting.merged(fitting.clamped(ballot.shares(weight)), {"weight": weight})
