"""Measures of a user who may stop: expected reciprocal rank, rank-biased precision."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.scale import HIGHEST
from qrowd.errors import ParameterError
from qrowd.evaluation.measure import MOST_RANKS, Measure
from qrowd.evaluation.measures.gain import gains_of
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("ERR", paper="Chapelle, Metzler, Zhang & Grinspan 2009")
class ERR(Measure):
    r"""Expected reciprocal rank: of the rank at which a user stops who reads down the list.

    $$\mathrm{ERR} = \sum_n \frac{1}{n} s_n \prod_{m < n} (1 - s_m), \qquad
      s_n = \frac{2^{g_n} - 1}{2^{g_{\max}}}$$

    with $s_n$ the probability that the document of grade $g_n$ at rank $n$ satisfies the user.
    $g_{\max}$ is `max_grade`, 4 as in gdeval.pl, so that scores of different collections can be
    compared: say `ERR(max_grade=1)` for binary judgements, or no document satisfies more than one
    user in sixteen. Grades above it count as it. Equal to gdeval.pl's `err@k`, which prints five
    digits. Under random relevance, documents being independent, the expectation has the expected
    $s_n$ in the place of $s_n$.

    >>> import qrowd as q
    >>> runs = q.RunSet.of(["s"] * 3, ["t"] * 3, ["d1", "d2", "d3"], [3, 2, 1])
    >>> gold = q.Qrels.of(["t"] * 3, ["d1", "d2", "d3"], [3, 2, 4])
    >>> round(q.evaluate(runs, gold, q.ERR @ 20).values.item(), 5)
    0.63306
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)
    max_grade: int = param(4, "the highest grade that there is", at_least=1, at_most=HIGHEST)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        at, stop = case.ranked, self._stops()
        rows = np.full((len(at), min(at.depth, self.depth)), -1, np.int64)
        shown = at.rank < self.depth
        rows[at.run[shown], at.rank[shown]] = at.row[shown]
        chance = np.vstack(
            [stop[case.grades.astype(np.int64) - NOT_JUDGED], np.zeros(case.shape[1])]
        )
        total, going_on = np.zeros(case.shape), np.ones(case.shape)
        for n, row in enumerate(rows.T, start=1):
            total += going_on * chance[row] / n
            going_on *= 1 - chance[row]
        return total

    def expectation(self, case: Random) -> Floats:
        s = case.along(*case.gains(self._stops()))[:, : self.depth]
        going_on = np.ones(s.shape)
        going_on[:, 1:] = np.cumprod(1 - s, axis=1)[:, :-1]
        return np.asarray((s * going_on / np.arange(1, s.shape[1] + 1)).sum(axis=1))

    def _stops(self) -> Floats:
        """P(satisfied) by grade - NOT_JUDGED."""
        grade = np.clip(np.arange(NOT_JUDGED, HIGHEST + 1), 0, self.max_grade)
        return np.asarray((np.exp2(grade) - 1) / np.exp2(self.max_grade))


@measure("RBP", paper="Moffat & Zobel 2008; Ferrante, Ferro & Losiouk 2019")
class RBP(Measure):
    r"""Rank-biased precision: what a user finds who goes on to each next rank with probability p.

    $$\mathrm{RBP} = (1 - p) \sum_n p^{n-1} x_n$$

    `part='residual'` is the weight of all ranks whose documents are not judged (a negative grade is
    no judgement), those below the end of the list included: RBP would lie between RBP and RBP +
    residual if everything were judged.
    `gains={1: 0.5, 2: 1}` makes it graded: gains lie between 0 and 1, so that RBP does too; a grade
    that is not named has 1 if it is relevant, else 0. Under random relevance the expectation has
    $p(x_n = 1)$ in the place of $x_n$ (the eRRBP of Ferrante, Ferro & Losiouk 2019).
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)
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
        from qrowd.evaluation import kernels

        with np.errstate(divide="ignore", over="ignore"):  # weights far down are 0
            discount = 1 / self._weights(case.ranked.depth)
            sums = case.summed(kernels.gains, self._gain(), discount)
        return 1 - sums if self.part == "residual" else sums

    def _gain(self) -> Floats:
        """By grade - NOT_JUDGED."""
        lowest = self.level if self.part == "base" else 0
        gain = (np.arange(NOT_JUDGED, HIGHEST + 1) >= lowest).astype(np.float64)
        if self.part == "base":
            for grade, own in (self.gains or {}).items():
                gain[grade - NOT_JUDGED] = own
        return gain

    def expectation(self, case: Random) -> Floats:
        if self.part == "residual":
            judged = case.along(np.ones(len(case.p)))[:, : self.depth]
            return np.asarray(1 - (judged * self._weights(judged.shape[1])).sum(axis=1))
        gain = case.along(*case.gains(self._gain()))[:, : self.depth]
        return np.asarray((gain * self._weights(gain.shape[1])).sum(axis=1))

    def _weights(self, depth: int) -> Floats:
        return (1 - self.p) * self.p ** np.arange(min(self.depth, depth), dtype=np.float64)
