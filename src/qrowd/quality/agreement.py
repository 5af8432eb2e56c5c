"""How far assessors agree with one another: raw, Fleiss, Krippendorff, Gwet, Conger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from qrowd.comparison.significance import interval
from qrowd.data.arrays import Array, Floats, Mask, Offsets, over
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.errors import ParameterError, require_choice
from qrowd.quality.behaviour import crossed
from qrowd.rendering import Readable

LEVELS = ("nominal", "ordinal", "interval", "ratio")
_OF_ORDER = tuple(f"alpha-{level}" for level in LEVELS[1:])
COEFFICIENTS = (
    "raw",
    "fleiss",
    "alpha-nominal",
    "alpha-ordinal",
    "alpha-interval",
    "alpha-ratio",
    "ac1",
    "bp",
    "conger",
)
WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "radical")
MOST_TOPICS = 2000
_CELLS = 4_000_000  # of topics x count vectors at a time


@dataclass(frozen=True)
class Coefficient:
    """One coefficient, its bootstrap interval and standard error (NaN where not defined)."""

    value: float
    low: float
    high: float
    se: float = np.nan

    def __str__(self) -> str:
        ends = "" if np.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{ends}"


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
            {"topic": topic, "coefficient": name, **asdict(c)}
            for topic, values in groups.items()
            for name, c in values.items()
        ]
        shown = ("topic",) if self.per_topic else ()
        names = (*shown, "coefficient", "value", "low", "high", "se")
        return {name: [row[name] for row in rows] for name in names}

    def __str__(self) -> str:
        head = f"{self.compared} of {self.pairs} pairs have two judgements or more"
        rows = [f"{name:16}{value}" for name, value in self.overall.items()]
        return "\n".join([head, *rows, *self.notes])


def agreement(
    judgements: Judgements,
    *,
    coefficients: tuple[str, ...] = COEFFICIENTS,
    weights: str | Sequence[Sequence[float]] | Array = "identity",
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

    `weights` say how far two grades agree: `linear`, `quadratic`, `ordinal`, `radical`, or a square
    of numbers from 0 to 1, 1 on its diagonal. They count for all but Krippendorff's alpha, which
    has its levels; Gwet's AC1 is his AC2 then, and Conger's kappa of two assessors Cohen's weighted
    kappa. Standard errors are Gwet's (2014); the interval of Conger's kappa is made of its error.
    """
    _check(coefficients, bootstrap, level, resample)
    random = np.random.default_rng(seed)
    counts, topic = counts_of(judgements), judgements.pairs.topic
    grades = np.array(judgements.scale.grades)
    weigh = weights_of(weights, grades)
    if judgements.scale.words:
        if not isinstance(weights, str) or weights != "identity":
            judgements.scale.require_order("weighted agreement")
        coefficients = tuple(name for name in coefficients if name not in _OF_ORDER)
    by_counts = tuple(name for name in coefficients if name != "conger")
    rows, back = _distinct(counts)
    occurs = np.bincount(back, minlength=len(rows))
    if resample == "topics":
        cells = topic.astype(np.int64) * len(rows) + back
        size = len(judgements.topics) * len(rows)
        by_topic = np.bincount(cells, minlength=size).reshape(-1, len(rows))
        draws = _drawn(np.ones(len(by_topic), np.int64), bootstrap, random) @ by_topic
    else:
        draws = _drawn(occurs, bootstrap, random)
    overall = _coefficients(rows, occurs, draws, by_counts, grades, weigh, level)
    if "conger" in coefficients:
        overall["conger"] = conger(judgements, weigh, level)
        if resample == "topics":  # its error is over pairs
            overall["conger"] = replace(overall["conger"], low=np.nan, high=np.nan)
    several = int((counts.sum(axis=1) > 1).sum())
    choice = judgements.choice
    notes = choice.caution("agreement") if choice is not None else ()
    whole = Agreement(overall, {}, len(counts), several, level, notes)
    if not per_topic:
        return whole
    if len(judgements.topics) > MOST_TOPICS:
        topics = _without_intervals(judgements, rows, back, by_counts, weigh)
        note = f"topics have no intervals by themselves: there are more than {MOST_TOPICS}"
        return replace(whole, per_topic=topics, notes=(*notes, *([note] if bootstrap else [])))
    starts, of_topic = judgements.pairs.topic_starts, {}
    for code, name in enumerate(judgements.topics):  # pairs of the topic drawn again
        inside = np.bincount(back[starts[code] : starts[code + 1]], minlength=len(rows))
        here = inside > 0
        drawn = _drawn(inside[here], bootstrap, random)
        of_topic[name] = _coefficients(
            rows[here], inside[here], drawn, by_counts, grades, weigh, level
        )
        if "conger" in coefficients:
            one = judgements.select(topic[judgements.pair] == code)
            of_topic[name]["conger"] = conger(one, weigh, level)
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
    judgements: Judgements,
    rows: Offsets,
    back: Offsets,
    names: tuple[str, ...],
    weights: Floats,
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
            values[name].append(coefficient(name, grades, weights)(rows, times))
    columns = {name: np.concatenate(parts).tolist() for name, parts in values.items()}
    return {
        topic: {
            _called(name, weights): Coefficient(columns[name][at], np.nan, np.nan) for name in names
        }
        for at, topic in enumerate(judgements.topics)
    }


