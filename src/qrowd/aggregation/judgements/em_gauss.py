"""The Gaussian model of perceived relevance, and what its variant with ranks shares with it."""

from __future__ import annotations

import numpy as np

from qrowd.aggregation.ballot import Ballot
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Codes, Floats, Grades
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import InputError
from qrowd.registry import method, param

NODES, THRESHOLD = 32, 0.5
LEAST, START, MOST = 0.01, 0.3, 10.0
STEP = 0.0175


@method(
    "em-gauss",
    paper="Xia et al. 2011",
    uses=("gold", "priors"),
    grades="binary",
    assumes_independence=True,
)
class GaussianEM:
    r"""The Gaussian model: assessors see a degree of relevance through noise of their own.

    Pair $i$ has a degree of relevance $B_i \in (0, 1)$, uniform beforehand; assessor $j$ sees a
    value from $\text{Normal}(B_i, A_j)$ and says *relevant* if it exceeds $T = 0.5$:

    $$P(y_{ij} = 1 \mid B_i) = \Phi\!\left(\frac{B_i - T}{\sqrt{A_j}}\right), \qquad
      \log A_j \sim \text{Normal}(\log 0.09, 1)$$

    E step: the posterior of $B_i$ on 32 Gauss-Legendre nodes,

    $$P(B_i = b \mid y) \propto \prod_j P(y_{ij} \mid b), \qquad
      p_i = E[B_i \mid y] = \frac{\int_0^1 b \prod_j P(y_{ij} \mid b)\, db}
      {\int_0^1 \prod_j P(y_{ij} \mid b)\, db}$$

    and $p_i$ is the probability of relevance. M step: each $A_j$ maximises the expected
    log-likelihood and its prior, over $\sqrt{A_j}$ from 0.01 to 10 in steps of 1.75 %, from 0.3 on.
    The objective (the trace) never falls; the fit ends when no $A_j$ moves or the objective gains
    less than `tol` per judgement.

    The paper integrates the perceived value over $(0, 1)$ only, so that its two probabilities do
    not sum to 1, and leaves the M step open. `form=literal` has

    $$P(y = 1 \mid B) = \Phi\!\left(\tfrac{1 - B}{\sqrt A}\right) - \Phi\!\left(\tfrac{T - B}{\sqrt
      A}\right), \qquad P(y = 0 \mid B) = \Phi\!\left(\tfrac{T - B}{\sqrt A}\right) -
      \Phi\!\left(\tfrac{-B}{\sqrt A}\right)$$

    and `spread=none` leaves the prior of $A_j$ out, whereupon many of them run to a bound.

    Gold restricts $B_i$ to its half, and makes the output certain. `Given(priors=...)` with a
    column `deviation` ($\sqrt{A_j}$) moves the mean of an assessor's prior there.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaabbbcccddd"), ["ann", "bob", "eve"] * 4,
    ...     [1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1],
    ... )
    >>> merged = q.GaussianEM().fit(crowd)
    >>> merged.grades().tolist()
    [1, 0, 1, 0]
    >>> bool(merged.assessors["deviation"][0] < merged.assessors["deviation"][2])
    True

    Reference: Xia et al. 2011, section 2.2.
    """

    form: str = param("proper", "form of the vote's probability", choices=("proper", "literal"))
    spread: float | None = param(1.0, "standard deviation of log A beforehand", above=0)
    tol: float = param(1e-8, "stop when the objective gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "gold restricts its pairs and teaches the assessors")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """The mean degree of relevance of every pair of the pool, and the assessors' noise."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        nodes, log_share = quadrature()
        deviation = deviations()
        likelihood = (literal if self.form == "literal" else proper)(nodes, deviation)
        density = prior_density(fitting, deviation, self.spread)
        at = np.full(len(ballot.judgements.assessors), int(np.abs(deviation - START).argmin()))
        bounds, posterior = halves(ballot.gold), np.zeros(0)
        everybody = np.arange(len(at))
        for _ in fitting.iterations(self.max_iter):
            own = likelihood[at]
            table = np.stack([own[:, ::-1], own], axis=1)
            step = ballot.expect_table(table, log_share, bounds=bounds)
            gain = fitting.gain(step.likelihood + float(density[everybody, at].sum()))
            posterior, before = step.posterior, at
            folded = step.counts[:, 1] + step.counts[:, 0, ::-1]
            at = (folded @ likelihood.T + density).argmax(axis=1)
            fitting.settled = np.array_equal(before, at) or abs(gain) < self.tol * ballot.total
        p = posterior @ nodes
        columns = {"deviation": deviation[before]}
        return fitting.merged(np.stack([1 - p, p], axis=1), columns)


def prior_density(fitting: Fitting, deviation: Floats, spread: float | None) -> Floats:
    """The log density of each A of the grid, for each assessor."""
    rows, priors = fitting.judgements, fitting.given.priors
    if spread is None:
        return np.zeros((len(rows.assessors), len(deviation)))
    mean = np.full(len(rows.assessors), 2 * np.log(START))
    if priors is not None:
        if "deviation" not in priors.columns:
            raise InputError("an assessors' table needs a column deviation to serve as a prior")
        at = priors.assessors.find(rows.assessors)
        earlier = np.where(at >= 0, np.asarray(priors["deviation"], np.float64)[at], np.nan)
        mean = np.where(earlier > 0, 2 * np.log(earlier), mean)
    return np.asarray(-0.5 * ((2 * np.log(deviation) - mean[:, None]) / spread) ** 2)


def quadrature() -> tuple[Floats, Floats]:
    """Nodes in (0, 1), symmetric about the threshold, and the logs of their shares."""
    nodes, shares = np.polynomial.legendre.leggauss(NODES)
    return 0.5 + 0.5 * nodes, np.log(0.5 * shares)


def deviations() -> Floats:
    """Deviations from LEAST to MOST, START among them, each STEP above the last (in logs)."""
    below = np.arange(0.0, np.log(START / LEAST), STEP)[::-1]
    above = np.arange(STEP, np.log(MOST / START), STEP)
    return np.asarray(np.exp(np.log(START) + np.concatenate([-below, above])))


def proper(nodes: Floats, deviation: Floats) -> Floats:
    """Log P(y = 1 | node)[deviation, node]."""
    from scipy.special import log_ndtr

    return np.asarray(log_ndtr((nodes - THRESHOLD) / deviation[:, None]))


def literal(nodes: Floats, deviation: Floats) -> Floats:
    """The same as the paper prints it: the perceived value lies between the threshold and 1."""
    from scipy.special import ndtr

    to_end = ndtr((1.0 - nodes) / deviation[:, None])
    to_threshold = ndtr((THRESHOLD - nodes) / deviation[:, None])
    return np.asarray(np.log(np.maximum(to_end - to_threshold, 1e-300)))


def halves(gold: Grades) -> Codes:
    """First and one past the last node that each pair may have."""
    first = np.where(gold == 1, NODES // 2, 0)
    last = np.where(gold == 0, NODES // 2, NODES)
    return np.stack([first, last], axis=1).astype(np.int32)
