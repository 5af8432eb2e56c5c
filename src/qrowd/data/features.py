"""What is known of documents or of people beside texts and answers: columns that predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from qrowd.data.arrays import Array, Floats
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.errors import InputError

MOST_LEVELS = 20  # different texts of a column


@dataclass(frozen=True, eq=False)
class Features(Framed):
    """Named columns, numbers or texts, for each of the names; NaN and "" are not known.

    >>> import qrowd as q
    >>> features = q.Features.of(["a", "b", "c"], {"year": [1990, 2000, 2010]})
    >>> features.design(q.Index.of(["a", "c", "d"])).round(2).tolist()
    [[-1.22], [1.22], [0.0]]
    """

    index: Index
    columns: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, column in self.columns.items():
            if len(column) != len(self.index):
                raise InputError(f"column {name} has {len(column)} rows, not {len(self.index)}")

    @classmethod
    def of(cls, names: list[str], columns: Mapping[str, object]) -> Features:
        """Columns in any order of names."""
        index = Index.of(names)
        order = np.argsort(index.codes(names), kind="stable")
        return cls(index, {name: np.asarray(each)[order] for name, each in columns.items()})

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"Features({len(self)} names; {', '.join(self.columns) or 'no columns'})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`name`, then the columns."""
        return {"name": Coded(self.index, np.arange(len(self), dtype=np.int32)), **self.columns}

    def design(self, names: Index) -> Floats:
        """Predictors[name, column], each of mean 0 and standard deviation 1, 0 where not known.

        A column of texts has one predictor for each text but the first; one that never differs
        predicts nothing and is left out.
        """
        at = self.index.find(names)
        parts = []
        for name, column in self.columns.items():
            numbers = column.dtype.kind in "iufb"
            values = column.astype(np.float64)[:, None] if numbers else _levels(name, column)
            spread = np.nanstd(values, axis=0)
            kept = values[:, spread > 0]
            scaled = (kept - np.nanmean(kept, axis=0)) / spread[spread > 0]
            parts.append(np.where(at[:, None] >= 0, np.nan_to_num(scaled)[at], 0.0))
        return np.hstack([np.zeros((len(names), 0)), *parts])


def _levels(name: str, column: Array) -> Floats:
    texts = column.astype(str)
    levels = [text for text in np.unique(texts) if text]
    if len(levels) > MOST_LEVELS:
        raise InputError(
            f"column {name} has {len(levels)} different texts, {levels[0]!r} and {levels[1]!r} "
            f"among them; as a predictor it may have {MOST_LEVELS}: leave it out, or put them in "
            "groups"
        )
    known = np.stack([texts == text for text in levels[1:]], axis=1) if levels[1:] else None
    if known is None:
        return np.zeros((len(texts), 1))
    return np.where((texts == "")[:, None], np.nan, known.astype(np.float64))
