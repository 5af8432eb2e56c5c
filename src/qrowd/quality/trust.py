r"""TurkRank: trust by PageRank with priors over agreement (Whiting et al. 2011; Piazzon 2019).

$$ \pi(v) = (1-\beta) \sum_u p(v|u)\,\pi(u) + \beta\,p_v $$

where $p(v|u)$ is the number of pairs on which u and v gave the same grade, divided by the sum of it
over all v. Gold, where given, is one more node that has the whole prior; without it the prior is
uniform. The network is never written down: its product with a vector is two passes over the
judgements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Grades
from qrowd.data.given import UNKNOWN
from qrowd.data.judgements import Judgements


@dataclass(frozen=True, eq=False)
class Network:
    """votes[node, pair * grades + grade]: the share of the node's judgements of the pair; agreement
    is votes @ votes.T without its diagonal. The last node is gold, where there is gold.
    """

    votes: Any
    back: Any
    itself: Floats
    degree: Floats
    judged: Floats
    prior: Floats

    @classmethod
    def of(cls, rows: Judgements, gold: Grades) -> Network:
        """The network of these judgements; `gold` has a code per pair, UNKNOWN without gold."""
        from scipy.sparse import csr_array

        fixed = np.flatnonzero(gold != UNKNOWN)
        nodes, size = len(rows.assessors) + bool(len(fixed)), len(rows.scale)
        node = np.concatenate([rows.assessor, np.full(len(fixed), nodes - 1)])
        pair = np.concatenate([rows.pair, fixed]).astype(np.int64)
        grade = np.concatenate([rows.grade, gold[fixed]])
        own = rows.pair.astype(np.int64) * max(nodes, 1) + rows.assessor
        share = np.append(1.0 / _repeats(own), np.ones(len(fixed)))
        shape = (nodes, len(rows.pairs) * size)
        votes = csr_array((share, (node, pair * size + grade)), shape=shape)
        back = votes.T.tocsr()
        itself = np.asarray(votes.multiply(votes).sum(axis=1)).reshape(-1)
        degree = votes @ (back @ np.ones(nodes)) - itself
        prior = np.full(nodes, 1.0 / max(nodes, 1))
        if len(fixed):
            prior = np.eye(1, nodes, nodes - 1)[0]
        judged = np.bincount(node, share, nodes).astype(np.float64)
        return cls(votes, back, itself, degree, judged, prior)

    def flow(self, trust: Floats, beta: float) -> Floats:
        """Trust after one more step; who agrees with nobody hands it all back to the prior."""
        linked = self.degree > 1e-9
        sent = np.divide(trust, self.degree, out=np.zeros_like(trust), where=linked)
        arrived = self.votes @ (self.back @ sent) - self.itself * sent
        back = beta + (1 - beta) * trust[~linked].sum()
        return np.asarray((1 - beta) * np.maximum(arrived, 0.0) + back * self.prior)


def _repeats(key: Array) -> Floats:
    """How often each row's key occurs."""
    if bool((key[1:] > key[:-1]).all()):  # as it is where nobody judged twice
        return np.ones(len(key))
    _, group, times = np.unique(key, return_inverse=True, return_counts=True)
    return times[group].astype(np.float64)


@dataclass(frozen=True, eq=False)
class TurkRanked:
    """The trust of each assessor and of gold (0 without gold); together they sum to 1."""

    assessors: Floats
    gold: float
    iterations: int
    converged: bool


def turkrank(
    judgements: Judgements,
    gold: Grades | None = None,
    *,
    beta: float = 0.3,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> TurkRanked:
    """Trust of every assessor; `gold` has the code of each pair's gold grade, -1 without."""
    if gold is None:
        gold = np.full(len(judgements.pairs), UNKNOWN, np.int8)
    network = Network.of(judgements, gold)
    trust, moved, step = network.prior, np.inf, 0
    while step < max_iter and moved > tol:
        following = network.flow(trust, beta)
        moved, step = float(np.abs(following - trust).sum()), step + 1
        trust = following
    n = len(judgements.assessors)
    return TurkRanked(trust[:n], float(trust[n:].sum()), step, moved <= tol)


def trust_if_all_agreed(
    judgements: Judgements, gold: Grades, *, beta: float = 0.3, tol: float = 1e-10
) -> TurkRanked:
    """The trust that everybody would have if all judgements of a pair were the same.

    It depends on who judged what only: the measure of what an assessor's trust could be.
    """
    alike = replace(judgements, grade=np.zeros_like(judgements.grade))
    return turkrank(alike, np.minimum(gold, 0), beta=beta, tol=tol)
