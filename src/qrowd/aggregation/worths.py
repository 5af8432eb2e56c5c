"""What methods that merge orders share: components, Newton's method, and how sure worths are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Array, Codes, Floats, Offsets
from qrowd.data.consensus import Consensus
from qrowd.data.given import Given
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.orders import Orders

Blocks = tuple[tuple[Codes, Floats], ...]


def order_fitting(method: Any, orders: Orders, given: Given) -> Fitting:
    """Start a fit of orders, over their own pool."""
    return Fitting.of(method, Judgements.none(orders.pairs), Given(progress=given.progress))


def components(orders: Orders) -> Codes:
    """The component of each pair, counted from 1 in each topic: pairs that a chain of ballots joins
    have the same. A pair in no ballot is one of its own.
    """
    joined = np.diff(orders.ballot) == 0
    return joined_components(orders.pairs, orders.pair[:-1][joined], orders.pair[1:][joined])


def joined_components(pairs: Pairs, left: Codes, right: Codes) -> Codes:
    """The components of pairs of which some are joined, left with right."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(pairs)
    edges = coo_array((np.ones(len(left), np.int8), (left, right)), shape=(n, n))
    label = connected_components(edges, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    order = np.argsort(np.argsort(first))[label]  # numbered by their first pair: topic by topic
    lowest = np.full(len(pairs.topics), n, np.int64)
    np.minimum.at(lowest, pairs.topic, order)
    return np.asarray(order - lowest[pairs.topic] + 1, np.int32)


def component_notes(pairs: Pairs, component: Codes) -> list[str]:
    """What to say where worths do not compare."""
    most = np.zeros(len(pairs.topics), np.int64)
    np.maximum.at(most, pairs.topic, component)
    split = np.flatnonzero(most > 1)
    if not len(split):
        return []
    shown = ", ".join(f"{pairs.topics.names[at]} has {most[at]}" for at in split[:3])
    others = f", and {len(split) - 3} more topics" if len(split) > 3 else ""
    return [
        f"ballots join the documents of {len(split)} of {len(most)} topics into several components "
        f"only ({shown}{others}): worths compare within a component (column component)"
    ]


def consensus_of(
    fitting: Fitting,
    orders: Orders,
    worth: Floats,
    sure: Uncertainty,
    *,
    columns: Mapping[str, Array] | None = None,
    details: Mapping[str, Any] | None = None,
) -> Consensus:
    """The result: components said, the assessors' table begun with the number of ballots."""
    component = components(orders) if sure.component is None else sure.component
    fitting.notes += component_notes(orders.pairs, component)
    ballots = np.bincount(orders.assessor, minlength=len(orders.assessors))
    return Consensus(
        orders.pairs,
        worth,
        sure.worth,
        component,
        AssessorTable(orders.assessors, {"ballots": ballots, **(columns or {})}),
        fitting.summary(),
        sure.blocks,
        details or {},
    )


_SUFFICIENT = 1e-4
_HALVINGS = 40
_ROUNDING = 1e-10
_TURNS = 250


class Valley(Protocol):
    """A function to be minimised."""

    def value(self, at: Floats) -> float:
        """Its value."""
        ...

    def slope(self, at: Floats) -> tuple[Floats, Callable[[Floats], Floats], Floats]:
        """Its gradient, its Hessian as a product with a vector, and a positive diagonal like the
        Hessian's.
        """
        ...


def downhill(valley: Valley, at: Floats, tol: float) -> tuple[Floats, bool]:
    """One step of Newton's method, and whether there was nothing to gain: no parameter that would
    move by more than `tol` on its own, or no step that lowers the value by more than rounding.
    """
    gradient, product, diagonal = valley.slope(at)
    largest = float(np.abs(gradient / diagonal).max(initial=0.0))
    if largest <= tol:
        return at, True
    step = _direction(gradient, product, diagonal, min(0.1, largest**0.5))
    before, fall, size = valley.value(at), float(gradient @ step), 1.0
    if -fall <= _ROUNDING * (1 + abs(before)):
        # near the bottom values differ by rounding only: the gradient says which point is lower
        gradient, _, diagonal = valley.slope(at + step)
        after = float(np.abs(gradient / diagonal).max())
        return (at + step, False) if after < largest / 2 else (at, True)
    for _ in range(_HALVINGS):
        if valley.value(at + size * step) <= before + _SUFFICIENT * size * fall:
            return at + size * step, False
        size /= 2
    return at, True


def _direction(
    gradient: Floats, product: Callable[[Floats], Floats], diagonal: Floats, tol: float
) -> Floats:
    """Conjugate gradients on H step = -gradient, until good enough or H curves downwards."""
    step, residual = np.zeros_like(gradient), -gradient
    scaled = residual / diagonal
    towards, power = scaled, float(residual @ scaled)
    enough = tol**2 * power
    for _ in range(_TURNS):
        turned = product(towards)
        curvature = float(towards @ turned)
        if curvature <= 0.0:
            return towards if not step.any() else step
        step = step + power / curvature * towards
        residual = residual - power / curvature * turned
        scaled = residual / diagonal
        power, old = float(residual @ scaled), power
        if power <= enough:
            break
        towards = scaled + power / old * towards
    return step


@dataclass(frozen=True, eq=False)
class Answers:
    """Minus the log posterior of comparisons, each of which depends on one sum of worths and on one
    parameter of its assessor in each further block.

    `blocks[k] @ parameters of k` are the sums. Worths have a normal prior of this precision, the
    others are logits of shares with a Beta distribution each.
    """

    blocks: tuple[Any, ...]
    weight: Floats
    precision: Floats
    priors: tuple[tuple[float, float], ...]

    def gain(self, *sums: Floats) -> Floats:
        """The log-likelihood of each comparison."""
        raise NotImplementedError

    def derivatives(self, *sums: Floats) -> tuple[list[Floats], list[list[Floats]]]:
        """Of the log-likelihood by each sum, and by any two."""
        raise NotImplementedError

    def _split(self, at: Floats) -> list[Floats]:
        ends = np.cumsum([block.shape[1] for block in self.blocks])[:-1]
        return np.split(at, ends)

    def _sums(self, at: Floats) -> list[Floats]:
        return [block @ part for block, part in zip(self.blocks, self._split(at), strict=True)]

    def value(self, at: Floats) -> float:
        """Minus the log posterior."""
        worths, *logits = self._split(at)
        total = float(self.weight @ self.gain(*self._sums(at)))
        for (right, wrong), logit in zip(self.priors, logits, strict=True):
            total += float((right * logit - (right + wrong) * np.logaddexp(0, logit)).sum())
        return 0.5 * float(self.precision @ worths**2) - total

    def _prior_curve(self, at: Floats) -> Floats:
        from scipy.special import expit

        curves = [self.precision]
        for (right, wrong), logit in zip(self.priors, self._split(at)[1:], strict=True):
            share = expit(logit)
            curves.append((right + wrong) * share * (1 - share))
        return np.concatenate(curves)

    def slope(self, at: Floats) -> tuple[Floats, Callable[[Floats], Floats], Floats]:
        """Gradient, product with the Hessian, and a diagonal like the Hessian's."""
        from scipy.special import expit

        first, second = self.derivatives(*self._sums(at))
        back = [block.T.tocsr() for block in self.blocks]
        worths, *logits = self._split(at)
        prior = [self.precision * worths]
        for (right, wrong), logit in zip(self.priors, logits, strict=True):
            prior.append((right + wrong) * expit(logit) - right)
        rows = [
            own - block @ (self.weight * each)
            for own, block, each in zip(prior, back, first, strict=True)
        ]
        curve = self._prior_curve(at)

        def product(vector: Floats) -> Floats:
            moved = self._sums(vector)
            parts = [
                block @ (self.weight * sum(by * m for by, m in zip(row, moved, strict=True)))
                for block, row in zip(back, second, strict=True)
            ]
            return np.asarray(curve * vector - np.concatenate(parts))

        diagonal = [
            block.multiply(block) @ np.abs(self.weight * second[k][k])
            for k, block in enumerate(back)
        ]
        return np.concatenate(rows), product, np.maximum(np.concatenate(diagonal) + curve, 1e-8)

    def hessian(self, at: Floats) -> Any:
        """The Hessian as a sparse matrix."""
        from scipy.sparse import block_array, diags_array

        _, second = self.derivatives(*self._sums(at))
        blocks = [
            [
                left.T @ diags_array(-self.weight * second[k][other]) @ right
                for other, right in enumerate(self.blocks)
            ]
            for k, left in enumerate(self.blocks)
        ]
        return (block_array(blocks) + diags_array(self._prior_curve(at))).tocsr()


class Noisy(NamedTuple):
    """Comparisons of who may err: tied ones count both ways, half each."""

    differences: Any  # @ worths
    of_assessor: Any
    weight: Floats
    left: Floats  # 1: the better one stood left, 0: right, NaN: not known


def noisy_comparisons(orders: Orders) -> Noisy:
    """Any two documents of a ballot, which are not independent: 2 / m each in a ballot of m."""
    from scipy.sparse import csr_array

    pairs = orders.comparisons()
    tied, ballot = pairs.tied, pairs.ballot
    weight = np.where(tied, 0.5, 1.0) * 2.0 / orders.sizes[ballot] * orders.weights[ballot]
    left = np.full(len(tied), np.nan) if orders.left is None else orders.left[ballot]

    def rows(column: Codes, width: int) -> Any:
        n = len(column)
        return csr_array((np.ones(n), column, np.arange(n + 1)), shape=(n, width))

    first = rows(np.append(pairs.first, pairs.second[tied]), len(orders.pairs))
    second = rows(np.append(pairs.second, pairs.first[tied]), len(orders.pairs))
    assessor = orders.assessor[np.append(ballot, ballot[tied])]
    return Noisy(
        (first - second).tocsr(),
        rows(assessor, len(orders.assessors)),
        np.append(weight, weight[tied]),
        np.append(left, 1 - left[tied]),
    )


DENSE = 2000
"""Components of more documents have an approximate diagonal, and no covariances."""


@dataclass(frozen=True)
class Uncertainty:
    """Deviations of worths, the component of each (none: by the ballots), covariances by component,
    and deviations of what is shared.
    """

    worth: Floats
    component: Codes | None = None
    blocks: Blocks = ()
    shared: Floats = field(default_factory=lambda: np.zeros(0))


def uncertainty(fitting: Fitting, orders: Orders, hessian: Any) -> Uncertainty:
    """From the (sparse) Hessian of worths and shared parameters."""
    pairs, component = orders.pairs, components(orders)
    n = len(pairs)
    own, between = hessian[:n, :n].tocsr(), hessian[:n, n:].tocsr()
    members = _members(pairs, component)
    small = [part for part in members if len(part) <= DENSE]
    inverses = [_inverse(own[part][:, part].toarray()) for part in small]
    leverage = [
        inverse @ between[part].toarray() for part, inverse in zip(small, inverses, strict=True)
    ]
    shared = hessian[n:, n:].toarray()
    for part, effect in zip(small, leverage, strict=True):
        shared -= between[part].T @ effect
    shared = np.linalg.pinv(shared, hermitian=True) if len(shared) else shared
    # the diagonal of the inverse to second order in what is beside the diagonal
    diagonal = np.maximum(own.diagonal(), 1e-12)
    squares = own.multiply(own) @ (1 / diagonal) - diagonal
    variance = 1 / diagonal + np.maximum(squares, 0.0) / diagonal**2
    blocks = []
    for part, inverse, effect in zip(small, inverses, leverage, strict=True):
        covariance = inverse + effect @ shared @ effect.T
        if len(part) > 1:  # of worths relative to their mean; a lone one keeps its own
            covariance = covariance - covariance.mean(axis=0)
            covariance = covariance - covariance.mean(axis=1, keepdims=True)
            blocks.append((part.astype(np.int32), covariance))
        variance[part] = np.diag(covariance)
    deviation = np.sqrt(np.maximum(variance, 0.0))
    sure = np.sqrt(np.maximum(np.diag(shared), 0.0)) if len(shared) else np.zeros(0)
    if len(small) < len(members):
        fitting.notes.append(f"components of over {DENSE} documents: deviations approximate")
    return Uncertainty(deviation, component, tuple(blocks), sure)


def _members(pairs: Pairs, component: Codes) -> list[Offsets]:
    """The pairs of each component."""
    key = pairs.topic.astype(np.int64) * (len(pairs) + 1) + component
    label = np.unique(key, return_inverse=True)[1]
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label))[:-1]) if len(order) else []


def _inverse(block: Floats) -> Floats:
    """The inverse; where only the mean is free (no prior), that of what is left."""
    size = len(block)
    level = np.full((size, size), max(float(np.trace(block)), 1e-12) / size**2)
    if size == 1:
        return np.asarray(1 / np.maximum(block, 1e-12))
    try:
        return np.linalg.inv(block + level)
    except np.linalg.LinAlgError:  # worths that run to infinity
        return np.asarray(np.linalg.pinv(block, hermitian=True), np.float64)
