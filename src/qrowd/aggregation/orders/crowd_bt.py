"""Preferences of assessors who differ in accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.aggregation.worths import consensus_of, downhill, order_fitting, uncertainty
from qrowd.data.arrays import Codes, Floats
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.orders import Orders
from qrowd.registry import method, param


@method("crowd-bt", paper="Chen et al. 2013", aliases={"NoisyBradleyTerry": "crowd-bt"})
class CrowdBT:
    r"""Crowd-BT: Bradley and Terry's model with an accuracy of each assessor.

    Assessor $k$ says what the model says with probability $\eta_k$, else the opposite:

    $$P_k(i \succ j) = \eta_k\, \sigma(\theta_i - \theta_j) + (1 - \eta_k)\, \sigma(\theta_j -
      \theta_i), \qquad \sigma(x) = 1 / (1 + e^{-x})$$

    $\eta_k = 1$ is Bradley and Terry's model, 0.5 an assessor who says nothing, 0 one who always
    says the opposite. A ballot of $m$ documents counts as its preferences, any two documents one,
    each with the weight $2 / m$ since they are not independent; a tie counts half for either side.

    Worths have the prior $\text{Normal}(0, \text{spread}^2)$; the logit of $\eta_k$ that of a
    Beta distribution with `right` and `wrong` (10 and 1, as in the paper). Accuracies are shared by
    all topics. With $a_k = \text{logit}\, \eta_k$ and $d = \theta_i - \theta_j$ the
    log-likelihood is

    $$\log(1 + e^{a_k + d}) - \log(1 + e^{a_k}) - \log(1 + e^d)$$

    and its mode is found by Newton's method from equal worths. Standard deviations from the
    inverse of the Hessian there, accuracies' uncertainty included.

    >>> import qrowd as q
    >>> orders = q.Orders.of_preferences(
    ...     ["t"] * 6, list("aabcbc"), list("bccaab"), ["ann"] * 3 + ["eve"] * 3
    ... )
    >>> orders = q.CrowdBT().fit(orders)
    >>> bool(abs(orders.assessors["accuracy"] - 0.9).max() < 0.1)
    True

    Reference: X. Chen, P. N. Bennett, K. Collins-Thompson, E. Horvitz, Pairwise ranking aggregation
    in a crowdsourced setting, WSDM 2013.
    """

    spread: float | None = param(3.0, "standard deviation of worths beforehand", above=0)
    right: float = param(10.0, "answers as the model says, before any was seen", above=0)
    wrong: float = param(1.0, "answers to the contrary, before any was seen", above=0)
    tol: float = param(1e-9, "stop when no parameter would move by more", above=0)
    max_iter: int = param(200, "maximum number of iterations", at_least=1)

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The worth of every pair of the pool, and the accuracy of every assessor."""
        from scipy.special import expit

        fitting = order_fitting(self, orders, given)
        n, people = len(orders.pairs), len(orders.assessors)
        made = _noisy(orders, self.spread, (self.right, self.wrong))
        at = np.append(np.zeros(n), np.full(people, np.log(self.right / self.wrong)))
        for _ in fitting.iterations(self.max_iter):
            at, fitting.settled = downhill(made, at, self.tol)
            fitting.gain(-made.value(at))
        sure = uncertainty(fitting, orders, made.hessian(at))
        columns = {"accuracy": expit(at[n:]), "logit": at[n:], "logit_deviation": sure.shared}
        return consensus_of(fitting, orders, at[:n], sure, columns=columns)


