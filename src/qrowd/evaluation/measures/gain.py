"""Gains of grades over discounts of ranks: discounted cumulative gain, plain and normalised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.qrels import NOT_JUDGED
from qrowd.data.scale import HIGHEST, LOWEST, Scale
from qrowd.errors import ParameterError
from qrowd.evaluation.expectation import worth_over_ideal
from qrowd.evaluation.measure import MOST_RANKS, Measure, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param

FORMS = ("log2", "exp-log2", "jk")
DRAWS = 1000  # of grades, where an expectation has no exact form


class Gains(dict[int, float]):
    """Gains by grade, usable as a parameter: it has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{grade}: {self[grade]:g}" for grade in sorted(self)) + "}"


def gains_of(given: Mapping[int, float] | None, owner: str) -> Gains | None:
    """The `gains` parameter of a measure, checked."""
    if given is None:
        return None
    for grade, gain in given.items():
        whole = isinstance(grade, int) and LOWEST <= grade <= HIGHEST
        if (
            not whole
            or isinstance(gain, bool)
            or not isinstance(gain, int | float)
            or not gain >= 0
        ):
            raise ParameterError(
                f"{owner}: gains must map whole grades to numbers of at least 0, as in "
                f"{{0: 0, 1: 5}}, got {grade!r}: {gain!r}"
            )
    return Gains(given)


@lru_cache(maxsize=64)
def _gain_table(dcg: str, gains: Gains | None) -> Floats:
    grade = np.arange(NOT_JUDGED, HIGHEST + 1)
    table = np.maximum(grade, 0).astype(np.float64)
    for changed, gain in (gains or {}).items():
        table[changed - NOT_JUDGED] = gain
    return np.exp2(table) - 1 if dcg == "exp-log2" else table


@lru_cache(maxsize=64)
def discounts(depth: int, dcg: str, base: float) -> Floats:
    """What the gain at each rank is divided by.

    log2(1 + rank); for `jk` (Jarvelin & Kekalainen 2002) 1 above rank `base`, then log_base(rank).
    """
    rank = np.arange(1, depth + 1, dtype=np.float64)
    if dcg != "jk":
        return np.log2(rank + 1)
    return np.where(rank < base, 1.0, np.log(rank) / np.log(base))


@dataclass(frozen=True, kw_only=True, repr=False)
class OfGains(Measure):
    """The base of measures that add up gains of grades over discounts of ranks."""

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)
    dcg: str = param("log2", "gain and discount", choices=FORMS)
    base: float = param(2.0, "of the logarithm, for dcg=jk", above=1)
    gains: dict[int, float] | None = param(None, "gain of each grade, as in {0: 0, 1: 5}")  # noqa: RUF009
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", gains_of(self.gains, self.card.id))

    @property
    def by_grade(self) -> Floats:
        """The gain of every grade that there can be, by grade - NOT_JUDGED; of negative ones 0."""
        return _gain_table(self.dcg, None if self.gains is None else Gains(self.gains))


@measure("DCG", paper="Jarvelin & Kekalainen 2002; Ferrante, Ferro & Losiouk 2019")
class DCG(OfGains):
    r"""Discounted cumulative gain: the gains of the documents, each divided by its rank's discount.

    $$\mathrm{DCG@}k = \sum_{n \le k} g_n / d_n$$

    By default the gain is the grade and $d_n = \log_2(1 + n)$. `dcg='exp-log2'` has gains
    $2^g - 1$; `dcg='jk'` does not discount before rank `base` and divides by $\log_b n$ from there
    on: `DCG(dcg='jk', base=10)` is that of Ferrante, Ferro & Losiouk (2019); `gains={1: 5}` gives
    grades other gains. Not bounded by 1. Under random relevance the expectation has the expected
    gain in the place of $g_n$ (their eRDCG).
    """

    def score(self, case: Certain) -> Floats:
        from qrowd.evaluation import kernels

        discount = self._discounts(min(self.depth, case.ranked.depth))
        return case.summed(kernels.gains, self.by_grade, discount)

    def expectation(self, case: Random) -> Floats:
        gain = case.along(*case.gains(self.by_grade))[:, : self.depth]
        return np.asarray((gain / self._discounts(gain.shape[1])).sum(axis=1))

    def _discounts(self, depth: int) -> Floats:
        return discounts(depth, self.dcg, self.base)


@measure("CG", paper="Jarvelin & Kekalainen 2002")
class CG(DCG):
    """Cumulative gain: `DCG` without a discount at any rank."""

    def _discounts(self, depth: int) -> Floats:
        return np.ones(depth)


