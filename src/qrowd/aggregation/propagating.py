"""The Gaussian process vote by vote: a vote is a rank-one change of the posterior."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.probit import moments
from qrowd.aggregation.propagation import Sites
from qrowd.data.arrays import Codes, Floats

_SHARE, _MOST = 0.1, 24  # of votes since the last refresh
_SWEEPS, _NEAR = 12, 1e-2


class GaussianSteps:
    """Sites of many copies; a vote changes one site of each, and all now and then.

    The covariance is kept as it was at the last refresh, and the columns that votes changed it by
    beside it: a step costs documents x votes since then, not documents squared.
    """

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.copy = np.arange(len(sites.yes))
        self.votes = 0
        self._forget()

    def _forget(self) -> None:
        copies, n = self.sites.yes.shape
        self.column = np.zeros((copies, n, _MOST))
        self.weight = np.zeros((copies, _MOST))
        self.since = 0

    def add(self, pair: Codes, grade: Codes) -> None:
        """One vote for each copy."""
        sites = self.sites
        sites.yes[self.copy, pair] += grade
        sites.no[self.copy, pair] += 1 - np.asarray(grade)
        self.votes += 1
        if self.since >= min(_MOST, int(_SHARE * self.votes)):
            self._refresh()
        else:
            self._one_site(pair)

    def _one_site(self, pair: Codes) -> None:
        sites, at = self.sites, (self.copy, pair)
        before = self.column[:, :, : self.since]
        common = self.weight[:, : self.since] * before[self.copy, pair]
        column = sites.covariance[self.copy, :, pair] - np.einsum("cnk,ck->cn", before, common)
        precision, shift = self._site(pair)
        change = precision - sites.precision[at]
        weight = change / (1 + change * sites.variance[at])
        moved = (shift - sites.shift[at] - change * sites.base[at]) / (
            1 + change * sites.variance[at]
        )
        sites.base += moved[:, None] * column
        sites.pull -= (weight * sites.pull[at])[:, None] * column
        sites.variance = sites.variance - weight[:, None] * column**2
        sites.precision[at], sites.shift[at] = precision, shift
        sites.set_constant()
        self.column[:, :, self.since], self.weight[:, self.since] = column, weight
        self.since += 1

    def _site(self, pair: Codes) -> tuple[Floats, Floats]:
        """The site of each copy's document with its new vote."""
        sites, at = self.sites, (self.copy, pair)
        mean, variance = (part[at] for part in sites.cavity())
        centre, width = moments(mean, variance, sites.yes[at], sites.no[at], sites.nodes)
        return np.maximum(1 / width - 1 / variance, 0.0), centre / width - mean / variance

    def _refresh(self) -> None:
        """All sites anew, until they rest."""
        self.sites.moved, self.sites.step = np.inf, 1.0
        for _ in range(_SWEEPS):
            if self.sites.sweep() < _NEAR:
                break
        self._forget()

    def relevant(self) -> Floats:
        """P(relevant) of every pair in every copy."""
        return self.sites.relevant()
