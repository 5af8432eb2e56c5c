"""GLAD: abilities of assessors and difficulties of pairs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from qrowd.aggregation.ballot import CLASS_PRIORS, Ballot, class_prior
from qrowd.aggregation.fit import Fitting
from qrowd.data.arrays import Floats
from qrowd.data.details import Details
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import Merged
from qrowd.errors import InputError
from qrowd.registry import method, param


@method("glad", paper="Whitehill et al. 2009", uses=("gold", "priors"), assumes_independence=True)
class GLAD:
    r"""GLAD: how able an assessor is times how easy a pair is.

    Assessor $j$ of ability $\alpha_j$ (negative: a liar) gives the true one of $K$ grades on pair
    $i$, whose difficulty is $1/\beta_i$, with probability

    $$s_{ij} = \sigma(\alpha_j \beta_i) = \frac{1}{1 + e^{-\alpha_j \beta_i}}$$

    and each other grade with $(1 - s_{ij})/(K-1)$; $\alpha_j \sim \text{Normal}(1, 1)$ and $\log
    \beta_i \sim \text{Normal}(1, 1)$ as in the paper, and grades are equally likely, or
    `prior=learned`. The E step is a weighted vote:

    $$P(z_i = g \mid y) \propto P(g) \exp \sum_{j: y_{ij} = g}
      \left( \alpha_j \beta_i + \log (K-1) \right)$$

    The paper's M step is a gradient ascent. Ours replaces each $\log \sigma$ by its quadratic bound
    of Jaakkola & Jordan, exact at the present $x = \alpha_j \beta_i$, with curvature
    $c(x) = \tanh(x/2)/(2x)$; then abilities are

    $$\alpha_j = \frac{\mu + \sum_i \beta_i (P(z_i = y_{ij}) - \frac12)}{1 + \sum_i c(\alpha_j
      \beta_i) \beta_i^2}$$

    and each $\log \beta_i$ is the maximum of one smooth function of one variable, by Newton steps
    that are halved until they climb. Since $\alpha c$ and $\beta / c$ give the same likelihood,
    each iteration ends with the $c$ that the priors like best, for EM is slow to find it. No step
    length, no inner loop to tune, and the penalised log-likelihood (the trace) never falls. The
    fit stops when it gains less than `tol` per judgement.

    Gold pairs are certain and teach the abilities. `Given(priors=...)`, with a column `ability`
    (else `accuracy`), moves and sharpens the prior of an assessor by the information of
    that many judgements on pairs of usual difficulty, each counting `trust`.

    `details["easiness"]` has $\beta_i$ of each pair.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(
    ...     ["t"] * 12, list("aaabbbcccddd"), ["ann", "bob", "eve"] * 4,
    ...     [1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1],
    ... )
    >>> merged = q.GLAD().fit(crowd)
    >>> merged.grades().tolist()
    [1, 0, 1, 0]
    >>> bool(merged.assessors["ability"][2] < 0 < merged.assessors["ability"][0])
    True

    References: Whitehill et al. 2009; the bound: Jaakkola & Jordan 2000.
    """

    prior: str = param("none", "prior of the grades", choices=CLASS_PRIORS)
    ability: float = param(1.0, "mean of abilities beforehand")
    ease: float = param(1.0, "mean of log beta beforehand")
    spread: float = param(1.0, "standard deviation of abilities and of log beta", above=0)
    trust: float = param(1.0, "how much each judgement behind `priors` counts", at_least=0)
    tol: float = param(1e-12, "stop when the objective gains less per judgement", above=0)
    max_iter: int = param(2000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "gold is certain and teaches the abilities")

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Posterior of every pair of the pool, abilities and difficulties."""
        fitting = Fitting.of(self, judgements, given, clamp=self.clamp)
        ballot = Ballot(fitting.judgements, fitting.gold)
        mean, precision = self._abilities_before(fitting)
        model = _Model(ballot, self.ease, self.spread**-2)
        ability, log_prior, density = mean, ballot.uniform, 0.0
        for _ in fitting.iterations(self.max_iter):
            density -= 0.5 * float((precision * (ability - mean) ** 2).sum())
            objective, sums = model.iterate(ability, log_prior)
            fitting.settled = abs(fitting.gain(objective + density)) < self.tol * ballot.total
            if not fitting.settled:
                ability = (precision * mean + sums[:, 0]) / (precision + sums[:, 1])
                ability = model.balanced(ability, mean, precision)
                log_prior, density = class_prior(self.prior, model.posterior[ballot.voted])
        details = Details(own={"easiness": np.exp(model.log_ease)})
        return fitting.merged(model.posterior, {"ability": ability}, details=details)

    def _abilities_before(self, fitting: Fitting) -> tuple[Floats, Floats]:
        """Mean and precision of each assessor's ability; an earlier fit's table moves them."""
        rows, table = fitting.judgements, fitting.given.priors
        count = len(rows.assessors)
        mean, precision = np.full(count, self.ability), np.full(count, self.spread**-2)
        if table is None:
            return mean, precision
        from scipy.special import expit, logit

        usual = float(np.exp(self.ease))
        if "judgements" not in table.columns or not {"ability", "accuracy"} & {*table.columns}:
            raise InputError(
                "an assessors' table needs the columns judgements and ability, or accuracy, as a "
                "prior"
            )
        if "ability" in table.columns:
            ability = np.asarray(table["ability"], dtype=np.float64)
        else:
            share = np.clip(np.asarray(table["accuracy"], dtype=np.float64), 0.01, 0.99)
            ability = logit(share) / usual
        made = np.where(np.isnan(ability), 0.0, np.asarray(table["judgements"], dtype=np.float64))
        at = table.assessors.find(rows.assessors)
        ability = np.where(at >= 0, np.nan_to_num(ability)[at], 0.0)
        chance = expit(ability * usual)
        extra = self.trust * np.where(at >= 0, made[at], 0.0) * usual**2 * chance * (1 - chance)
        return (mean * precision + ability * extra) / (precision + extra), precision + extra


