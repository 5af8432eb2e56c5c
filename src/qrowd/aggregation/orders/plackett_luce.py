"""Plackett and Luce's model of rankings; for preferences, Bradley and Terry's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.aggregation.worths import consensus_of, downhill, order_fitting, uncertainty
from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.orders import Orders
from qrowd.errors import InputError
from qrowd.registry import method, param

MOST_OUTCOMES = 5000
_TIE_SPREAD = 3.0

Stages = tuple[Array, Array, Array, Array, Array, Array]
"""(outcome, column, share) of each feature; the stage of each outcome, and whether chosen; the
weight of each stage."""


@method(
    "plackett-luce",
    paper="Luce 1959; Plackett 1975; Davidson 1970",
    aliases={"BradleyTerry": "plackett-luce"},
)
class PlackettLuce:
    r"""Plackett and Luce's model: each place is a choice among the documents that are left.

    With worths $\theta_i$ a ballot that puts documents $1, 2, \dots, m$ in this order has

    $$P = \prod_{r=1}^{m-1} \frac{e^{\theta_r}}{\sum_{s \ge r} e^{\theta_s}}$$

    so that a preference follows Bradley and Terry, $P(i \succ j) = 1 / (1 + e^{\theta_j -
    \theta_i})$. Ties follow Davidson (1970), for more than two documents Firth, Kosmidis & Turner
    (2019): a set $T$ of $t$ documents that share a place is an outcome with the weight $\delta_t
    \prod_{i \in T} e^{\theta_i / t}$, and each choice is among all sets up to the size of the
    largest tie that occurs. What was not chosen of a ballot (its rest) is no tie: the ballot ends
    with the last choice.

    Worths have the prior $\text{Normal}(0, \text{spread}^2)$, without which a document that is
    always first has no finite worth (`spread=none` leaves it out), and $\log \delta_t$ has
    $\text{Normal}(0, 3^2)$. The mode by Newton's method; standard deviations from the inverse of
    the Hessian there, of worths relative to the mean of their component. Components of more than
    2,000 documents have an approximate one.

    >>> import qrowd as q
    >>> orders = q.Orders.of_preferences(
    ...     ["t"] * 5, list("aaabb"), list("bbccc"), ["ann", "bob", "ann", "bob", "ann"]
    ... )
    >>> consensus = q.PlackettLuce().fit(orders)
    >>> consensus.ranks().tolist()
    [1, 2, 3]

    References: R. D. Luce, Individual Choice Behavior, 1959; R. L. Plackett, The analysis of
    permutations, 1975; R. R. Davidson, On extending the Bradley-Terry model, 1970.
    """

    spread: float | None = param(3.0, "standard deviation of worths beforehand", above=0)
    tol: float = param(1e-9, "stop when no parameter would move by more", above=0)
    max_iter: int = param(100, "maximum number of iterations", at_least=1)

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The worth of every pair of the pool."""
        fitting = order_fitting(self, orders, given)
        made, most = choices(orders, self.spread, _TIE_SPREAD)
        at = np.zeros(len(made.precision))
        for _ in fitting.iterations(self.max_iter):
            at, fitting.settled = downhill(made, at, self.tol)
            fitting.gain(-made.value(at))
        n, sure = len(orders.pairs), uncertainty(fitting, orders, made.hessian(at))
        ties = {f"delta({size + 2})": float(np.exp(each)) for size, each in enumerate(at[n:])}
        if ties:
            fitting.notes.append(f"ties: {', '.join(f'{k} {v:.3g}' for k, v in ties.items())}")
        return consensus_of(fitting, orders, at[:n], sure, details={"most_tied": most, **ties})


@dataclass(frozen=True, eq=False)
class Choices:
    """features[outcome, parameter] of all outcomes of all stages, and which were chosen."""

    features: Any
    starts: Offsets
    chosen: Floats
    stage: Offsets
    precision: Floats
    weight: Floats  # of each stage

    def value(self, at: Floats) -> float:
        """Minus the log-likelihood, and the prior's part."""
        height = self.features @ at
        top = np.maximum.reduceat(height, self.starts) if len(height) else np.zeros(0)
        sums = np.add.reduceat(np.exp(height - top[self.stage]), self.starts) if len(top) else top
        total = float(self.weight @ (np.log(sums) + top))
        return total - float(self.chosen @ at) + 0.5 * float(self.precision @ at**2)

    def chances(self, at: Floats) -> Floats:
        """The probability of each outcome in its stage."""
        weight = self.features @ at
        if not len(weight):
            return np.zeros(0)
        weight = np.exp(weight - np.maximum.reduceat(weight, self.starts)[self.stage])
        return np.asarray(weight / np.add.reduceat(weight, self.starts)[self.stage])

    def slope(self, at: Floats) -> tuple[Floats, Callable[[Floats], Floats], Floats]:
        """Gradient, product with the Hessian, and a diagonal like the Hessian's."""
        p, back = self.chances(at), self.features.T.tocsr()
        weighted = p * self.weight[self.stage]
        gradient = back @ weighted - self.chosen + self.precision * at

        def product(vector: Floats) -> Floats:
            moved = self.features @ vector
            mean = np.add.reduceat(p * moved, self.starts)[self.stage] if len(p) else p
            return np.asarray(back @ (weighted * (moved - mean)) + self.precision * vector)

        spread = back.multiply(back) @ (weighted * (1 - p))
        return gradient, product, np.maximum(spread + self.precision, 1e-8)

    def hessian(self, at: Floats) -> Any:
        """The Hessian as a sparse matrix."""
        from scipy.sparse import csr_array, diags_array

        p = self.chances(at)
        likely = diags_array(p) @ self.features
        by_stage = csr_array(
            (np.ones(len(p)), np.arange(len(p)), np.append(self.starts, len(p))),
            shape=(len(self.starts), len(p)),
        )
        mean = (by_stage @ likely).tocsr()
        whole = self.features.T @ diags_array(self.weight[self.stage]) @ likely
        whole = whole - mean.T @ diags_array(self.weight) @ mean
        return (whole + diags_array(self.precision)).tocsr()


