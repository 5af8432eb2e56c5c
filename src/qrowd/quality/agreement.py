"""How far assessors agree with one another: raw, Fleiss, Krippendorff, Gwet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from qrowd.comparison.significance import interval
from qrowd.data.arrays import Array, Floats, Offsets, over
from qrowd.data.judgements import Judgements
from qrowd.errors import ParameterError, require_choice
from qrowd.quality.behaviour import crossed
from qrowd.rendering import Readable

LEVELS = ("nominal", "ordinal", "interval", "ratio")
COEFFICIENTS = (
    "raw",
    "fleiss",
    "alpha-nominal",
    "alpha-ordinal",
    "alpha-interval",
    "alpha-ratio",
    "ac1",
)
MOST_TOPICS = 2000
_CELLS = 4_000_000  # of topics x count vectors at a time


@dataclass(frozen=True)
class Coefficient:
    """One coefficient and its bootstrap interval (NaN where it is not defined)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Agreement(Readable):
    """Coefficients over all topics, and for each topic by itself if it was asked for."""

    overall: Mapping[str, Coefficient]
    per_topic: Mapping[str, Mapping[str, Coefficient]] = field(default_factory=dict)
    pairs: int = 0
    compared: int = 0
    level: float = 0.9
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Coefficient:
        return self.overall[name]

    def table(self) -> dict[str, list[Any]]:
        """One row per coefficient; per topic too, if that was asked for, `all` first."""
        groups = {"all": self.overall, **self.per_topic}
        rows = [
            {"topic": topic, "coefficient": name, "value": c.value, "low": c.low, "high": c.high}
            for topic, values in groups.items()
            for name, c in values.items()
        ]
        shown = ("topic",) if self.per_topic else ()
        names = (*shown, "coefficient", "value", "low", "high")
        return {name: [row[name] for row in rows] for name in names}

    def __str__(self) -> str:
        head = f"{self.compared} of {self.pairs} pairs have two judgements or more"
        rows = [f"{name:16}{value}" for name, value in self.overall.items()]
        return "\n".join([head, *rows, *self.notes])


def agreement(
    judgements: Judgements,
    *,
    coefficients: tuple[str, ...] = COEFFICIENTS,
    per_topic: bool = False,
    bootstrap: int = 1000,
    level: float = 0.9,
    resample: str = "pairs",
    seed: int = 0,
) -> Agreement:
    """All coefficients of agreement, with percentile intervals from a bootstrap.

    `resample="pairs"` draws pairs; `"topics"` draws whole topics, which is wider and honest
    where pairs of one topic are alike. `bootstrap=0` leaves the intervals out (NaN); so do
    single topics where there are more than `MOST_TOPICS` of them.
    """
    _check(coefficients, bootstrap, level, resample)
    random = np.random.default_rng(seed)
    counts, topic = counts_of(judgements), judgements.pairs.topic
    grades = np.array(judgements.scale.grades)
    rows, back = _distinct(counts)
    occurs = np.bincount(back, minlength=len(rows))
    if resample == "topics":
        cells = topic.astype(np.int64) * len(rows) + back
        size = len(judgements.topics) * len(rows)
        by_topic = np.bincount(cells, minlength=size).reshape(-1, len(rows))
        draws = _drawn(np.ones(len(by_topic), np.int64), bootstrap, random) @ by_topic
    else:
        draws = _drawn(occurs, bootstrap, random)
    overall = _coefficients(rows, occurs, draws, coefficients, grades, level)
    several = int((counts.sum(axis=1) > 1).sum())
    choice = judgements.choice
    notes = choice.caution("agreement") if choice is not None else ()
    whole = Agreement(overall, {}, len(counts), several, level, notes)
    if not per_topic:
        return whole
    if len(judgements.topics) > MOST_TOPICS:
        topics = _without_intervals(judgements, rows, back, coefficients)
        note = f"topics have no intervals by themselves: there are more than {MOST_TOPICS}"
        return replace(whole, per_topic=topics, notes=(*notes, *([note] if bootstrap else [])))
    starts, of_topic = judgements.pairs.topic_starts, {}
    for code, name in enumerate(judgements.topics):  # pairs of the topic drawn again
        inside = np.bincount(back[starts[code] : starts[code + 1]], minlength=len(rows))
        here = inside > 0
        drawn = _drawn(inside[here], bootstrap, random)
        of_topic[name] = _coefficients(rows[here], inside[here], drawn, coefficients, grades, level)
    return replace(whole, per_topic=of_topic)


