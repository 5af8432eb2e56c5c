"""Rank-biased precision."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import ParameterError
from qrowd.evaluation.gains import gains_of, sums_of_gains
from qrowd.evaluation.measure import Measure
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("RBP", paper="Moffat & Zobel 2008; Ferrante, Ferro & Losiouk 2019")
class RBP(Measure):
    r"""Rank-biased precision: what a user finds who goes on to each next rank with probability p.

    $$\mathrm{RBP} = (1 - p) \sum_n p^{n-1} x_n$$

    `part='residual'` is the weight of all ranks whose documents are not judged, those below the end
    of the list included: RBP would lie between RBP and RBP + residual if everything were judged.
    `gains={1: 0.5, 2: 1}` makes it graded: gains lie between 0 and 1, so that RBP does too; a grade
    that is not named has 1 if it is relevant, else 0. Under random relevance the expectation has
    $p(x_n = 1)$ in the place of $x_n$ (the eRRBP of Ferrante, Ferro & Losiouk 2019).
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1)
    p: float = param(0.8, "the user's persistence", above=0, below=1)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    gains: dict[int, float] | None = param(None, "gain of each grade, as in {1: 0.5, 2: 1}")
    part: str = param("base", "what is known, or what is not", choices=("base", "residual"))

    def __post_init__(self) -> None:
        gains = gains_of(self.gains, "RBP")
        if gains and max(gains.values()) > 1:
            raise ParameterError(
                f"RBP: gains must be numbers from 0 to 1, as in {{1: 0.5, 2: 1}}, got {gains!r}"
            )
        object.__setattr__(self, "gains", gains)

    def score(self, case: Certain) -> Floats:
        """The scores[runs, columns] of one topic."""
        with np.errstate(divide="ignore", over="ignore"):  # weights far down are 0
            sums = sums_of_gains(case, self._gain(), 1 / self._weights(case.ranked.depth))
        return 1 - sums if self.part == "residual" else sums

    def _gain(self) -> Floats:
        """By grade - NOT_JUDGED."""
        lowest = self.level if self.part == "base" else LOWEST
        gain = (np.arange(NOT_JUDGED, HIGHEST + 1) >= lowest).astype(np.float64)
        for grade, known in (self.gains or {}).items() if self.part == "base" else ():
            gain[grade - NOT_JUDGED] = known
        return gain

    def expectation(self, case: Random) -> Floats:
        """The expected scores[runs] of one topic under random relevance."""
        if self.part == "residual":
            known = case.along(np.ones(len(case.p)))[:, : self.depth]
            return np.asarray(1 - (known * self._weights(known.shape[1])).sum(axis=1))
        by_grade = self._gain()
        pool = case.gain(by_grade[np.array(case.scale.grades) - NOT_JUDGED])
        outside = case.unjudged * float(by_grade[case.lowest_relevant - NOT_JUDGED])
        gain = case.along(pool, outside)[:, : self.depth]
        return np.asarray((gain * self._weights(gain.shape[1])).sum(axis=1))

    def _weights(self, depth: int) -> Floats:
        return (1 - self.p) * self.p ** np.arange(min(self.depth, depth), dtype=np.float64)
