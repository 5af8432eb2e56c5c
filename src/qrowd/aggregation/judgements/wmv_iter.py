"""Iterative weighted majority voting."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import TIES_INSIDE, Ballot
from qrowd.aggregation.fitting import Fitting
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@method("wmv-iter", paper="Li & Yu 2014; Piazzon 2019", uses=("gold",))
class IterativeWeightedVote:
    r"""Iterative weighted majority vote: who agrees with the outcome gets more weight.

    With $y_{ij}$ what assessor $j$ said of pair $i$, $N_j$ the pairs that $j$ judged, and $L$
    grades, starting from $\nu_j = 1$, until no label changes:

    $$\hat y_i = \arg\max_g \sum_j \nu_j\, 1[y_{ij} = g], \qquad
      w_j = \frac{\sum_{i \in N_j} 1[y_{ij} = \hat y_i]}{|N_j|}, \qquad \nu_j = L w_j - 1$$

    For two grades that is $2 w_j - 1$: somebody at the level of chance weighs nothing, somebody
    worse than chance votes for the opposite. The probability of a grade is its share of the
    weights, a negative weight being given to all other grades.

    While it iterates, a tied pair counts in equal parts for the tied grades (`ties` may decide it
    by the rule of qrels instead). Gold pairs have their gold label in every step, and are never
    overturned. The trace is the sum over pairs of the winning grade's weight. A vote with weight 2
    counts as two votes.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaaabbbbcccc"), ["ann", "bob", "cy", "eve"] * 3,
    ...     [1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0],
    ... )
    >>> merged = q.IterativeWeightedVote().fit(crowd)
    >>> merged.relevant.round(2).tolist()
    [1.0, 0.13, 0.88]
    >>> merged.assessors["weight"].round(2).tolist()
    [1.0, 1.0, 0.33, -0.33]

    References: Li & Yu 2014; Piazzon 2019, section 2.5.1.
    """

    ties: str = param("split", "what to do with tied labels while it iterates", choices=TIES_INSIDE)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn weights from it")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The weighted share of votes of each grade, for every pair of the pool."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        made, size = ballot.votes.sum(axis=1), ballot.width
        weight = np.ones(ballot.shape[0])
        labels = None
        for _ in fitting.iterations(self.max_iter):
            table = np.repeat(weight[:, None], size, axis=1)
            step = ballot.expect(table, np.zeros(size), self.ties)
            fitting.gain(step.likelihood)
            fitting.settled = labels is not None and np.array_equal(labels, step.posterior)
            labels = step.posterior
            agreed = step.counts.sum(axis=1)
            share = np.divide(agreed, made, out=np.full(len(made), 1 / size), where=made > 0)
            weight = size * share - 1
        return fitting.merged(ballot.shares(weight), {"weight": weight})
