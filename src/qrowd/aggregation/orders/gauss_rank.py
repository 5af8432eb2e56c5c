"""The Gaussian model of perceived relevance, with ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from qrowd.aggregation.fit import Fitting
from qrowd.aggregation.judgements import em_gauss
from qrowd.aggregation.worths import Uncertainty, consensus_of, joined_components
from qrowd.data.arrays import Codes, Floats, Mask, Offsets
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Comparisons, Orders
from qrowd.registry import method, param

_FACTORS = 200  # the largest factor, in steps of the grid: 33
_APART = 10  # steps between two factors
_CLEARLY = 3.0  # nats
_SWEEPS, _CLOSE, _DAMPED = 20, 1e-9, 0.5
_STILL = 1e-7  # degrees that move less have settled


@method(
    "gauss-rank", paper="Xia et al. 2011", uses=("judgements", "gold", "priors"), grades="binary"
)
class GaussRank:
    r"""The Gaussian model with ranks: grades and places are evidence of one degree of relevance.

    As in `em-gauss`, document $i$ has a degree $B_i \in (0, 1)$, uniform beforehand, and assessor
    $j$ sees it through noise of variance $A_j$ and says *relevant* if what is seen exceeds 0.5. An
    assessor who also ranks puts what is seen in order:

    $$P(i \succ k \mid B) = \Phi\!\left(\frac{B_i - B_k}{c \sqrt{2 A_j}}\right), \qquad
      P(y_{ij} = 1 \mid B) = \Phi\!\left(\frac{B_i - 0.5}{\sqrt{A_j}}\right)$$

    with one factor $c \ge 1$ for all, by which places are noisier than grades: where they do not
    raise the likelihood by 3 nats, it is infinite, and they count for nothing. A ballot of $m$
    documents counts as its comparisons with the weight $2/m$ each, since they are not independent;
    ties count half for either side. A comparison that the assessor's own grades imply (one document
    relevant, the other not, and placed so) is left out, since it would count the same perception
    twice, unless the assessor also places documents against the grades.

    Degrees are estimated by mean field on 32 nodes, $A_j$ and $c$ by their expected likelihood, in
    turn. Without ranks all of it is `em-gauss`, and worths are its probabilities. Worths are the
    posterior means of $B_i$, with their standard deviations. Since grades have one scale for
    all, documents of a topic compare even where no ballot joins them.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 4, list("aabb"), ["ann", "bob"] * 2, [1, 1, 1, 1])
    >>> orders = q.Orders.of(["t"] * 4, list("abab"), ["ann"] * 2 + ["bob"] * 2, [2, 1, 2, 1])
    >>> consensus = q.GaussRank().fit(orders, q.Given(judgements=crowd))
    >>> consensus.ranks().tolist()
    [2, 1]

    Reference: Xia et al. 2011, section 2.2; how ranks enter is our reading.
    """

    spread: float | None = param(1.0, "standard deviation of log A beforehand", above=0)
    tol: float = param(1e-8, "stop when the objective gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The degree of relevance of every pair of the pool."""
        fitting, orders = _started(self, orders, given)
        nodes, log_share = em_gauss.quadrature()
        deviation = em_gauss.deviations()
        labels = Labels.of(fitting.judgements, em_gauss.proper(nodes, deviation))
        places = seen_places(orders, fitting.judgements, nodes, deviation)
        density = em_gauss.prior_density(fitting, deviation, self.spread)
        bounds, node = em_gauss.halves(fitting.gold), np.arange(len(nodes))
        inside = np.where((node >= bounds[:, :1]) & (node < bounds[:, 1:]), 0.0, -np.inf)
        at = np.full(len(density), int(np.abs(deviation - em_gauss.START).argmin()))
        q, factor = _normalised(log_share + labels.messages(at), inside), 0
        before, everybody = at, np.arange(len(at))
        for _ in fitting.iterations(self.max_iter):
            prior = log_share + labels.messages(at)
            q, old = places.settled(q, prior, inside, at, factor), q
            counts = places.counts(q)
            # expected log prior and likelihood of grades, entropy of the degrees, and places
            with np.errstate(divide="ignore", invalid="ignore"):
                entropy = np.where(q > 0, q * np.log(q), 0.0)
            bound = float((q * prior).sum() - entropy.sum())
            value = bound + places.value(counts, at, factor)
            gain = fitting.gain(value + float(density[everybody, at].sum()))
            before, factor_before = at, factor
            factor = places.best_factor(counts, at)
            at = (labels.values(q) + places.values(counts, factor) + density).argmax(axis=1)
            still = np.array_equal(before, at) and factor_before == factor
            moved = float(np.abs((q - old) @ nodes).max(initial=0.0))
            done = still or abs(gain) < self.tol * max(labels.total + places.total, 1.0)
            fitting.settled = done and (places.total == 0 or moved < _STILL)
        worth = q @ nodes
        spread = np.sqrt(np.maximum(q @ nodes**2 - worth**2, 0.0))
        if places.total:
            times = places.factors[factor_before]
            noisy = f"places are {times:.3g} times as noisy as grades"
            fitting.notes.append(
                noisy if times < np.inf else "places say nothing: grades alone count"
            )
        rows = fitting.judgements
        columns = {"judgements": rows.per_assessor, "deviation": deviation[before]}
        # grades join all judged pairs of a topic, ballots those that they rank
        judged = np.unique(rows.pair)
        same = np.diff(rows.pairs.topic[judged]) == 0
        ballots = np.diff(orders.ballot) == 0
        left = np.append(judged[:-1][same], orders.pair[:-1][ballots])
        right = np.append(judged[1:][same], orders.pair[1:][ballots])
        sure = Uncertainty(spread, joined_components(rows.pairs, left, right))
        return consensus_of(fitting, orders, worth, sure, columns=columns)