def _coefficients(
    rows: Offsets,
    occurs: Offsets,
    draws: Offsets,
    names: tuple[str, ...],
    grades: Array,
    weights: Floats,
    level: float,
) -> dict[str, Coefficient]:
    result = {}
    for name in names:
        value = coefficient(name, grades, weights)
        low, high = interval(value(rows, draws), level) if len(draws) else (np.nan, np.nan)
        own = float(value(rows, occurs)[0])
        error = standard_error(name, rows, occurs, weights) if name in _CHANCE else np.nan
        result[_called(name, weights)] = Coefficient(own, float(low), float(high), error)
    return result


def _called(name: str, weights: Floats) -> str:
    """Gwet's name of his coefficient with weights."""
    return "ac2" if name == "ac1" and (weights != np.eye(len(weights))).any() else name


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


def coefficient(
    name: str, grades: Array, weights: Floats | None = None
) -> Callable[[Array, Array | None], Floats]:
    """The function of a coefficient, of count vectors and how often they count."""
    if name.startswith("alpha-"):
        return lambda counts, times: alpha(counts, grades, name[6:], times)
    return lambda counts, times: corrected(name, counts, times, weights)


def weights_of(wanted: str | Sequence[Sequence[float]] | Array, grades: Array) -> Floats:
    """How far each two grades agree, from 0 to 1 (Gwet 2014); own ones are checked."""
    size = len(grades)
    if not isinstance(wanted, str):
        lengths = {np.size(row) for row in wanted}
        own = np.asarray(wanted, np.float64) if len(lengths) == 1 else np.empty((0, 0))
        if own.shape != (size, size) or not np.array_equal(own, own.T):
            raise ParameterError(
                f"weights must be {size} rows of {size} numbers that mirror each other, as there "
                f"are the grades {' '.join(map(str, grades))}"
            )
        if not ((own >= 0) & (own <= 1)).all() or not (np.diag(own) == 1).all():
            raise ParameterError("weights must lie between 0 and 1, and be 1 for equal grades")
        return own
    require_choice("weights", wanted, WEIGHTS)
    if wanted == "ordinal":  # by how many couples of grades lie between two
        steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        gap = (steps * (steps + 1) / 2).astype(np.float64)
    else:
        gap = np.abs(np.subtract.outer(grades, grades)).astype(np.float64)
        power = {"identity": 0.0, "linear": 1.0, "quadratic": 2.0, "radical": 0.5}[wanted]
        gap = np.where(gap > 0, gap**power, 0.0)
    return np.asarray(1 - gap / max(gap.max(), 1e-300))


def counts_of(judgements: Judgements) -> Offsets:
    """How many assessors gave each grade to each pair: int64[pairs, grades]."""
    single = judgements.one_each()
    return crossed(single.pair, single.grade, (len(single.pairs), len(single.scale)))


