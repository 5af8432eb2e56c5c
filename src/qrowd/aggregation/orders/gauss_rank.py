"""The Gaussian model of perceived relevance, with ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd.aggregation.fitting import Fitting
from qrowd.aggregation.gaussian import (
    START,
    deviations,
    halves,
    prior_density,
    proper,
    quadrature,
)
from qrowd.aggregation.ordering import consensus_of, joined_components
from qrowd.aggregation.perceiving import Labels, Seen, seen_places
from qrowd.data.arrays import Codes, Floats
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.orders import Orders
from qrowd.registry import method, param

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
    >>> found = q.GaussRank().fit(orders, q.Given(judgements=crowd))
    >>> found.ranks().tolist()
    [2, 1]

    Reference: Xia et al. 2011, section 2.2; how ranks enter is our reading.
    """

    spread: float | None = param(1.0, "standard deviation of log A beforehand", above=0)
    tol: float = param(1e-8, "stop when the objective gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The degree of relevance of every pair of the pool."""
        fitting, orders = _started(self, orders, given)
        nodes, log_share = quadrature()
        deviation = deviations()
        labels = Labels.of(fitting.judgements, proper(nodes, deviation))
        places = seen_places(orders, fitting.judgements, nodes, deviation)
        density = prior_density(fitting, deviation, self.spread)
        inside = _inside(fitting, len(nodes))
        at = np.full(len(density), int(np.abs(deviation - START).argmin()))
        start = log_share + labels.messages(at)
        q, factor = _normalised(start, inside), 0
        before, everybody = at, np.arange(len(at))
        for _ in fitting.iterations(self.max_iter):
            prior = log_share + labels.messages(at)
            q, old, value = places.settled(q, prior, inside, at, factor), q, 0.0
            counts = places.counts(q)
            value = _bound(q, prior) + places.value(counts, at, factor)
            gain = fitting.gain(value + float(density[everybody, at].sum()))
            before, factor_before = at, factor
            factor = places.best_factor(counts, at)
            at = (labels.values(q) + places.values(counts, factor) + density).argmax(axis=1)
            still = np.array_equal(before, at) and factor_before == factor
            moved = float(np.abs((q - old) @ nodes).max(initial=0.0))
            done = still or abs(gain) < self.tol * max(labels.total + places.total, 1.0)
            fitting.settled = done and (places.total == 0 or moved < _STILL)
        return _result(fitting, orders, places, (q, nodes), (deviation[before], factor_before))


def _started(method: GaussRank, orders: Orders, given: Given) -> tuple[Fitting, Orders]:
    """One pool and one index of assessors for grades and places."""
    rows = given.judgements if given.judgements is not None else Judgements.none(orders.pairs)
    rows = rows.with_pool(orders.pairs)
    who = rows.assessors.union(orders.assessors)
    rows = replace(rows, assessors=who, assessor=who.find(rows.assessors)[rows.assessor])
    fitting = Fitting.of(method, rows, given)
    pool = fitting.judgements.pairs
    moved = replace(
        orders,
        pairs=pool,
        pair=pool.locate(orders.pairs)[orders.pair],
        assessors=who,
        assessor=who.find(orders.assessors)[orders.assessor],
    )
    return fitting, moved


def _inside(fitting: Fitting, size: int) -> Floats:
    """0 for the nodes that gold leaves to each pair, -inf for the others."""
    bounds, node = halves(fitting.gold), np.arange(size)
    return np.where((node >= bounds[:, :1]) & (node < bounds[:, 1:]), 0.0, -np.inf)


def _normalised(logs: Floats, inside: Floats) -> Floats:
    weight = logs + inside
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _bound(q: Floats, prior: Floats) -> float:
    """The expected log prior and likelihood of grades, and the entropy of the degrees."""
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(q > 0, q * np.log(q), 0.0)
    return float((q * prior).sum() - entropy.sum())


def _result(
    fitting: Fitting,
    orders: Orders,
    places: Seen,
    degrees: tuple[Floats, Floats],
    noise: tuple[Floats, int],
) -> Consensus:
    q, nodes = degrees
    worth = q @ nodes
    deviation = np.sqrt(np.maximum(q @ nodes**2 - worth**2, 0.0))
    rows = fitting.judgements
    if places.total:
        factor = places.factors[noise[1]]
        noisy = f"places are {factor:.3g} times as noisy as grades"
        fitting.notes.append(noisy if factor < np.inf else "places say nothing: grades alone count")
    columns = {"judgements": rows.per_assessor, "deviation": noise[0]}
    component = _component(rows, orders)
    return consensus_of(fitting, orders, worth, deviation, component=component, columns=columns)


def _component(rows: Judgements, orders: Orders) -> Codes:
    """Grades join all judged pairs of a topic, ballots those that they rank."""
    judged = np.unique(rows.pair)
    same = np.diff(rows.pairs.topic[judged]) == 0
    ballots = np.diff(orders.ballot) == 0
    one = np.append(judged[:-1][same], orders.pair[:-1][ballots])
    other = np.append(judged[1:][same], orders.pair[1:][ballots])
    return joined_components(rows.pairs, one, other)
