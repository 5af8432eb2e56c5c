"""The quantised binomial majority vote."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.fitting import Fitting
from qrowd.aggregation.judgements.binmv import MISSING, SOFT, UNVOTED, binomial_shares
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("qbinmv", paper="Ferrante, Ferro & Losiouk 2019", uses=("gold",))
class QuantisedBinomialVote:
    r"""Quantised binomial majority vote: `binmv` sharpened towards relevant or not.

    A sigmoid over the share of votes $\tilde p$ of `binmv`:

    $$p = \frac{1}{1 + \exp(-k (\tilde p - 0.5))}, \qquad k = 15$$

    For more than two grades, with $\tilde p_g$ the share of grade $g$, $p_g \propto \exp(k \tilde
    p_g / 2)$, which is the same for two. Meant, as `binmv`, to be handed to `evaluate` as soft
    qrels. Gold overwrites the output on its pairs, and that is said.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 3, ["d"] * 3, ["ann", "bob", "eve"], [1, 1, 0])
    >>> q.QuantisedBinomialVote().fit(crowd).relevant.round(3).tolist()
    [0.924]

    Reference: Ferrante, Ferro & Losiouk 2019, section 3.
    """

    k: float = param(15.0, "steepness of the sigmoid", above=0)
    missing: str = param("ignored", "what a missing vote counts as", choices=MISSING)
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The sharpened share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        share = binomial_shares(fitting, self.missing)
        sharp = np.exp(self.k / 2 * (share - share.max(axis=1, keepdims=True)))
        sharp /= sharp.sum(axis=1, keepdims=True)
        return fitting.merged(sharp, unvoted=UNVOTED[self.missing], details=SOFT)
