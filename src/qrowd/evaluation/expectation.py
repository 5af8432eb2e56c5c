"""Exact expectations under random relevance: integrals over the generating function of R.

Documents are relevant independently, document d with probability p_d; R is how many are. With
G(u) = prod_d (1 - p_d + p_d u) = E[u^R] and a_d(u) = p_d / (1 - p_d + p_d u),

    E[x_n / R] = int_0^1 a_n(u) G(u) du,   E[x_n x_s / R] = int_0^1 u a_n(u) a_s(u) G(u) du,

since 1/R = int_0^1 u^(R-1) du. The integrands are polynomials, for which Gauss-Legendre quadrature
is exact with half as many nodes as there are documents; 48 + 3 sqrt(sum p) nodes leave an error
below 1e-10.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from qrowd.data.arrays import Array, Floats

_DOCUMENTS = 128  # how many documents' leave-one-out distributions are made at a time


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Nodes u, the pool's a_d(u) [pool, nodes], and weight * G(u) of each node."""

    node: Floats
    ratio: Floats
    weight: Floats

    @classmethod
    def of(cls, p: Floats) -> Quadrature:
        """For documents with these probabilities."""
        possible = int((p > 0).sum())
        enough = 48 + 3 * np.sqrt(p.sum())
        node, weight = _gauss(max(1, min(-(-possible // 2), int(np.ceil(enough)))))
        factor = 1 - p[:, None] + p[:, None] * node
        return cls(node, p[:, None] / factor, weight * np.exp(np.log(factor).sum(axis=0)))

    def integral(self, integrand: Floats) -> Floats:
        """The integral of integrand[..., nodes] * G."""
        return np.asarray((integrand * self.weight).sum(axis=-1))


@lru_cache(maxsize=512)
def _gauss(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss-Legendre quadrature on [0, 1]."""
    at, weight = np.polynomial.legendre.leggauss(nodes)
    return (at + 1) / 2, weight / 2


def _odd_and_quick(least: int) -> int:
    """The smallest length of at least `least` with no prime factor but 3, 5 and 7."""
    size = max(least, 1) | 1
    while True:
        rest = size
        for prime in (3, 5, 7):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return size
        size += 2


def precision_at_recall_base(p: Floats, depth: int) -> Floats:
    """E[x_d 1(rank <= R) / R] for each document of the pool at each rank: [pool, depth].

    p_d times the sum over r >= rank of P(R of the others = r - 1) / r.
    """
    result = np.zeros((len(p), depth))
    for some, others in _without_each(p):
        size = others.shape[1]
        tail = np.cumsum((others / np.arange(1, size + 1))[:, ::-1], axis=1)[:, ::-1]
        shown = min(depth, size)
        result[some, :shown] = p[some, None] * tail[:, :shown]
    return result


def worth_over_ideal(p: Floats, discount: Floats) -> Floats:
    """E[x_d / IDCG] for each document of the pool, gains being 0 and 1.

    p_d times the sum over r of P(R of the others = r) / IDCG(r + 1), where IDCG(r) adds up the
    first r of 1 / discount (all of them, where there are fewer).
    """
    result = np.zeros(len(p))
    for some, others in _without_each(p):
        ideal = np.cumsum(1 / discount[: others.shape[1]])
        ideal = np.pad(ideal, (0, others.shape[1] - len(ideal)), mode="edge")
        result[some] = p[some] * (others / ideal).sum(axis=1)
    return result


def _without_each(p: Floats) -> Iterator[tuple[Array, Floats]]:
    """Some documents at a time, and P(R without the document = r)[document, r].

    The distributions come from one discrete Fourier transform, the document divided out; at an odd
    number of frequencies no factor is 0.
    """
    possible = np.flatnonzero(p > 0)
    size = _odd_and_quick(len(possible))  # R - x_d has this many values at most
    root = np.exp(2j * np.pi * np.arange(size) / size)
    whole = np.ones(size, np.complex128)
    for chance in p[possible]:
        whole *= 1 - chance + chance * root
    for lo in range(0, len(possible), _DOCUMENTS):
        some = possible[lo : lo + _DOCUMENTS]
        chance = p[some, None]
        yield some, np.fft.fft(whole / (1 - chance + chance * root), axis=1).real / size
