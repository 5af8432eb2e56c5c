"""What one of several teams said: `TeamLabels`."""

from __future__ import annotations

from dataclasses import dataclass

from qrowd.data.arrays import Array, Floats
from qrowd.data.qrels import SoftQrels


@dataclass(frozen=True, eq=False)
class TeamLabels:
    """What one team said: a chance of relevance for each pair and, where it ranked documents, the
    rank of each in its ranking. A ranking has a name and is of one topic; rank 1 is best.
    """

    labels: SoftQrels
    ranking: Array | None = None
    rank: Floats | None = None
