"""How sure scores and ranks are: `intervals` over draws of relevance, topics, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.comparison.correlation import places
from qrowd.comparison.significance import means_of, topic_weights, weighted_means
from qrowd.data.arrays import Array, Codes, Floats, Mask
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import ParameterError, UsageError, require_choice, require_name
from qrowd.rendering import Readable, aligned, between, percent, plain

OVER = ("draws", "topics", "both")
SHOWN = 8  # runs in the printed matrix
_NO_SCORES = (
    "No intervals of scores are given over draws: with uncertain labels all scores come out too\n"
    "low or too high, so that 90 % intervals held the official scores of real runs, judged by\n"
    "machines, in 71 of 100 at best. Places and P(beats) are affected far less."
)


@dataclass(frozen=True, eq=False)
class Intervals(Readable, Framed):
    """What is known of each run's mean score and place, per measure: arrays [measure, run].

    `mean` is the expected mean score; `place` is the run's place by `mean`, `place_low` (better) to
    `place_high` hold its place with probability `level`. `low` and `high` are the ends for the mean
    score: over topics alone they hold it; over draws they do not (`of_scores` is False), and
    neither text nor frames nor JSON have them. `best` is the probability of being the best run,
    `beats[measure, a, b]` that of a scoring above b (ties count half). `contender` marks the
    smallest set that holds the best run with probability `containing`. `drawn` says what a draw is.
    """

    measures: tuple[str, ...]
    runs: Index
    mean: Floats
    low: Floats
    high: Floats
    place: Floats
    place_low: Floats
    place_high: Floats
    best: Floats
    beats: Floats
    contender: Mask
    over: str
    level: float
    containing: float
    samples: int
    draws: int
    topics: int
    drawn: str = "draws of relevance"
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Intervals({', '.join(self.measures)}: {len(self.runs)} runs, {percent(self.level)} "
            f"over {self.source})"
        )

    def __str__(self) -> str:
        measures = range(len(self.measures))
        tables = [table(m) for m in measures for table in (self._table, self._matrix)]
        return "\n\n".join([*tables, self._legend()])

    @property
    def source(self) -> str:
        """What the intervals are over, in words."""
        draws, topics = f"{self.draws} {self.drawn}", f"{self.topics} topics, drawn anew"
        return {"draws": draws, "topics": topics, "both": f"{draws} and {topics}"}[self.over]

    @property
    def of_scores(self) -> bool:
        """Whether `low` and `high` are to be believed: not over draws."""
        return self.over == "topics" and self.draws == 1

    def contenders(self, measure: str = "") -> tuple[str, ...]:
        """The smallest set of runs that holds the best one, likeliest first."""
        m = self._measure(measure)
        order = np.argsort(-self.best[m], kind="stable")
        return tuple(self.runs.names[at] for at in order if self.contender[m, at])

    def probability(self, a: str, b: str, measure: str = "") -> float:
        """P(run a scores above run b)."""
        return float(
            self.beats[self._measure(measure), *(self.runs.code(x, "run") for x in (a, b))]
        )

    def order(self, measure: str = "") -> Array:
        """The runs' codes from the best mean down."""
        return np.argsort(-self.mean[self._measure(measure)], kind="stable")

    def _measure(self, name: str) -> int:
        name = name or self.measures[0]
        require_name("measure in these intervals", name, self.measures)
        return self.measures.index(name)

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per measure and run, the best first; `low` and `high` where they hold."""
        m, run = ranked_rows(self)
        ends = ("low", "high") if self.of_scores else ()
        figures = ("mean", *ends, "place", "place_low", "place_high", "best", "contender")
        return {
            "measure": np.array(self.measures, object)[m],
            "run": Coded(self.runs, run),
            **{name: getattr(self, name)[m, run] for name in figures},
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, the matrices of probabilities too, as JSON has it."""
        rows = self.to_polars().to_dicts()
        matrices = dict(zip(self.measures, self.beats, strict=True))
        about = ("over", "level", "containing", "samples", "draws", "topics")
        notes = [*self.notes, *([] if self.of_scores else [_NO_SCORES.replace("\n", " ")])]
        account = {name: getattr(self, name) for name in about}
        account |= {"rows": rows, "runs": list(self.runs), "beats": matrices, "notes": notes}
        return dict(plain(account))

    def _table(self, m: int) -> str:
        level = percent(self.level)
        of_score = [level] if self.of_scores else []
        rows = [
            [
                f"{self.runs.names[at]}{' *' if self.contender[m, at] else ''}",
                float(self.mean[m, at]),
                *(between(self.low[m, at], self.high[m, at]) for _ in of_score),
                f"{self.place[m, at]:g}",
                f"[{self.place_low[m, at]:g}, {self.place_high[m, at]:g}]",
                f"{self.best[m, at]:.3f}",
            ]
            for at in self.order(self.measures[m])
        ]
        return aligned([self.measures[m], "score", *of_score, "place", level, "P(best)"], rows)

    def _matrix(self, m: int) -> str:
        """P(row beats column) of the best runs; `beats` and JSON have all of them."""
        top = self.order(self.measures[m])[:SHOWN]
        rows = [
            [
                str(self.runs.names[a]),
                *("" if a == b else f"{self.beats[m, a, b]:.2f}" for b in top),
            ]
            for a in top
        ]
        return aligned([f"P(beats), {self.measures[m]}", *self.runs.names[top]], rows)

    def _legend(self) -> str:
        lines = [
            f"Intervals of {percent(self.level)} over {self.source}.",
            f"*: the smallest group that has the best run in it with {percent(self.containing)}.",
            "P(beats): that the run of the row scores above that of the column"
            + (f"; the {SHOWN} best runs, JSON has all." if len(self.runs) > SHOWN else "."),
            *([] if self.of_scores else [_NO_SCORES]),
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)


