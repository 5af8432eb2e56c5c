"""Judgements packed for the kernels, with the gold that clamps pairs: what E steps work on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from qrowd.aggregation.fit import shares_of
from qrowd.data.arrays import Array, Codes, Floats, Grades, Mask
from qrowd.data.given import UNKNOWN
from qrowd.data.judgements import Judgements
from qrowd.kernel import BLOCKS, in_blocks

TIES_INSIDE = ("split", "coin", "relevant", "nonrelevant")
"""What a hard step does with a tied label: counts it in equal parts (so that names cannot matter),
or decides it by the tie rule of qrels."""


@dataclass(frozen=True, eq=False)
class Expected:
    """An E step: posterior[pair, value], counts[assessor, grade(, value)], the log-likelihood."""

    posterior: Floats
    counts: Floats
    likelihood: float


@dataclass(frozen=True, eq=False)
class Ballot:
    """The votes by pair; `gold` has the code of each clamped pair, -1 elsewhere.

    Pairs without votes take no part in E steps: their posterior is uniform, whatever gold says.
    A vote's weight is how often it counts: weight 2 is the same as the judgement twice.
    """

    judgements: Judgements
    gold: Grades

    def __len__(self) -> int:
        return len(self.judgements)

    @property
    def width(self) -> int:
        """The number of grades."""
        return len(self.judgements.scale)

    @property
    def shape(self) -> tuple[int, int]:
        """(assessors, grades)."""
        return len(self.judgements.assessors), self.width

    @cached_property
    def cell(self) -> Codes:
        """The vote's assessor * number of grades + its grade."""
        return self.judgements.assessor * np.int32(self.width) + self.judgements.grade

    @cached_property
    def weight(self) -> Floats:
        """The weight of each vote; empty if all are 1."""
        weight = self.judgements.weight
        return np.zeros(0) if weight is None else weight

    @cached_property
    def votes(self) -> Floats:
        """How often each assessor gave each grade: [assessors, grades]."""
        size = self.shape[0] * self.shape[1]
        counts = np.bincount(self.cell, self.judgements.weight, minlength=size)
        return counts.astype(np.float64).reshape(self.shape)

    @property
    def total(self) -> float:
        """How many votes there are, by weight; at least 1, for it divides."""
        return max(float(self.votes.sum()), 1.0)

    @cached_property
    def voted(self) -> Mask:
        """Which pairs have any (weighted) vote."""
        return np.asarray(self.judgements.votes.sum(axis=1) > 0)

    @property
    def uniform(self) -> Floats:
        """The log of equal chances for all grades."""
        return np.full(self.width, -np.log(self.width))

    def coins(self, ties: str) -> Array:
        """A coin for each pair, where ties are decided by one."""
        if ties != "coin":
            return np.zeros(1, np.int64)
        pairs = self.judgements.pairs
        every = np.arange(len(pairs), dtype=np.int32)
        return (pairs.hashes(every, 0) >> np.uint64(1)).astype(np.int64)

    def expect(self, table: Floats, prior: Floats, ties: str = "") -> Expected:
        """The E step in which a vote speaks for its own grade, by table[assessors, grades] in logs.

        Soft, or hard with this rule for ties (`TIES_INSIDE`).
        """
        from qrowd.aggregation.kernels.em import RULES, by_vote

        rows, flat = self.judgements, np.ascontiguousarray(table).reshape(-1)
        model = (flat, prior, self.gold, RULES[ties], self.coins(ties))
        by = partial(by_vote, rows.pair_starts, self.cell, rows.grade, self.weight, *model)
        step = self._in_blocks(by, flat.shape, self.width)
        return replace(step, counts=step.counts.reshape(self.shape))

    def expect_table(
        self, table: Floats, prior: Floats, ties: str = "", bounds: Codes | None = None
    ) -> Expected:
        """The E step by table[assessors, grades, values] in logs; values are the grades, and
        `bounds` what gold leaves of them, unless they are others.
        """
        from qrowd.aggregation.kernels.em import RULES, by_table

        rows, flat = self.judgements, np.ascontiguousarray(table).reshape(-1, len(prior))
        inside = self.grade_bounds if bounds is None else bounds
        model = (flat, prior, inside, RULES[ties], self.coins(ties))
        by = partial(by_table, rows.pair_starts, self.cell, self.weight, *model)
        step = self._in_blocks(by, flat.shape, len(prior))
        return replace(step, counts=step.counts.reshape(*self.shape, len(prior)))

    def _in_blocks(
        self, step: Callable[..., float], shape: tuple[int, ...], values: int
    ) -> Expected:
        """`step(posterior, counts, lo, hi)` over blocks of pairs, each with counts of its own."""
        posterior = np.full((len(self.judgements.pairs), values), 1.0 / values)

        def block(lo: int, hi: int) -> tuple[float, Floats]:
            counts = np.zeros(shape)
            return step(posterior, counts, lo, hi), counts

        likelihood, counts = self.summed(block, shape)
        return Expected(posterior, counts, likelihood)

    def summed(
        self, block: Callable[[int, int], tuple[float, Floats]], shape: tuple[int, ...]
    ) -> tuple[float, Floats]:
        """Sums over blocks of pairs, in their order; fewer blocks where the counts are large."""
        blocks = max(1, min(BLOCKS, len(self) // max(math.prod(shape), 1)))
        total, counts = 0.0, np.zeros(shape)
        for part, some in in_blocks(block, len(self.judgements.pairs), blocks):
            total += part
            counts += some
        return total, counts

    @cached_property
    def grade_bounds(self) -> Codes:
        """First and one past the last grade that each pair may have."""
        fixed = self.gold != UNKNOWN
        first = np.where(fixed, self.gold, 0)
        last = np.where(fixed, self.gold + 1, self.width)
        return np.stack([first, last], axis=1).astype(np.int32)

    def shares(self, weights: Floats) -> Floats:
        """The share of each grade in votes weighted by assessor; equal where nothing weighs.

        A vote of negative weight counts for all other grades.
        """
        from qrowd.aggregation.kernels.em import weigh

        totals = np.empty((len(self.judgements.pairs), self.width))
        table = np.repeat(weights, self.width)
        votes = (self.judgements.pair_starts, self.cell, self.judgements.grade, self.weight)
        in_blocks(lambda lo, hi: weigh(*votes, table, totals, lo, hi), len(totals))
        return shares_of(totals)


CLASS_PRIORS = ("none", "learned")


def class_prior(kind: str, posterior: Floats) -> tuple[Floats, float]:
    """The log of each grade's chance, and the log density of its smoothing.

    `none`: all grades alike. `learned`: their expected shares, one pair of each grade added; the
    posterior is of pairs with votes, for the others say nothing of how common a grade is.
    """
    size = posterior.shape[1]
    if kind == "none":
        return np.full(size, -np.log(size)), 0.0
    log_share = np.log((posterior.sum(axis=0) + 1) / (len(posterior) + size))
    return log_share, float(log_share.sum())
