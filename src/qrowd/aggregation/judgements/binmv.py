"""The binomial majority vote: plain, quantised, and weighted by who is good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting, shares_of
from qrowd.aggregation.judgements.ds import DawidSkene
from qrowd.data.arrays import Floats, over
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.data.qrels import QrelsSet
from qrowd.errors import UsageError
from qrowd.quality.trust import trust_if_all_agreed, turkrank
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

    The paper does not say where 15 comes from. With `learn=true` the steepness is learned: the one
    under which gold is likeliest on the pairs that have votes, times a prior that keeps it near
    `k` where there is little gold (a standard normal on $\log k$ about that of `k`). What was
    learned is said.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 3, ["d"] * 3, ["ann", "bob", "eve"], [1, 1, 0])
    >>> q.QuantisedBinomialVote().fit(crowd).relevant.round(3).tolist()
    [0.924]

    Reference: Ferrante, Ferro & Losiouk 2019, section 3.
    """

    k: float = param(15.0, "steepness of the sigmoid", above=0)
    learn: bool = param(False, "learn the steepness from gold, beginning at k")
    missing: str = param("ignored", "what a missing vote counts as", choices=MISSING)
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The sharpened share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        share = binomial_shares(fitting, self.missing)
        sharp = np.exp(log_sharpened(share, self._learned(fitting) if self.learn else self.k))
        keep = self.missing == "nonrelevant"
        return fitting.merged(sharp, keep_unvoted=keep, details=SOFT)

    def _learned(self, fitting: Fitting) -> float:
        """The steepness under which gold is likeliest, by what was voted on its pairs."""
        from scipy.optimize import minimize_scalar

        if fitting.given.gold is None:
            fitting.notes.append(f"no gold was given: steepness {self.k:g}, not learned")
            return self.k
        rows, gold = fitting.given.with_gold(fitting.judgements)
        votes = rows.votes if self.missing == "ignored" else _votes_with_missing(rows)
        known = np.flatnonzero((gold != UNKNOWN) & (rows.votes.sum(axis=1) > 0))
        share, true = shares_of(votes)[known], gold[known]

        def loss(log_k: float) -> float:
            likely = log_sharpened(share, np.exp(log_k))[np.arange(len(known)), true]
            return float((log_k - np.log(self.k)) ** 2 / 2 - likely.sum())

        # four standard deviations to each side: nothing else than the prior could matter beyond
        bounds = (np.log(self.k) - 4, np.log(self.k) + 4)
        k = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
        fitting.notes.append(f"steepness {k:.3g}, learned from {len(known)} pairs with gold")
        return k


def log_sharpened(share: Floats, k: float) -> Floats:
    """The log of each grade's share of the votes, sharpened by a sigmoid of steepness k."""
    odds = k / 2 * (share - share.max(axis=1, keepdims=True))
    return np.asarray(odds - np.log(np.exp(odds).sum(axis=1, keepdims=True)))


@method("wbinmv", paper="after Ferrante, Ferro & Losiouk 2019", uses=("gold",), shares=True)
class WeightedBinomialVote:
    r"""Binomial majority vote that knows who is good: votes are weighted by their assessor.

    As in `binmv` relevance is random, and its parameter the share of votes, but a vote of assessor
    $j$ counts $w_j$:

    $$\tilde p_{t,d} = \frac{\sum_j w_j\, AS_j(t, d)}{\sum_j w_j}, \qquad
      w_j = q_j^{\,\mathrm{power}}$$

    The paper leaves the assessors' quality to future work. Here $q_j$ comes from one of three:

    - `by=ds`: from the confusion matrices of `ds` (which sees gold, where it is given). With
      $a_{jg}$ the share of $j$'s judgements on pairs of grade $g$ that say so (one of each grade
      added), $q_j = \max(0, (\sum_g a_{jg} - 1) / (K - 1))$ for $K$ grades: 1 for somebody
      faultless, 0 for somebody who says the same of everything, or guesses.
    - `by=gold`: the same from what was said on pairs with gold, which must be given.
    - `by=trust`: by TurkRank, the trust that $j$ has, divided by what it would be if all agreed.

    With `power=0` all weights are equal, and it is `binmv`. Where nobody who voted has any weight,
    votes count the same. Gold overwrites the output on its pairs, and that is said.

    For measures that are linear in relevance and not normalised, everybody judging everything, the
    expected measure is AWARE's weighted mean of the scores under each assessor, with the same
    weights in each topic.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaabbbcccddd"), ["ann", "bob", "yes"] * 4,
    ...     [1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1],
    ... )
    >>> merged = q.WeightedBinomialVote().fit(crowd)
    >>> merged.assessors["weight"].round(2).tolist()
    [0.5, 0.5, 0.0]
    >>> merged.relevant.round(2).tolist()
    [1.0, 0.0, 1.0, 0.0]

    Reference: after Ferrante, Ferro & Losiouk 2019, section 5.
    """

    by: str = param(
        "ds", "where the assessors' quality comes from", choices=("ds", "gold", "trust")
    )
    power: float = param(1.0, "how much quality counts; 0: everybody the same", at_least=0)
    clamp: bool = param(True, "use the gold grade of pairs that have one")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        weight = self._quality(fitting) ** self.power
        ballot, rows = Ballot(fitting.judgements, fitting.gold), fitting.judgements
        known = np.bincount(rows.pair, weight[rows.assessor], len(rows.pairs)) > 0
        share = np.where(known[:, None], ballot.shares(weight), fitting.shares())
        return fitting.merged(share, {"weight": weight}, details=SOFT)

    def _quality(self, fitting: Fitting) -> Floats:
        given, size = fitting.given, len(fitting.judgements.scale)
        rows, gold = given.with_gold(fitting.judgements)
        if self.by == "trust":
            known = gold if given.gold is not None and self.clamp else np.full_like(gold, UNKNOWN)
            could = trust_if_all_agreed(rows, known).assessors
            return over(turkrank(rows, known).assessors, could)
        if self.by == "ds":
            belief = DawidSkene(clamp=self.clamp).fit(rows, replace(given, progress=None)).posterior
        elif given.gold is None:
            raise UsageError(
                "wbinmv(by='gold') needs gold: Given(gold=...), on the command line --gold"
            )
        else:
            belief = (gold[:, None] == np.arange(size)).astype(np.float64)  # nothing without gold
        said = np.zeros((len(rows.assessors), size, size))  # [assessor, said, true]
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        np.add.at(said, (rows.assessor, rows.grade), belief[rows.pair] * weight[:, None])
        hits = np.diagonal(said, axis1=1, axis2=2)
        right = (hits + 1) / (said.sum(axis=1) + size)
        return np.asarray(np.maximum(0.0, (right.sum(axis=1) - 1) / (size - 1)))
