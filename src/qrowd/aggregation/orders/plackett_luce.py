"""Plackett and Luce's model of rankings; for preferences, Bradley and Terry's."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.choices import choices
from qrowd.aggregation.laplace import DENSE, uncertainty
from qrowd.aggregation.newton import downhill
from qrowd.aggregation.ordering import components, consensus_of, order_fitting
from qrowd.data.consensus import Consensus
from qrowd.data.given import NOTHING, Given
from qrowd.data.orders import Orders
from qrowd.registry import method, param


@method("plackett-luce", paper="Luce 1959; Plackett 1975; Davidson 1970")
class PlackettLuce:
    r"""Plackett and Luce's model: each place is a choice among the documents that are left.

    With worths $\theta_i$ a ballot that puts documents $1, 2, \dots, m$ in this order has

    $$P = \prod_{r=1}^{m-1} \frac{e^{\theta_r}}{\sum_{s \ge r} e^{\theta_s}}$$

    so that a preference follows Bradley and Terry, $P(i \succ j) = 1 / (1 + e^{\theta_j -
    \theta_i})$. Ties follow Davidson (1970), for more than two documents Firth, Kosmidis & Turner
    (2019): a set $T$ of $t$ documents that share a place is an outcome with the weight $\delta_t
    \prod_{i \in T} e^{\theta_i / t}$, and each choice is among all sets up to the size of the
    largest tie that occurs.

    Worths have the prior $\text{Normal}(0, \text{spread}^2)$, without which a document that is
    always first has no finite worth (`spread=none` leaves it out), and $\log \delta_t$ has
    $\text{Normal}(0, 3^2)$. The mode by Newton's method; standard deviations from the inverse of
    the Hessian there, of worths relative to the mean of their component. Components of more than
    2,000 documents have an approximate one.

    >>> import qrowd as q
    >>> orders = q.Orders.of_preferences(
    ...     ["t"] * 5, list("aaabb"), list("bbccc"), ["ann", "bob", "ann", "bob", "ann"]
    ... )
    >>> found = q.PlackettLuce().fit(orders)
    >>> found.ranks().tolist()
    [1, 2, 3]

    References: R. D. Luce, Individual Choice Behavior, 1959; R. L. Plackett, The analysis of
    permutations, 1975; R. R. Davidson, On extending the Bradley-Terry model, 1970.
    """

    spread: float | None = param(3.0, "standard deviation of worths beforehand", above=0)
    tol: float = param(1e-9, "stop when no parameter would move by more", above=0)
    max_iter: int = param(100, "maximum number of iterations", at_least=1)

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """The worth of every pair of the pool."""
        fitting = order_fitting(self, orders, given)
        made, most = choices(orders, self.spread, _TIE_SPREAD)
        at = np.zeros(len(made.precision))
        for _ in fitting.iterations(self.max_iter):
            at, fitting.settled = downhill(made, at, self.tol)
            fitting.gain(-made.value(at))
        component, n = components(orders), len(orders.pairs)
        sure = uncertainty(made.hessian(at), orders.pairs, component)
        if not sure.exact:
            fitting.notes.append(f"components of over {DENSE} documents: deviations approximate")
        ties = {f"delta({size + 2})": float(np.exp(each)) for size, each in enumerate(at[n:])}
        fitting.notes += (
            [f"ties: {', '.join(f'{k} {v:.3g}' for k, v in ties.items())}"] if ties else []
        )
        return consensus_of(
            fitting,
            orders,
            at[:n],
            sure.worth,
            component=component,
            blocks=sure.blocks,
            details={"most_tied": most, **ties},
        )


_TIE_SPREAD = 3.0
