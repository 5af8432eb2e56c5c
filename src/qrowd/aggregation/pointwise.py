"""The log-likelihood of each pair's judgements under draws of the hierarchical model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.data.chains import Likelihood

if TYPE_CHECKING:
    from qrowd.aggregation.kernels.gibbs import Record
    from qrowd.aggregation.sampling import Layout

_LEAST = 1e-30


def likelihood_of(record: Record, layout: Layout) -> Likelihood:
    """At the draws of relevance that were kept, worked out when it is asked for.

    A pair's grade is summed out; where gold is known, it is that grade.
    """
    kept, draws = record.accuracy.shape[1], record.z.shape[1]
    sweeps = -(-np.arange(1, draws + 1) * kept // draws) - 1  # at which z was written down
    voted = np.flatnonzero(np.diff(layout.crowd.starts))
    pairs = layout.judgements.pairs
    names = (pairs.topic_names + " " + pairs.document_names)[layout.order[voted]]

    def work_out() -> Array:
        result = np.empty((len(record.accuracy), draws, len(voted)), np.float32)
        for chain in range(len(result)):
            for draw, sweep in enumerate(sweeps):
                said, share = _said(record, chain, draw, sweep), _shares(record, chain, sweep)
                result[chain, draw] = _log_likelihood(layout, voted, said, share)
        return result

    return Likelihood(sweeps, names, work_out)


def _said(record: Record, chain: int, draw: int, sweep: int) -> Floats:
    """P(says h | is c) as [c, assessor * grades + h]."""
    if len(record.said[chain]):
        return np.asarray(record.said[chain, draw], np.float64)
    no, yes = record.accuracy[chain, sweep].T.astype(np.float64)
    rows = [np.stack([no, 1 - no], axis=1), np.stack([1 - yes, yes], axis=1)]
    return np.stack(rows).reshape(2, -1)


def _shares(record: Record, chain: int, sweep: int) -> Floats:
    """Prevalence as [topic, grade]."""
    upper = record.prevalence[chain, sweep].astype(np.float64)
    return np.concatenate([1 - upper.sum(axis=1, keepdims=True), upper], axis=1)


def _log_likelihood(layout: Layout, voted: Offsets, said: Floats, share: Floats) -> Floats:
    crowd, gold = layout.crowd, layout.crowd.gold[voted]
    of_votes = np.log(np.maximum(said, _LEAST))[:, crowd.cell] * crowd.weight
    joint = np.add.reduceat(of_votes, crowd.starts[voted], axis=1)
    joint += np.log(np.maximum(share, _LEAST))[crowd.topic[voted]].T
    joint[(gold >= 0) & (gold != np.arange(len(joint))[:, None])] = -np.inf
    return np.asarray(np.logaddexp.reduce(joint, axis=0))
