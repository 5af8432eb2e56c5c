"""Average precision, and its kin for pools with holes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.data.scale import Scale
from qrowd.errors import UsageError
from qrowd.evaluation.expectation import Quadrature
from qrowd.evaluation.measure import DEEPEST, MOST_RANKS, Measure, OfFirst, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param

POINTS = tuple(point / 10 for point in range(11))


@measure("AP", paper="Harman 1992; Ferrante, Ferro & Losiouk 2019", aliases={"MAP": "AP"})
class AP(OfFirst):
    r"""Average precision: the mean, over all relevant documents, of the precision at their ranks.

    $$\mathrm{AP} = \frac{1}{R} \sum_n \frac{x_n}{n} \sum_{s \le n} x_s$$

    with $x_n = 1$ where the document at rank $n$ is relevant and $R$ the number of relevant
    documents that are known. Equal to trec_eval's `map` (with a cutoff: `map_cut`).

    Under random relevance, where document $d$ is relevant with probability $p_d$, the default is
    the exact expectation

    $$E[\mathrm{AP}] = \int_0^1 \prod_d (1 - p_d + p_d u) \sum_n \frac{a_n(u)}{n}
      \Bigl[1 + u \sum_{s < n} a_s(u)\Bigr] du, \qquad a_d(u) = \frac{p_d}{1 - p_d + p_d u}$$

    by Gauss-Legendre quadrature. `expected='ratio'` is the eRAP of Ferrante, Ferro & Losiouk
    (2019), the expectation of the sum over the expectation of $R$,

    $$\mathrm{eRAP} = \frac{1}{\sum_d p_d} \sum_n \frac{p_n}{n} \Bigl(1 + \sum_{s < n} p_s\Bigr).$$

    >>> import qrowd as q
    >>> runs = q.RunSet.of(["s"] * 3, ["t"] * 3, ["d1", "d2", "d3"], [3, 2, 1])
    >>> q.evaluate(runs, q.Qrels.of(["t"] * 3, ["d1", "d2", "d3"], [1, 0, 1]), q.AP).values.item()
    0.8333333333333333
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)
    expected: str = param("exact", "under random relevance", choices=("exact", "ratio"))

    def score(self, case: Certain) -> Floats:
        from qrowd.evaluation import kernels

        sums = case.summed(kernels.precisions, self.level, self.depth)
        return share(sums, case.recall_base(self.level))

    def expectation(self, case: Random) -> Floats:
        from qrowd.evaluation import kernels

        if self.expected == "ratio":
            return self._ratio(case)
        self._refuse_unjudged(case, " or take AP(expected='ratio')")
        at, by = case.ranked, Quadrature.of(case.chance(self.level))
        sums = np.zeros((len(at), len(by.node)))
        kernels.products(at.starts, at.rank, at.row, by.ratio, by.node, self.depth, sums)
        return by.integral(sums)

    def _ratio(self, case: Random) -> Floats:
        p = case.relevant(self.level, self.depth)
        above = np.cumsum(p, axis=1) - p
        sums = (p / np.arange(1, p.shape[1] + 1) * (1 + above)).sum(axis=1)
        return share(sums, case.chance(self.level).sum())

    def notes(self, unjudged: float, scale: Scale) -> tuple[str, ...]:
        """The ratio form is not bounded by 1 when unjudged > 0."""
        return (self._above_one("base"),) if unjudged else ()


@measure("infAP", paper="Yilmaz & Aslam 2006")
class InfAP(Measure):
    r"""Inferred average precision: AP estimated from a sample of the pool's judgements.

    The precision at a relevant document of rank $k$ is estimated as

    $$\frac{1}{k} + \frac{k - 1}{k} \cdot \frac{|\mathrm{pool}|}{k - 1} \cdot
      \frac{|\mathrm{rel}| + \epsilon}{|\mathrm{rel}| + |\mathrm{nonrel}| + 2\epsilon}$$

    with counts of the documents above it, $\epsilon = 10^{-5}$. A negative grade says that a
    document was in the pool but not in the sample; documents that the qrels do not have were not in
    the pool. Equal to trec_eval's `infAP`. It has no exact expectation under random relevance:
    score draws.
    """

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)

    def score(self, case: Certain) -> Floats:
        from qrowd.evaluation import kernels

        sums = case.summed(kernels.inferred, self.level)
        return share(sums, case.recall_base(self.level))