class _Model:
    """What is believed of the pairs, and how easy they are."""

    def __init__(self, ballot: Ballot, mean: float, precision: float) -> None:
        pairs = len(ballot.judgements.pairs)
        self.ballot, self.mean, self.precision = ballot, mean, precision
        self.posterior = np.full((pairs, ballot.width), 1.0 / ballot.width)
        self.log_ease = np.full(pairs, mean)
        self.voted = np.diff(ballot.judgements.pair_starts) > 0

    def iterate(self, ability: Floats, log_prior: Floats) -> tuple[float, Floats]:
        """One pass over the pairs: the objective's part, and sums[assessor, (slope, bend)]."""
        from qrowd.aggregation.kernels.passes import iterate

        ballot, rows = self.ballot, self.ballot.judgements

        model = (ability, log_prior, ballot.gold, self.mean, self.precision)
        step = partial(iterate, rows.pair_starts, rows.assessor, rows.grade, ballot.weight, *model)
        shape = (len(ability), 2)

        def block(lo: int, hi: int) -> tuple[float, Floats]:
            sums = np.zeros(shape)
            return step(self.log_ease, self.posterior, sums, lo, hi), sums

        return ballot.summed(block, shape)

    def balanced(self, ability: Floats, mean: Floats, precision: Floats) -> Floats:
        """Abilities times c, beta over c, with the c that the priors like best."""
        squares = float((precision * ability**2).sum())
        product = float((precision * ability * mean).sum())
        pairs = self.precision * float(self.voted.sum())
        off = self.precision * float((self.log_ease[self.voted] - self.mean).sum())
        log_c = _best_scale(squares, product, pairs, off)
        self.log_ease[self.voted] -= log_c
        return np.asarray(ability * np.exp(log_c))


def _best_scale(squares: float, product: float, pairs: float, off: float) -> float:
    """The maximum over L of -(e^2L squares - 2 e^L product + pairs L^2 - 2 off L) / 2, near 0."""

    def value(at: float) -> float:
        c = math.exp(at)
        return -0.5 * (c * c * squares - 2 * c * product + pairs * at * at - 2 * off * at)

    at = 0.0
    for _ in range(20):
        c = math.exp(at)
        slope = -c * c * squares + c * product - pairs * at + off
        curve = 2 * c * c * squares + abs(c * product) + pairs
        step = max(-1.0, min(1.0, slope / curve)) if curve > 0 else 0.0
        while value(at + step) < value(at):
            step *= 0.5
        at += step
        if abs(step) < 1e-10:
            break
    return at
