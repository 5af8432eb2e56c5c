"""How far each two assessors agree, and who is like whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets, over
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.errors import UsageError


@dataclass(frozen=True, eq=False)
class Couples:
    """How far each two assessors agree: dense [assessors, assessors], NaN without shared pairs."""

    assessors: Index
    shared: Offsets
    raw: Floats
    kappa: Floats

    def order(self) -> Offsets:
        """Assessors ordered so that alike ones are neighbours (average linkage on agreement)."""
        if len(self.assessors) < 3:
            return np.arange(len(self.assessors))
        from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

        middle = np.nanmean(self.raw[self.shared > 0]) if (self.shared > 0).any() else 0.5
        distance = 1 - np.where(np.isnan(self.raw), middle, self.raw)
        flat = distance[np.triu_indices(len(distance), 1)]
        tree = linkage(flat, "average")
        if len(self.assessors) <= 300:  # the best of all orders of the tree's leaves
            tree = optimal_leaf_ordering(tree, flat)
        return np.asarray(leaves_list(tree), np.int64)


def cohen(judgements: Judgements, most: int | None = None) -> Couples:
    r"""Raw agreement and Cohen's kappa (1960) of each two assessors on the pairs that both judged.

    $$ \kappa = (p_o - p_e)/(1 - p_e), \quad p_e = \sum_k p_k^{(a)} p_k^{(b)} $$ with the shares
    of both on their shared pairs. `most` keeps the assessors with the most judgements.
    """
    from scipy.sparse import csr_array

    single = judgements.one_each()
    if most is not None and most < len(single.assessors):
        busiest = np.sort(np.argsort(-single.per_assessor, kind="stable")[:most])
        single = single.of_assessors(Index(single.assessors.names[busiest]))
    n, size = len(single.assessors), len(single.scale)
    if n > 3000:
        raise UsageError(f"a matrix of {n} assessors is too large to use; pass most=100, say")
    said = [
        csr_array(
            (np.ones(int(here.sum()), np.float64), (single.assessor[here], single.pair[here])),
            shape=(n, len(single.pairs)),
        )
        for here in (single.grade == code for code in range(size))
    ]
    judged = csr_array(sum(said[1:], said[0]))
    shared = (judged @ judged.T).toarray()
    same = sum((one @ one.T).toarray() for one in said)
    margins = [(one @ judged.T).toarray() for one in said]
    observed = over(np.asarray(same), shared)
    expected = over(np.asarray(sum(one * one.T for one in margins)), shared**2)
    kappa = over(observed - expected, np.where(expected < 1 - 1e-12, 1 - expected, 0.0))
    np.fill_diagonal(observed, np.nan)
    np.fill_diagonal(kappa, np.nan)
    return Couples(single.assessors, shared.astype(np.int64), observed, kappa)


@dataclass(frozen=True, eq=False)
class Sharing:
    """Couples of assessors who share pairs: who, how many pairs, on how many they agree."""

    one: Offsets
    other: Offsets
    shared: Floats
    same: Floats

    @property
    def freedom(self) -> tuple[int, int]:
        """Couples and degrees of freedom left, over the parts of the crowd that have any.

        A part of a assessors who are linked by c couples leaves c - a - 1: a sensitivity, a
        specificity and a leaning each, and the prior, are learned from the couples and the shares.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if not len(self.one):
            return 0, 0
        size = int(self.other.max()) + 1
        links = coo_array((np.ones(len(self.one)), (self.one, self.other)), shape=(size, size))
        parts, part = connected_components(links, directed=False)
        couples = np.bincount(part[self.one], minlength=parts)
        left = couples - np.bincount(part, minlength=parts) - 1
        return int(couples[left > 0].sum()), int(left[left > 0].sum())


def sharing(judgements: Judgements) -> Sharing:
    """The couples of assessors who share pairs, of which each has judged each once at most."""
    from scipy.sparse import csr_array, triu

    n, pairs = len(judgements.assessors), len(judgements.pairs)

    def together(rows: Array) -> Any:
        where = (judgements.assessor[rows], judgements.pair[rows])
        said = csr_array((np.ones(int(rows.sum())), where), shape=(n, pairs))
        return csr_array(triu(said @ said.T, 1))

    shared = together(np.ones(len(judgements), np.bool_)).tocoo()
    same = csr_array((n, n))
    for code in range(len(judgements.scale)):
        same = same + together(judgements.grade == code)
    one, other = shared.row.astype(np.int64), shared.col.astype(np.int64)
    return Sharing(one, other, shared.data, np.asarray(same[one, other]).ravel())
