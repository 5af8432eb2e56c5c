r"""Expectation propagation for votes on documents that are alike (Minka 2001).

$f \sim N(c\,1, K)$ over a topic's documents, votes $\Phi(f_i)^{a_i}\Phi(-f_i)^{b_i}$: all votes
on a document share one Gaussian site with precision $w_i$ and shift $\nu_i$, so that the cost grows
with documents, not with votes. With $\Sigma = (I + KW)^{-1}K$ and $h = (I + KW)^{-1}1$ the
posterior has the covariance $\Sigma$ and the mean $c h + \Sigma\nu$; given the sites, the
constant with the highest evidence under $c \sim N(0, s^2)$ is $h^\top\nu / (w^\top h + s^{-2})$.
With the Cholesky factor $LL^\top = I + W^{1/2}KW^{1/2}$ and $V = L^{-1}W^{1/2}K$, what a sweep
needs of it is cheap: $\Sigma = K - V^\top V$, $h = 1 - V^\top L^{-1}W^{1/2}1$.

All arrays have copies first, [copies, documents]: one fit has one copy, the loop has many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qrowd.aggregation.probit import Tilted, moments, tilted
from qrowd.data.arrays import Floats, Mask

_LEAST = 1e-12
_FINE = 32  # nodes of the densities that probabilities are read from


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
        found = np.stack([self._solved(each) for each in np.sqrt(self.precision)])
        self.half, last = found[:, :, :-1], found[:, :, -1:]
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
        """The constant mean with the highest evidence, unless it is given."""
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

    def densities(self) -> Tilted:
        """Each document's own density of f: exact where documents are not alike."""
        mean, variance = self.cavity()
        return tilted(mean, variance, self.yes, self.no, _FINE)

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

        found, alike = self.densities(), self._correlation()
        z = (found.at - self.mean[..., None]) / np.sqrt(self.variance)[..., None]
        z2, squared = z * z, alike * alike
        third, fourth = z * (z2 - 3), z2 * (z2 - 6) + 3  # He_3, He_4
        factor = np.ones_like(z)
        for wave, power, below in ((third, squared * alike, 6), (fourth, squared * squared, 24)):
            skew = np.where(self.voted, (found.weight * wave).sum(axis=-1), 0.0)
            share = (power @ skew[..., None]) / below
            factor += share * wave
        weight = found.weight * np.maximum(factor, 0.0)
        return np.asarray((weight * ndtr(found.at)).sum(axis=-1) / weight.sum(axis=-1))

    def _correlation(self) -> Floats:
        """Of every two documents; 0 of one with itself."""
        sd = np.sqrt(self.variance)
        found = self.covariance / (sd[:, :, None] * sd[:, None, :])
        n = found.shape[1]
        found[:, np.arange(n), np.arange(n)] = 0.0
        return np.asarray(found)

    def together(self) -> Floats:
        """The correlation of what makes documents relevant: f, and what the text shares beyond."""
        total = self.covariance[0] + self.cosines
        sd = np.sqrt(np.diag(total))
        return np.asarray(total / np.outer(sd, sd))
