"""Grades and places as evidence of degrees of relevance, on a grid of degrees and of noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.aggregation.gaussian import STEP
from qrowd.data.arrays import Codes, Floats, Mask, Offsets
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Comparisons, Orders

_FACTORS = 200  # the largest factor, in steps of the grid: 33
_APART = 10  # steps between two factors
_CLEARLY = 3.0  # nats
_SWEEPS, _CLOSE, _DAMPED = 20, 1e-9, 0.5


@dataclass(frozen=True, eq=False)
class Labels:
    """Two grades: votes[pair, assessor * 2 + grade] and log P(1 | node)[deviation, node]."""

    votes: Any
    likelihood: Floats
    total: float

    @classmethod
    def of(cls, rows: Judgements, likelihood: Floats) -> Labels:
        """From judgements with two grades."""
        from scipy.sparse import csr_array

        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        cell = rows.assessor.astype(np.int64) * 2 + rows.grade
        shape = (len(rows.pairs), 2 * len(rows.assessors))
        return cls(csr_array((weight, (rows.pair, cell)), shape=shape), likelihood, weight.sum())

    def messages(self, at: Codes) -> Floats:
        """The log-likelihood of each pair's grades at each node."""
        own = self.likelihood[at]
        table = np.stack([own[:, ::-1], own], axis=1).reshape(-1, own.shape[1])
        return np.asarray(self.votes @ table)

    def values(self, q: Floats) -> Floats:
        """The expected log-likelihood of each assessor's grades at each deviation."""
        counts = (self.votes.T @ q).reshape(-1, 2, q.shape[1])
        return np.asarray((counts[:, 1] + counts[:, 0, ::-1]) @ self.likelihood.T)


@dataclass(frozen=True, eq=False)
class Seen:
    """Comparisons (first is placed above second) by assessor, in the order of assessors."""

    first: Codes
    second: Codes
    weight: Floats
    starts: Offsets
    table: Floats  # log P(first above second)[deviation, node of first, node of second]
    pairs: int
    steps: int  # deviations that an assessor may have; the table has more

    @property
    def total(self) -> float:
        """The weight of all comparisons."""
        return float(self.weight.sum())

    @property
    def factors(self) -> Floats:
        """By how much places may be noisier than grades."""
        return np.append(np.exp(STEP * np.arange(0, _FACTORS + 1, _APART)), np.inf)

    @cached_property
    def _incidence(self) -> tuple[Any, Any, Mask]:
        from scipy.sparse import csr_array

        n, at = len(self.first), np.arange(len(self.first))
        one = csr_array((self.weight, (self.first, at)), shape=(self.pairs, n))
        two = csr_array((self.weight, (self.second, at)), shape=(self.pairs, n))
        met = np.zeros(self.pairs, np.bool_)
        met[self.first] = met[self.second] = True
        return one, two, met

    def _of(self, at: Codes, factor: int) -> Codes:
        """The row of the table for each assessor's places."""
        if factor * _APART > _FACTORS:
            return np.full(len(at), len(self.table) - 1)
        return np.asarray(np.minimum(at + factor * _APART, len(self.table) - 2))

    def settled(self, q: Floats, prior: Floats, inside: Floats, at: Codes, factor: int) -> Floats:
        """The degrees of all pairs, updated together until they rest; damped where pairs meet."""
        for _ in range(_SWEEPS if self.total else 1):
            logs = prior + inside + (self._messages(q, at, factor) if self.total else 0.0)
            new = np.exp(logs - logs.max(axis=1, keepdims=True))
            new /= new.sum(axis=1, keepdims=True)
            if not self.total:
                return np.asarray(new)
            met = self._incidence[2]
            new[met] = (1 - _DAMPED) * q[met] + _DAMPED * new[met]
            moved, q = float(np.abs(new - q).max()), new
            if moved < _CLOSE:
                break
        return q

    def _messages(self, q: Floats, at: Codes, factor: int) -> Floats:
        """What the comparisons say of each pair's degree, given the others' degrees."""
        one, two, _ = self._incidence
        row = np.repeat(self._of(at, factor), np.diff(self.starts))
        up, down = np.empty((len(row), q.shape[1])), np.empty((len(row), q.shape[1]))
        order = np.argsort(row, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(row[order])) + 1):
            table = self.table[row[part[0]]]
            up[part] = q[self.second[part]] @ table.T
            down[part] = q[self.first[part]] @ table
        return np.asarray(one @ up + two @ down)

    def counts(self, q: Floats) -> Floats:
        """The expected comparisons of each assessor by both nodes: [assessors, nodes * nodes]."""
        size = q.shape[1]
        made = np.zeros((len(self.starts) - 1, size * size))
        for who in np.flatnonzero(np.diff(self.starts)):
            rows = slice(self.starts[who], self.starts[who + 1])
            weighted = q[self.first[rows]] * self.weight[rows, None]
            made[who] = (weighted.T @ q[self.second[rows]]).ravel()
        return made

    def value(self, counts: Floats, at: Codes, factor: int) -> float:
        """The expected log-likelihood of all comparisons."""
        flat = self.table.reshape(len(self.table), -1)
        return float((counts * flat[self._of(at, factor)]).sum()) if self.total else 0.0

    def values(self, counts: Floats, factor: int) -> Floats:
        """The same for each assessor at each deviation."""
        if not self.total:
            return np.zeros((len(counts), self.steps))
        rows = self._of(np.arange(self.steps, dtype=np.int32), factor)
        return np.asarray(counts @ self.table.reshape(len(self.table), -1)[rows].T)

    def best_factor(self, counts: Floats, at: Codes) -> int:
        """The factor under which all comparisons are likeliest; the last, under which they say
        nothing, unless another is clearly better.
        """
        if not self.total:
            return 0
        found = [self.value(counts, at, factor) for factor in range(len(self.factors))]
        found[-1] += _CLEARLY
        return int(np.argmax(found))


