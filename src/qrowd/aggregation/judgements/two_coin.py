"""An accuracy per assessor and true grade, by EM with hard or soft labels."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.class_prior import class_prior
from qrowd.aggregation.coins import Coins
from qrowd.aggregation.confusion import confusion_columns, counts_of_table
from qrowd.aggregation.fitting import Fitting
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method


@method("two-coin", paper="Xia et al. 2011", uses=("gold", "priors"))
class TwoCoin(Coins):
    r"""Two coins per assessor, a sensitivity and a specificity: EM that sees through biases.

    Where grade $g$ is true, assessor $j$ says so with probability $a_{jg}$, and any other of the
    $K$ grades with $(1 - a_{jg})/(K - 1)$. For two grades $a_{j1}$ is the sensitivity and $a_{j0}$
    the specificity. From the majority vote on, until no label changes:

    $$a_{jg} = \frac{c_{jg} + s}{n_{jg} + 2s}, \qquad
      \hat y_i = \arg\max_g \sum_j \log P(y_{ij} \mid g), \qquad
      P(y \mid g) = \begin{cases} a_{jg} & y = g \\ (1 - a_{jg})/(K-1) & y \ne g \end{cases}$$

    where $j$ judged $n_{jg}$ pairs whose current label is $g$, $c_{jg}$ of them rightly, and $s$ is
    `smoothing`. Probabilities are the softmax of the sums. Somebody who says *relevant* to
    everything has sensitivity = 1 - specificity and changes no posterior, which `one-coin` cannot
    see. `labels=soft` is the usual EM; `prior=learned` adds a class prior, which the paper has not.

    What is climbed (the trace) is the log-likelihood of votes and labels (hard), or of votes
    (soft), plus the density of the smoothing; neither ever falls. Gold pairs are certain and teach
    the accuracies. `Given(priors=...)` adds an earlier fit's assessors as pseudo-counts, each of
    their judgements counting `trust`. While it iterates, a tied pair counts in equal parts for the
    tied grades, unless `ties` says otherwise.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaabbbcccddd"), ["ann", "bob", "yes"] * 4,
    ...     [1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1],
    ... )
    >>> merged = q.TwoCoin().fit(crowd)
    >>> merged.relevant.round(2).tolist()
    [0.9, 0.1, 0.9, 0.1]
    >>> merged.assessors["specificity"].round(2).tolist()
    [0.75, 0.75, 0.25]

    Reference: Xia et al. 2011, section 2.1.
    """

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, and the assessors' accuracies by true grade."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        right, wrong = self._known(fitting, ballot)
        step = ballot.expect_table(_agreement(ballot), ballot.uniform, "split")
        accuracy, table, log_prior = right, _agreement(ballot), ballot.uniform
        for _ in fitting.iterations(self.max_iter):
            before = step
            log_prior, density = class_prior(self.prior, step.posterior[ballot.voted])
            hits = np.diagonal(step.counts, axis1=1, axis2=2)
            accuracy = (hits + right) / (step.counts.sum(axis=1) + right + wrong)
            table = table_of(accuracy)
            step = ballot.expect_table(table, log_prior, self.ties if self.labels == "hard" else "")
            density += (right * np.log(accuracy) + wrong * np.log1p(-accuracy)).sum()
            gain = fitting.gain(step.likelihood + density)
            fitting.settled = self._settled(before, step, gain, ballot.total)
        step = ballot.expect_table(table, log_prior)
        return fitting.merged(step.posterior, self._columns(fitting, step.counts, accuracy))

    def _known(self, fitting: Fitting, ballot: Ballot) -> tuple[Floats, Floats]:
        """Pseudo-counts[assessor, true] of right and of wrong judgements."""
        smoothing = np.full(ballot.shape, self.smoothing)
        if fitting.given.priors is None:
            return smoothing, smoothing
        rows = fitting.judgements
        counts = self.trust * counts_of_table(fitting.given.priors, rows.assessors, rows.scale)
        right = np.diagonal(counts, axis1=1, axis2=2)
        return smoothing + right, smoothing + counts.sum(axis=1) - right

    def _columns(self, fitting: Fitting, counts: Floats, accuracy: Floats) -> dict[str, Floats]:
        """`n(g)` and `p(h|g)` as other methods have them, here from the two coins."""
        p = np.exp(table_of(accuracy)) * counts.sum(axis=1, keepdims=True)
        return confusion_columns(p, np.zeros_like(p), fitting.judgements.scale)


def table_of(accuracy: Floats) -> Floats:
    """Log P(said | true)[assessor, said, true] from accuracy[assessor, true]."""
    size = accuracy.shape[1]
    table = np.repeat(np.log1p(-accuracy)[:, None, :] - np.log(size - 1), size, axis=1)
    table[:, np.arange(size), np.arange(size)] = np.log(accuracy)
    return table


def _agreement(ballot: Ballot) -> Floats:
    """One point for the grade that was said: the majority vote."""
    return np.tile(np.eye(ballot.width), (ballot.shape[0], 1, 1))
