"""Preferences of assessors who at times do not look, and choose by the side."""

from __future__ import annotations

from dataclasses import dataclass

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


@method("noisy-bt", paper="Ustalov et al. 2024", aliases={"NoisyBradleyTerry": "noisy-bt"})
class NoisyBT:
    r"""Bradley and Terry's model of assessors who at times choose by the side only.

    Assessor $k$ compares the two documents with probability $\gamma_k$ (*attention*), and else
    takes the left one with probability $\beta_k$ (*left*), whatever they are:

    $$P_k(\text{left } i \text{ over right } j) = \gamma_k\, \sigma(\theta_i - \theta_j) +
      (1 - \gamma_k)\, \beta_k, \qquad \sigma(x) = 1 / (1 + e^{-x})$$

    So it wants preferences that say which document stood left (`left right winner`); where that is
    not known, $\beta = 0.5$. With $\beta = 0.5$ for all it is `crowd-bt` with $\eta = (1 +
    \gamma) / 2$. A ballot of more than two counts as its preferences, and a tie half for either
    side, as there.

    Worths have the prior $\text{Normal}(0, \text{spread}^2)$, the logit of $\gamma_k$ that of a
    Beta distribution with `right` and `wrong`, that of $\beta_k$ with `sides` twice. The mode
    by Newton's method from equal worths; standard deviations from the inverse of the Hessian there.

    >>> import qrowd as q
    >>> orders = q.Orders.of_preferences(  # eve takes the left one, whatever it is
    ...     ["t"] * 24, list("abcabc") * 4, list("bcacab") * 4, ["eve"] * 24, left=[1] * 24
    ... )
    >>> bool(q.NoisyBT().fit(orders).assessors["left"][0] > 0.9)
    True

    Reference: D. Ustalov, N. Pavlichenko, B. Tseitlin, Learning from crowds with Crowd-Kit, Journal
    of Open Source Software, 2024.
    """

    spread: float | None = param(3.0, "standard deviation of worths beforehand", above=0)
    right: float = param(10.0, "prior count of comparisons with attention", above=0)
    wrong: float = param(1.0, "prior count of comparisons without", above=0)
    sides: float = param(1.0, "prior count of answers left, and as many right", above=0)
    tol: float = param(1e-9, "stop when no parameter would move by more", above=0)
    max_iter: int = param(200, "maximum number of iterations", at_least=1)

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The worth of every pair of the pool; attention and left of every assessor."""
        from scipy.special import expit

        fitting = order_fitting(self, orders, given)
        n, people = len(orders.pairs), len(orders.assessors)
        made = _sided(orders, self.spread, ((self.right, self.wrong), (self.sides, self.sides)))
        if not made.side.any():
            fitting.notes.append("no ballot says which document stood left: as crowd-bt")
        at = np.zeros(n + 2 * people)
        at[n : n + people] = np.log(self.right / self.wrong)
        for _ in fitting.iterations(self.max_iter):
            at, fitting.settled = downhill(made, at, self.tol)
            fitting.gain(-made.value(at))
        sure = uncertainty(fitting, orders, made.hessian(at))
        attention, left = np.split(expit(at[n:]), 2)
        columns = {"attention": attention, "left": left}
        return consensus_of(fitting, orders, at[:n], sure, columns=columns)


@dataclass(frozen=True, eq=False)
class _Sided(Answers):
    side: Floats  # 1: the better one stood left, -1: right, 0: not known

    def _chances(self, *sums: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        from scipy.special import expit

        d, a, b = sums
        attention, seen, taken = expit(a), expit(d), expit(self.side * b)
        return attention, seen, taken, attention * seen + (1 - attention) * taken

    def gain(self, *sums: Floats) -> Floats:
        return np.asarray(np.log(self._chances(*sums)[3]))

    def derivatives(self, *sums: Floats) -> tuple[list[Floats], list[list[Floats]]]:
        attention, seen, taken, chance = self._chances(*sums)
        looks, sees = attention * (1 - attention), seen * (1 - seen)
        takes = self.side * taken * (1 - taken)
        # of the chance itself, by d, a and b
        first = [attention * sees, looks * (seen - taken), (1 - attention) * takes]
        by_d = [attention * sees * (1 - 2 * seen), looks * sees, np.zeros_like(chance)]
        by_a = [by_d[1], looks * (1 - 2 * attention) * (seen - taken), -looks * takes]
        by_b = [by_d[2], by_a[2], (1 - attention) * self.side * takes * (1 - 2 * taken)]
        slopes = [each / chance for each in first]
        curves = [
            [each / chance - own * other for each, other in zip(row, slopes, strict=True)]
            for row, own in zip((by_d, by_a, by_b), slopes, strict=True)
        ]
        return slopes, curves


def _sided(orders: Orders, spread: float | None, priors: tuple[tuple[float, float], ...]) -> _Sided:
    made = noisy_comparisons(orders)
    precision = np.full(len(orders.pairs), 0.0 if spread is None else spread**-2.0)
    side = np.nan_to_num(2 * made.left - 1)
    blocks = (made.differences, made.of_assessor, made.of_assessor)
    return _Sided(blocks, made.weight, precision, priors, side)
