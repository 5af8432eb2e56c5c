"""Means from few human and many machine labels: prediction-powered, and Rogan & Gladen's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.errors import ParameterError, UsageError

WEAK = 0.1  # sensitivity + specificity - 1: below it the division makes noise


def rogan_gladen(
    rate: Array | float, size: float, right: tuple[float, float], left: tuple[float, float]
) -> Estimate:
    """The true rate behind a judge's `rate` on `size` items; not a number if the judge is too weak.

    `right` is (sensitivity, truly relevant items it was measured on), `left` is (specificity, truly
    non-relevant items). Values are cut to 0..1; the errors are those of the uncut ones.

    >>> found = rogan_gladen(0.25, 1000, (0.9, 100), (0.8, 100))
    >>> round(float(found.value), 4), round(float(found.error), 4)
    (0.0714, 0.0566)
    """
    (sensitivity, n1), (specificity, n0) = right, left
    worth = sensitivity + specificity - 1
    q: Floats = np.asarray(rate, np.float64)
    if worth < WEAK or not n1 or not n0:
        unknown = np.full(q.shape, np.nan)
        return Estimate(unknown, unknown, np.full(q.shape, np.inf), np.array([worth]))
    value = (q + specificity - 1) / worth
    variance = (
        q * (1 - q) / size
        + value**2 * sensitivity * (1 - sensitivity) / n1
        + (1 - value) ** 2 * specificity * (1 - specificity) / n0
    ) / worth**2
    freedom = np.full(q.shape, np.inf)
    return Estimate(np.clip(value, 0, 1), np.sqrt(variance), freedom, np.array([worth]))


FOLDS = 10
QUANTILES = ("t", "bootstrap")
_DRAWN = 2000


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values with their standard errors and Student's degrees of freedom (infinite: normal).

    `share` is how much of the machine's labels was used: lambda, for each judge. `parts` [value,
    observation] are what each observation adds to the error: their squares add up to its square.
    """

    value: Floats
    error: Floats
    freedom: Floats
    share: Floats
    parts: Floats | None = None

    def interval(
        self, level: float = 0.9, quantiles: str = "t", seed: int = 0
    ) -> tuple[Floats, Floats]:
        """The bounds that hold the truth with this probability: by Student's t or by bootstrap."""
        from scipy.special import ndtri, stdtrit

        if not 0 < level < 1:
            raise ParameterError(f"level must be a number above 0 and below 1, got {level}")
        if quantiles not in QUANTILES:
            raise ParameterError(f"quantiles must be t or bootstrap, got {quantiles!r}")
        if quantiles == "bootstrap":
            return self._by_bootstrap(level, seed)
        tail = (1 + level) / 2
        finite = np.isfinite(self.freedom)
        known = np.where(finite & (self.freedom > 0), self.freedom, np.nan)
        quantile = np.where(finite, stdtrit(known, tail), ndtri(tail))
        return self.value - quantile * self.error, self.value + quantile * self.error

    def _by_bootstrap(self, level: float, seed: int) -> tuple[Floats, Floats]:
        """Quantiles of the studentised error when observations are drawn with replacement.

        Unlike Student's they need not lie evenly about the value, where errors are skewed.
        """
        if self.parts is None:
            raise UsageError("there are no observations to draw again here: quantiles must be t")
        n = self.parts.shape[1]
        counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), _DRAWN) - 1.0
        moved = counts @ self.parts.T
        squares = (counts + 1) @ np.square(self.parts).T - (moved + self.parts.sum(axis=1)) ** 2 / n
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.where(squares > 0, moved / np.sqrt(squares), np.nan)
        known = np.asarray(~np.isnan(scaled).all(axis=0))
        ends = np.full((2, len(self.value)), np.nan)
        tails = [(1 + level) / 2, (1 - level) / 2]
        ends[:, known] = np.nanquantile(scaled[:, known], tails, axis=0)
        return self.value - ends[0] * self.error, self.value - ends[1] * self.error


