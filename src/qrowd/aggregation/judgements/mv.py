"""Majority vote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.fit import Fitting, shares_of
from qrowd.data.arrays import Codes, Floats
from qrowd.data.given import NOTHING, Given, Steps
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("mv", paper="Davtyan, Eickhoff & Hofmann 2015; Piazzon 2019", uses=("gold",), shares=True)
class MajorityVote:
    r"""Majority vote: the share of votes is the probability.

    With $n_{ig}$ the votes for grade $g$ on pair $i$, each counted with its weight where
    judgements have weights,

    $$p_i(g) = \frac{n_{ig}}{\sum_h n_{ih}}$$

    and the merged grade is the one with the most votes. Grades with equally many votes are tied,
    and ties are broken by the one rule of all methods (`coin`, `relevant` or `nonrelevant`), never
    by the order of rows. A pair without any vote has $p_i(g) = 1/K$. Every assessor counts the
    same, so that one spammer with many judgements can outvote a careful minority: where assessors
    differ, use `ds`.

    Gold overwrites the output on its pairs (`clamp=false` leaves the vote), and that is said.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 3, ["d"] * 3, ["ann", "bob", "eve"], [1, 1, 0])
    >>> q.MajorityVote().fit(crowd).relevant.round(2).tolist()
    [0.67]

    References: Davtyan, Eickhoff & Hofmann 2015, algorithm 2; Piazzon 2019, section 2.5.1.
    """

    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        return fitting.merged(fitting.shares())

    def steps(self, pairs: Pairs, copies: int, given: Given = NOTHING) -> Steps:
        """The same, vote by vote."""
        return Counted(np.zeros((copies, len(pairs), 2)))


@dataclass
class Counted:
    """votes[copies, pairs, 2] that grow one by one; P(relevant) is a document's share of them."""

    votes: Floats

    def add(self, pair: Codes, grade: Codes) -> None:
        """One vote for each copy."""
        self.votes[np.arange(len(pair)), pair, grade] += 1

    def relevant(self) -> Floats:
        """The share of relevant votes."""
        return np.asarray(shares_of(self.votes)[..., 1])
