"""TurkRank: PageRank with priors over agreement."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.quality.trust import Network
from qrowd.registry import method, param


@method("turkrank", paper="Whiting et al. 2011; Piazzon 2019", uses=("gold",), shares=True)
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
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "gold is a node of the network, and fixes its pairs")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of trust behind each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        network = Network.of(fitting.judgements, fitting.gold)
        trust = network.prior
        for _ in fitting.iterations(self.max_iter):
            following = network.flow(trust, self.beta)
            change = float(np.abs(following - trust).max(initial=0.0))
            fitting.gain(change)
            fitting.settled, trust = change <= self.tol, following
        assessors = trust[: len(judgements.assessors)]
        pairs = np.maximum(network.judged[: len(assessors)], 1)
        weight = assessors / pairs if self.per == "judgement" else assessors
        rows = fitting.judgements
        ballot = Ballot(rows, fitting.gold)
        trusted = np.bincount(rows.pair, weight[rows.assessor], len(rows.pairs)) > 0
        plain = ballot.shares(np.ones(len(weight)))  # where nobody who voted is trusted
        shares = np.where(trusted[:, None], ballot.shares(weight), plain)
        return fitting.merged(shares, {"trust": assessors, "weight": weight})
