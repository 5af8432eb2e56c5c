"""What methods that merge orders share: components, Newton's method, and how sure worths are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

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