def krippendorff_alpha(judgements: Judgements, level: str = "nominal") -> float:
    """Krippendorff's alpha of all judgements, without an interval; a fast path."""
    rows, back = _distinct(counts_of(judgements))
    occurs = np.bincount(back, minlength=len(rows))
    return float(alpha(rows, np.array(judgements.scale.grades), level, occurs)[0])


def _check(coefficients: tuple[str, ...], bootstrap: int, level: float, resample: str) -> None:
    for name in coefficients:
        if name not in COEFFICIENTS:
            raise ParameterError(f"coefficient must be one of {', '.join(COEFFICIENTS)}: {name!r}")
    if bootstrap < 0 or not 0 < level < 1:
        raise ParameterError(
            f"bootstrap must be at least 0 and level between 0 and 1, got {bootstrap}, {level}"
        )
    if resample not in ("pairs", "topics"):
        raise ParameterError(f"resample must be pairs or topics, got {resample!r}")


def _without_intervals(
    judgements: Judgements, rows: Offsets, back: Offsets, names: tuple[str, ...]
) -> dict[str, Mapping[str, Coefficient]]:
    """The coefficients of each of very many topics, a block of them at a time."""
    grades, topic_of = np.array(judgements.scale.grades), judgements.pairs.topic.astype(np.int64)
    starts, count = judgements.pairs.topic_starts, len(judgements.topics)
    step = max(1, _CELLS // max(len(rows), 1))
    values: dict[str, list[Floats]] = {name: [] for name in names}
    for lo in range(0, count, step):
        hi = min(lo + step, count)
        inside = slice(starts[lo], starts[hi])
        cells = (topic_of[inside] - lo) * len(rows) + back[inside]
        times = np.bincount(cells, minlength=(hi - lo) * len(rows)).reshape(hi - lo, len(rows))
        for name in names:
            values[name].append(coefficient(name, grades)(rows, times))
    columns = {name: np.concatenate(parts).tolist() for name, parts in values.items()}
    return {
        topic: {name: Coefficient(columns[name][at], np.nan, np.nan) for name in names}
        for at, topic in enumerate(judgements.topics)
    }


def _coefficients(
    rows: Offsets,
    occurs: Offsets,
    draws: Offsets,
    names: tuple[str, ...],
    grades: Array,
    level: float,
) -> dict[str, Coefficient]:
    result = {}
    for name in names:
        value = coefficient(name, grades)
        low, high = interval(value(rows, draws), level) if len(draws) else (np.nan, np.nan)
        result[name] = Coefficient(float(value(rows, occurs)[0]), float(low), float(high))
    return result


def _distinct(counts: Offsets) -> tuple[Offsets, Offsets]:
    """The different rows, and which of them each row is."""
    base = int(counts.max(initial=0)) + 1
    if float(base) ** counts.shape[1] < 2**62:  # a row as one number
        key = np.zeros(len(counts), np.int64)
        for column in counts.T:
            key = key * base + column
        _, first, back = np.unique(key, return_index=True, return_inverse=True)
        return counts[first], back
    rows, back = np.unique(counts, axis=0, return_inverse=True)
    return rows, back.reshape(-1)


def _drawn(occurs: Offsets, n: int, random: np.random.Generator) -> Offsets:
    """How often each kind of pair, or topic, is drawn: [draws, kinds]."""
    total = int(occurs.sum())
    if not n or not total:
        return np.zeros((0, len(occurs)), np.int64)
    return random.multinomial(total, occurs / total, size=n)


# --- coefficients of count vectors, each so many times --------------------------------------------


def coefficient(name: str, grades: Array) -> Callable[[Array, Array | None], Floats]:
    """The function of a coefficient, of count vectors and how often they count."""
    if name.startswith("alpha-"):
        return lambda counts, times: alpha(counts, grades, name[6:], times)
    return {"raw": raw, "fleiss": fleiss, "ac1": ac1}[name]


def counts_of(judgements: Judgements) -> Offsets:
    """How many assessors gave each grade to each pair: int64[pairs, grades]."""
    single = judgements.one_each()
    return crossed(single.pair, single.grade, (len(single.pairs), len(single.scale)))


def raw(counts: Array, times: Array | None = None) -> Floats:
    r"""The mean over pairs of the share of agreeing couples of judgements.

    $$ P_i = \frac{\sum_k n_{ik}(n_{ik}-1)}{n_i(n_i-1)} $$ for pairs with two judgements or more.
    """
    weight = _weights(counts, times)
    total = counts.sum(axis=1)
    several = total > 1
    share = np.zeros(len(counts))
    agreeing = (counts * (counts - 1)).sum(axis=1)
    share[several] = agreeing[several] / (total * (total - 1))[several]
    return _ratio(weight @ share, weight @ several.astype(np.float64))


def fleiss(counts: Array, times: Array | None = None) -> Floats:
    r"""Fleiss' kappa (1971), for any number of judgements per pair.

    $$ \kappa = (\bar P - P_e)/(1 - P_e), \quad P_e = \sum_k \pi_k^2 $$ where $\pi_k$ is the mean
    over pairs of the share of grade k. With equal numbers per pair it is Fleiss' own.
    """
    expected = (_shares(counts, times) ** 2).sum(axis=1)
    return _corrected(raw(counts, times), expected)


def ac1(counts: Array, times: Array | None = None) -> Floats:
    r"""Gwet's AC1 (2008): as Fleiss' kappa with $P_e = \sum_k \pi_k(1-\pi_k)/(K-1)$.

    It stays near the raw agreement where nearly all answers are the same, where kappa collapses.
    """
    shares = _shares(counts, times)
    expected = (shares * (1 - shares)).sum(axis=1) / (counts.shape[1] - 1)
    return _corrected(raw(counts, times), expected)


def alpha(
    counts: Array, grades: Array, level: str = "nominal", times: Array | None = None
) -> Floats:
    r"""Krippendorff's alpha (2004, 2011) with missing data.

    $$ \alpha = 1 - (n-1)\,\frac{\sum_{ck} o_{ck}\,\delta^2_{ck}}{\sum_{ck} n_c n_k\,\delta^2_{ck}},
    \quad o_{ck} = \sum_u \frac{n_{uc}(n_{uk} - [c=k])}{n_u - 1} $$
    over pairs with two judgements or more. All answers equal: not defined, NaN.
    """
    require_choice("level", level, LEVELS)
    weight = _weights(counts, times)
    total = counts.sum(axis=1)
    several = total > 1
    used, weight = counts[several].astype(np.float64), weight[:, several]
    size = counts.shape[1]
    within = (used[:, :, None] * used[:, None, :] - used[:, :, None] * np.eye(size)) / (
        total[several, None, None] - 1
    )
    coincidences = (weight @ within.reshape(-1, size * size)).reshape(-1, size, size)
    margins = coincidences.sum(axis=2)
    distance = _distances(margins, np.asarray(grades, np.float64), level)
    observed = (coincidences * distance).sum(axis=(1, 2))
    by_chance = np.einsum("bc,bk,bck->b", margins, margins, distance)
    return np.asarray(1 - (margins.sum(axis=1) - 1) * _ratio(observed, by_chance))


def _distances(margins: Floats, grades: Floats, level: str) -> Floats:
    """Squared distances between grades, for each row of margins: [rows, grades, grades]."""
    size = len(grades)
    if level == "ordinal":  # judgements between the two grades, half of those at the ends
        below = np.cumsum(margins, axis=1) - margins / 2
        return np.asarray((below[:, :, None] - below[:, None, :]) ** 2)
    gap = grades[:, None] - grades[None, :]
    if level == "nominal":
        fixed = (gap != 0).astype(np.float64)
    elif level == "interval":
        fixed = gap**2
    else:
        together = grades[:, None] + grades[None, :]
        fixed = np.where(together == 0, 0.0, (gap / np.where(together == 0, 1, together)) ** 2)
    return np.broadcast_to(fixed, (len(margins), size, size))


def _weights(counts: Array, times: Array | None) -> Floats:
    if times is None:
        return np.ones((1, len(counts)))
    return np.atleast_2d(np.asarray(times, np.float64))


def _shares(counts: Array, times: Array | None) -> Floats:
    weight = _weights(counts, times)
    total = counts.sum(axis=1)
    judged = total > 0
    shares = counts[judged] / total[judged, None]
    return _ratio(weight[:, judged] @ shares, weight[:, judged].sum(axis=1)[:, None])


def _corrected(observed: Floats, expected: Floats) -> Floats:
    return _ratio(observed - expected, 1 - expected)


def _ratio(above: Floats, below: Floats) -> Floats:
    # what is 0 but for rounding is 0
    return over(above, np.where(below < 1e-15, 0.0, below))