def ranked_rows(figures: Any) -> tuple[Codes, Codes]:
    """The measure and the run of each row: one per measure and run, in the measure's `order`."""
    rows = [(m, run) for m, name in enumerate(figures.measures) for run in figures.order(name)]
    m, run = (np.array(part, np.int32) for part in zip(*rows, strict=True))
    return m, run


def intervals(
    scores: Scores,
    *,
    over: str | None = None,
    level: float = 0.9,
    containing: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    drawn: str = "draws of relevance",
) -> Intervals:
    """Intervals of every run's mean score and place, and the probability that A beats B.

    `over` says what could have been otherwise. `draws`: the relevance of the documents, on these
    topics; needs scores with a draw axis, as `evaluate(runs, merged.draws())` gives. `topics`: the
    topics, being a sample of those that matter (`replicates` bootstrap samples, each of one topic
    less than there are, which makes the variance of a mean unbiased, and stretched at random as
    Student's t is wider than the normal, which matters with few topics). `both`: the two sources
    of error, added. Default: all that there is: both where there are draws and more than one topic.

    Draws mean as much as the model behind them: see "Uncertainty" in the documentation for how
    intervals fare when assessors err together. `drawn` is what the result calls the draws.

    >>> import qrowd as q
    >>> made = q.simulate(topics=5, documents=30, runs=6, assessors=8, votes=3, seed=2)
    >>> merged = q.get("ds").fit(made.judgements)
    >>> by_draw = q.evaluate(made.runs, merged.draws(200), ["AP"])
    >>> sure = q.intervals(by_draw)
    >>> sure.probability("run01", "run02") + sure.probability("run02", "run01")
    1.0
    """
    chosen = over or "topics"
    if not over and scores.axis == "draw":
        chosen = "both" if len(scores.topics) > 1 else "draws"
    _check(scores, chosen, level, containing)
    means = scores.means()
    sampled = list(means) if chosen == "draws" else _by_topics(scores, chosen, replicates, seed)
    by_measure = [
        _of_measure(samples, level, containing, not (values < 0).any())
        for samples, values in zip(sampled, scores.values, strict=True)
    ]
    mean = means_of(means, axis=1)
    return Intervals(
        measures=scores.measures,
        runs=scores.runs,
        mean=mean,
        place=places(mean),
        over=chosen,
        level=level,
        containing=containing,
        samples=len(sampled[0]),
        draws=len(scores.columns),
        topics=len(scores.topics),
        drawn=drawn,
        notes=scores.notes,
        **{name: np.stack([part[name] for part in by_measure]) for name in by_measure[0]},
    )


