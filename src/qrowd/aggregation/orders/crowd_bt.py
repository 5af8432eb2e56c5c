"""Preferences of assessors who differ in accuracy."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.worths import (
    Answers,
    consensus_of,
    downhill,
    noisy_comparisons,
    order_fitting,
    uncertainty,
)
from qrowd.data.arrays import Floats
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.orders import Orders
from qrowd.registry import method, param


@method("crowd-bt", paper="Chen et al. 2013")
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
    right: float = param(10.0, "prior count of answers as the model says", above=0)
    wrong: float = param(1.0, "prior count of answers to the contrary", above=0)
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


class _Noisy(Answers):
    def gain(self, *sums: Floats) -> Floats:
        d, a = sums
        return np.asarray(np.logaddexp(0, a + d) - np.logaddexp(0, a) - np.logaddexp(0, d))

    def derivatives(self, *sums: Floats) -> tuple[list[Floats], list[list[Floats]]]:
        from scipy.special import expit

        d, a = sums
        both, own, other = expit(a + d), expit(d), expit(a)
        cross = both * (1 - both)
        by_d, by_a = (cross - x * (1 - x) for x in (own, other))
        return [both - own, both - other], [[by_d, cross], [cross, by_a]]


def _noisy(orders: Orders, spread: float | None, prior: tuple[float, float]) -> _Noisy:
    made = noisy_comparisons(orders)
    precision = np.full(len(orders.pairs), 0.0 if spread is None else spread**-2.0)
    return _Noisy((made.differences, made.of_assessor), made.weight, precision, (prior,))
