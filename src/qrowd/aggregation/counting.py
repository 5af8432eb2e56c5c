"""Counts of votes, and their shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.fitting import Fitting
from qrowd.data.arrays import Codes, Floats
from qrowd.data.given import UNKNOWN


def shares_of(votes: Floats) -> Floats:
    """Votes[..., grades] as shares; equal ones where there are no votes."""
    total = votes.sum(axis=-1, keepdims=True)
    equal = np.full_like(votes, 1.0 / votes.shape[-1])
    return np.asarray(np.divide(votes, total, out=equal, where=total > 0))


def votes_with_gold(fitting: Fitting) -> Floats:
    """Votes[pairs, grades]; a pair whose gold is known has one vote, the gold."""
    votes = fitting.judgements.votes.copy()
    known = np.flatnonzero(fitting.gold != UNKNOWN)
    votes[known] = np.eye(votes.shape[1])[fitting.gold[known]]
    return votes


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
