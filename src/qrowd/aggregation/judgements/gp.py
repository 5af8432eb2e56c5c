"""Gaussian-process classification of votes on the documents' text."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import votes_with_gold
from qrowd.aggregation.fitting import Fitting
from qrowd.aggregation.propagation import Sites, moments
from qrowd.content.similarity import Alike, centred
from qrowd.data.arrays import Codes, Floats
from qrowd.data.given import NOTHING, Given, Steps
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Copula, Merged
from qrowd.registry import method, param

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


@method(
    "gp",
    paper="Davtyan, Eickhoff & Hofmann 2015",
    needs=("documents",),
    uses=("gold",),
    grades="binary",
)
class GaussianProcess:
    r"""Gaussian process over the documents: votes on one speak for all that are like it.

    With $x_i$ the tf-idf vector of document $i$, scaled to length 1, the topic's documents have

    $$f \sim N(c\,1, K), \qquad K_{ij} = x_i \cdot x_j, \qquad P(v = 1 \mid f_i) = \Phi(f_i)$$

    for each vote $v$ on document $i$, and $p_i = E[\Phi(f_i)]$. The posterior comes by expectation
    propagation, in which all votes on a document share one site; each document's own density is
    then corrected for the others' not being Gaussian (third and fourth order). The constant $c$ has
    the highest evidence under $c \sim N(0, s^2)$ (`spread`): without a prior it would run away
    where all votes agree. `mean` fixes it.

    Where all documents share many words, every vote pulls at all of them. `centred` takes the mean
    of the topic's vectors from each before they are compared (ours, not the paper's): less is
    gained from text that follows relevance, and nothing lost by text that does not.

    A pair of the pool without any vote has a probability, too. Where texts are alike, the votes of
    the many overrule those on one document: a pair may be called non-relevant though everybody who
    judged it said otherwise.

    Draws are joint: the relevance of a document depends on $f_i$ and on what its text shares beyond
    it, so that near-duplicates share their fate, and `evaluate`'s intervals know it.

    Gold fixes the output of its pairs and counts as one vote, instead of theirs, for their
    neighbours (`clamp=false`: it is not used).

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 2, ["a", "c"], ["ann", "ann"], [1, 0])
    >>> crowd = crowd.with_pool(q.Pairs.of(["t"], ["b"]))
    >>> vectors = q.Vectors.of("abc", [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]])
    >>> merged = q.GaussianProcess(mean=0).fit(crowd, q.Given(documents=vectors))
    >>> merged.relevant.round(2).tolist()
    [0.67, 0.63, 0.33]

    References: Davtyan, Eickhoff & Hofmann 2015, algorithm 5; Minka 2001; Opper, Paquet & Winther
    2013 (the correction).
    """

    mean: float | None = param(None, "the constant c; none: learned from the votes")
    spread: float = param(2.0, "standard deviation of c before the votes", above=0)
    max_iter: int = param(200, "sweeps over all documents at most", at_least=1)
    tol: float = param(1e-7, "settled when no posterior mean moves by more", above=0)
    centred: bool = param(False, "compare documents by what they do not all share")
    clamp: bool = param(True, "gold fixes its pairs and counts as one vote for neighbours")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The probability of relevance of every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        assert given.documents is not None
        votes = votes_with_gold(fitting)
        alike = Alike.of(fitting.judgements.pairs, given.documents)
        fitting.notes += alike.notes
        topics = [(rows, self._sites(cosines, votes[rows])) for rows, cosines in alike.topics()]
        unsettled = [sites for _, sites in topics]
        for _ in fitting.iterations(self.max_iter):
            unsettled = [sites for sites in unsettled if sites.sweep() > self.tol]
            fitting.settled = not unsettled
        p = np.zeros(len(votes))
        for rows, sites in topics:
            p[rows] = sites.corrected()[0]
        copula = Copula(tuple(sites.together() for _, sites in topics))
        posterior = np.stack([1 - p, p], axis=1)
        return fitting.merged(posterior, unvoted="believed", copula=copula)

    def steps(self, pairs: Pairs, copies: int, given: Given = NOTHING) -> Steps:
        """The same, vote by vote."""
        assert given.documents is not None
        ((_, cosines),) = Alike.of(pairs, given.documents).topics()
        none = np.zeros((copies, len(pairs)))
        like = self._like(cosines)
        return GaussianSteps(Sites(like, none, none.copy(), self.spread, self.mean, nodes=16))

    def _sites(self, cosines: Floats, votes: Floats) -> Sites:
        yes, no = votes[None, :, 1], votes[None, :, 0]
        return Sites(self._like(cosines), yes, no, self.spread, self.mean)

    def _like(self, cosines: Floats) -> Floats:
        return centred(cosines) if self.centred else cosines
