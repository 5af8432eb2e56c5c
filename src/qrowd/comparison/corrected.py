"""`Corrected`: scores from few human and many machine labels, the human-only ones beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.frames import Coded
from qrowd.data.index import Index
from qrowd.data.scores import Scores
from qrowd.errors import ParameterError
from qrowd.rendering import Readable, aligned, plain

_BESIDE = ("low", "high", "human", "human_low", "human_high", "place")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Corrected(Readable, Scores):
    """Scores of runs, means over topics only, with intervals; a note says why where there is none.

    `value[measure, run]` from `low` to `high` uses both kinds of labels; `human` from `human_low`
    to `human_high` uses the human labels alone. `place` ranks the runs by recalibrated labels,
    which order systems better than either. `labels` of `size` units (pairs or topics) were judged
    by a human. Being scores, they go into `compare`, `report` and `save`.
    """

    low: Floats
    high: Floats
    human: Floats
    human_low: Floats
    human_high: Floats
    place: Floats
    method: str
    level: float
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
        said = [
            f"Intervals of {self.level:.0%}, for the scores that the whole pool would give if a "
            f"human had judged it. {self.labels} of {self.size} {self.unit}s were judged.",
            "Runs are in the order of recalibrated labels, which rank systems best.",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n\n".join([*tables, "\n".join(said)])

    def _table(self, m: int) -> str:
        header = [self.measures[m], self.method, f"{self.level:.0%}", "human only"]
        rows = [
            [
                str(self.runs.names[at]),
                float(self.value[m, at]),
                _bounds(self.low[m, at], self.high[m, at]),
                float(self.human[m, at]),
                _bounds(self.human_low[m, at], self.human_high[m, at]),
            ]
            for at in self.order(self.measures[m])
        ]
        return aligned([*header, f"{self.level:.0%}"], rows)

    def order(self, measure: str = "") -> Array:
        """The runs' codes from the best place down."""
        m = self.measures.index(measure) if measure else 0
        return np.argsort(self.place[m], kind="stable")

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`run measure value low high human human_low human_high`, in the order of places."""
        order = [(m, run) for m, name in enumerate(self.measures) for run in self.order(name)]
        m, run = (np.array(part, np.int32) for part in zip(*order, strict=True))
        figures = ("value", "low", "high", "human", "human_low", "human_high")
        return {
            "run": Coded(self.runs, run),
            "measure": np.array(self.measures, object)[m],
            **{name: getattr(self, name)[m, run] for name in figures},
        }

    def file_columns(self) -> dict[str, Coded | Array]:
        """The same: there are no topics whose mean could be added."""
        return self.frame_columns()

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        about = ("method", "level", "unit", "labels", "size")
        rows = self.to_polars().to_dicts()
        result: dict[str, Any] = plain(
            {name: getattr(self, name) for name in about} | {"rows": rows, "notes": self.notes}
        )
        return result

    def measure(self, name: str) -> Corrected:
        """The scores of one measure."""
        chosen = super().measure(name)
        assert isinstance(chosen, Corrected)
        at = [self.measures.index(name)]
        return replace(chosen, **{part: getattr(self, part)[at] for part in _BESIDE})

    def of_runs(self, runs: Index) -> Corrected:
        """The scores of these runs, in their order."""
        chosen = super().of_runs(runs)
        assert isinstance(chosen, Corrected)
        at = self.runs.find(runs)
        return replace(chosen, **{part: getattr(self, part)[:, at] for part in _BESIDE})

    def labels_needed(self, half_width: float) -> dict[str, int]:
        """How many pairs (topics) a human must judge until every run's interval is this narrow.

        From the widest interval now: its square falls as 1/n - 1/size.
        """
        if not half_width > 0:
            raise ParameterError(f"the half width must be above 0, got {half_width}")
        result = {}
        each = zip(self.measures, self.value, self.low, self.high, strict=True)
        for name, value, low, high in each:
            width = np.maximum(high - value, value - low)  # the longer side
            if np.isnan(width).all() or self.labels >= self.size:
                continue
            now = 1 / self.labels - 1 / self.size
            part = (half_width / float(np.nanmax(width))) ** 2 * now if np.nanmax(width) else now
            result[name] = min(ceil(1 / (1 / self.size + part)), self.size)
        return result


def _bounds(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"[{low:.4f}, {high:.4f}]"
