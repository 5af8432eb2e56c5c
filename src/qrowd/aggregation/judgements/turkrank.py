"""TurkRank: PageRank with priors over agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fitting import Fitting
from qrowd.data.arrays import Floats, Grades
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("turkrank", paper="Whiting et al. 2011; Piazzon 2019", uses=("gold",))
class TurkRank:
    r"""TurkRank: trust flows along agreement, and is the weight of a vote.

    Assessors (and gold, as one more) are the nodes of a network. With $n_{uv}$ the number of shared
    pairs on which $u$ and $v$ agree, trust is the fixed point of PageRank with priors

    $$\pi(v) = (1 - \beta) \sum_u p(v \mid u)\, \pi(u) + \beta\, p_v, \qquad
      p(v \mid u) = \frac{n_{uv}}{\sum_{v'} n_{uv'}}, \qquad n_{uu} = 0$$

    Gold, where it is given, has the whole prior; without gold, $p_v$ is uniform. Who agrees with
    nobody hands all trust back to the prior. The probability of a grade is its share of the votes
    weighted by trust. Trust grows with the number of agreements, so that busy assessors
    weigh more in each of their votes: that is how the paper has it, and `per=judgement` divides
    trust by the number of pairs that an assessor judged.

    The network is never written down: its product with a vector is two passes over the judgements.
    Somebody who judged a pair several times agrees there by the shares of what was said. A pair all
    of whose assessors are cut off from gold (no trust) gets the plain share of votes. Gold pairs
    have their gold. The trace is the largest change of trust.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 9, list("aaabbbccc"), ["ann", "bob", "eve"] * 3, [1, 1, 0, 0, 0, 0, 1, 1, 0]
    ... )
    >>> merged = q.TurkRank().fit(crowd)
    >>> merged.assessors["trust"].round(2).tolist()
    [0.38, 0.38, 0.23]
    >>> merged.relevant.round(2).tolist()
    [0.77, 0.0, 0.77]

    References: Whiting et al. 2011; Piazzon 2019, section 2.5.4.
    """

    beta: float = param(0.3, "how much trust comes from the prior", above=0, at_most=1)
    per: str = param("assessor", "what trust is of", choices=("assessor", "judgement"))
    tol: float = param(1e-12, "stop when no trust changes by more", above=0)
    max_iter: int = param(1000, "iterations at most", at_least=1)
    clamp: bool = param(True, "gold is a node of the network, and fixes its pairs")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of trust behind each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        network = _Network.of(fitting.judgements, fitting.gold)
        trust = network.prior
        for _ in fitting.iterations(self.max_iter):
            following = network.flow(trust, self.beta)
            change = float(np.abs(following - trust).max(initial=0.0))
            fitting.gain(change)
            fitting.settled, trust = change <= self.tol, following
        assessors = trust[: len(judgements.assessors)]
        pairs = np.maximum(network.judged[: len(assessors)], 1)
        weight = assessors / pairs if self.per == "judgement" else assessors
        ballot = Ballot(fitting.judgements, fitting.gold)
        return fitting.merged(_shares(ballot, weight), {"trust": assessors, "weight": weight})


def _shares(ballot: Ballot, weight: Floats) -> Floats:
    """Weighted shares; plain ones where nobody who voted is trusted."""
    trusted = np.bincount(
        ballot.judgements.pair, weight[ballot.judgements.assessor], len(ballot.judgements.pairs)
    )
    plain = ballot.shares(np.ones(len(weight)))
    return np.where((trusted > 0)[:, None], ballot.shares(weight), plain)


@dataclass(frozen=True, eq=False)
class _Network:
    """said[node, pair * grades + grade]: the share of the node's judgements of the pair; agreement
    is said @ said.T without its diagonal. The last node is gold, where there is gold.
    """

    said: Any
    itself: Floats
    degree: Floats
    judged: Floats
    prior: Floats

    @classmethod
    def of(cls, rows: Judgements, gold: Grades) -> _Network:
        from scipy.sparse import csr_array

        known = np.flatnonzero(gold != UNKNOWN)
        nodes, size = len(rows.assessors) + bool(len(known)), len(rows.scale)
        node = np.concatenate([rows.assessor, np.full(len(known), nodes - 1)])
        pair = np.concatenate([rows.pair, known]).astype(np.int64)
        grade = np.concatenate([rows.grade, gold[known]])
        share = 1.0 / _repeats(pair * max(nodes, 1) + node)
        shape = (nodes, len(rows.pairs) * size)
        said = csr_array((share, (node, pair * size + grade)), shape=shape)
        itself = np.asarray(said.multiply(said).sum(axis=1)).reshape(-1)
        degree = said @ (said.T @ np.ones(nodes)) - itself
        prior = np.full(nodes, 1.0 / max(nodes, 1))
        if len(known):
            prior = np.eye(1, nodes, nodes - 1)[0]
        judged = np.bincount(node, share, nodes).astype(np.float64)
        return cls(said, itself, degree, judged, prior)

    def flow(self, trust: Floats, beta: float) -> Floats:
        """Trust after one more step."""
        linked = self.degree > 1e-9
        sent = np.divide(trust, self.degree, out=np.zeros_like(trust), where=linked)
        arrived = self.said @ (self.said.T @ sent) - self.itself * sent
        back = beta + (1 - beta) * trust[~linked].sum()
        return np.asarray((1 - beta) * np.maximum(arrived, 0.0) + back * self.prior)


def _repeats(key: Any) -> Floats:
    """How often each row's key occurs."""
    _, back, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[back], dtype=np.float64)
