"""Numbers of runs: one dense array with named axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, freeze_fields
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.errors import InputError, UnknownNameError, UsageError
from qrowd.registry import over_topics
from qrowd.rendering import html_table

ALL = "all"
MEAN = "(mean)"  # the only topic of scores that were averaged over topics as they were made

LEAST = 1e-5  # of a value in a geometric mean, as trec_eval has it

_SHOWN = 10  # runs in a notebook
_BLOCK = 128


@dataclass(frozen=True, eq=False)
class Scores(Framed):
    """values[measure, column, topic, run], run last; NaN = undefined.

    `axis` names what the columns are: `assessor`, `draw`, or "" where there is only one. `notes`
    say what a reader of the numbers should know (topics missing from runs, empty recall bases).
    """

    measures: tuple[str, ...]
    axis: str
    columns: Index
    topics: Index
    runs: Index
    values: Floats
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_fields(self, values=np.float64)
        shape = (len(self.measures), len(self.columns), len(self.topics), len(self.runs))
        if self.values.shape != shape:
            raise InputError(f"values have shape {self.values.shape}, not {shape}")
        if ALL in self.topics:
            raise InputError(f"a topic may not be named {ALL!r}: that name stands for the mean")

    def __repr__(self) -> str:
        columns = f"{len(self.columns)} {self.axis}s, " if self.axis else ""
        return (
            f"Scores({', '.join(self.measures)}: {columns}{len(self.topics)} topics, "
            f"{len(self.runs)} runs)"
        )

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`run topic measure value`, before them the axis; topics only."""
        return self._columns(self.topics, self.values)

    def file_columns(self) -> dict[str, Coded | Array]:
        """The same; after the topics of each run their mean, as a topic `all`."""
        topics = Index(np.array([*self.topics.names, ALL], dtype=object))
        values = np.concatenate([self.values, self.means()[:, :, None, :]], axis=2)
        return self._columns(topics, values)

    def _columns(self, topics: Index, values: Floats) -> dict[str, Coded | Array]:
        shape = (len(self.measures), len(self.columns), len(self.runs), len(topics))
        measure, column, run, topic = (_axis(shape, at) for at in range(4))
        names = Index(np.array(self.measures, dtype=object))
        axis = {self.axis: Coded(self.columns, column)} if self.axis else {}
        return {
            **axis,
            "run": Coded(self.runs, run),
            "topic": Coded(topics, topic),
            "measure": Coded(names, measure),
            "value": values.transpose(0, 1, 3, 2).ravel(),
        }

    def means(self) -> Floats:
        """Means over topics, [measure, column, run]; undefined topics are left out of a mean.

        Of counts (`NumRet`) it is the sum, of `GMAP` the geometric mean.
        """
        result = np.empty((len(self.measures), len(self.columns), len(self.runs)))
        for at, values in enumerate(self.values):
            how = "mean" if self.averaged else over_topics(self.measures[at])
            for lo in range(0, len(values), _BLOCK):  # few columns at a time: little memory
                block = before_topics(how, values[lo : lo + _BLOCK])
                defined = ~np.isnan(block)
                total = np.where(defined, block, 0.0).sum(axis=1)
                result[at, lo : lo + _BLOCK] = after_topics(how, total, defined.sum(axis=1))
        return result

    @property
    def averaged(self) -> bool:
        """Whether only means over topics were kept: then the one topic is named (mean)."""
        return list(self.topics) == [MEAN]

    def averages(self) -> Scores:
        """The same scores with means over topics only."""
        notes = (*self.notes, f"means over {len(self.topics)} topics")
        values = self.means()[:, :, None, :]
        return replace(self, topics=Index.of([MEAN]), values=values, notes=notes)

    def measure(self, name: str) -> Scores:
        """The scores of one measure."""
        if name not in self.measures:
            raise UnknownNameError.among("measure in these scores", name, self.measures)
        at = self.measures.index(name)
        return replace(self, measures=(name,), values=self.values[at : at + 1])

    @overload
    def __getitem__(self, wanted: Index) -> Scores: ...

    @overload
    def __getitem__(self, wanted: str) -> Any: ...

    def __getitem__(self, wanted: Index | str) -> Any:
        """The scores on these topics; of a measure; of that a run's, as a dictionary by topic.

        `scores["nDCG@10"]["bm25"]` is `{"q1": 0.5, "q2": 0.75}`.
        """
        if isinstance(wanted, str) and wanted in self.measures:
            return self.measure(wanted)
        if isinstance(wanted, str) and wanted in self.runs and len(self.measures) == 1:
            if len(self.columns) > 1:
                raise UsageError(
                    f"a run has {len(self.columns)} scores on each topic, one for each "
                    f"{self.axis}; choose one: scores.of_columns([...])"
                )
            values = self.values[0, 0, :, self.runs.code(wanted, "run")].tolist()
            return dict(zip(self.topics, values, strict=True))
        topics = self._as_topics(wanted)
        at = [self.topics.code(name, "topic in these scores") for name in topics]
        return replace(self, topics=topics, values=self.values[:, :, at, :])

    def _as_topics(self, wanted: object) -> Index:
        """Topics as they are; for anything else an error that says what to write."""
        if isinstance(wanted, Index):
            return wanted
        first = f"scores[{self.measures[0]!r}]"
        if isinstance(wanted, str) and wanted in self.runs:
            instead = f"name the measure first: {first}[{wanted!r}]"
        elif isinstance(wanted, str) and wanted in self.topics:
            instead = f"write scores[qrowd.Index.of([{wanted!r}])]"
        else:
            instead = f"there are the measures {', '.join(self.measures)}, as in {first}"
        raise UsageError(
            f"scores[...] takes an Index of topics or a measure, got {wanted!r}; {instead}"
        )

    def _repr_html_(self) -> str:
        """The means of the runs, the best first, and below them the first topics."""
        means = self.means()[:, 0]
        order = np.argsort(-np.nan_to_num(means[0], nan=-np.inf), kind="stable")[:_SHOWN]
        shown = {"run": self.runs.names[order].tolist()}
        shown |= {name: means[at, order].tolist() for at, name in enumerate(self.measures)}
        which = f" of {self.axis} {self.columns.names[0]}" if self.axis else ""
        note = f"{_SHOWN} of {len(self.runs)} runs" if len(self.runs) > _SHOWN else ""
        return html_table(shown, f"{self!r}: means{which}", note) + super()._repr_html_()

    def of_runs(self, runs: Index) -> Scores:
        """The scores of these runs, in their order."""
        at = [self.runs.code(name, "run in these scores") for name in runs]
        return replace(self, runs=runs, values=self.values[:, :, :, at])

    def of_columns(self, names: Sequence[str]) -> Scores:
        """The scores under these columns only (assessors, draws)."""
        chosen = Index.of(names)
        at = [self.columns.code(name, self.axis or "column") for name in chosen]
        return replace(self, columns=chosen, values=self.values[:, at])


def _axis(shape: tuple[int, ...], at: int) -> Codes:
    """The position along one axis of every cell of an array, in its order."""
    step = int(np.prod(shape[at + 1 :], dtype=np.int64))
    codes = np.repeat(np.arange(shape[at], dtype=np.int32), step)
    return np.tile(codes, int(np.prod(shape[:at], dtype=np.int64)))


def before_topics(how: str, values: Floats) -> Floats:
    """Values as they are added over topics."""
    if how != "geometric":
        return values
    return np.asarray(np.log(np.maximum(values, LEAST)))


def after_topics(how: str, total: Floats, count: Array) -> Floats:
    """What sums over `count` topics become; NaN where there is no topic."""
    result = total if how == "sum" else total / np.maximum(count, 1)
    return np.where(count > 0, np.exp(result) if how == "geometric" else result, np.nan)
