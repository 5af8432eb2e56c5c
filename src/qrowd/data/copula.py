"""Draws that hang together: what pairs of a topic have in common beyond their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qrowd.data.arrays import Floats, Grades, freeze
from qrowd.errors import InputError

_BLOCK = 256  # draws at a time


@dataclass(frozen=True, eq=False)
class Copula:
    """A Gaussian copula over a pool's pairs: correlation[pairs, pairs] per topic, in pair order.

    Topics are independent. A draw gives
    each pair a standard normal number, and the pair's probabilities turn it into a grade: so the
    share of each grade is its probability, whatever the probabilities are, and pairs that are
    correlated get the same grade more often than chance.
    """

    correlations: tuple[Floats, ...]

    def __post_init__(self) -> None:
        fixed = tuple(freeze(each, np.float64) for each in self.correlations)
        object.__setattr__(self, "correlations", fixed)

    def __len__(self) -> int:
        return sum(len(each) for each in self.correlations)

    @cached_property
    def factors(self) -> tuple[Floats, ...]:
        """Roots of the correlations."""
        return tuple(_factor(each) for each in self.correlations)

    def places(self, n: int, random: np.random.Generator) -> Floats:
        """Numbers in [0, 1], [pairs, n]: each pair's are uniform, those of pairs like it alike."""
        from scipy.special import ndtr

        parts = [each @ random.standard_normal((each.shape[1], n)) for each in self.factors]
        return np.asarray(ndtr(np.concatenate(parts)) if parts else np.zeros((0, n)))

    def draws(self, posterior: Floats, n: int, seed: int) -> Grades:
        """Codes[pairs, n] with the shares of posterior[pairs, grades]."""
        if len(self) != len(posterior):
            raise InputError(f"draws: {len(posterior)} pairs, but the copula has {len(self)}")
        random = np.random.default_rng(seed)
        edges = np.cumsum(posterior, axis=1)[:, :-1]
        result = np.zeros((len(self), n), np.int8)
        for first in range(0, n, _BLOCK):
            place = self.places(min(_BLOCK, n - first), random)
            for edge in edges.T:
                result[:, first : first + _BLOCK] += place >= edge[:, None]
        return result


def _factor(correlation: Floats) -> Floats:
    """A root of the matrix, its rows scaled to length 1."""
    values, vectors = np.linalg.eigh(correlation)
    kept = values > 1e-12 * max(values.max(initial=0.0), 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    return np.asarray(root / np.linalg.norm(root, axis=1, keepdims=True))