def choices(orders: Orders, spread: float | None, tie_spread: float) -> tuple[Choices, int]:
    """The choices of all ballots with at least two documents, and the size of the largest tie."""
    from scipy.sparse import csr_array

    (outcome, column, share, stage, picked, weight), most = _stages(orders)
    n = len(orders.pairs)
    outcomes = int(outcome.max(initial=-1)) + 1
    shape = (outcomes, n + most - 1)
    features = csr_array((share, (outcome, column)), shape=shape)
    sizes = np.bincount(stage)
    starts = np.cumsum(sizes) - sizes
    precision = np.zeros(n + most - 1)
    precision[:n] = 0.0 if spread is None else spread**-2.0
    precision[n:] = tie_spread**-2.0
    chosen = (picked * weight[stage]) @ features
    return Choices(features, starts, chosen, stage, precision, weight), most


def _stages(orders: Orders) -> tuple[Stages, int]:
    """The stages of all ballots, and the size of the largest tie."""
    first = np.concatenate([[True], (np.diff(orders.ballot) != 0) | (np.diff(orders.place) != 0)])
    first = first[: len(orders.pair)] & ~orders.unordered
    at = np.flatnonzero(first)
    ballot = orders.ballot[at]
    same = np.cumsum(first) - 1  # rows of the rest go with the stage before, which they are not of
    tied = np.bincount(same[~orders.unordered], minlength=len(at))
    left = orders.starts[ballot + 1] - at
    most = int(tied.max(initial=1))
    none = np.zeros(0, np.int64)
    nothing = np.zeros(0)
    parts, done, stages = [(none, none, nothing, none, nothing, nothing)], 0, 0
    for size, tie in sorted(set(zip(left.tolist(), tied.tolist(), strict=True))):
        if size == 1:
            continue  # nothing is left to choose from
        rows = at[(left == size) & (tied == tie)]
        made = _of_size(orders, rows, size, tie, most)
        parts.append((made[0] + done, made[1], made[2], made[3] + stages, *made[4:]))
        done, stages = done + len(made[3]), stages + len(rows)
    outcome, column, share, stage, picked, weight = map(np.concatenate, zip(*parts, strict=True))
    return (outcome, column, share, stage, picked, weight), most


def _of_size(orders: Orders, rows: Offsets, size: int, tie: int, most: int) -> Stages:
    """All stages in which `tie` of `size` documents were chosen; they are the first rows left."""
    subsets = _subsets(size, min(most, size))
    wide = len(subsets)
    outcome = np.concatenate([np.full(len(s) + (len(s) > 1), k) for k, s in enumerate(subsets)])
    member = np.concatenate([[*s, *([-len(s)] if len(s) > 1 else [])] for s in subsets])
    share = np.concatenate([[1 / len(s)] * len(s) + [1.0] * (len(s) > 1) for s in subsets])
    pair = orders.pair[rows[:, None] + np.maximum(member, 0)]
    column = np.where(member >= 0, pair, len(orders.pairs) - member - 2)
    number = np.arange(len(rows))[:, None]
    picked = np.tile(np.array([s == tuple(range(tie)) for s in subsets], float), len(rows))
    return (
        (number * wide + outcome).ravel(),
        column.ravel(),
        np.tile(share, len(rows)),
        np.repeat(np.arange(len(rows)), wide),
        picked,
        orders.weights[orders.ballot[rows]],
    )


def _subsets(size: int, most: int) -> list[tuple[int, ...]]:
    """The sets of up to `most` of `size` documents."""
    count = sum(math.comb(size, k) for k in range(1, most + 1))
    if count > MOST_OUTCOMES:
        raise InputError(
            f"a ballot of {size} documents with ties of up to {most} has {count} outcomes, more "
            f"than {MOST_OUTCOMES}; use gauss-rank or borda, or break the ties"
        )
    every = range(size)
    return [s for k in range(1, most + 1) for s in itertools.combinations(every, k)]
