"""Whether intervals hold what gold says of the systems: told once, for the whole page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.comparison.correlation import places
from qrowd.comparison.intervals import Intervals
from qrowd.data.arrays import Floats


@dataclass(frozen=True)
class Coverage:
    """How many systems have gold's place inside their intervals."""

    places: int
    systems: int
    level: float
    best: str

    @classmethod
    def of(cls, found: Intervals, gold: Floats) -> Coverage:
        """From the first measure's intervals and the means under gold."""
        under = places(gold)
        place = int(((under >= found.place_low[0]) & (under <= found.place_high[0])).sum())
        best = str(found.runs.names[int(np.argmax(gold))])
        return cls(place, len(gold), found.level, best)

    @property
    def holds(self) -> bool:
        """Whether places hold at least half as often as the intervals promise."""
        return self.places >= self.systems * self.level / 2

    @property
    def sentence(self) -> str:
        """The figures in words."""
        return (
            f"The place under gold lies inside the interval of {self.places} of {self.systems} "
            "systems."
        )
