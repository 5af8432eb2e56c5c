"""The max-margin majority vote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Codes, Floats
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, UNKNOWN, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param

GRID = tuple(2.0**-power for power in range(9))
ROUGH, EXACT = 1e-4, 1e-8
PASSES, VOTES = 1000, 20_000_000
"""At most so many passes over the votes for one set of weights, and at most so many votes seen."""
TIED = 1e-3
"""A lead of a grade below this is a tie: weights are known up to the solution's error only."""


@method("m3v", paper="Tian & Zhu 2015", uses=("gold",), shares=True)
class MaxMarginVote:
    r"""Max-margin majority vote: weights that keep the winning grade well ahead.

    With $g_i(d)$ the vector over assessors of who said $d$ on pair $i$, $\eta$ the assessors'
    weights, and $y$ the grades sought, the crowdsourcing margin $\eta^\top g_i(y_i) - \eta^\top
    g_i(d)$ over every other grade $d$ should be at least 1:

    $$\min_{\eta, y}\; \tfrac12 \lVert \eta \rVert^2 + c \sum_i \xi_i \qquad \text{so that} \quad
      \eta^\top (g_i(y_i) - g_i(d)) \ge 1 - \xi_i \;\; \forall d \ne y_i, \quad \xi_i \ge 0$$

    (another least margin $\ell$ would only stand for the price $c / \ell$). This is the
    point estimate M³V; the Bayesian extension CrowdSVM, which samples confusion matrices as
    well, is not here: what it adds to M³V is `ds`. From the majority vote on, two steps
    alternate, neither of which can raise the objective, until no label changes:

    - $\eta$: a Crammer-Singer problem with one weight per assessor, solved in the dual by exchanges
      between each pair's least and most violated constraint (deterministic, exact to 1e-8, or as
      far as 20 million votes seen take it);
    - $y_i = \arg\max_d \eta^\top g_i(d)$. A tied pair has no label, and no say, until the tie
      breaks; no label of it could have a smaller loss.

    $c$, unless given, is chosen from $2^{-8}, \ldots, 2^0$: the one whose labels give the votes
    the largest likelihood under confusion matrices counted from them (one judgement added to each
    cell). This was held against the paper's abstract and another implementation, not against its
    full text: take the choice of $c$ as ours. The probability of a grade is its share of the
    weights, a negative weight being given to the other grades. Gold fixes labels and teaches
    weights; the trace is minus the objective.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaabbbcccddd"), ["ann", "bob", "eve"] * 4,
    ...     [1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1],
    ... )
    >>> merged = q.MaxMarginVote(c=1.0).fit(crowd)
    >>> merged.grades().tolist()
    [1, 0, 1, 0]
    >>> bool(merged.assessors["weight"][0] > merged.assessors["weight"][2])
    True

    Reference: Tian & Zhu 2015.
    """

    c: float | None = param(None, "price of a violated margin; none: chosen by likelihood", above=0)
    max_iter: int = param(100, "alternations at most", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn weights from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        price = self.c or self._chosen(ballot)
        steps = _alternate(ballot, price, EXACT)
        eta = np.zeros(0)
        for _ in fitting.iterations(self.max_iter):
            state = next(steps)
            fitting.gain(-state.objective)
            fitting.settled, eta = state.settled, state.eta
        columns = {"weight": eta}
        return fitting.merged(ballot.shares(eta), columns, details=Details(own={"c": price}))

    def _chosen(self, ballot: Ballot) -> float:
        """The price whose labels explain the votes best; the smaller one of equals."""
        best, chosen = -np.inf, GRID[-1]
        for price in GRID[::-1]:
            for state in islice(_alternate(ballot, price, ROUGH), self.max_iter):
                if state.settled:
                    break
            likelihood = _likelihood(ballot, state.label)
            if likelihood > best + 1e-9 * abs(best) if np.isfinite(best) else True:
                best, chosen = likelihood, price
        return chosen


Pass = Callable[..., float]


@dataclass(frozen=True, eq=False)
class _State:
    eta: Floats
    label: Codes
    objective: float
    settled: bool


def _alternate(ballot: Ballot, price: float, exact: float) -> Iterator[_State]:
    """Weights for labels, labels for weights, from the majority vote on: roughly, and exactly
    once no label changes.
    """
    label = _labels(ballot, _scores(ballot, np.ones(ballot.shape[0])))
    dual, eta = np.zeros((len(label), ballot.width)), np.zeros(ballot.shape[0])
    one_pass, row = _pass(ballot), np.arange(len(label))
    voted = np.diff(ballot.judgements.pair_starts) > 0
    before, close = np.full(len(label), -2, np.int32), max(ROUGH, exact)
    while True:
        # where the label is new, all dual mass goes to the slack
        new = label != before
        dual[new] = 0.0
        rows = np.flatnonzero(new & (label >= 0))
        dual[rows, label[rows]] = price
        _solve(ballot, one_pass, label, dual, eta, close)
        score = _scores(ballot, eta)
        before, label = label, _labels(ballot, score)
        # how far the margin of a voted pair falls short of 1
        own = score[row, np.maximum(label, 0)]
        score[row, np.maximum(label, 0)] = -np.inf
        margin = np.where(label >= 0, own - score.max(axis=1), 0.0)
        objective = 0.5 * float(eta @ eta)
        objective += price * float(np.maximum(1.0 - margin, 0.0)[voted].sum())
        same = np.array_equal(before, label)
        yield _State(eta.copy(), label, objective, same and close <= exact)
        close = exact if same else close


def _solve(
    ballot: Ballot, one_pass: Pass, label: Codes, dual: Floats, eta: Floats, close: float
) -> None:
    """Exchange until no constraint is violated by more than `close`."""
    from qrowd.aggregation.kernels.passes import gather

    rows = ballot.judgements
    votes = (rows.pair_starts, rows.assessor, rows.grade, ballot.weight)
    idle, everybody = np.zeros(len(label), np.int32), True
    gather(*votes, label, dual, eta)
    for _ in range(max(50, min(PASSES, VOTES // max(len(rows), 1)))):
        gap = one_pass(label, dual, eta, close, idle, everybody)
        if gap <= close and everybody:
            return
        everybody = gap <= close


def _pass(ballot: Ballot) -> Pass:
    """One pass of exchanges over the votes; two grades have a shorter way to the same."""
    from qrowd.aggregation.kernels.passes import exchange, exchange_two, lengths

    rows = ballot.judgements
    votes = (rows.pair_starts, rows.assessor, rows.grade, ballot.weight)
    if ballot.width > 2:
        return lambda *state: exchange(*votes, *state)
    norm = np.empty(len(rows.pairs))
    lengths(*votes, norm)
    return lambda label, *state: exchange_two(*votes, label, norm, *state)


def _labels(ballot: Ballot, score: Floats) -> Codes:
    """The code with the largest sum of weights; -1 where it is tied; gold where it is given."""
    top = np.sort(score, axis=1)[:, -2:]
    decided = top[:, 1] - top[:, 0] > TIED
    best = np.where(decided, score.argmax(axis=1), -1)
    return np.where(ballot.gold != UNKNOWN, ballot.gold, best).astype(np.int32)


def _scores(ballot: Ballot, eta: Floats) -> Floats:
    """The sum of weights[pair, grade]."""
    rows = ballot.judgements
    weight = eta[rows.assessor] * (1.0 if rows.weight is None else rows.weight)
    cell = rows.pair.astype(np.int64) * ballot.width + rows.grade
    score = np.bincount(cell, weight, len(rows.pairs) * ballot.width).astype(np.float64)
    return score.reshape(-1, ballot.width)


def _likelihood(ballot: Ballot, label: Codes) -> float:
    """The log-likelihood of the votes on labelled pairs, by confusion matrices counted there."""
    rows, size = ballot.judgements, ballot.width
    voted = label[rows.pair]
    kept = voted >= 0
    cell = (rows.assessor[kept].astype(np.int64) * size + voted[kept]) * size + rows.grade[kept]
    weight = None if rows.weight is None else rows.weight[kept]
    counts = np.bincount(cell, weight, ballot.shape[0] * size * size).reshape(-1, size)
    chance = (counts + 1.0) / (counts.sum(axis=1, keepdims=True) + size)
    undecided = float((~kept if rows.weight is None else ~kept * rows.weight).sum())
    return float((counts * np.log(chance)).sum()) - undecided * float(np.log(size))
