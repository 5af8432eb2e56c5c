"""Whether systems are better than one that is in use, from corrected scores: `against`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from qrowd.comparison.prediction_powered import (
    EQUAL,
    FEWEST_FREE,
    OVER,
    RECALIBRATED,
    SMALL,
    Corrected,
    labels_needed,
)
from qrowd.data.arrays import Array, Floats
from qrowd.data.frames import Coded, Framed, columns_of
from qrowd.data.index import Index
from qrowd.data.qrels import SoftQrels
from qrowd.data.runs import RunSet
from qrowd.errors import ParameterError, UsageError, require_name
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import measures_of
from qrowd.rendering import Readable, aligned, between, percent, plain

MOVED, BEHIND = 3, 3  # topics that are shown, and documents behind each
SHOWN = 3  # runs whose topics are printed
DEEP = 100  # ranks in which documents are looked for, where a measure looks deeper
VERDICTS = ("open", "better", "worse")  # by 0, 1, -1
NO_INTERVAL = "no interval"


@dataclass(frozen=True, eq=False)
class Contrast(Readable, Framed):
    """Each run against the baseline, [measure, run]: the difference with its interval.

    `verdict` is better, worse or open, for all runs together with the probability `level` (so that
    it may be open where a run's own interval leaves out 0), or that there is no interval. `place`
    ranks the runs by recalibrated labels. `human` is the same difference from human labels alone.
    `won`, `lost` and `tied` count topics under recalibrated labels, and `spread` is the standard
    deviation of the difference over topics, under labels as they could be. `moved` are the topics
    that differ most, with the documents behind them.
    """

    measures: tuple[str, ...]
    runs: Index
    baseline: str
    difference: Floats
    low: Floats
    high: Floats
    verdict: Array
    place: Floats
    human: Floats
    won: Array
    lost: Array
    tied: Array
    spread: Floats
    moved: tuple[dict[str, Any], ...]
    level: float
    over: str
    unit: str
    labels: int
    size: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Contrast({len(self.runs)} runs against {self.baseline})"

    def rows(self) -> list[dict[str, Any]]:
        """One row per measure and run, in the order of recalibrated labels."""
        figures = ("difference", "low", "high", "verdict", "human", "won", "lost", "tied", "spread")
        return [
            {"measure": name, "run": str(self.runs.names[at])}
            | {figure: getattr(self, figure)[m, at].item() for figure in figures}
            for m, name in enumerate(self.measures)
            for at in np.argsort(self.place[m], kind="stable")
        ]

    def frame_columns(self) -> dict[str, Coded | Array]:
        """One row per measure and run."""
        return columns_of(self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        about = ("baseline", "level", "over", "unit", "labels", "size", "moved", "notes")
        account = {name: getattr(self, name) for name in about}
        return dict(plain(account | {"rows": self.rows()}))

    def topics_needed(self, difference: float) -> dict[str, int]:
        """How many topics show this difference with power .8 (two-sided, .05), for each measure:
        that of the run whose difference varies most over the topics here; of one topic, nothing.
        """
        if not difference > 0:
            raise ParameterError(f"the difference must be above 0, got {difference}")
        # 1.960 + 0.842: the normal quantiles of .975 and of .8
        return {
            name: ceil((2.8016 * float(np.nanmax(spread)) / difference) ** 2)
            for name, spread in zip(self.measures, self.spread, strict=True)
            if not np.isnan(spread).all()
        }

    def labels_needed(self, half_width: float) -> dict[str, int]:
        """How many labels make every difference's interval this narrow, from the widest now."""
        return labels_needed(self, (self.high - self.low) / 2, half_width)

    def __str__(self) -> str:
        legend = [
            f"Differences to {self.baseline} with {percent(self.level)} intervals, for "
            f"{OVER[self.over]}. {self.labels} of {self.size} {self.unit}s were judged. "
            "Topics won, lost, tied: under recalibrated labels.",
            self.about_verdicts,
            RECALIBRATED,
            *(f"note: {note}" for note in self.notes),
        ]
        tables = [self._table(name) for name in self.measures]
        moves = [list(row.values()) for row in self.moves(self.measures[0])]
        header = [self.measures[0], "topic", "difference", "documents (their rank, p relevant)"]
        moved = [aligned(header, moves)] if moves else []
        return "\n\n".join([*tables, *moved, "\n".join(legend)])

    @property
    def about_verdicts(self) -> str:
        """What `better` and `worse` mean."""
        return (
            f"With {percent(self.level)} every `better` and `worse` of a measure is right, all "
            "together: so an interval may leave out 0 beside `open`, and differences below "
            f"{SMALL:g} are always open."
        )

    def _table(self, name: str) -> str:
        rows = []
        for row in (row for row in self.rows() if row["measure"] == name):
            low, high = row["low"], row["high"]
            rows.append(
                [
                    row["run"],
                    _signed(row["difference"]),
                    "" if np.isnan(low) else between(low, high),
                    row["verdict"],
                    _signed(row["human"]),
                    *(row[count] for count in ("won", "lost", "tied")),
                ]
            )
        header = [name, "difference", percent(self.level), "", "human only", "won", "lost", "tied"]
        return aligned(header, rows)

    def moves(self, measure: str) -> list[dict[str, str]]:
        """For eyes: the topics behind the differences of the first runs by one measure."""
        rows = [row["run"] for row in self.rows() if row["measure"] == measure]
        return [
            {
                "run": move["run"],
                "topic": move["topic"],
                "difference": f"{move['difference']:+.3f}",
                "documents": "; ".join(
                    f"{each['document']} at {each['rank'] or '-'}, was {each['was'] or '-'} "
                    f"(p {each['p']:.2f})"
                    for each in move["documents"]
                ),
            }
            for run in rows[:SHOWN]
            for move in self.moved
            if move["run"] == run and move["measure"] == measure
        ]


def _signed(difference: float) -> str:
    return "-" if np.isnan(difference) else f"{difference:+.4f}"


def against(corrected: Corrected, runs: RunSet, baseline: str) -> Contrast:
    """Each run against the `baseline`, from what `correct` returned.

    >>> import qrowd as q
    >>> made = q.simulate(topics=8, documents=60, assessors=9, votes=3, runs=3, seed=2)
    >>> machine = q.get("mv").fit(made.judgements)
    >>> few = q.sample(machine, 120, by="weight", runs=made.runs).labelled(made.truth)
    >>> first = made.runs.runs.names[0]
    >>> q.against(q.correct(made.runs, machine, few), made.runs, first).difference.shape
    (1, 2)
    """
    require_name("baseline", baseline, corrected.runs)
    if corrected.by_topic is None:
        raise UsageError("only scores that machine labels are in (ppi) go against a baseline")
    base = list(corrected.runs).index(baseline)
    others = np.flatnonzero(np.arange(len(corrected.runs)) != base)
    if not len(others):
        raise UsageError(f"{baseline} is the only run: name others to compare with it")
    shape = (len(corrected.measures), len(others))
    half, verdict = np.full(shape, np.nan), np.full(shape, NO_INTERVAL)
    for m, estimate in enumerate(corrected.estimates):
        if estimate is not None and estimate.parts is not None:
            half[m] = estimate.differences(corrected.level)[1][others, base]
            above = -estimate.told_apart(corrected.level)[base, others].astype(np.int64)
            verdict[m] = np.where(np.isnan(half[m]), NO_INTERVAL, np.array(VERDICTS)[above])
    difference = corrected.value[:, others] - corrected.value[:, [base]]
    topics = corrected.by_topic.values[:, 0]
    apart = topics[:, :, others] - topics[:, :, [base]]  # [measure, topic, run]
    return Contrast(
        corrected.measures,
        Index(corrected.runs.names[others]),
        baseline,
        difference,
        difference - half,
        difference + half,
        verdict,
        corrected.place[:, others],
        corrected.human[:, others] - corrected.human[:, [base]],
        (apart > EQUAL).sum(axis=1),
        (apart < -EQUAL).sum(axis=1),
        (np.abs(apart) <= EQUAL).sum(axis=1),
        _spread(corrected, runs, others, base),
        tuple(_moved(corrected, runs, apart, others, base)),
        corrected.level,
        corrected.over,
        corrected.unit,
        corrected.labels,
        corrected.size,
        (*corrected.notes, *_without_interval(corrected, half, others, base)),
    )


def _spread(corrected: Corrected, runs: RunSet, others: Array, base: int) -> Floats:
    """The standard deviation of differences over topics, [measure, run]; expected scores, which
    differ less between topics than true ones, would make it too small.
    """
    unknown = np.full((len(corrected.measures), len(others)), np.nan)
    if corrected.drawn is None:
        return unknown
    scores = evaluate(runs, corrected.drawn, corrected.measures).values
    if scores.shape[2] < 2:
        return unknown
    apart = scores[..., others] - scores[..., [base]]  # [measure, draw, topic, run]
    return np.asarray(np.sqrt(np.nanvar(apart, axis=2, ddof=1).mean(axis=1)))


def _without_interval(
    corrected: Corrected, half: Floats, others: Array, base: int
) -> Iterator[str]:
    """Why differences have no interval, a sentence for each measure that has such."""
    for name, estimate, width in zip(corrected.measures, corrected.estimates, half, strict=True):
        unknown = np.isnan(width)
        if not unknown.any():
            continue
        if estimate is None or estimate.parts is None:
            why = "the scores have none either"
        else:
            alike = estimate.alike[base] | estimate.alike[others]
            reasons = []
            if (unknown & alike).any():
                reasons.append(
                    "all human labels that one of the two scores depends on are alike, so judge "
                    f"more {corrected.unit}s"
                )
            if (unknown & ~alike).any():
                # which grows with the labels; of a couple that no label tells apart it is 0;
                # twice as many, since other samples have fewer that count
                freedom = estimate.couples()[1][others, base][unknown & ~alike]
                times = 2 * FEWEST_FREE / max(float(freedom.min()), 2.0)
                enough = min(ceil(corrected.labels * times), corrected.size)
                reasons.append(
                    f"the judged {corrected.unit}s that tell the two runs apart are worth fewer "
                    f"than two equal ones; about {enough} chosen like these {corrected.labels} "
                    "would do"
                )
            why = ", or ".join(reasons)
        yield (
            f"{name}: {int(unknown.sum())} of {len(unknown)} differences to "
            f"{corrected.runs.names[base]} have no interval: {why}"
        )


def _moved(
    corrected: Corrected, runs: RunSet, apart: Floats, others: Array, base: int
) -> list[dict[str, Any]]:
    """The topics that differ most, and the documents whose ranks make it."""
    scores, believed = corrected.by_topic, corrected.believed
    assert scores is not None
    assert believed is not None
    moves = []
    depths = [min(measure.depth, DEEP) for measure in measures_of(corrected.measures)]
    for m, r in np.ndindex(apart.shape[0], apart.shape[2]):
        for t in np.argsort(-np.abs(apart[m, :, r]), kind="stable")[:MOVED]:
            if abs(apart[m, t, r]) <= EQUAL:
                continue
            topic = str(scores.topics.names[t])
            moves.append(
                {
                    "measure": corrected.measures[m],
                    "run": str(corrected.runs.names[others[r]]),
                    "topic": topic,
                    "difference": float(apart[m, t, r]),
                    "documents": _behind(
                        believed, runs, topic, (int(others[r]), base), apart[m, t, r], depths[m]
                    ),
                }
            )
    return moves


def _behind(
    believed: SoftQrels,
    runs: RunSet,
    topic: str,
    couple: tuple[int, int],
    difference: float,
    depth: int,
) -> list[dict[str, Any]]:
    """The documents whose ranks down to `depth`, weighted as DCG does, explain most of a
    difference; lower ranks are none.
    """
    at, own = (known.find(Index.of([topic]))[0] for known in (runs.topics, believed.pairs.topics))
    if at < 0:
        return []
    lists, _ = runs.lists(int(at))
    new, old = (
        {
            int(document): rank
            for rank, document in enumerate(lists[run][:depth], 1)
            if document >= 0
        }
        for run in couple
    )
    rows = slice(believed.pairs.topic_starts[own], believed.pairs.topic_starts[own + 1])
    pool = runs.documents.find(Index(believed.pairs.document_names[rows]))
    chance = dict(zip(pool.tolist(), believed.relevant[rows].tolist(), strict=True))
    worth = {}
    for document in {*new, *old}:
        gained, lost = (
            1 / np.log2(ranks[document] + 1) if document in ranks else 0.0 for ranks in (new, old)
        )
        worth[document] = chance.get(document, 0.0) * (gained - lost) * np.sign(difference)
    most = sorted(worth, key=lambda document: (-worth[document], document))[:BEHIND]
    return [
        {
            "document": str(runs.documents.names[document]),
            "rank": new.get(document),
            "was": old.get(document),
            "p": float(chance.get(document, 0.0)),
        }
        for document in most
        if worth[document] > 0
    ]
