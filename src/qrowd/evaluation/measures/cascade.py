"""Measures of a user who may stop: expected reciprocal rank, rank-biased precision, INST."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.scale import HIGHEST
from qrowd.errors import ParameterError, UsageError
from qrowd.evaluation.measure import MOST_RANKS, Measure
from qrowd.evaluation.measures.gain import gains_of
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param

RANKS = 1000  # that measures of a user's chances of going on look at


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
        total, going_on = np.zeros(case.shape), np.ones(case.shape)
        for n, chance in enumerate(case.along(self._stops(), self.depth), start=1):
            total += going_on * chance / n
            going_on *= 1 - chance
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


@dataclass(frozen=True, kw_only=True, repr=False)
class OfUser(Measure):
    """The base of measures of a user who goes on with a chance that depends on what was seen.

    What a rank weighs is the chance of being seen, over the sum of all ranks' (C/W/L).
    """

    T: float = param(1.0, "the gain that the user wants", above=0)
    min_rel: int = param(0, "the grade of gain 0 (and all below)", at_least=0)
    max_rel: int | None = param(None, "the grade of gain 1 (and all above)", at_least=1)

    def check(self) -> None:
        """Raise a `UsageError` where the highest grade is not named, or not above the lowest."""
        super().check()
        if self.max_rel is None or self.max_rel <= self.min_rel:
            raise UsageError(
                f"{self!r} needs the highest grade, above min_rel = {self.min_rel}, as in "
                f"{self.card.id}(max_rel=3)"
            )

    def going_on(self, rank: int, gained: Floats) -> Floats:
        """The chance of going on after this rank, of users who have gained so much."""
        raise NotImplementedError

    def score(self, case: Certain) -> Floats:
        assert self.max_rel is not None
        grade = np.clip(np.arange(NOT_JUDGED, HIGHEST + 1), self.min_rel, self.max_rel)
        gains = case.along((grade - self.min_rel) / (self.max_rel - self.min_rel), RANKS)
        total, seen, gained = np.zeros(case.shape), np.zeros(case.shape), np.zeros(case.shape)
        chance = np.ones(case.shape)
        for rank in range(1, RANKS + 1):
            seen += chance
            if rank <= len(gains):
                total += chance * gains[rank - 1]
                gained += gains[rank - 1]
            chance = chance * self.going_on(rank, gained)
        return total / seen


@measure("INST", paper="Bailey, Moffat, Scholer & Thomas 2015")
class INST(OfUser):
    r"""INST: a user who wants a gain of T, and is the more patient the more of it is missing.

    $$C_i = \Bigl(\frac{i - 1 + T + T_i}{i + T + T_i}\Bigr)^2, \qquad T_i = T - \sum_{j \le i} g_j$$

    Gains go from 0 at `min_rel` to 1 at `max_rel`, which has to be named: `INST(max_rel=3)`. The
    first 1,000 ranks count, as in cwl_eval.
    """

    def going_on(self, rank: int, gained: Floats) -> Floats:
        whole = rank + 2 * self.T - gained
        return np.asarray(((whole - 1) / whole) ** 2)


@measure("INSQ", paper="Moffat, Scholer & Thomas 2012")
class INSQ(OfUser):
    r"""INSQ: as INST for a user who does not look at what was gained so far.

    $$C_i = \Bigl(\frac{i - 1 + 2T}{i + 2T}\Bigr)^2$$
    """

    def going_on(self, rank: int, gained: Floats) -> Floats:
        whole = rank + 2 * self.T
        return np.full(gained.shape, ((whole - 1) / whole) ** 2)


@measure("BPM", paper="Zhang, Liu, Li, Zhang, Xu & Ma 2017")
class BPM(OfUser):
    """Bejeweled player model: a user who stops with a gain of T, or after the cutoff's rank."""

    needs_cutoff = True

    cutoff: int | None = param(None, "the ranks that are looked at", at_least=1, at_most=MOST_RANKS)

    def going_on(self, rank: int, gained: Floats) -> Floats:
        return ((gained < self.T) & (rank < self.depth)).astype(np.float64)


@measure("Compat", paper="Clarke, Vtyurina & Smucker 2021")
class Compat(Measure):
    r"""Compatibility: rank-biased overlap with the ideal ranking that is most like the list.

    The ideal ranking has the relevant documents by their grades; those of one grade are in the
    order of the list, and after them those that it lacks. With $A_d$ documents that both have among
    their first $d$,

    $$\mathrm{RBO} = \frac{\sum_d p^{d-1} A_d / d}{\sum_d p^{d-1}}$$

    down to the end of the longer of the two. `normalize=True` divides by that of the ideal ranking
    with itself.
    """

    p: float = param(0.95, "the user's persistence", above=0, below=1)
    normalize: bool = param(True, "as a share of what the ideal ranking has")

    def score(self, case: Certain) -> Floats:
        at, result = case.ranked, np.zeros(case.shape)
        for run in range(len(at)):
            inside = slice(at.starts[run], at.starts[run + 1])
            for column, grade in enumerate(case.grades.T):
                place = np.full(len(grade), MOST_RANKS)
                place[at.row[inside]] = at.rank[inside]
                ideal = np.lexsort((place, -grade))[: int((grade > 0).sum())]
                depth = max(int(at.lengths[run]), len(ideal))
                if not len(ideal) or not at.lengths[run]:
                    continue
                later = np.maximum(place[ideal], np.arange(len(ideal)))
                both = np.cumsum(np.bincount(later[later < depth], minlength=depth))
                rank = np.arange(1, depth + 1)
                weight = self.p ** np.arange(depth, dtype=np.float64)
                best = np.minimum(rank, len(ideal)) if self.normalize else rank
                result[run, column] = (weight * both / rank).sum() / (weight * best / rank).sum()
        return result
