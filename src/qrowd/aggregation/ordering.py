"""What every method that merges orders does before and after its steps.

fitting = order_fitting(self, orders, given)
for _ in fitting.iterations(self.max_iter):
    ...
return consensus_of(fitting, orders, worth, deviation)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qrowd.aggregation.fitting import Fitting
from qrowd.data.arrays import Array, Codes, Floats
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


def joined_components(pairs: Pairs, one: Codes, other: Codes) -> Codes:
    """The components of pairs of which some are joined, one with the other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(pairs)
    edges = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(n, n))
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
    more = f", and {len(split) - 3} more topics" if len(split) > 3 else ""
    return [
        f"ballots join the documents of {len(split)} of {len(most)} topics into several components "
        f"only ({shown}{more}): worths compare within a component (column component)"
    ]


def consensus_of(
    fitting: Fitting,
    orders: Orders,
    worth: Floats,
    deviation: Floats,
    *,
    component: Codes | None = None,
    columns: Mapping[str, Array] | None = None,
    blocks: Blocks = (),
    details: Mapping[str, Any] | None = None,
) -> Consensus:
    """The result: components said, the assessors' table begun with the number of ballots."""
    component = components(orders) if component is None else component
    fitting.notes += component_notes(orders.pairs, component)
    ballots = np.bincount(orders.assessor, minlength=len(orders.assessors))
    return Consensus(
        orders.pairs,
        worth,
        deviation,
        component,
        AssessorTable(orders.assessors, {"ballots": ballots, **(columns or {})}),
        fitting.course(),
        blocks,
        details or {},
    )