def _started(method: GaussRank, orders: Orders, given: Given) -> tuple[Fitting, Orders]:
    """One pool and one index of assessors for grades and places."""
    rows = given.judgements if given.judgements is not None else Judgements.none(orders.pairs)
    rows = rows.with_pool(orders.pairs)
    everybody = rows.assessors.union(orders.assessors)
    assessor = everybody.find(rows.assessors)[rows.assessor]
    rows = replace(rows, assessors=everybody, assessor=assessor, kinds=None)
    fitting = Fitting.of(method, rows, given)
    pool = fitting.judgements.pairs
    moved = replace(
        orders,
        pairs=pool,
        pair=pool.locate(orders.pairs)[orders.pair],
        assessors=everybody,
        assessor=everybody.find(orders.assessors)[orders.assessor],
    )
    return fitting, moved


def _normalised(logs: Floats, inside: Floats) -> Floats:
    weight = logs + inside
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


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
        return np.append(np.exp(em_gauss.STEP * np.arange(0, _FACTORS + 1, _APART)), np.inf)

    @cached_property
    def _incidence(self) -> tuple[Any, Any, Mask]:
        from scipy.sparse import csr_array

        n, at = len(self.first), np.arange(len(self.first))
        above = csr_array((self.weight, (self.first, at)), shape=(self.pairs, n))
        below = csr_array((self.weight, (self.second, at)), shape=(self.pairs, n))
        met = np.zeros(self.pairs, np.bool_)
        met[self.first] = met[self.second] = True
        return above, below, met

    def _of(self, at: Codes, factor: int) -> Codes:
        """The row of the table for each assessor's places."""
        if factor * _APART > _FACTORS:
            return np.full(len(at), len(self.table) - 1)
        return np.asarray(np.minimum(at + factor * _APART, len(self.table) - 2))

    def settled(self, q: Floats, prior: Floats, inside: Floats, at: Codes, factor: int) -> Floats:
        """The degrees of all pairs, updated together until they rest; damped where pairs meet."""
        if not self.total:
            return _normalised(prior, inside)
        for _ in range(_SWEEPS):
            new = _normalised(prior + inside, self._messages(q, at, factor))
            met = self._incidence[2]
            new[met] = (1 - _DAMPED) * q[met] + _DAMPED * new[met]
            moved, q = float(np.abs(new - q).max()), new
            if moved < _CLOSE:
                break
        return q

    def _messages(self, q: Floats, at: Codes, factor: int) -> Floats:
        """What the comparisons say of each pair's degree, given the others' degrees."""
        above, below, _ = self._incidence
        row = np.repeat(self._of(at, factor), np.diff(self.starts))
        up, down = np.empty((len(row), q.shape[1])), np.empty((len(row), q.shape[1]))
        order = np.argsort(row, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(row[order])) + 1):
            table = self.table[row[part[0]]]
            up[part] = q[self.second[part]] @ table.T
            down[part] = q[self.first[part]] @ table
        return np.asarray(above @ up + below @ down)

    def counts(self, q: Floats) -> Floats:
        """The expected comparisons of each assessor by both nodes: [assessors, nodes * nodes]."""
        size = q.shape[1]
        made = np.zeros((len(self.starts) - 1, size * size))
        for assessor in np.flatnonzero(np.diff(self.starts)):
            rows = slice(self.starts[assessor], self.starts[assessor + 1])
            weighted = q[self.first[rows]] * self.weight[rows, None]
            made[assessor] = (weighted.T @ q[self.second[rows]]).ravel()
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
        likelihood = [self.value(counts, at, factor) for factor in range(len(self.factors))]
        likelihood[-1] += _CLEARLY
        return int(np.argmax(likelihood))


