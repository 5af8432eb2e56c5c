"""Measures of the first relevant documents: precision, recall, success, reciprocal rank."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.expectation import Quadrature, precision_at_recall_base
from qrowd.evaluation.measure import MOST_RANKS, Measure, OfFirst, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("P", paper="van Rijsbergen 1979", aliases={"Precision": "P"})
class P(OfFirst):
    r"""Precision at k: the share of relevant documents among the first k.

    $$\mathrm{P@}k = \frac{1}{k} \sum_{n \le k} x_n$$

    A list that is shorter than k is filled up with documents that are not relevant. Equal to
    trec_eval's `P_k`. Needs its cutoff: `P@10`. Under random relevance the expectation has
    $p_n$ in the place of $x_n$.
    """

    needs_cutoff = True

    def score(self, case: Certain) -> Floats:
        return case.hits(self.level, self.depth) / self.depth

    def expectation(self, case: Random) -> Floats:
        p = case.relevant(self.level, self.depth)
        return np.asarray(p.sum(axis=1) / self.depth)


@measure("R", paper="van Rijsbergen 1979", aliases={"Recall": "R", "SetR": "R"})
class R(OfFirst):
    r"""Recall at k: the share of the relevant documents that is among the first k.

    $$\mathrm{R@}k = \frac{1}{R} \sum_{n \le k} x_n$$

    Equal to trec_eval's `recall_k`; without a cutoff, of the whole list (`set_recall`). Under
    random relevance the expectation is exact:

    $$E[\mathrm{R@}k] = \int_0^1 \prod_d (1 - p_d + p_d u) \sum_{n \le k} a_n(u) du,
      \qquad a_n(u) = \frac{p_n}{1 - p_n + p_n u}.$$
    """

    def score(self, case: Certain) -> Floats:
        return share(case.hits(self.level, self.depth), case.recall_base(self.level))

    def expectation(self, case: Random) -> Floats:
        from qrowd.evaluation import kernels

        self._refuse_unjudged(case)
        at, by = case.ranked, Quadrature.of(case.chance(self.level))
        sums = np.zeros((len(at), len(by.node)))
        kernels.totals(at.starts, at.rank, at.row, by.ratio, self.depth, sums)
        return by.integral(sums)


@measure("Rprec", paper="Buckley & Voorhees 2005", aliases={"RPrec": "Rprec"})
class Rprec(Measure):
    r"""R-precision: the precision at rank R, where R is the number of relevant documents.

    Equal to trec_eval's `Rprec`. Under random relevance R is random too, and the expectation is

    $$E[\mathrm{Rprec}] = \sum_n p_n \sum_{r \ge n} \frac{1}{r}
      P\Bigl(\sum_{d \ne n} x_d = r - 1\Bigr),$$

    exact, with the distributions of the number of relevant documents from a discrete Fourier
    transform. `Rprec(times=0.2)` is the precision at rank 0.2 R, rounded up: trec_eval's
    `Rprec_mult_0.20`.
    """

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    times: float = param(1.0, "of R: the rank", above=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        base = (self.times * case.recall_base(self.level) + 0.9).astype(np.int64)
        return share(case.hits(self.level, base), base)

    def expectation(self, case: Random) -> Floats:
        self._refuse_unjudged(case)
        if self.times != 1:
            return super().expectation(case)  # which says what to do instead
        at = case.ranked
        worth = precision_at_recall_base(case.chance(self.level), at.depth)
        by_rank = worth[at.row, at.rank]
        return np.asarray(np.bincount(at.run, by_rank, len(at)), dtype=np.float64)


@measure("Success", paper="Buckley & Voorhees 2005", aliases={"Hits": "Success"})
class Success(OfFirst):
    r"""Success at k: 1 if a relevant document is among the first k, else 0.

    Equal to trec_eval's `success_k`. Needs its cutoff: `Success@10`. Its mean over topics is the
    share of topics on which a run finds anything. Under random relevance the expectation is
    $1 - \prod_{n \le k} (1 - p_n)$.
    """

    needs_cutoff = True

    def score(self, case: Certain) -> Floats:
        return (case.hits(self.level, self.depth) > 0).astype(np.float64)

    def expectation(self, case: Random) -> Floats:
        p = case.relevant(self.level, self.depth)
        return np.asarray(1 - np.prod(1 - p, axis=1))


@measure("RR", paper="Kantor & Voorhees 2000", aliases={"MRR": "RR"})
class RR(OfFirst):
    r"""Reciprocal rank: 1 over the rank of the first relevant document, 0 if there is none.

    Equal to trec_eval's `recip_rank`. Under random relevance the expectation is

    $$E[\mathrm{RR}] = \sum_n \frac{p_n}{n} \prod_{s < n} (1 - p_s).$$
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)

    def score(self, case: Certain) -> Floats:
        from qrowd.evaluation import kernels

        return case.summed(kernels.firsts, self.level, self.depth)

    def expectation(self, case: Random) -> Floats:
        p = case.relevant(self.level, self.depth)
        none_above = np.ones(p.shape)
        none_above[:, 1:] = np.cumprod(1 - p, axis=1)[:, :-1]
        return np.asarray((p * none_above / np.arange(1, p.shape[1] + 1)).sum(axis=1))


@measure("Judged", paper="ir_measures")
class Judged(Measure):
    """Judged at k: the share of the first k documents that have a judgement (a grade from 0 up).

    Of a list that is shorter than k, the share of the list, as in ir_measures. Of an assessor, the
    share that this assessor judged. Under random relevance, the share that is in the pool.
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)

    def score(self, case: Certain) -> Floats:
        shown = np.minimum(case.ranked.lengths, self.depth)
        return share(case.hits(0, self.depth), shown[:, None])

    def expectation(self, case: Random) -> Floats:
        """The share of the first k documents that is in the pool."""
        judged = case.along(np.ones(len(case.p)))[:, : self.depth].sum(axis=1)
        return share(judged, np.minimum(case.ranked.lengths, self.depth))
