"""How sure worths are: the inverse of the Hessian at the mode, component by component.

Parameters are the worths of all pairs, then some that all components share (accuracies, ties). With
the Hessian in blocks, $H_c$ of component c, $H_s$ of what is shared and $B_c$ between them,

$$ \\Sigma_c = H_c^{-1} + G_c \\Sigma_s G_c^T, \\quad G_c = H_c^{-1} B_c, \\quad
   \\Sigma_s = (H_s - \\sum_c B_c^T H_c^{-1} B_c)^{-1} $$

and since worths compare within a component only, they are taken relative to its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.aggregation.ordering import Blocks
from qrowd.data.arrays import Codes, Floats, Offsets
from qrowd.data.index import Pairs

DENSE = 2000
"""Components of more documents have an approximate diagonal, and no covariances."""


@dataclass(frozen=True)
class Uncertainty:
    """Deviations of worths, covariances by component, and deviations of what is shared."""

    worth: Floats
    blocks: Blocks
    shared: Floats
    exact: bool


def uncertainty(hessian: Any, pairs: Pairs, component: Codes) -> Uncertainty:
    """From the (sparse) Hessian of worths and shared parameters."""
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
    variance = _nearly(own)
    blocks = []
    for part, inverse, effect in zip(small, inverses, leverage, strict=True):
        covariance = _centred(inverse + effect @ shared @ effect.T)
        variance[part] = np.diag(covariance)
        if len(part) > 1:
            blocks.append((part.astype(np.int32), covariance))
    deviation = np.sqrt(np.maximum(variance, 0.0))
    sure = np.sqrt(np.maximum(np.diag(shared), 0.0)) if len(shared) else np.zeros(0)
    return Uncertainty(deviation, tuple(blocks), sure, len(small) == len(members))


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


def _centred(covariance: Floats) -> Floats:
    """That of worths relative to their mean; a lone one keeps its own."""
    if len(covariance) == 1:
        return covariance
    rows = covariance - covariance.mean(axis=0)
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def _nearly(own: Any) -> Floats:
    """The diagonal of the inverse to second order in what is beside the diagonal."""
    diagonal = np.maximum(own.diagonal(), 1e-12)
    squares = own.multiply(own) @ (1 / diagonal) - diagonal
    return np.asarray(1 / diagonal + np.maximum(squares, 0.0) / diagonal**2)