@dataclass(frozen=True, eq=False)
class _Noisy:
    """Comparisons (differences @ worths, of assessors) with their weights, and the prior."""

    differences: Any
    of_assessor: Any
    weight: Floats
    precision: Floats
    prior: tuple[float, float]

    def _split(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        n = self.differences.shape[1]
        return self.differences @ at[:n], self.of_assessor @ at[n:], at[n:]

    def value(self, at: Floats) -> float:
        """Minus the log-likelihood and the log prior."""
        d, a, logit = self._split(at)
        gain = np.logaddexp(0, a + d) - np.logaddexp(0, a) - np.logaddexp(0, d)
        right, wrong = self.prior
        prior = right * logit - (right + wrong) * np.logaddexp(0, logit)
        worths = at[: self.differences.shape[1]]
        return 0.5 * float(self.precision @ worths**2) - float(self.weight @ gain + prior.sum())

    def _curves(self, at: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Second derivatives of minus the log-likelihood: by d, by a, by both; and the prior's."""
        from scipy.special import expit

        d, a, logit = self._split(at)
        both, own, other = expit(a + d), expit(d), expit(a)
        cross = -self.weight * both * (1 - both)
        e = expit(logit)
        by_d, by_a = (self.weight * x * (1 - x) + cross for x in (own, other))
        return by_d, by_a, cross, sum(self.prior) * e * (1 - e)

    def slope(self, at: Floats) -> tuple[Floats, Callable[[Floats], Floats], Floats]:
        """Gradient, product with the Hessian, and a diagonal like the Hessian's."""
        from scipy.special import expit

        n = self.differences.shape[1]
        d, a, logit = self._split(at)
        both = expit(a + d)
        to_worths, to_people = self.differences.T.tocsr(), self.of_assessor.T.tocsr()
        right, wrong = self.prior
        by_worth = to_worths @ (self.weight * (expit(d) - both)) + self.precision * at[:n]
        by_person = to_people @ (self.weight * (expit(a) - both))
        by_person += (right + wrong) * expit(logit) - right
        by_d, by_a, cross, own = self._curves(at)

        def product(vector: Floats) -> Floats:
            moved, shifted = self.differences @ vector[:n], self.of_assessor @ vector[n:]
            up = to_worths @ (by_d * moved + cross * shifted) + self.precision * vector[:n]
            side = to_people @ (cross * moved + by_a * shifted) + own * vector[n:]
            return np.append(up, side)

        diagonal = np.append(
            to_worths.multiply(to_worths) @ np.abs(by_d) + self.precision,
            to_people @ np.abs(by_a) + own,
        )
        return np.append(by_worth, by_person), product, np.maximum(diagonal, 1e-8)

    def hessian(self, at: Floats) -> Any:
        """The Hessian as a sparse matrix."""
        from scipy.sparse import block_array, diags_array

        by_d, by_a, cross, own = self._curves(at)
        worths = self.differences.T @ diags_array(by_d) @ self.differences
        between = self.differences.T @ diags_array(cross) @ self.of_assessor
        people = self.of_assessor.T @ diags_array(by_a) @ self.of_assessor
        return block_array(
            [
                [worths + diags_array(self.precision), between],
                [between.T, people + diags_array(own)],
            ]
        ).tocsr()


def _noisy(orders: Orders, spread: float | None, prior: tuple[float, float]) -> _Noisy:
    pairs = orders.comparisons()
    tied, assessor = pairs.tied, orders.assessor[pairs.ballot]
    weight = np.where(tied, 0.5, 1.0) * 2.0 / orders.sizes[pairs.ballot]
    # tied comparisons count both ways
    first = np.append(pairs.first, pairs.second[tied])
    second = np.append(pairs.second, pairs.first[tied])
    assessor = np.append(assessor, assessor[tied])
    weight = np.append(weight, weight[tied])
    n = len(orders.pairs)
    precision = np.full(n, 0.0 if spread is None else spread**-2.0)
    differences = _rows(first, n) - _rows(second, n)
    return _Noisy(
        differences.tocsr(), _rows(assessor, len(orders.assessors)), weight, precision, prior
    )


def _rows(column: Codes, width: int) -> Any:
    from scipy.sparse import csr_array

    n = len(column)
    return csr_array((np.ones(n), column, np.arange(n + 1)), shape=(n, width))
