r"""Expectation propagation for votes on documents that are alike (Minka 2001).

$f \sim N(c\,1, K)$ over a topic's documents, votes $\Phi(f_i)^{a_i}\Phi(-f_i)^{b_i}$: all votes
on a document share one Gaussian site with precision $w_i$ and shift $\nu_i$, so that the cost grows
with documents, not with votes. With $\Sigma = (I + KW)^{-1}K$ and $h = (I + KW)^{-1}1$ the
posterior has the covariance $\Sigma$ and the mean $c h + \Sigma\nu$; given the sites, the
constant with the highest evidence under $c \sim N(0, s^2)$ is $h^\top\nu / (w^\top h + s^{-2})$.

All arrays have copies first, [copies, documents]: one fit has one copy, the loop has many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.probit import Tilted, tilted
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
        self.right = np.hstack([self.cosines, np.ones((n, 1))])[None]
        self.covariance: Floats = np.broadcast_to(self.cosines, (copies, n, n))
        self.variance: Floats = np.ones((copies, n))
        self.pull: Floats = np.ones((copies, n))
        self.base: Floats = np.zeros((copies, n))
        self.set_constant()

    @property
    def voted(self) -> Mask:
        """Which documents have votes."""
        return (self.yes + self.no) > 0

    def refresh(self) -> None:
        """The posterior from the sites."""
        n = len(self.cosines)
        left = self.cosines * self.precision[:, None]
        np.einsum("cii->ci", left)[:] += 1.0
        found: Floats = np.asarray(np.linalg.solve(left, self.right), np.float64)
        self.covariance, self.pull = found[:, :, :n], found[:, :, n]
        self.variance = np.maximum(np.einsum("cii->ci", self.covariance), _LEAST)
        self.base = np.einsum("cij,cj->ci", self.covariance, self.shift)
        self.set_constant()

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
        found = tilted(mean, variance, self.yes[voted], self.no[voted], self.nodes)
        centre = found.mean
        width = found.variance(centre)
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
