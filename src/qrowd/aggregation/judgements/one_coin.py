"""One accuracy per assessor, by EM with hard or soft labels."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.class_prior import class_prior
from qrowd.aggregation.coins import Coins
from qrowd.aggregation.confusion import counts_of_table
from qrowd.aggregation.fitting import Fitting
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method


@method("one-coin", paper="Xia et al. 2011", uses=("gold", "priors"))
class OneCoin(Coins):
    r"""One coin per assessor: EM with a single accuracy each, labels hard as in the paper.

    Assessor $j$ gives the true one of $K$ grades with probability $a_j$, any other with
    $(1-a_j)/(K-1)$. From the majority vote on, until no label changes:

    $$a_j = \frac{c_j + s}{n_j + 2s}, \qquad
      V_j = \log \frac{P_c}{P_e} = \log \frac{(K-1)\, a_j}{1 - a_j}, \qquad
      \hat y_i = \arg\max_g \sum_{j : y_{ij} = g} V_j$$

    where $c_j$ of $j$'s $n_j$ judgements agree with the current labels and $s$ is `smoothing` (an
    assessor who never erred would weigh infinitely without). The probability of a grade is the
    softmax of its votes' weights, $P_{i1} = \prod_{y_{ij}=1} P_{cj} \prod_{y_{ij}=0} P_{ej}$
    normalised. `labels=soft` is the usual EM, in which a label counts by its probability.
    `prior=learned` adds the logarithm of each grade's share to its score; the paper has no class
    prior.

    What is climbed (the trace) is the log-likelihood of votes and labels (hard), or of votes
    (soft), plus $s \sum_j \log a_j (1 - a_j)$, the density of the smoothing; neither ever falls.

    One coin cannot tell accuracy from a liking for the commoner grade: where heavy assessors
    answer *relevant* to everything and most pairs are relevant, they look accurate and take over,
    and the result is worse than the majority vote. `two-coin` or `ds` see through them.

    Gold pairs are certain and teach the accuracies. `Given(priors=...)` adds an earlier fit's
    assessors as pseudo-counts, each of their judgements counting `trust`. While it iterates, a tied
    pair counts in equal parts for the tied grades, unless `ties` says otherwise.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaabbbcccddd"), ["ann", "bob", "eve"] * 4,
    ...     [1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1],
    ... )
    >>> merged = q.OneCoin().fit(crowd)
    >>> merged.relevant.round(2).tolist()
    [0.83, 0.05, 0.95, 0.83]
    >>> merged.assessors["accuracy"].round(2).tolist()
    [0.83, 0.67, 0.67]

    Reference: Xia et al. 2011, section 2.1.
    """

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, and the assessors' accuracies."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        right, wrong = self._known(fitting, ballot)
        made = ballot.votes.sum(axis=1) + right + wrong
        step = ballot.expect(np.ones(ballot.shape), ballot.uniform, "split")
        table, log_prior, accuracy = np.zeros(0), ballot.uniform, np.zeros(0)
        for _ in fitting.iterations(self.max_iter):
            before = step
            accuracy = (step.counts.sum(axis=1) + right) / made
            log_prior, density = class_prior(self.prior, step.posterior[ballot.voted])
            table = np.repeat(_weights(accuracy, ballot.width)[:, None], ballot.width, axis=1)
            step = ballot.expect(table, log_prior, self.ties if self.labels == "hard" else "")
            density += (right * np.log(accuracy) + wrong * np.log1p(-accuracy)).sum()
            gain = fitting.gain(step.likelihood + _base(ballot, accuracy) + density)
            fitting.settled = self._settled(before, step, gain, ballot.total)
        posterior = ballot.expect(table, log_prior).posterior
        return fitting.merged(posterior, {"accuracy": accuracy, "weight": table[:, 0]})

    def _known(self, fitting: Fitting, ballot: Ballot) -> tuple[Floats, Floats]:
        """Pseudo-counts of right and of wrong judgements."""
        smoothing = np.full(ballot.shape[0], self.smoothing)
        if fitting.given.priors is None:
            return smoothing, smoothing
        rows = fitting.judgements
        counts = self.trust * counts_of_table(fitting.given.priors, rows.assessors, rows.scale)
        right = np.trace(counts, axis1=1, axis2=2)
        return smoothing + right, smoothing + counts.sum(axis=(1, 2)) - right


def _weights(accuracy: Floats, size: int) -> Floats:
    return np.asarray(np.log((size - 1) * accuracy / (1 - accuracy)))


def _base(ballot: Ballot, accuracy: Floats) -> float:
    """The log-likelihood of all votes if all were wrong: what the weights add to."""
    return float((ballot.votes.sum(axis=1) * np.log((1 - accuracy) / (ballot.width - 1))).sum())
