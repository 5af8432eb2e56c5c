"""Means from few human and many machine labels: prediction-powered, and Rogan & Gladen's.

`Corrected` are scores made so, the human-only ones beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.comparison.intervals import ranked_rows
from qrowd.data.arrays import Array, Floats, Mask
from qrowd.data.frames import Coded
from qrowd.data.index import Index
from qrowd.data.qrels import QrelsSet, SoftQrels
from qrowd.data.scores import Scores
from qrowd.errors import ParameterError, UsageError
from qrowd.rendering import Readable, aligned, between, percent, plain

if TYPE_CHECKING:
    from qrowd.comparison.baseline import Contrast

WEAK = 0.1  # sensitivity + specificity - 1: below it the division makes noise


def rogan_gladen(
    rate: Array | float, size: float, right: tuple[float, float], left: tuple[float, float]
) -> Estimate:
    """The true rate behind a judge's `rate` on `size` items; not a number if the judge is too weak.

    `right` is (sensitivity, truly relevant items it was measured on), `left` is (specificity, truly
    non-relevant items). Values are cut to 0..1; the errors are those of the uncut ones.

    >>> rate = rogan_gladen(0.25, 1000, (0.9, 100), (0.8, 100))
    >>> round(float(rate.value), 4), round(float(rate.error), 4)
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
EQUAL = 1e-9  # scores that differ by less are tied
# nothing is claimed of smaller differences: runs with nearly the same documents differ in few
# labelled pairs, which show too small an error
SMALL = 0.001
FEWEST_FREE = 4.0  # twice the observations that a difference must rest on


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values with their standard errors and Student's degrees of freedom (infinite: normal).

    `share` is how much of the machine's labels was used: lambda, for each judge. `parts` [value,
    observation] are what each observation adds to the error: their squares add up to its square,
    with `beyond` [value, value], a covariance of what does not come from single observations.
    `effective` is how many equally weighted pairs of a large pool would be worth as much, where
    pairs were sampled; below `enough` of them intervals hold too little. What is known exactly has
    the error 0 and infinite freedom; an error that is not known is not a number.
    """

    value: Floats
    error: Floats
    freedom: Floats
    share: Floats
    parts: Floats | None = None
    effective: Floats | None = None
    beyond: Floats | None = None
    enough: float = 15.0

    @property
    def exact(self) -> Mask:
        """Whose values are known without error."""
        return np.asarray((self.error == 0) & np.isinf(self.freedom))

    @property
    def alike(self) -> Mask:
        """Whose observations do not differ, which tells nothing of the error."""
        return np.asarray(~self.exact & ((self.error == 0) | np.isnan(self.error)))

    def of(self, at: Array) -> Estimate:
        """Some of the values, in this order."""
        return replace(
            self,
            value=self.value[at],
            error=self.error[at],
            freedom=self.freedom[at],
            parts=None if self.parts is None else self.parts[at],
            effective=None if self.effective is None else self.effective[at],
            beyond=None if self.beyond is None else self.beyond[np.ix_(at, at)],
        )

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
        freedom = np.where(finite & (self.freedom > 0), self.freedom, np.nan)
        quantile = np.where(finite, stdtrit(freedom, tail), ndtri(tail))
        return self.value - quantile * self.error, self.value + quantile * self.error

    def couples(self) -> tuple[Floats, Floats]:
        """The standard error and Student's degrees of freedom of the difference of every two."""
        if self.parts is None:
            raise UsageError("there are no observations here that two values could share")
        n = len(self.value)
        error, freedom = np.zeros((n, n)), np.zeros((n, n))
        beyond = np.zeros((n, n)) if self.beyond is None else self.beyond
        for at, own in enumerate(self.parts):
            squares = np.square(self.parts - own)
            total = squares.sum(axis=1)
            apart = np.maximum(beyond[at, at] + np.diag(beyond) - 2 * beyond[at], 0.0)
            error[at] = np.sqrt(total + apart)
            freedom[at] = 2 * total**2 / np.maximum(np.square(squares).sum(axis=1), 1e-300)
        if self.effective is None:  # observations of equal weight: no couple has more of them
            freedom = np.minimum(freedom, np.nanmax(self.freedom))
        return error, freedom

    def differences(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """How much each value is above each other, [a, b], and half the width of its interval; not
        a number where the difference rests on fewer than two observations, or the error of one of
        the two is not known.
        """
        from scipy.special import stdtrit

        error, freedom = self.couples()
        known = (freedom >= FEWEST_FREE) & ~(self.alike[:, None] | self.alike)
        half = np.where(
            known, stdtrit(np.where(known, freedom, 1.0), (1 + level) / 2) * error, np.nan
        )
        half[self.exact[:, None] & self.exact] = 0.0
        np.fill_diagonal(half, 0.0)
        return self.value[:, None] - self.value, half

    def told_apart(self, level: float = 0.9, seed: int = 0) -> Array:
        """[a, b]: 1 where a is surely above b, -1 where below, else 0; each row, a against all
        others, with one probability for all of it (Mogstad, Romano, Shaikh & Wilhelm 2024). What
        is below `SMALL` is never sure, unless it is known exactly.
        """
        from scipy.special import ndtr, ndtri, stdtrit

        apart, half = self.differences(level)
        assert self.parts is not None
        shared = self.parts @ self.parts.T + (0.0 if self.beyond is None else self.beyond)
        size, turned = np.linalg.eigh(shared)
        random = np.random.default_rng(seed).standard_normal((_DRAWN, len(size)))
        drawn = random @ (turned * np.sqrt(np.maximum(size, 0.0))).T
        error, freedom = self.couples()
        sure = np.zeros(apart.shape, np.bool_)
        for at in range(len(size)):
            known = (half[at] > 0) & (error[at] > 0)
            if known.any():
                away = np.abs(drawn[:, known] - drawn[:, [at]]) / error[at, known]
                most = max(np.quantile(away.max(axis=1), level), ndtri((1 + level) / 2))
                # as rare by Student's distribution: where few observations tell an error, that far
                # out its quantiles are longer than the normal ones by more than an interval's are
                least = stdtrit(freedom[at, known], ndtr(most)) * error[at, known]
                sure[at, known] = np.abs(apart[at, known]) > np.maximum(least, SMALL)
            if self.exact[at]:
                sure[at] |= self.exact & (np.abs(apart[at]) > EQUAL)
        return np.where(sure, np.sign(apart), 0.0)

    def places(self, level: float = 0.9, seed: int = 0) -> tuple[Floats, Floats]:
        """The best and the worst place of each value: behind all, and before all, that it surely
        is; not a number where the error is not known.
        """
        apart = self.told_apart(level, seed)
        best = 1.0 + (apart < 0).sum(axis=1)
        worst = float(len(apart)) - (apart > 0).sum(axis=1)
        best[self.alike] = worst[self.alike] = np.nan
        return best, worst

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
        defined = np.asarray(~np.isnan(scaled).all(axis=0))
        ends = np.where(self.exact, 0.0, np.full((2, len(self.value)), np.nan))
        tails = [(1 + level) / 2, (1 - level) / 2]
        ends[:, defined] = np.nanquantile(scaled[:, defined], tails, axis=0)
        return self.value - ends[0] * self.error, self.value - ends[1] * self.error


def ppi_mean(
    human: Array, machine: Array, unlabelled: Array, share: float | None = None
) -> Estimate:
    """The mean of a quantity from n items with both labels and N with the machine's only.

    PPI++ (Angelopoulos, Duchi & Zrnic 2023); without `share` (lambda) the best one from 0 to 1.
    All three are single columns, the first two about the same items.

    >>> ppi_mean([1, 0, 1, 1], [1, 0, 1, 0], [1, 0, 0, 1, 0, 1, 0, 0]).value.round(4).tolist()
    0.7107
    """
    y, f, rest = (np.asarray(part, np.float64) for part in (human, machine, unlabelled))
    for name, part in (("human", y), ("machine", f), ("unlabelled", rest)):
        if part.ndim != 1 or not len(part):
            raise UsageError(
                f"{name} must be one column of at least one number, got the shape {part.shape}"
            )
    if len(y) != len(f):
        raise UsageError(
            f"human and machine labels must be about the same items, got {len(y)} and {len(f)}"
        )
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
    `topic[n]` are the pairs' topics where these are a sample, too.
    """

    at: Array
    human: Floats
    probability: Floats
    machine: Floats
    topic: Array | None = None

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
    other folds, so that the interval does not flatter itself. Where topics are a sample, too, they
    are the observations: human labels alone only.
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
        if sample.topic is not None:
            whole = np.nan_to_num(total[:, None] * pull * (residual - mean[:, None]))
            seen = sample.topic[:, None] == np.unique(sample.topic)
            parts = whole @ seen * np.sqrt(seen.shape[1] / max(seen.shape[1] - 1, 1))
            own = np.minimum(own, seen.shape[1])
        error = np.where(own > 0, np.sqrt(np.square(parts).sum(axis=1)), np.nan)
        effective = 1 / (np.square(pull) * (1 - sample.probability)).sum(axis=1)
    nothing = total == 0  # a row that depends on no pair of the pool is known without labels
    return Estimate(
        np.where(nothing, 0.0, total * mean),
        np.where(nothing, 0.0, error),
        np.where(nothing, np.inf, own - 1.0),
        shares.mean(axis=0),
        parts,
        np.where(nothing, np.inf, np.nan_to_num(effective, posinf=np.inf)),
    )


def _cross_fitted(chosen: Floats, sample: PairSample) -> tuple[Floats, Array]:
    """The lambda[fold, judge] learned without each fold, and the fold of each sampled pair."""
    n, judges = len(sample.at), sample.machine.shape[1]
    folds = max(min(FOLDS, n), 1)
    fold = np.arange(n) % folds
    worth = (1 - sample.probability) / sample.probability * (chosen != 0).any(axis=0)
    if judges == 0:
        return np.zeros((folds, 0)), fold
    machine, others = sample.machine[sample.at], [fold != k for k in range(folds)]
    shares = [best_share(sample.human[rows], machine[rows], worth[rows]) for rows in others]
    return np.stack(shares), fold


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


def topic_means(human: Floats, machine: Floats, at: Array, over_topics: bool = False) -> Estimate:
    r"""Estimates of the runs' means over all topics, from human scores on a sample of topics.

    `human[n, runs]` are the scores on the topics `at`, `machine[topics, judges, runs]` those under
    the machines' labels on all topics. A topic is one observation; the variance has the
    finite-population factor, lambda is shared by the runs and learned without the topic it is used
    on. Without judges it is the plain mean of the sampled topics. With `over_topics` all topics are
    a sample of others: $(1/n - 1/N) \sigma^2$ of the residuals and $\sigma^2/N$ of the scores.
    """
    n, topics = len(at), len(machine)
    away = machine[at] - machine.mean(axis=0)  # from each run's mean over all topics
    shares = np.stack([_topic_share(human, away, np.arange(n) != out) for out in range(n)])
    residual = human - np.einsum("tj,tjr->tr", shares, away)
    if n == topics:
        # nothing is left to the machine; shares that differ by topic would move the mean
        residual = human
    value = residual.mean(axis=0)
    factor = np.sqrt((1 - n / topics) / (n * (n - 1))) if n > 1 else np.nan
    parts = factor * (residual - value).T
    if over_topics:
        parts = np.hstack([parts, (human - human.mean(axis=0)).T / np.sqrt(topics * (n - 1))])
    error = np.sqrt(np.square(parts).sum(axis=1))
    freedom = np.full(len(value), n - 1.0 if over_topics or n < topics else np.inf)
    return Estimate(value, error, freedom, shares.mean(axis=0), parts)


def _topic_share(human: Floats, machine: Floats, kept: Array) -> Floats:
    """The lambda of each judge from the kept topics: pooled over runs, each about its own mean."""
    y, f = human[kept], machine[kept]
    n, judges = f.shape[0], f.shape[1]
    if judges == 0 or n < judges + 3:
        return np.zeros(judges)
    y = (y - y.mean(axis=0)).ravel()
    f = (f - f.mean(axis=0)).transpose(0, 2, 1).reshape(len(y), judges)
    slope = np.linalg.lstsq(f, y, rcond=1e-10)[0]
    slope = slope * _trust(float(y @ y), float(((y - f @ slope) ** 2).sum()), n, judges)
    return np.clip(slope, 0.0, 1.0) if judges == 1 else np.asarray(slope)


# --- scores ---------------------------------------------------------------------------------------

_BESIDE = (
    *("low", "high", "human", "human_low", "human_high"),
    *("machine", "infap", "place", "place_low", "place_high"),
)
# what intervals are for
OVER = {
    "pool": "this pool, all of it judged by a human",
    "topics": "more topics like these, judged by a human",
}
_INFERRED = "infAP takes the pairs as chosen at random: of others it is no estimate."
RECALIBRATED = "Runs are in the order of recalibrated labels, which rank systems best."


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Corrected(Readable, Scores):
    """Scores of runs, means over topics only, with intervals; a note says why where there is none.

    `value[measure, run]` from `low` to `high` uses both kinds of labels; `human` from `human_low`
    to `human_high` uses the human labels alone, `machine` the machine's, and for AP `infap` is
    Yilmaz & Aslam's estimate from the human labels. `place` ranks the runs by recalibrated labels,
    which order systems better than any of them; from `place_low` (better) to `place_high` are the
    places that differences between runs leave open. `estimates` are what all of this is from, a
    measure without intervals has none. `by_topic` are the scores under the recalibrated labels,
    `believed`, and `drawn` are labels as they could be; with human labels alone there are none.
    `labels` of `size` units (pairs or topics) were judged by a human. Being scores, they go into
    `compare`, `report` and `save`.
    """

    low: Floats
    high: Floats
    human: Floats
    human_low: Floats
    human_high: Floats
    machine: Floats
    infap: Floats
    place: Floats
    place_low: Floats
    place_high: Floats
    estimates: tuple[Estimate | None, ...]
    by_topic: Scores | None
    believed: SoftQrels | None
    drawn: QrelsSet | None
    method: str
    level: float
    over: str
    unit: str
    labels: int
    size: int

    @property
    def value(self) -> Floats:
        """The corrected scores, [measure, run]."""
        return self.values[:, 0, 0]

    def __repr__(self) -> str:
        return (
            f"Corrected({', '.join(self.measures)}: {len(self.runs)} runs by {self.method}, "
            f"{self.labels} of {self.size} {self.unit}s judged by a human)"
        )

    def __str__(self) -> str:
        tables = [self._table(m) for m in range(len(self.measures))]
        legend = [
            f"Intervals of {percent(self.level)} for the scores on {OVER[self.over]}. "
            f"{self.labels} of {self.size} {self.unit}s were judged.",
            *([] if self.method == "human" else [RECALIBRATED]),
            *([] if np.isnan(self.infap).all() else [_INFERRED]),
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n\n".join([*tables, "\n".join(legend)])

    def _table(self, m: int) -> str:
        def ends(low: float, high: float) -> str:
            return "" if np.isnan(low) else between(low, high)

        beside = {"machine only": self.machine[m], "infAP": self.infap[m]}
        beside = {name: known for name, known in beside.items() if not np.isnan(known).all()}
        rows = []
        for at in self.order(self.measures[m]):
            best, worst = self.place_low[m, at], self.place_high[m, at]
            rows.append(
                [
                    str(self.runs.names[at]),
                    float(self.value[m, at]),
                    ends(self.low[m, at], self.high[m, at]),
                    "" if np.isnan(best) else f"{best:.0f} to {worst:.0f}",
                    float(self.human[m, at]),
                    ends(self.human_low[m, at], self.human_high[m, at]),
                    *(float(known[at]) for known in beside.values()),
                ]
            )
        level = percent(self.level)
        if self.method == "human":
            return aligned([self.measures[m], "estimate", level, "places"], [r[:4] for r in rows])
        header = [self.measures[m], self.method, level, "places", "human only", level, *beside]
        return aligned(header, rows)

    def order(self, measure: str = "") -> Array:
        """The runs' codes from the best place down."""
        m = self.measures.index(measure) if measure else 0
        return np.argsort(self.place[m], kind="stable")

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`run measure value low high human human_low human_high machine infap place place_low
        place_high`, in the order of places.
        """
        m, run = ranked_rows(self)
        return {
            "run": Coded(self.runs, run),
            "measure": np.array(self.measures, object)[m],
            **{name: getattr(self, name)[m, run] for name in ("value", *_BESIDE)},
        }

    def file_columns(self) -> dict[str, Coded | Array]:
        """The same: there are no topics whose mean could be added."""
        return self.frame_columns()

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        about = ("method", "level", "over", "unit", "labels", "size")
        account = {name: getattr(self, name) for name in about}
        account |= {"rows": self.to_polars().to_dicts(), "notes": self.notes}
        return dict(plain(account))

    def measure(self, name: str) -> Corrected:
        """The scores of one measure."""
        chosen = super().measure(name)
        assert isinstance(chosen, Corrected)
        at = self.measures.index(name)
        beside = {part: getattr(self, part)[[at]] for part in _BESIDE}
        return replace(chosen, **beside, estimates=(self.estimates[at],))

    def of_runs(self, runs: Index) -> Corrected:
        """The scores of these runs, in their order."""
        chosen = super().of_runs(runs)
        assert isinstance(chosen, Corrected)
        at = self.runs.find(runs)
        beside = {part: getattr(self, part)[:, at] for part in _BESIDE}
        estimates = tuple(each and each.of(at) for each in self.estimates)
        return replace(chosen, **beside, estimates=estimates)

    def labels_needed(self, half_width: float) -> dict[str, int]:
        """How many pairs (topics) a human must judge until every run's interval is this narrow.

        From the widest interval now: its square falls as 1/n - 1/size.
        """
        longer = np.maximum(self.high - self.value, self.value - self.low)
        return labels_needed(self, longer, half_width)


def labels_needed(
    figures: Corrected | Contrast, width: Floats, half_width: float
) -> dict[str, int]:
    """The number of labels that makes the widest of each measure's intervals this narrow."""
    if not half_width > 0:
        raise ParameterError(f"the half width must be above 0, got {half_width}")
    if figures.over == "topics":
        raise UsageError(
            "labels make no interval over topics as narrow as one likes: leave over='topics' out, "
            "or ask how many topics are needed (--topics-needed of `qrowd compare`)"
        )
    result = {}
    for name, own in zip(figures.measures, width, strict=True):
        if np.isnan(own).all() or figures.labels >= figures.size:
            continue
        widest = float(np.nanmax(own))
        now = 1 / figures.labels - 1 / figures.size  # the square of a width falls in proportion
        part = (half_width / widest) ** 2 * now if widest else now
        result[name] = min(ceil(1 / (1 / figures.size + part)), figures.size)
    return result