@measure("nDCG", paper="Jarvelin & Kekalainen 2002", aliases={"NDCG": "nDCG"})
class NDCG(OfGains):
    r"""Normalised discounted cumulative gain: DCG over the DCG of the best possible ranking.

    $$\mathrm{nDCG@}k = \frac{\sum_{n \le k} g_n / d_n}{\sum_{n \le k} g^*_n / d_n}$$

    with $g_n$ the gain of the document at rank $n$ and $g^*$ the gains of all known documents in
    descending order. By default the gain is the grade and $d_n = \log_2(1 + n)$: equal to
    trec_eval's `ndcg` and `ndcg_cut`. `dcg='exp-log2'` has gains $2^g - 1$; `dcg='jk'` does not
    discount before rank `base` and divides by $\log_b n$ from there on; `gains={1: 5}` gives
    grades other gains (grades that are not named keep theirs). Piazzon (2019) has
    `nDCG(dcg='jk', base=2, gains={1: 5})@20`.

    Under random relevance of two grades, gains being 0 and any other, the expectation is exact:

    $$E[\mathrm{nDCG@}k] = \sum_{n \le k} \frac{p_n}{d_n} \sum_r
      \frac{P(R_{-n} = r)}{\mathrm{IDCG}(r + 1)}$$

    with $R_{-n}$ the number of relevant documents of the pool beside the one at rank $n$, and
    $\mathrm{IDCG}(r)$ the sum of the first $r$ of $1 / d_1, ..., 1 / d_k$. More grades have no such
    form: there it is the mean over 1,000 draws of the documents' grades, and a note says so.
    `expected='ratio'` is the expected DCG over the DCG of the expected gains in descending order;
    that is *not* the expectation, and on real pools too high.
    """

    expected: str = param("exact", "under random relevance", choices=("exact", "ratio"))

    def score(self, case: Certain) -> Floats:
        from qrowd.evaluation import kernels

        gain = self.by_grade
        discount = self._discounts(case.ranked.depth, len(case.grades))
        best_first = np.argsort(-gain, kind="stable")[: int((gain > 0).sum())].astype(np.int32)
        best = np.zeros(case.shape[1])
        kernels.ideals(case.counts, best_first, gain, discount, best)
        return share(case.summed(kernels.gains, gain, discount), best)

    def expectation(self, case: Random) -> Floats:
        if self.expected == "ratio":
            return self._ratio(case)
        self._refuse_unjudged(case, " or take nDCG(expected='ratio')")
        if not self._exact(case.scale):
            return self._drawn(case)
        gains = self.by_grade[np.array(case.scale.grades) - NOT_JUDGED]
        chance = case.p[:, gains > 0].sum(axis=1)
        at, discount = case.ranked, self._discounts(case.ranked.depth, len(chance))
        worth = worth_over_ideal(chance, discount)
        shown = at.rank < len(discount)
        gain = worth[at.row[shown]] / discount[at.rank[shown]]
        return np.asarray(np.bincount(at.run[shown], gain, len(at)), dtype=np.float64)

    def _exact(self, scale: Scale) -> bool:
        """Whether all grades of the scale with a gain have the same one."""
        gains = self.by_grade[np.array(scale.grades) - NOT_JUDGED]
        return len(set(gains[gains > 0].tolist())) < 2

    def _drawn(self, case: Random) -> Floats:
        """The mean over draws of the documents' grades."""
        coins = np.random.default_rng(0).random((len(case.p), DRAWS))
        code = (coins[:, :, None] >= np.cumsum(case.p, axis=1)[:, None, :-1]).sum(axis=2)
        grades = np.array(case.scale.grades, np.int8)[code]
        return np.asarray(self.score(Certain(case.ranked, grades)).mean(axis=1))

    def _ratio(self, case: Random) -> Floats:
        pool, outside = case.gains(self.by_grade)
        gain = case.along(pool, outside)[:, : self.depth]
        discount = self._discounts(gain.shape[1], len(pool))
        sums = (gain / discount[: gain.shape[1]]).sum(axis=1)
        best = -np.sort(-pool)[: len(discount)]
        return share(sums, np.asarray((best / discount[: len(best)]).sum()))

    def _discounts(self, ranked: int, pool: int) -> Floats:
        return discounts(min(self.depth, max(ranked, pool)), self.dcg, self.base)

    def notes(self, unjudged: float, scale: Scale) -> tuple[str, ...]:
        """What is drawn; and that the ratio form is not an expectation, nor bounded by 1."""
        if self.expected == "exact":
            drawn = (
                f"{self!r} of three and more grades is the mean over {DRAWS} draws of the grades"
            )
            return () if self._exact(scale) else (drawn,)
        ratio = (
            f"{self!r} is the expected DCG over the ideal DCG of the expected gains, not an "
            "expectation of nDCG"
        )
        return (ratio, self._above_one("ideal")) if unjudged else (ratio,)