@measure("Bpref", paper="Buckley & Voorhees 2004", aliases={"BPref": "Bpref"})
class Bpref(Measure):
    r"""Binary preference: how rarely a judged non-relevant document is above a relevant one.

    $$\mathrm{bpref} = \frac{1}{R} \sum_r \Bigl(1 - \frac{\min(n_r, R)}{\min(N, R)}\Bigr)$$

    over the relevant documents r that are retrieved, with $n_r$ of the $N$ judged non-relevant
    documents above it. Documents that nobody judged, and those of a negative grade, are passed
    over. Equal to trec_eval's `bpref`. It has no exact expectation under random relevance: score
    draws.
    """

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)

    def score(self, case: Certain) -> Floats:
        from qrowd.evaluation import kernels

        at, sums = case.ranked, np.zeros(case.shape)
        base = case.recall_base(self.level)
        others = case.recall_base(0) - base
        kernels.preferences(at.starts, at.row, case.grades, self.level, base, others, sums)
        return share(sums, base)


@measure("GMAP", paper="Robertson 2006", over_topics="geometric")
class GMAP(AP):
    """Geometric mean average precision: on a topic AP, over topics its geometric mean.

    Equal to trec_eval's `gm_map`; a topic counts as 0.00001 at least.
    """


@measure("GMBpref", paper="Robertson 2006; Buckley & Voorhees 2004", over_topics="geometric")
class GMBpref(Bpref):
    """On a topic `Bpref`, over topics its geometric mean: trec_eval's `gm_bpref`."""


@measure("IPrec", paper="van Rijsbergen 1979")
class IPrec(Measure):
    r"""Interpolated precision at a recall: the best precision at this recall or a higher one.

    `IPrec@0.1` is trec_eval's `iprec_at_recall_0.10`: the number of relevant documents that make
    the recall $r$ is $\lfloor rR + 0.9 \rfloor$. The eleven points of a curve are
    `IPrec@0.0` to `IPrec@1.0`, in short `iprec_at_recall`.
    """

    needs_cutoff = True

    cutoff: float | None = param(None, "the recall", at_least=0, at_most=1)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    @property
    def depth(self) -> int:
        """The whole list."""
        return DEEPEST

    def check(self) -> None:
        """Raise a `UsageError` without a recall."""
        if self.cutoff is None:
            raise UsageError(f"{self!r} needs a recall, as in {self!r}@0.1")

    def score(self, case: Certain) -> Floats:
        assert self.cutoff is not None
        return np.asarray(interpolated(case, self.level, (self.cutoff,))[0])


@measure("IAP", paper="van Rijsbergen 1979")
class IAP(Measure):
    """Mean of the interpolated precision at the recalls 0, 0.1, ..., 1: trec_eval's `11pt_avg`."""

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        return np.asarray(interpolated(case, self.level, POINTS).mean(axis=0))


def interpolated(case: Certain, level: int, recalls: Sequence[float]) -> Floats:
    """[recalls, runs, columns]."""
    found = np.cumsum(case.relevant(level), axis=0)
    best = np.zeros((len(recalls), *case.shape))
    if len(found):
        precision = found / np.arange(1, len(found) + 1)[:, None, None]
        # lists that are shorter than the longest end before it
        precision[np.arange(len(found))[:, None] >= case.ranked.lengths] = 0.0
        for at, recall in enumerate(recalls):
            enough = found >= (recall * case.recall_base(level) + 0.9).astype(np.int64)
            best[at] = np.where(enough, precision, 0.0).max(axis=0)
    return best
