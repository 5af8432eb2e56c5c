"""The binomial majority vote, plain and quantised."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.fit import Fitting, shares_of
from qrowd.data.arrays import Floats
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import QrelsSet
from qrowd.registry import method, param

MISSING = ("ignored", "nonrelevant")
SOFT = Details(soft=True)
"""What these methods tell `evaluate`: their result is random relevance."""


@method("binmv", paper="Ferrante, Ferro & Losiouk 2019", uses=("gold",), shares=True)
class BinomialVote:
    r"""Binomial majority vote: the share of votes kept as a probability of relevance.

    Each of the $M$ assessors' judgements of a pair is a draw from a binomial variable with the
    pair's own parameter, estimated by

    $$\tilde p_{t,d} = \frac{1}{M} \sum_{j=1}^{M} AS_j(t, d)$$

    and relevance is random with that parameter: the same fit as `mv` (each grade's share of votes,
    for any number of grades), but meant to be handed to `evaluate` as soft qrels, for the expected
    measures.

    The paper has no missing votes. By default they are ignored: $M$ is the number of votes on the
    pair. With `missing=nonrelevant` $M$ is the number of assessors who judged anything on the
    topic, one vote each (the latest, else the commonest), and a missing vote counts for the lowest
    grade: then uniform AWARE equals the expected measure for every measure that is linear in
    relevance. Gold overwrites the output on its pairs, and that is said; weights count as in `mv`,
    and not with `missing=nonrelevant`.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 4, list("aaab"), ["ann", "bob", "eve", "ann"], [1, 1, 0, 1]
    ... )
    >>> q.BinomialVote().fit(crowd).relevant.round(2).tolist()
    [0.67, 1.0]
    >>> q.BinomialVote(missing="nonrelevant").fit(crowd).relevant.round(2).tolist()
    [0.67, 0.33]

    Reference: Ferrante, Ferro & Losiouk 2019, section 3.
    """

    missing: str = param("ignored", "what a missing vote counts as", choices=MISSING)
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        share = binomial_shares(fitting, self.missing)
        keep = self.missing == "nonrelevant"
        return fitting.merged(share, keep_unvoted=keep, details=SOFT)


def binomial_shares(fitting: Fitting, missing: str) -> Floats:
    """Each grade's share of the votes on each pair."""
    if missing == "ignored":
        return fitting.shares()
    return fitting.clamped(shares_of(_votes_with_missing(fitting.judgements)))


def _votes_with_missing(rows: Judgements) -> Floats:
    """One vote of each assessor of the topic on each of its pairs; missing ones for code 0."""
    each = QrelsSet.of_judgements(rows)
    assert each.starts is not None
    assert each.column is not None
    assert each.grade is not None
    pair = np.repeat(np.arange(len(rows.pairs)), np.diff(each.starts))
    votes = np.zeros((len(rows.pairs), len(rows.scale)))
    np.add.at(votes, (pair, rows.scale.codes(each.grade)), 1.0)
    seen = np.unique(rows.pairs.topic[pair].astype(np.int64) * len(rows.assessors) + each.column)
    panel = np.bincount(seen // max(len(rows.assessors), 1), minlength=len(rows.topics))
    votes[:, 0] += panel[rows.pairs.topic] - votes.sum(axis=1)
    return votes


@method("qbinmv", paper="Ferrante, Ferro & Losiouk 2019", uses=("gold",), shares=True)
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
        keep = self.missing == "nonrelevant"
        return fitting.merged(sharp, keep_unvoted=keep, details=SOFT)