@measure("RnDCG", paper="trec_eval")
class RNDCG(OfGains):
    """Mean of nDCG at the ranks where the ideal ranking goes from one gain to the next.

    Equal to trec_eval's `Rndcg`: with 5 documents of grade 2 and 3 of grade 1, the mean of nDCG@5,
    nDCG@8 and, where the list is longer, nDCG of the whole.
    """

    def score(self, case: Certain) -> Floats:
        dcg, ideal, gain = self._curves(case)
        ends = np.ones(gain.shape, np.bool_)
        ends[:-1] = gain[1:] != gain[:-1]
        ends[gain == 0] = False
        result = np.zeros(case.shape)
        for column, last in enumerate(ends.T):
            at = np.flatnonzero(last)
            if len(at):
                values = dcg[at, :, column] / ideal[at, column][:, None]
                longer = case.ranked.lengths > at[-1] + 1
                whole = np.where(longer, dcg[-1, :, column] / ideal[-1, column], 0.0)
                result[:, column] = (values.sum(axis=0) + whole) / (len(at) + longer)
        return result

    def _curves(self, case: Certain) -> tuple[Floats, Floats, Floats]:
        """DCG[ranks, runs, columns], ideal DCG and ideal gain[ranks, columns], all equally long."""
        by_grade = self.by_grade
        gain = by_grade[case.grades.astype(np.int64) - NOT_JUDGED]
        size = max(len(gain), case.ranked.depth)
        ideal = np.zeros((size, gain.shape[1]))
        ideal[: len(gain)] = -np.sort(-gain, axis=0)
        discount = discounts(size, self.dcg, self.base)[:, None]
        own = np.zeros((size, *case.shape))
        own[: case.ranked.depth] = case.along(by_grade)
        dcg = np.cumsum(own / discount[:, :, None], axis=0)
        return dcg, np.cumsum(ideal / discount, axis=0), ideal


@measure("nDCGrel", paper="trec_eval")
class NDCGrel(RNDCG):
    """Mean of nDCG at the ranks of the relevant documents: trec_eval's `ndcg_rel`.

    For a relevant document that was not retrieved it is that of the whole list.
    """

    def score(self, case: Certain) -> Floats:
        dcg, ideal, gain = self._curves(case)
        own = np.zeros(dcg.shape, np.bool_)
        own[: case.ranked.depth] = case.along(self.by_grade) > 0
        ndcg = share(dcg, np.repeat(ideal[:, None], dcg.shape[1], axis=1))
        number = (gain > 0).sum(axis=0)
        sums = (ndcg * own).sum(axis=0) + (number - own.sum(axis=0)) * ndcg[-1]
        return share(sums, number)


@measure("G", paper="trec_eval")
class G(OfGains):
    r"""Normalised gain: the less was missed above a document, the more its gain counts.

    $$G = \sum_n \frac{g_n}{\log_2(2 + I_n - S_n)} \Bigm/ \sum_n g^*_n$$

    with $S_n$ the sum of the gains down to rank $n$ and $I_n$ that of the ideal ranking, where each
    rank adds 1 at least. Equal to trec_eval's `G`; of binary relevance (`binary=True`) its `binG`.
    """

    binary: bool = param(False, "every relevant document has the gain 1")
    rel: int = param(1, "the lowest grade that is relevant, for binary", at_least=0)

    def score(self, case: Certain) -> Floats:
        by_grade = self.by_grade
        if self.binary:
            by_grade = (np.arange(NOT_JUDGED, HIGHEST + 1) >= self.level).astype(np.float64)
        gain = by_grade[case.grades.astype(np.int64) - NOT_JUDGED]
        ideal = np.zeros((max(case.ranked.depth, len(gain)), gain.shape[1]))
        ideal[: len(gain)] = -np.sort(-gain, axis=0)
        own = case.along(by_grade, self.depth)
        missed = np.cumsum(np.maximum(ideal, 1), axis=0)[: len(own), None] - np.cumsum(own, axis=0)
        return share((own / np.log2(2 + missed)).sum(axis=0), gain.sum(axis=0))