def ppi_mean(
    human: Array, machine: Array, unlabelled: Array, share: float | None = None
) -> Estimate:
    """The mean of a quantity from n items with both labels and N with the machine's only.

    PPI++ (Angelopoulos, Duchi & Zrnic 2023); without `share` (lambda) the best one from 0 to 1.

    >>> ppi_mean([1, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 1, 0, 1, 0, 0]).value.round(4).tolist()
    0.7107
    """
    y, f, rest = (np.asarray(part, np.float64) for part in (human, machine, unlabelled))
    n, size = len(y), len(rest)
    if share is None:
        spread = np.concatenate([f, rest]).var(ddof=1)
        together = ((y - y.mean()) * (f - f.mean())).mean()
        share = float(np.clip(together / spread / (1 + n / size), 0, 1)) if spread > 0 else 0.0
    value = y.mean() + share * (rest.mean() - f.mean())
    variance = (y - share * f).var() / n + share**2 * rest.var() / size
    return Estimate(
        np.asarray(value), np.sqrt(variance), np.asarray(np.inf), np.array([share], np.float64)
    )


# --- pairs sampled from a pool --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairSample:
    """Which pairs of the pool humans judged (`at`), what they said, and with which probability.

    `human[n]` and `machine[pool, judges]` are gains: what a pair adds to a score at weight 1.
    """

    at: Array
    human: Floats
    probability: Floats
    machine: Floats

    def alone(self) -> PairSample:
        """The same sample without the machines."""
        return replace(self, machine=self.machine[:, :0])


def weighted_sums(weights: Any, sample: PairSample) -> Estimate:
    r"""Estimates of $\theta_r = \sum_i w_{ri} y_i$ over a pool, for each row of sparse weights.

    $$\hat\theta_r = A_r \frac{\sum_s w_{rs} e_{rs} / \pi_s}{\sum_s w_{rs} / \pi_s}, \qquad
    e_{rs} = y_s - \lambda (f_s - \bar f_r), \quad A_r = \sum_i w_{ri}, \quad
    \bar f_r = \frac{1}{A_r} \sum_i w_{ri} f_i$$

    With $\lambda = 0$ it is Hajek's estimate from the human labels alone. Its variance is that of
    Poisson sampling (for equal probabilities: of simple random sampling), $1 - \pi_s$ being the
    finite-population factor; Student's degrees of freedom are the row's own sampled pairs less 1.
    $\lambda$ is shared by all rows and cross-fitted: a pair's residual uses the $\lambda$ of the
    other folds, so that the interval does not flatter itself.
    """
    chosen = np.asarray(weights[:, sample.at].todense(), np.float64)
    total, own = np.asarray(weights.sum(axis=1)).ravel(), (chosen != 0).sum(axis=1)
    shares, fold = _cross_fitted(chosen, sample)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (weights @ sample.machine) / total[:, None]  # f-bar of each row, known exactly
        residual = sample.human - (sample.machine[sample.at] * shares[fold]).sum(axis=1)
        residual = residual + centre @ shares[fold].T  # [rows, sampled pairs]
        pull = chosen / sample.probability  # how far a pair pulls the row's mean towards itself
        pull = pull / pull.sum(axis=1, keepdims=True)
        mean = (pull * residual).sum(axis=1)
        left = np.sqrt((1 - sample.probability) / (1 - pull))
        parts = np.nan_to_num(total[:, None] * pull * left * (residual - mean[:, None]))
        error = np.where(own > 0, np.sqrt(np.square(parts).sum(axis=1)), np.nan)
    nothing = total == 0  # a row that depends on no pair of the pool is known without labels
    return Estimate(
        np.where(nothing, 0.0, total * mean),
        np.where(nothing, 0.0, error),
        np.where(nothing, np.inf, own - 1.0),
        shares.mean(axis=0),
        parts,
    )


