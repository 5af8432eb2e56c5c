"""Quality of orders: how far rankings agree, and the checks of Xia et al. (2011) on real ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from qrowd.comparison.significance import interval
from qrowd.data.arrays import Array, Floats, Mask, over
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.quality.against_gold import best_ndcg_score, gains, ideal_dcg
from qrowd.quality.agreement import Agreement, Coefficient

NAMES = ("kendall_w", "mean_tau", "cyclic")


def order_agreement(
    orders: Orders, *, bootstrap: int = 1000, level: float = 0.9, seed: int = 0
) -> Agreement:
    """How far ballots agree, with bootstrap intervals over topics.

    `kendall_w`: Kendall's W of each set of documents that several assessors ranked, ties corrected,
    the mean over sets. `mean_tau`: tau_b of any two ballots by different assessors that share two
    documents, over what they share. `cyclic`: the share of preferences (any two documents of a
    ballot) that lie in a cycle of the majority's preferences.
    """
    sums = np.zeros((len(orders.topics), 3, 2))
    for topic in range(len(orders.topics)):
        part = orders.select(orders.topic == topic)
        if len(part):
            sums[topic] = _kendall(part), _taus(part), _cyclic(part)
    value = over(*sums.sum(axis=0).T)
    low = high = np.full(len(NAMES), np.nan)
    if bootstrap:
        random = np.random.default_rng(seed)
        drawn = random.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), bootstrap)
        again = np.einsum("bt,tcs->bcs", drawn, sums)
        low, high = interval(over(again[:, :, 0], again[:, :, 1]), level, axis=0)
    coefficients = {
        name: Coefficient(float(value[at]), float(low[at]), float(high[at]))
        for at, name in enumerate(NAMES)
    }
    return Agreement(coefficients, pairs=len(orders.pairs), compared=len(orders), level=level)


def _kendall(orders: Orders) -> tuple[float, float]:
    """The sum of W over sets with at least two ballots, and how many there are."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for ballot in range(len(orders)):
        rows = orders.pair[orders.starts[ballot] : orders.starts[ballot + 1]]
        groups.setdefault(tuple(np.sort(rows).tolist()), []).append(ballot)
    of_set = [_w(orders, chosen) for key, chosen in groups.items() if len(chosen) > 1 < len(key)]
    defined = [w for w in of_set if not np.isnan(w)]
    return float(sum(defined)), float(len(defined))


def _w(orders: Orders, ballots: list[int]) -> float:
    from scipy.stats import rankdata

    rows = [slice(orders.starts[b], orders.starts[b + 1]) for b in ballots]
    places = np.stack([orders.place[row][np.argsort(orders.pair[row])] for row in rows])
    ranks, (m, n) = rankdata(places, axis=1), places.shape
    ties = sum(
        float((t**3 - t).sum()) for t in (np.unique(p, return_counts=True)[1] for p in places)
    )
    squares = float(((ranks.sum(axis=0) - m * (n + 1) / 2) ** 2).sum())
    below = m**2 * (n**3 - n) - m * ties
    return 12 * squares / below if below > 0 else float("nan")


def _taus(orders: Orders) -> tuple[float, float]:
    """The sum of tau_b over couples of ballots by different assessors, and how many there are."""
    from scipy.sparse import csr_array

    compared = orders.comparisons()
    first, second = compared.first, compared.second
    low, high = np.minimum(first, second), np.maximum(first, second)
    sign = np.where(compared.tied, 0, np.where(first < second, 1, -1)).astype(np.float64)
    couple = np.unique(low.astype(np.int64) * len(orders.pairs) + high, return_inverse=True)[1]
    shape = (len(orders), int(couple.max(initial=-1)) + 1)

    def matrix(values: Floats) -> Any:
        return csr_array((values, (compared.ballot, couple)), shape=shape)

    both = matrix(np.ones(len(sign)))
    own = (matrix(sign**2) @ both.T).toarray()
    agree = (matrix(sign) @ matrix(sign).T).toarray()
    below = np.sqrt(own * own.T)
    other = orders.assessor[:, None] < orders.assessor[None, :]
    use = (other | other.T) & (below > 0) & np.triu(np.ones_like(other), 1)
    return float((agree[use] / below[use]).sum()), float(use.sum())