def seen_places(orders: Orders, rows: Judgements, nodes: Floats, deviation: Floats) -> Seen:
    """The comparisons that an assessor's own grades do not imply; tied ones count both ways."""
    from scipy.special import log_ndtr

    found = orders.comparisons()
    who = orders.assessor[found.ballot]
    kept = found.tied | ~_implied(found, who, rows)
    both, one, two = found.tied[kept], found.first[kept], found.second[kept]
    weight = np.where(both, 0.5, 1.0) * 2.0 / orders.sizes[found.ballot[kept]]
    first, second = np.append(one, two[both]), np.append(two, one[both])
    who, weight = np.append(who[kept], who[kept][both]), np.append(weight, weight[both])
    order = np.lexsort((second, first, who))
    starts = np.searchsorted(who[order], np.arange(len(orders.assessors) + 1))
    more = deviation[-1] * np.exp(STEP * np.arange(1, _FACTORS + 1))
    wide = np.append(deviation, more) * np.sqrt(2.0)
    wide = np.append(wide, np.inf)[:, None, None] if len(who) else np.full((1, 1, 1), np.inf)
    table = np.asarray(log_ndtr((nodes[:, None] - nodes[None, :]) / wide))
    return Seen(
        first[order], second[order], weight[order], starts, table, len(orders.pairs), len(deviation)
    )


def _implied(found: Comparisons, who: Codes, rows: Judgements) -> Mask:
    """Whether the assessor graded the first document higher than the second, and never the other
    way round: ranks of who does are another perception, and all of them count.
    """
    key = rows.pair.astype(np.int64) * max(len(rows.assessors), 1) + rows.assessor

    def grade(pair: Codes) -> Floats:
        wanted = pair.astype(np.int64) * max(len(rows.assessors), 1) + who
        at = np.minimum(np.searchsorted(key, wanted, side="right") - 1, len(key) - 1)
        known = (at >= 0) & (key[np.maximum(at, 0)] == wanted) if len(key) else np.zeros(0, bool)
        if not len(key):
            return np.full(len(pair), np.nan)
        return np.where(known, rows.grade[np.maximum(at, 0)], np.nan)

    first, second = grade(found.first), grade(found.second)
    apart = np.bincount(who, ~found.tied & (first < second), len(rows.assessors)) > 0
    return np.asarray((first > second) & ~apart[who])
