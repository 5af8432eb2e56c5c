"""What many orders come to: a worth for every document of a topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Offsets, freeze_fields
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index, Pairs, Pooled
from qrowd.data.merged import AssessorTable, Fit
from qrowd.data.runs import RunSet, ranks_of, run_of
from qrowd.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Consensus(Pooled, Framed):
    """The worth of every pair of the pool, and its standard deviation.

    Worths compare within one topic and one `component` of it: documents that no chain of ballots
    joins have different components. `blocks` are (pairs, covariance) of worths whose errors go
    together; all other pairs are on their own.
    """

    pairs: Pairs
    worth: Floats
    deviation: Floats
    component: Codes
    assessors: AssessorTable
    fit: Fit
    blocks: tuple[tuple[Codes, Floats], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze_fields(self, worth=np.float64, deviation=np.float64, component=np.int32)

    def __repr__(self) -> str:
        state = "" if self.fit.converged else ", not converged"
        size = f"{len(self.pairs)} pairs in {len(self.topics)} topics"
        return f"Consensus({self.fit.method}: {size}{state})"

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic doc rank worth deviation component`."""
        return {
            **self.pairs.frame_columns(),
            "rank": self.ranks(),
            "worth": self.worth,
            "deviation": self.deviation,
            "component": self.component,
        }

    def ranks(self, seed: int = 0) -> Offsets:
        """The rank of each pair in its topic, from 1; equal worths by a fair coin."""
        return ranks_of(self.pairs, self.worth, seed)

    def runs(self, name: str = "consensus", seed: int = 0) -> RunSet:
        """The consensus ranking as a run."""
        return run_of(self.pairs, self.worth, name, seed)

    def draws(self, n: int = 100, seed: int = 0) -> RunSet:
        """`n` runs, each ranking by worths drawn from what is believed of them."""
        if n < 1:
            raise ParameterError(f"draws: n must be at least 1, got {n}")
        drawn = self._drawn(n, np.random.default_rng(seed))
        width = len(str(n))
        runs = Index.of([f"draw{at:0{width}}" for at in range(1, n + 1)])
        run = np.repeat(np.arange(n, dtype=np.int32), len(self.pairs))
        topic, document = np.tile(self.pairs.topic, n), np.tile(self.pairs.document, n)
        indexes = (runs, self.topics, self.pairs.documents)
        return RunSet.from_codes(indexes, (run, topic, document), drawn.ravel())

    def _drawn(self, n: int, random: np.random.Generator) -> Floats:
        drawn = self.worth + self.deviation * random.standard_normal((n, len(self.worth)))
        for pairs, covariance in self.blocks:
            values, vectors = np.linalg.eigh(covariance)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            drawn[:, pairs] = self.worth[pairs] + random.standard_normal((n, len(values))) @ root.T
        return np.asarray(drawn)