def _cross_fitted(chosen: Floats, sample: PairSample) -> tuple[Floats, Array]:
    """The lambda[fold, judge] learned without each fold, and the fold of each sampled pair."""
    n, judges = len(sample.at), sample.machine.shape[1]
    folds = max(min(FOLDS, n), 1)
    fold = np.arange(n) % folds
    worth = (1 - sample.probability) / sample.probability * (chosen != 0).any(axis=0)
    if judges == 0:
        return np.zeros((folds, 0)), fold
    said = sample.machine[sample.at]
    made = [
        best_share(sample.human[fold != k], said[fold != k], worth[fold != k]) for k in range(folds)
    ]
    return np.stack(made), fold


def best_share(human: Floats, machine: Floats, worth: Floats) -> Floats:
    """The lambda of each judge: weighted least squares, drawn towards 0 by its own uncertainty.

    One judge's lies from 0 to 1. A judge who does not vary, or who does not show that it knows
    anything (F below 1), gets 0.
    """
    judges = machine.shape[1]
    useful = worth > 0
    y, f, w = human[useful], machine[useful], worth[useful]
    size = w.sum() ** 2 / (w**2).sum() if len(w) else 0.0  # how many equal ones they are worth
    if size < judges + 3:
        return np.zeros(judges)
    w = w / w.sum()
    y, f = y - w @ y, f - w @ f
    slope = np.linalg.lstsq(np.sqrt(w)[:, None] * f, np.sqrt(w) * y, rcond=1e-10)[0]
    whole, left = float(w @ y**2), float(w @ (y - f @ slope) ** 2)
    slope = slope * _trust(whole, left, size, judges)
    return np.clip(slope, 0.0, 1.0) if judges == 1 else np.asarray(slope)


def _trust(whole: float, left: float, size: float, judges: int) -> float:
    """1 - 1/F, and 0 where F is below 1: how much of a fitted slope is not noise."""
    explained = (whole - left) / judges
    noise = left / size
    return max(0.0, 1 - noise / explained) if explained > 1e-12 * whole else 0.0


# --- whole topics ---------------------------------------------------------------------------------


def topic_means(human: Floats, machine: Floats, at: Array) -> Estimate:
    """Estimates of the runs' means over all topics, from human scores on a sample of topics.

    `human[n, runs]` are the scores on the topics `at`, `machine[topics, judges, runs]` those under
    the machines' labels on all topics. A topic is one observation; the variance has the
    finite-population factor, lambda is shared by the runs and learned without the topic it is used
    on. Without judges it is the plain mean of the sampled topics.
    """
    n, topics = len(at), len(machine)
    away = machine[at] - machine.mean(axis=0)  # from each run's mean over all topics
    shares = np.stack([_topic_share(human, away, np.arange(n) != out) for out in range(n)])
    residual = human - np.einsum("tj,tjr->tr", shares, away)
    value = residual.mean(axis=0)
    factor = np.sqrt((1 - n / topics) / (n * (n - 1))) if n > 1 else np.nan
    parts = factor * (residual - value).T
    error = np.sqrt(np.square(parts).sum(axis=1))
    return Estimate(value, error, np.full(len(value), n - 1.0), shares.mean(axis=0), parts)


def _topic_share(human: Floats, said: Floats, kept: Array) -> Floats:
    """The lambda of each judge from the kept topics: pooled over runs, each about its own mean."""
    y, f = human[kept], said[kept]
    n, judges = f.shape[0], f.shape[1]
    if judges == 0 or n < judges + 3:
        return np.zeros(judges)
    y = (y - y.mean(axis=0)).ravel()
    f = (f - f.mean(axis=0)).transpose(0, 2, 1).reshape(len(y), judges)
    slope = np.linalg.lstsq(f, y, rcond=1e-10)[0]
    slope = slope * _trust(float(y @ y), float(((y - f @ slope) ** 2).sum()), n, judges)
    return np.clip(slope, 0.0, 1.0) if judges == 1 else np.asarray(slope)
