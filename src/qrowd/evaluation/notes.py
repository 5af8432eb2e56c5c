"""What a reader of scores should know about how they came to be."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Mask
from qrowd.data.details import Caution
from qrowd.data.provenance import Provenance
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import DataWarning
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.rendering import counted, some_of

if TYPE_CHECKING:
    from qrowd.evaluation.engine import Task


_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Findings:
    """Seen while scoring: columns without a judgement on a topic, and without a relevant one."""

    levels: tuple[int, ...]
    nothing: Mask  # [columns, topics]
    empty: Mask  # [levels, columns, topics]

    @classmethod
    def none(cls, measures: Sequence[Measure], columns: int, topics: int) -> Findings:
        """Nothing seen yet."""
        levels = tuple(sorted({measure.level for measure in measures}))
        shape = (len(levels), columns, topics)
        return cls(levels, np.zeros(shape[1:], np.bool_), np.zeros(shape, np.bool_))

    def see(self, topic: int, lo: int, hi: int, case: Certain) -> None:
        """Look at one topic and the columns lo..hi."""
        nothing = case.nothing
        self.nothing[lo:hi, topic] = nothing
        for at, level in enumerate(self.levels):
            self.empty[at, lo:hi, topic] = ~nothing & (case.recall_base(level) == 0)


def notes_of(task: Task, axis: str, findings: Findings) -> tuple[str, ...]:
    """The notes of scores under certain relevance."""
    notes = list(topic_notes(task))
    for level, empty in zip(findings.levels, findings.empty, strict=True):
        if empty.any():
            where = _where(task, axis, empty)
            notes.append(f"no document of grade {level} or higher {where}: scored 0")
    if findings.nothing.any():
        cells = _cells(axis, findings.nothing)
        notes.append(f"no judgement at all {cells}: undefined, left out of means")
    return tuple(notes)


def _where(task: Task, axis: str, cells: Mask) -> str:
    """Which topics, or how many cells[columns, topics] along an axis."""
    if axis:
        return _cells(axis, cells)
    return f"on {some_of(task.topics.names[cells[0]], 'topic', _SHOWN)}"


def _cells(axis: str, cells: Mask) -> str:
    return f"in {cells.sum()} of {cells.size} ({axis}, topic) cells"


def expected_notes(
    task: Task, cases: Sequence[Sequence[Random]], unjudged: float, axis: str = ""
) -> tuple[str, ...]:
    """The notes of expected scores of cases[columns][topics]; a warning where they may mislead."""
    notes = topic_notes(task)
    notes.append(f"expected scores; documents outside the pool are relevant with p = {unjudged:g}")
    for level in sorted({measure.level for measure in task.measures}):
        empty = np.array([[c.chance(level).sum() == 0 for c in column] for column in cases])
        if empty.any():
            where = _where(task, axis, empty)
            notes.append(f"no document can have grade {level} or higher {where}: scored 0")
    scales = {case.scale for column in cases for case in column}
    of_measures = [
        note
        for measure in task.measures
        for scale in scales
        for note in measure.notes(unjudged, scale)
    ]
    for note in of_measures:
        if isinstance(note, Caution):
            warnings.warn(note, DataWarning, stacklevel=4)
    return tuple(notes + of_measures)


def topic_notes(task: Task) -> list[str]:
    """Topics that runs lack, and topics that only runs have."""
    notes = []
    missing = task.missing
    if missing.any():
        runs = [
            f"{task.runs.runs.names[run]} ({missing[:, run].sum()})"
            for run in np.flatnonzero(missing.any(axis=0))
        ]
        treated = "left out" if task.both else "scored 0"
        notes.append(f"topics missing from {some_of(runs, 'run', _SHOWN)}: {treated}")
    extra = task.runs.topics.without(task.pool.topics)
    if len(extra):
        notes.append(
            f"no judgements for {some_of(extra.names, 'topic', _SHOWN)} of the runs: left out"
        )
    return notes


def provenance_notes(provenance: Provenance | None, runs: RunSet) -> tuple[str, ...]:
    """Where labels come from that were read from a file; what that means for scores under them."""
    if provenance is None:
        return ()
    notes = list(provenance.notes)
    method = provenance.method
    if provenance.text:
        notes.append(
            f"{method} has read the documents, which favours systems that rank by words: do not "
            "compare lexical with dense systems under these labels alone"
        )
    own = set(provenance.informed) & set(runs.runs)
    if own:
        notes.append(
            f"{counted(len(own), 'run')} scored here informed the labels: what only one of them "
            "finds gets less credit"
        )
    if provenance.informed and provenance.shares:
        notes.append(
            f"informed by runs, but the probabilities of {method} are shares of votes: the runs' "
            "consensus outweighs them, and places come out worse; use a model such as ds, or do "
            "not inform"
        )
    return tuple(notes)


def score_table(scores: Scores) -> dict[str, list[Any]]:
    """Means of the runs, the best by the first measure first; of draws, their mean and spread."""
    means = scores.means()
    if scores.axis == "draw":
        return _of_draws(scores)
    column, run = np.divmod(np.arange(means[0].size), len(scores.runs))
    order = np.lexsort((-np.nan_to_num(means[0].ravel(), nan=-1.0), column))
    axis = {scores.axis: scores.columns.names[column[order]].tolist()} if scores.axis else {}
    figures = {
        name: values.ravel()[order].tolist()
        for name, values in zip(scores.measures, means, strict=True)
    }
    return {**axis, "run": scores.runs.names[run[order]].tolist(), **figures}


def _of_draws(scores: Scores) -> dict[str, list[Any]]:
    means = scores.means()
    spread = means.std(axis=1)
    order = np.argsort(-means[0].mean(axis=0), kind="stable")
    columns: dict[str, list[Any]] = {"run": scores.runs.names[order].tolist()}
    for name, values, sd in zip(scores.measures, means, spread, strict=True):
        columns |= {name: values.mean(axis=0)[order].tolist(), f"sd {name}": sd[order].tolist()}
    return columns
