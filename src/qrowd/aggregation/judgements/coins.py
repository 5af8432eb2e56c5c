"""One accuracy per assessor, or one for each true grade, by EM with hard or soft labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.ballot import CLASS_PRIORS, TIES_INSIDE, Ballot, Expected, class_prior
from qrowd.aggregation.confusion import confusion_columns, earlier_counts
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.registry import method, param


@dataclass(frozen=True, kw_only=True, repr=False)
class Coins:
    """Their parameters, and when their EM has settled."""

    labels: str = param("hard", "how a label counts", choices=("hard", "soft"))
    prior: str = param("none", "prior of the grades", choices=CLASS_PRIORS)
    smoothing: float = param(1.0, "added to right and to wrong judgements", above=0)
    ties: str = param("split", "what to do with tied labels while it iterates", choices=TIES_INSIDE)
    trust: float = param(1.0, "how much each judgement behind `priors` counts", at_least=0)
    tol: float = param(1e-9, "soft: stop when the objective gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn accuracies from it")

    def _settled(self, before: Expected, step: Expected, gain: float, votes: float) -> bool:
        if self.labels == "hard":
            return np.array_equal(before.posterior, step.posterior)
        return abs(gain) <= self.tol * votes


@method(
    "one-coin",
    paper="Xia et al. 2011",
    uses=("gold", "priors"),
    aliases={"OneCoinDawidSkene": "one-coin(labels='soft', prior='learned')"},
    assumes_independence=True,
)
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
        right, wrong = self._before(fitting)
        votes, others = ballot.votes.sum(axis=1), ballot.width - 1
        made = votes + right + wrong
        step = ballot.expect(np.ones(ballot.shape), ballot.uniform, "split")
        table, log_prior, accuracy = np.zeros(0), ballot.uniform, np.zeros(0)
        for _ in fitting.iterations(self.max_iter):
            before = step
            accuracy = (step.counts.sum(axis=1) + right) / made
            log_prior, density = class_prior(self.prior, step.posterior[ballot.voted])
            weight = np.log(others * accuracy / (1 - accuracy))
            table = np.repeat(weight[:, None], ballot.width, axis=1)
            step = ballot.expect(table, log_prior, self.ties if self.labels == "hard" else "")
            density += (right * np.log(accuracy) + wrong * np.log1p(-accuracy)).sum()
            # the log-likelihood of all votes if all were wrong: what the weights add to
            base = float((votes * np.log((1 - accuracy) / others)).sum())
            gain = fitting.gain(step.likelihood + base + density)
            fitting.settled = self._settled(before, step, gain, ballot.total)
        posterior = ballot.expect(table, log_prior).posterior
        return fitting.merged(posterior, {"accuracy": accuracy, "weight": table[:, 0]})

    def _before(self, fitting: Fitting) -> tuple[Floats, Floats]:
        """Pseudo-counts of right and of wrong judgements."""
        counts = earlier_counts(fitting, self.trust)
        right = np.trace(counts, axis1=1, axis2=2)
        return self.smoothing + right, self.smoothing + counts.sum(axis=(1, 2)) - right


@method("two-coin", paper="Xia et al. 2011", uses=("gold", "priors"), assumes_independence=True)
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
        right, wrong = self._before(fitting)
        # one point for the grade that was said: the majority vote
        table = np.tile(np.eye(ballot.width), (ballot.shape[0], 1, 1))
        accuracy, log_prior = right, ballot.uniform
        step = ballot.expect_table(table, log_prior, "split")
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
        # n(g) and p(h|g) as other methods have them, here from the two coins
        counts = np.exp(table_of(accuracy)) * step.counts.sum(axis=1, keepdims=True)
        columns = confusion_columns(counts, fitting.judgements.scale)
        return fitting.merged(step.posterior, columns)

    def _before(self, fitting: Fitting) -> tuple[Floats, Floats]:
        """Pseudo-counts[assessor, true] of right and of wrong judgements."""
        counts = earlier_counts(fitting, self.trust)
        right = np.diagonal(counts, axis1=1, axis2=2)
        return self.smoothing + right, self.smoothing + counts.sum(axis=1) - right


def table_of(accuracy: Floats) -> Floats:
    """Log P(said | true)[assessor, said, true] from accuracy[assessor, true]."""
    size = accuracy.shape[1]
    table = np.repeat(np.log1p(-accuracy)[:, None, :] - np.log(size - 1), size, axis=1)
    table[:, np.arange(size), np.arange(size)] = np.log(accuracy)
    return table