def _cyclic(orders: Orders) -> tuple[float, float]:
    """How many preferences lie in a cycle of the majority's preferences, and how many there are."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    compared = orders.comparisons()
    winner, loser = compared.first[~compared.tied], compared.second[~compared.tied]
    n = len(orders.pairs)
    wins = coo_array((np.ones(len(winner)), (winner, loser)), shape=(n, n)).tocsr()
    net = (wins - wins.T).tocoo()
    ahead = net.data > 0
    edges = coo_array((net.data[ahead], (net.coords[0][ahead], net.coords[1][ahead])), shape=(n, n))
    label = connected_components(edges, directed=True, connection="strong")[1]
    even = np.asarray(net.tocsr()[winner, loser]).ravel() == 0
    return float(((label[winner] == label[loser]) & ~even).sum()), float(len(winner))


# --- against gold, and against the assessor's own grades ------------------------------------------


def order_checks(
    orders: Orders,
    gold: Qrels | None = None,
    judgements: Judgements | None = None,
    *,
    rel: int = 1,
    ideal: str = "tied",
) -> AssessorTable:
    """Each assessor's ballots, NDCG score on gold, and share of ballots that fit the own grades.

    `ndcg` is the mean over ballots whose documents all have gold, one of them above 0; `best_ndcg`
    is what could be reached there. `compatible` is the share of ballots that pass the
    compatibility check: places 1..n without ties, every relevant document above every other.
    """
    n = len(orders.assessors)
    columns: dict[str, Array] = {"ballots": np.bincount(orders.assessor, minlength=n)}
    if gold is not None:
        columns |= _against_gold(orders, gold, ideal)
    if judgements is not None:
        fits, graded = _compatible(orders, judgements, rel)
        assessor = orders.assessor[graded]
        columns["compatible"] = over(
            np.bincount(assessor, fits[graded], n), np.bincount(assessor, minlength=n)
        )
    return AssessorTable(orders.assessors, columns)


def _against_gold(orders: Orders, gold: Qrels, ideal: str) -> dict[str, Array]:
    at = gold.pairs.locate(orders.pairs)[orders.pair]
    grade = np.where(at >= 0, np.append(gold.grade, 0)[at], -1)
    got = np.bincount(orders.ballot, gains(grade) / np.log2(1.0 + orders.place), len(orders))
    scores, best = np.full(len(orders), np.nan), np.full(len(orders), np.nan)
    for ballot in np.flatnonzero(np.bincount(orders.ballot, at < 0, len(orders)) == 0):
        own = grade[orders.starts[ballot] : orders.starts[ballot + 1]]
        full = ideal_dcg(own, ideal)
        if full > 0:
            scores[ballot], best[ballot] = got[ballot] / full, best_ndcg_score(own, ideal)
    use, n = ~np.isnan(scores), len(orders.assessors)
    count = np.bincount(orders.assessor[use], minlength=n)
    means = {
        name: over(np.bincount(orders.assessor[use], values[use], n), count)
        for name, values in (("ndcg", scores), ("best_ndcg", best))
    }
    return {"gold_ballots": count, **means}


def _compatible(orders: Orders, judgements: Judgements, rel: int) -> tuple[Mask, Mask]:
    """Whether each ballot passes, and whether all of its documents have the assessor's grade."""
    rows = judgements.one_each()
    size = max(len(rows.assessors), 1)
    key = rows.pair.astype(np.int64) * size + rows.assessor
    pair = rows.pairs.locate(orders.pairs)[orders.pair].astype(np.int64)
    assessor = rows.assessors.find(orders.assessors)[orders.assessor][orders.ballot]
    at = np.searchsorted(key, pair * size + assessor).clip(0, max(len(key) - 1, 0))
    graded = (pair >= 0) & (assessor >= 0) & (key[at] == pair * size + assessor)
    relevant = np.array(rows.scale.grades)[rows.grade[at]] >= rel
    n, ballot = len(orders), orders.ballot
    lowest, highest = np.zeros(n), np.full(n, np.inf)
    np.maximum.at(lowest, ballot[relevant], orders.place[relevant])
    np.minimum.at(highest, ballot[~relevant], orders.place[~relevant])
    strict = np.bincount(ballot, orders.place, n) == orders.sizes * (orders.sizes + 1) / 2
    return (lowest < highest) & strict, np.bincount(ballot, ~graded, n) == 0