# The chance of agreeing with a grade by chance, from the shares of grades and the weights.
_CHANCE: dict[str, Callable[[Floats, Floats], Floats]] = {
    "raw": lambda shares, weights: 0 * shares,
    "fleiss": lambda shares, weights: shares @ weights,
    "ac1": lambda shares, weights: (
        (1 - shares) * weights.sum() / max(len(weights) * (len(weights) - 1), 1)
    ),
    "bp": lambda shares, weights: 0 * shares + weights.mean(),
}


def corrected(
    name: str, counts: Array, times: Array | None = None, weights: Floats | None = None
) -> Floats:
    r"""A coefficient that compares agreement with what chance gives, $(P - P_e)/(1 - P_e)$.

    $P$ is the mean over pairs with two judgements or more of
    $\sum_k n_{ik}(\sum_l w_{kl} n_{il} - 1) / (n_i(n_i - 1))$, and with $\pi_k$ the mean over pairs
    of the share of grade k, $P_e$ is 0 (`raw`), $\sum_{kl} w_{kl}\pi_k\pi_l$ (`fleiss`: Fleiss
    1971), $\sum_{kl} w_{kl} \sum_k \pi_k(1-\pi_k)/(K(K-1))$ (`ac1`: Gwet 2008, which stays near the
    raw agreement where nearly all answers are the same) or $\sum_{kl} w_{kl}/K^2$ (`bp`: Brennan &
    Prediger 1981).
    """
    weights = np.eye(counts.shape[1]) if weights is None else weights
    by = _weights(counts, times)
    share, several = _agreeing(counts, weights)
    observed = _ratio(by @ share, by @ several.astype(np.float64))
    shares = _shares(counts, times)
    expected = (shares * _CHANCE[name](shares, weights)).sum(axis=1)
    return _ratio(observed - expected, 1 - expected)


def _agreeing(counts: Array, weights: Floats) -> tuple[Floats, Mask]:
    """The share of agreeing couples of judgements of each row, and which rows have a couple."""
    total = counts.sum(axis=1)
    several = np.asarray(total > 1)
    agreeing = (counts * (counts @ weights - 1)).sum(axis=1)
    return over(agreeing, total * (total - 1), 0.0), several


def standard_error(name: str, counts: Array, times: Array, weights: Floats) -> float:
    """Of a coefficient over pairs (Gwet 2014): the rows are pairs, each so many times."""
    judged = counts.sum(axis=1) > 0
    counts, times = counts[judged], np.asarray(times)[judged]
    (shares,) = _shares(counts, times)
    chance = _CHANCE[name](shares, weights)
    return _error_of(counts, times, weights, counts @ chance / counts.sum(axis=1), shares @ chance)


def _error_of(
    counts: Array, times: Array, weights: Floats, chances: Floats, chance: float
) -> float:
    """`chances` are each pair's part in the chance of agreeing, whose mean is `chance`."""
    share, several = _agreeing(counts, weights)
    n, couples = times.sum(), times @ several
    if n < 2 or couples == 0 or chance > 1 - 1e-12:
        return np.nan
    value = (times @ share / couples - chance) / (1 - chance)
    own = n / couples * (share - chance * several) / (1 - chance)
    own -= 2 * (1 - value) * (chances - chance) / (1 - chance)
    return float(np.sqrt(times @ (own - value) ** 2 / (n * (n - 1))))


