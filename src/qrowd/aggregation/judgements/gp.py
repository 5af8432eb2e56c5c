"""Gaussian-process classification of votes on the documents' text.

The posterior comes by expectation propagation (Minka 2001): `Sites` holds its state for one topic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from qrowd.aggregation.fit import Fitting
from qrowd.content.similarity import Alike, centred
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.given import NOTHING, Given, Steps
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Copula, Merged
from qrowd.registry import method, param

_SHARE, _MOST = 0.1, 24  # of votes since the last refresh
_SWEEPS, _NEAR = 12, 1e-2  # of a refresh
_LEAST = 1e-12
_FINE = 32  # nodes of the densities that probabilities are read from
_NEWTON, _CENTRED = 40, 1e-3  # steps to a mode; nodes need no better centre
_LOG_ROOT = 0.5 * np.log(2 * np.pi)


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
        votes = fitting.votes_with_gold()
        topics = []
        for rows, cosines in fitting.alike():
            yes, no = votes[None, rows, 1], votes[None, rows, 0]
            topics.append((rows, Sites(self._like(cosines), yes, no, self.spread, self.mean)))
        unsettled = [sites for _, sites in topics]
        for _ in fitting.iterations(self.max_iter):
            unsettled = [sites for sites in unsettled if sites.sweep() > self.tol]
            fitting.settled = not unsettled
        p = np.zeros(len(votes))
        for rows, sites in topics:
            p[rows] = sites.corrected()[0]
        copula = Copula(tuple(sites.together() for _, sites in topics))
        posterior = np.stack([1 - p, p], axis=1)
        return fitting.merged(posterior, keep_unvoted=True, copula=copula)

    def steps(self, pairs: Pairs, copies: int, given: Given = NOTHING) -> Steps:
        """The same, vote by vote."""
        assert given.documents is not None
        ((_, cosines),) = Alike.of(pairs, given.documents).topics()
        none = np.zeros((copies, len(pairs)))
        like = self._like(cosines)
        return _GaussianSteps(Sites(like, none, none.copy(), self.spread, self.mean, nodes=16))

    def _like(self, cosines: Floats) -> Floats:
        return centred(cosines) if self.centred else cosines


@dataclass
class Sites:
    """The state of EP for one topic: its documents' cosines, the votes, the sites."""

    cosines: Floats
    yes: Floats
    no: Floats
    spread: float
    constant: float | None = None
    nodes: int = 20
    step: float = 1.0
    moved: float = np.inf

    def __post_init__(self) -> None:
        self.precision = np.zeros_like(self.yes)
        self.shift = np.zeros_like(self.yes)
        copies, n = self.yes.shape
        self.right = np.asfortranarray(np.hstack([self.cosines, np.ones((n, 1))]))
        self.half: Floats = np.zeros((copies, n, n))
        self.variance: Floats = np.ones((copies, n))
        self.pull: Floats = np.ones((copies, n))
        self.base: Floats = np.zeros((copies, n))
        self.set_constant()

    @property
    def voted(self) -> Mask:
        """Which documents have votes."""
        return (self.yes + self.no) > 0

    @cached_property
    def covariance(self) -> Floats:
        """The posterior covariance of each copy."""
        return np.asarray(self.cosines - self.half.transpose(0, 2, 1) @ self.half)

    def refresh(self) -> None:
        """The posterior from the sites."""
        solved = np.stack([self._solved(each) for each in np.sqrt(self.precision)])
        self.half, last = solved[:, :, :-1], solved[:, :, -1:]
        self.__dict__.pop("covariance", None)
        turned = self.half.transpose(0, 2, 1)
        self.variance = np.maximum(1.0 - np.square(self.half).sum(axis=1), _LEAST)
        self.pull = 1.0 - (turned @ last)[..., 0]
        shared = turned @ (self.half @ self.shift[..., None])
        self.base = self.shift @ self.cosines - shared[..., 0]
        self.set_constant()

    def _solved(self, root: Floats) -> Floats:
        """V and, as the last column, L^-1 root."""
        from scipy.linalg.lapack import dpotrf, dtrtrs

        inner = self.cosines * np.outer(root, root)
        inner.flat[:: len(root) + 1] += 1.0  # the diagonal
        lower = dpotrf(inner.T, lower=1, overwrite_a=1)[0]
        return np.asarray(dtrtrs(lower, self.right * root[:, None], lower=1, overwrite_b=1)[0])

    def set_constant(self) -> None:
        """The constant mean with the highest evidence, unless it is fixed."""
        if self.constant is not None:
            self.level = np.full(len(self.yes), self.constant)
        else:
            total = (self.pull * self.precision).sum(axis=1) + self.spread**-2
            self.level = (self.pull * self.shift).sum(axis=1) / total

    @property
    def mean(self) -> Floats:
        """The posterior mean of f."""
        return np.asarray(self.level[:, None] * self.pull + self.base)

    def cavity(self) -> tuple[Floats, Floats]:
        """Mean and variance of f without the document's own votes."""
        variance = 1 / np.maximum(1 / self.variance - self.precision, _LEAST)
        return variance * (self.mean / self.variance - self.shift), variance

    def sweep(self) -> float:
        """All sites once, and the posterior; how far the posterior means moved at most."""
        before, voted = self.mean, self.voted
        mean, variance = (part[voted] for part in self.cavity())
        centre, width = moments(mean, variance, self.yes[voted], self.no[voted], self.nodes)
        self._move(self.precision, voted, np.maximum(1 / width - 1 / variance, 0.0))
        self._move(self.shift, voted, centre / width - mean / variance)
        self.refresh()
        moved = float(np.abs(self.mean - before).max(initial=0.0))
        if moved > self.moved:  # sites that change together may go too far
            self.step = max(self.step / 2, 0.1)
        self.moved = moved
        return moved

    def _move(self, site: Floats, voted: Mask, new: Floats) -> None:
        site[voted] += self.step * (new - site[voted])

    def relevant(self) -> Floats:
        """P(relevant) by Gaussian marginals: within .002 of `corrected`, and quick."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self.mean / np.sqrt(1 + self.variance)))

    def corrected(self) -> Floats:
        r"""P(relevant), each document's density corrected for the others' not being Gaussian.

        To third and fourth order (Opper, Paquet & Winther 2013): a document j whose density has
        the standardised moments $E\,He_l = \lambda_{jl}$ changes the density of i by the factor
        $1 + \sum_l \lambda_{jl} r_{ij}^l He_l(z_i) / l!$, with r the posterior correlation.
        """
        from scipy.special import ndtr

        # each document's own density of f: exact where documents are not alike
        density = tilted(*self.cavity(), self.yes, self.no, _FINE)
        sd = np.sqrt(self.variance)
        alike = self.covariance / (sd[:, :, None] * sd[:, None, :])
        each = np.arange(alike.shape[1])
        alike[:, each, each] = 0.0
        z = (density.at - self.mean[..., None]) / sd[..., None]
        z2, squared = z * z, alike * alike
        third, fourth = z * (z2 - 3), z2 * (z2 - 6) + 3  # He_3, He_4
        factor = np.ones_like(z)
        for wave, power, below in ((third, squared * alike, 6), (fourth, squared * squared, 24)):
            skew = np.where(self.voted, (density.weight * wave).sum(axis=-1), 0.0)
            share = (power @ skew[..., None]) / below
            factor += share * wave
        weight = density.weight * np.maximum(factor, 0.0)
        return np.asarray((weight * ndtr(density.at)).sum(axis=-1) / weight.sum(axis=-1))

    def together(self) -> Floats:
        """The correlation of what makes documents relevant: f, and what the text shares beyond."""
        total = self.covariance[0] + self.cosines
        sd = np.sqrt(np.diag(total))
        return np.asarray(total / np.outer(sd, sd))


@cache
def _nodes(n: int) -> tuple[Floats, Floats]:
    """Nodes, and logs of weights over the density that they are for."""
    x, weight = np.polynomial.hermite_e.hermegauss(n)
    return x, np.log(weight) + x * x / 2


@dataclass(frozen=True, eq=False)
class Tilted:
    """The densities at their nodes: `at[..., node]`, weights that add up to 1."""

    at: Floats
    weight: Floats

    @property
    def mean(self) -> Floats:
        """The means."""
        return np.asarray((self.weight * self.at).sum(axis=-1))

    def variance(self, mean: Floats) -> Floats:
        """The variances."""
        return np.asarray((self.weight * (self.at - mean[..., None]) ** 2).sum(axis=-1))


def tilted(mean: Floats, variance: Floats, yes: Floats, no: Floats, nodes: int = 32) -> Tilted:
    """The density of f that has N(mean, variance) before `yes` and `no` votes."""
    from scipy.special import log_ndtr

    mode, curve = _modes(mean, variance, yes, no)
    x, log_weight = _nodes(nodes)
    at = mode[..., None] + x / np.sqrt(curve)[..., None]
    height = log_weight - (at - mean[..., None]) ** 2 / (2 * variance[..., None])
    for votes, sign in ((yes, 1.0), (no, -1.0)):
        some = votes > 0
        height[some] += votes[some][..., None] * log_ndtr(sign * at[some])
    weight = np.exp(height - height.max(axis=-1, keepdims=True))
    return Tilted(at, weight / weight.sum(axis=-1, keepdims=True))


def moments(
    mean: Floats, variance: Floats, yes: Floats, no: Floats, nodes: int = 32
) -> tuple[Floats, Floats]:
    """Mean and variance of the same densities: one vote in closed form, more by quadrature."""
    if ((yes + no == 1) & (yes * no == 0)).all():
        # of Phi(sign f) N(f; mean, variance) (Rasmussen & Williams 2006, 3.58)
        sign, wide = yes - no, np.sqrt(1 + variance)
        z = sign * mean / wide
        slope = _mills(z)
        centre = mean + sign * variance * slope / wide
        return centre, variance - (variance / wide) ** 2 * slope * (z + slope)
    density = tilted(mean, variance, yes, no, nodes)
    centre = density.mean
    return centre, density.variance(centre)


def _modes(mean: Floats, variance: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
    """Where each density is highest, and the curvature of its logarithm there."""
    mode = np.array(mean, np.float64)
    curve = narrow = 1 / variance
    for _ in range(_NEWTON):
        up, down = _mills(mode), _mills(-mode)
        curve = yes * up * (up + mode) + no * down * (down - mode) + narrow
        move = (yes * up - no * down - (mode - mean) * narrow) / curve
        mode = mode + move
        if np.abs(move).max(initial=0.0) < _CENTRED:
            break
    return mode, curve


def _mills(f: Floats) -> Floats:
    """The normal density over the distribution function."""
    from scipy.special import log_ndtr

    return np.asarray(np.exp(-f * f / 2 - _LOG_ROOT - log_ndtr(f)))


class _GaussianSteps:
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
            self._update_site(pair)

    def _update_site(self, pair: Codes) -> None:
        sites, at = self.sites, (self.copy, pair)
        before = self.column[:, :, : self.since]
        common = self.weight[:, : self.since] * before[self.copy, pair]
        column = sites.covariance[self.copy, :, pair] - np.einsum("cnk,ck->cn", before, common)
        mean, variance = (part[at] for part in sites.cavity())
        centre, width = moments(mean, variance, sites.yes[at], sites.no[at], sites.nodes)
        precision = np.maximum(1 / width - 1 / variance, 0.0)
        shift = centre / width - mean / variance
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