def seen_places(orders: Orders, rows: Judgements, nodes: Floats, deviation: Floats) -> Seen:
    """The comparisons that an assessor's own grades do not imply; tied ones count both ways."""
    from scipy.special import log_ndtr

    pairs = orders.comparisons()
    assessor = orders.assessor[pairs.ballot]
    kept = pairs.tied | ~_implied(pairs, assessor, rows)
    tied, above, below = pairs.tied[kept], pairs.first[kept], pairs.second[kept]
    ballot = pairs.ballot[kept]
    weight = np.where(tied, 0.5, 1.0) * 2.0 / orders.sizes[ballot] * orders.weights[ballot]
    weight = np.append(weight, weight[tied])
    first, second = np.append(above, below[tied]), np.append(below, above[tied])
    assessor = np.append(assessor[kept], assessor[kept][tied])
    order = np.lexsort((second, first, assessor))
    starts = np.searchsorted(assessor[order], np.arange(len(orders.assessors) + 1))
    noisier = deviation[-1] * np.exp(em_gauss.STEP * np.arange(1, _FACTORS + 1))
    wide = np.append(deviation, noisier) * np.sqrt(2.0)
    wide = np.append(wide, np.inf)[:, None, None] if len(order) else np.full((1, 1, 1), np.inf)
    table = np.asarray(log_ndtr((nodes[:, None] - nodes[None, :]) / wide))
    return Seen(
        first[order], second[order], weight[order], starts, table, len(orders.pairs), len(deviation)
    )


def _implied(pairs: Comparisons, assessor: Codes, rows: Judgements) -> Mask:
    """Whether the assessor graded the first document higher than the second, and never the other
    way round: ranks of who does are another perception, and all of them count.
    """
    key = rows.pair.astype(np.int64) * max(len(rows.assessors), 1) + rows.assessor

    def grade(pair: Codes) -> Floats:
        if not len(key):
            return np.full(len(pair), np.nan)
        wanted = pair.astype(np.int64) * max(len(rows.assessors), 1) + assessor
        at = np.maximum(np.searchsorted(key, wanted, side="right") - 1, 0)
        return np.where(key[at] == wanted, rows.grade[at], np.nan)

    first, second = grade(pairs.first), grade(pairs.second)
    apart = np.bincount(assessor, ~pairs.tied & (first < second), len(rows.assessors)) > 0
    return np.asarray((first > second) & ~apart[assessor])
