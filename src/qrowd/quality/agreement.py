"""How far assessors agree with one another: raw, Fleiss, Krippendorff, Gwet.

All coefficients need only the *count vectors* of the pairs (how many assessors gave
each grade), and equal vectors count as often as they occur. A crowd of a million judgements has
a few hundred different vectors, so that a bootstrap over pairs is a multinomial draw over these.
One assessor counts once per pair (the latest, else the commonest judgement).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets
from qrowd.data.judgements import Judgements
from qrowd.errors import ParameterError
from qrowd.quality.coefficients import COEFFICIENTS, alpha, coefficient, counts_of
from qrowd.rendering import Readable

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
    level: float = 0.95
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Coefficient:
        return self.overall[name]

    def table(self) -> dict[str, list[Any]]:
        """One row per coefficient; per topic too, if that was asked for, `all` first."""
        groups = {"all": self.overall, **self.per_topic}
        rows = [(topic, n, c) for topic, values in groups.items() for n, c in values.items()]
        columns: dict[str, list[Any]] = (
            {"topic": [row[0] for row in rows]} if self.per_topic else {}
        )
        columns["coefficient"] = [row[1] for row in rows]
        return columns | {
            part: [getattr(row[2], part) for row in rows] for part in ("value", "low", "high")
        }

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
    level: float = 0.95,
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
        draws = _draw_topics(by_topic, bootstrap, random)
    else:
        draws = _draw_pairs(occurs, bootstrap, random)
    overall = _coefficients(rows, occurs, draws, coefficients, grades, level)
    several = int((counts.sum(axis=1) > 1).sum())
    found = Agreement(overall, {}, len(counts), several, level)
    if not per_topic:
        return found
    if len(judgements.topics) > MOST_TOPICS:
        topics = _without_intervals(judgements, rows, back, coefficients)
        note = f"topics have no intervals by themselves: there are more than {MOST_TOPICS}"
        return replace(found, per_topic=topics, notes=(note,) if bootstrap else ())
    return replace(
        found,
        per_topic=_with_intervals(judgements, rows, back, coefficients, bootstrap, level, random),
    )


def _with_intervals(
    judgements: Judgements,
    rows: Offsets,
    back: Offsets,
    names: tuple[str, ...],
    bootstrap: int,
    level: float,
    random: np.random.Generator,
) -> dict[str, Mapping[str, Coefficient]]:
    """The coefficients of each topic, pairs of the topic drawn again for the intervals."""
    starts, grades = judgements.pairs.topic_starts, np.array(judgements.scale.grades)
    found: dict[str, Mapping[str, Coefficient]] = {}
    for code, topic in enumerate(judgements.topics):
        inside = np.bincount(back[starts[code] : starts[code + 1]], minlength=len(rows))
        here = inside > 0
        drawn = _draw_pairs(inside[here], bootstrap, random)
        found[topic] = _coefficients(rows[here], inside[here], drawn, names, grades, level)
    return found


def _without_intervals(
    judgements: Judgements, rows: Offsets, back: Offsets, names: tuple[str, ...]
) -> dict[str, Mapping[str, Coefficient]]:
    """The same for very many topics, a block of them at a time."""
    grades, topic = np.array(judgements.scale.grades), judgements.pairs.topic.astype(np.int64)
    starts, count = judgements.pairs.topic_starts, len(judgements.topics)
    step = max(1, _CELLS // max(len(rows), 1))
    values: dict[str, list[Floats]] = {name: [] for name in names}
    for lo in range(0, count, step):
        hi = min(lo + step, count)
        inside = slice(starts[lo], starts[hi])
        cells = (topic[inside] - lo) * len(rows) + back[inside]
        times = np.bincount(cells, minlength=(hi - lo) * len(rows)).reshape(hi - lo, len(rows))
        for name in names:
            values[name].append(coefficient(name, grades)(rows, times))
    columns = {name: np.concatenate(parts).tolist() for name, parts in values.items()}
    return {
        one: {name: Coefficient(columns[name][at], np.nan, np.nan) for name in names}
        for at, one in enumerate(judgements.topics)
    }


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


def _draw_pairs(occurs: Offsets, n: int, random: np.random.Generator) -> Offsets:
    total = int(occurs.sum())
    if not n or not total:
        return np.zeros((0, len(occurs)), np.int64)
    return random.multinomial(total, occurs / total, size=n)


def _draw_topics(by_topic: Offsets, n: int, random: np.random.Generator) -> Offsets:
    topics = len(by_topic)
    if not n or not topics:
        return np.zeros((0, by_topic.shape[1]), np.int64)
    return np.asarray(random.multinomial(topics, np.full(topics, 1 / topics), size=n) @ by_topic)


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
        low, high = _interval(value(rows, draws), level) if len(draws) else (np.nan, np.nan)
        result[name] = Coefficient(float(value(rows, occurs)[0]), low, high)
    return result


def _interval(drawn: Floats, level: float) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return np.nan, np.nan
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def krippendorff_alpha(judgements: Judgements, level: str = "nominal") -> float:
    """Krippendorff's alpha of all judgements, without an interval; a fast path."""
    rows, back = _distinct(counts_of(judgements))
    occurs = np.bincount(back, minlength=len(rows))
    return float(alpha(rows, np.array(judgements.scale.grades), level, occurs)[0])