def conger(
    judgements: Judgements, weights: Floats | None = None, level: float = 0.9
) -> Coefficient:
    r"""Conger's kappa (1980): chance is the mean over couples of assessors of Cohen's.

    $$P_e = \frac{1}{r(r-1)} \sum_{g \ne h} \sum_{kl} w_{kl}\, p_{gk}\, p_{hl}$$ with $p_{gk}$ the
    share of grade k among the answers of assessor g. Its interval is the value plus and minus
    Student's quantile of the standard error.
    """
    from scipy.stats import t as student

    single = judgements.one_each()
    counts = counts_of(single)
    weights = np.eye(counts.shape[1]) if weights is None else weights
    kept = counts.sum(axis=1) > 0
    counts, n = counts[kept], int(kept.sum())
    by = crossed(single.assessor, single.grade, (len(single.assessors), len(single.scale)))
    number = by.sum(axis=1)
    raters = int((number > 0).sum())
    if raters < 2 or n < 2:
        return Coefficient(np.nan, np.nan, np.nan)
    shares = over(by, number[:, None], 0.0)
    total = shares.sum(axis=0)
    others = (total - shares) @ weights / (raters * (raters - 1))  # [assessors, grades]
    chance = float((shares * others).sum())
    share, several = _agreeing(counts, weights)
    value = float(_ratio(share.sum() / max(several.sum(), 1) - chance, np.asarray(1 - chance)))
    # each pair's part: an answer, less what its assessor answers anyhow where this one answered
    own = (others * shares).sum(axis=1)
    part = others[single.assessor, single.grade] - own[single.assessor]
    parts = np.bincount(single.pair, part * n / number[single.assessor], len(single.pairs))
    error = _error_of(counts, np.ones(n), weights, parts[kept] + own.sum(), chance)
    half = error * float(student.ppf((1 + level) / 2, n - 1))
    return Coefficient(value, value - half, min(1.0, value + half), error)


def pair_agreement(
    judgements: Judgements, skills: Sequence[float] | Array | None = None
) -> Pairwise:
    r"""How far the answers of each pair agree: the vote, its consistency and its uncertainty.

    `uncertainty` is the entropy of the answers (in nats), 0 where all are the same. `consistency`
    is the probability of the commonest grade, if assessor w is right with probability $s_w$ and
    otherwise says each other grade as often: $s_w$ are the `skills`, by default how often each
    answered as the majority. Both as in crowd-kit, whose ties may go to another grade.
    """
    single = judgements.one_each()
    counts = counts_of(judgements)
    size = counts.shape[1]
    vote = counts.argmax(axis=1)
    if skills is None:
        n = len(single.assessors)
        right = np.bincount(single.assessor, vote[single.pair] == single.grade, n)
        skills = over(right, np.bincount(single.assessor, minlength=n), np.nan)
    skill = np.asarray(skills, np.float64)
    if skill.shape != (len(single.assessors),):
        raise ParameterError(
            f"skills must have one number for each of {len(single.assessors)} assessors, in the "
            f"order of judgements.assessors; got the shape {skill.shape}"
        )
    with np.errstate(divide="ignore"):
        right = np.log(skill[single.assessor])
        wrong = np.log((1 - skill[single.assessor]) / max(size - 1, 1))
    belief = np.zeros(counts.shape)
    for grade in range(size):
        said = np.where(single.grade == grade, right, wrong)
        np.add.at(belief[:, grade], single.pair, said)
    top = belief.max(axis=1, keepdims=True)
    chance = np.where(np.isfinite(top), np.exp(belief - np.where(np.isfinite(top), top, 0)), 0.0)
    consistency = over(chance[np.arange(len(vote)), vote], chance.sum(axis=1), 0.0)
    shares = over(counts, counts.sum(axis=1)[:, None], 0.0)
    uncertainty = 0.0 - (shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)  # no -0
    grades = np.array(judgements.scale.grades)[vote]
    return Pairwise(judgements.pairs, counts.sum(axis=1), grades, consistency, uncertainty)


@dataclass(frozen=True, eq=False)
class Pairwise(Framed):
    """`topic doc judgements grade consistency uncertainty` of every pair."""

    pairs: Pairs
    judgements: Offsets
    grade: Array
    consistency: Floats
    uncertainty: Floats

    def __len__(self) -> int:
        return len(self.pairs)

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per pair."""
        names = ("judgements", "grade", "consistency", "uncertainty")
        return {**self.pairs.frame_columns(), **{name: getattr(self, name) for name in names}}


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


def _ratio(above: Floats, below: Floats) -> Floats:
    # what is 0 but for rounding is 0
    return over(above, np.where(below < 1e-15, 0.0, below))