def _check(scores: Scores, over: str, level: float, containing: float) -> None:
    require_choice("over", over, OVER)
    for name, value in (("level", level), ("containing", containing)):
        if not 0 < value < 1:
            raise ParameterError(f"{name} must be a number above 0 and below 1, got {value}")
    if scores.axis == "assessor":
        raise UsageError("intervals need scores of draws or of topics, not of single assessors")
    if over != "topics" and scores.axis != "draw":
        raise UsageError(
            "intervals over draws need scores with a draw axis: evaluate(runs, merged.draws(1000))"
        )
    if over != "topics" and len(scores.columns) < 2:
        raise UsageError("intervals over draws need two or more draws, better 1000")
    if over != "draws" and len(scores.topics) < 2:
        why = "; only means were kept: keep='topics'" if scores.averaged else ""
        raise UsageError(f"intervals over topics need the scores of two or more topics{why}")


def _by_topics(scores: Scores, over: str, replicates: int, seed: int) -> list[Floats]:
    """For each measure, samples[sample, run] of the runs' means over topics drawn anew.

    Topics are drawn of the scores' means over draws. Over both, a draw's own deviation on these
    topics is added: were topics drawn of each draw's scores, what draws differ in would count
    twice, within the draw from topic to topic and again from draw to draw.
    """
    draws, count = len(scores.columns), len(scores.topics)
    size = -(-replicates // draws) * draws if over == "both" else replicates
    weights = topic_weights(count, size, seed, size=count - 1)
    # sqrt(nu / chi2_nu): it makes deviations of a mean over topics Student's, not normal
    chi2 = np.random.default_rng([seed, count]).chisquare(count - 1, size)
    stretch = np.sqrt((count - 1) / chi2)[:, None]
    sampled = []
    for values in scores.values:
        expected = means_of(values, axis=0)
        centre = means_of(expected, axis=0)
        drawn = centre + (weighted_means(weights, expected) - centre) * stretch
        if over == "both":
            own = means_of(values, axis=1)
            drawn = drawn + np.tile(own - means_of(own, axis=0), (size // draws, 1))
        sampled.append(np.asarray(drawn))
    return sampled


def _of_measure(samples: Floats, level: float, containing: float, floor: bool) -> dict[str, Any]:
    """What samples[sample, run] say; with a floor, of scores that are never below 0."""
    samples = samples[~np.isnan(samples).any(axis=1)]
    if not len(samples):
        raise UsageError("no sample has a score for every run; are topics missing?")
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(samples, tails, axis=0)
    low = np.maximum(low, 0.0) if floor else low  # Student's tails know nothing of bounds
    place_low, place_high = np.quantile(places(samples), tails, axis=0, method="inverted_cdf")
    top = samples == samples.max(axis=1, keepdims=True)
    best = (top / top.sum(axis=1, keepdims=True)).mean(axis=0)  # those that tie share
    order = np.argsort(-best, kind="stable")
    before = np.cumsum(best[order]) - best[order]
    contender = np.zeros(len(best), np.bool_)  # the smallest set that contains the best run
    contender[order[before < containing - 1e-12]] = True
    return {
        "low": low,
        "high": high,
        "place_low": place_low,
        "place_high": place_high,
        "best": best,
        "beats": _beats(samples),
        "contender": contender,
    }


def _beats(samples: Floats) -> Floats:
    """beats[a, b] = how often a scores above b, ties counting half."""
    columns = np.ascontiguousarray(samples.T)
    result = np.full((len(columns), len(columns)), 0.5)
    for run, column in enumerate(columns):  # one run at a time: samples x runs of memory
        others = columns[run + 1 :]
        above = (column > others).mean(axis=1) + (column == others).mean(axis=1) / 2
        result[run, run + 1 :], result[run + 1 :, run] = above, 1 - above
    return result
