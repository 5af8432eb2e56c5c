"""Borda's count."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.worths import Uncertainty, consensus_of, order_fitting
from qrowd.data.arrays import over
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.orders import Orders
from qrowd.registry import method

_UNKNOWN = 1 / 12  # the variance of a share of which nothing is known


@method("borda", paper="Borda 1784")
class Borda:
    r"""Borda's count: the mean share of a ballot's other documents that a document is placed above.

    In a ballot of $m$ documents the one at place $r$ (tied ones share the mean of their places)
    gets $(m - r) / (m - 1)$; a document's worth is the (weighted) mean over the ballots that it is
    in, so between 0 (always last) and 1 (always first), 0.5 where it is in none.

    The standard deviation is that of a mean, with the variance within documents pooled over the
    topics: $s / \sqrt{n_i}$.

    >>> import qrowd as q
    >>> orders = q.Orders.of(
    ...     ["t"] * 6, list("abcabc"), ["ann"] * 3 + ["bob"] * 3, [1, 2, 3, 1, 3, 2]
    ... )
    >>> q.Borda().fit(orders).worth.tolist()
    [1.0, 0.25, 0.25]

    Reference: J.-C. de Borda, Mémoire sur les élections au scrutin, 1784.
    """

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The mean share of every pair of the pool."""
        fitting = order_fitting(self, orders, given)
        use = (orders.sizes > 1)[orders.ballot]
        # (m - r) / (m - 1) of each row, r the mean rank of those at its place
        new = (np.diff(orders.ballot, prepend=-1) != 0) | (np.diff(orders.place, prepend=0) != 0)
        group = np.cumsum(new)
        rank = np.arange(len(orders.pair)) - orders.starts[orders.ballot] + 1
        mean = over(np.bincount(group, rank), np.bincount(group))[group]
        size = orders.sizes[orders.ballot]
        points = ((size - mean) / np.maximum(size - 1, 1))[use]
        pair, n = orders.pair[use], len(orders.pairs)
        weight = orders.weights[orders.ballot][use]
        count = np.bincount(pair, weight, n)
        worth = np.where(count > 0, over(np.bincount(pair, points * weight, n), count), 0.5)
        spare = float(np.maximum(count - 1, 0).sum())
        squares = float((weight * (points - worth[pair]) ** 2).sum())
        variance = (squares + _UNKNOWN) / (spare + 1)
        deviation = np.sqrt(np.where(count > 0, variance / np.where(count > 0, count, 1), _UNKNOWN))
        return consensus_of(fitting, orders, worth, Uncertainty(deviation))
