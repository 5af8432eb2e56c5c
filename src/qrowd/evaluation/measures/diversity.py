"""Measures of rankings for topics that have subtopics: novelty, diversity, intent-aware ones.

They are scored under qrels by subtopic (`q.read_subtopics`), whose columns are the subtopics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qrowd.data.arrays import Array, Floats, Mask
from qrowd.evaluation.measure import MOST_RANKS, Measure, share
from qrowd.evaluation.measures.average_precision import AP
from qrowd.evaluation.relevance import Certain
from qrowd.registry import measure, param


@dataclass(frozen=True, kw_only=True, repr=False)
class OfSubtopics(Measure):
    """The base of measures that look at all subtopics of a topic at once: scores[runs, 1].

    Subtopics without a relevant document do not count.
    """

    of_subtopics = True

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)

    def covers(self, case: Certain) -> Floats:
        """x[ranks, runs, subtopics]."""
        return case.relevant(self.level, self.depth)[:, :, self.known(case)]

    def known(self, case: Certain) -> Mask:
        """Which subtopics have a relevant document."""
        return np.asarray(case.recall_base(self.level) > 0)


@dataclass(frozen=True, kw_only=True, repr=False)
class OfNovelty(OfSubtopics):
    r"""The base of sums over ranks of what is new, over the same of an ideal ranking.

    A document gains $(1 - \alpha)^{c}$ of each of its subtopics, of which $c$ were above it.
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)
    alpha: float = param(0.5, "how little a subtopic is worth again", at_least=0, at_most=1)
    normal: ClassVar[bool] = False  # by what the collection can give, not by what any could

    def weights(self, depth: int) -> Floats:
        """What the gain of each rank counts."""
        raise NotImplementedError

    def score(self, case: Certain) -> Floats:
        covers = self.covers(case)
        count = covers.shape[2]
        if count == 0 or len(covers) == 0:
            return np.zeros((len(case.ranked), 1))
        gains = (covers * self._worth(np.cumsum(covers, axis=0) - covers)).sum(axis=2)
        if self.normal:
            best = self._greedy(case)
        else:
            depth = self.depth if self.depth < MOST_RANKS else 1000
            best = count * self._worth(np.arange(depth))
        most = (best * self.weights(len(best))).sum()
        return share((gains * self.weights(len(gains))[:, None]).sum(axis=0)[:, None], most)

    def _worth(self, times: Array) -> Floats:
        return np.asarray((1 - self.alpha) ** times)

    def _greedy(self, case: Certain) -> Floats:
        """The gains of the ranking that takes the document with the highest gain each time.

        Of equal ones the last by name, as in ndeval.
        """
        x = (case.grades[:, self.known(case)] >= self.level).astype(np.float64)
        left = np.flatnonzero(x.any(axis=1))[::-1]
        gains: list[float] = []
        seen = np.zeros(x.shape[1])
        while len(left) and len(gains) < self.depth:
            gain = x[left] @ self._worth(seen)
            best = int(gain.argmax())
            gains.append(float(gain[best]))
            seen += x[left[best]]
            left = np.delete(left, best)
        return np.array(gains)


@measure(
    "alpha_DCG",
    paper="Clarke et al. 2008",
    aliases={"alpha-DCG": "alpha_DCG", "α_DCG": "alpha_DCG"},
)
class AlphaDCG(OfNovelty):
    r"""DCG of what is new: over that of a ranking all of whose documents have all subtopics.

    $$\mathrm{\alpha DCG@}k = \sum_{n \le k} \frac{1}{\log_2(1 + n)} \sum_s x_{ns}
      (1 - \alpha)^{\sum_{m < n} x_{ms}}$$

    Equal to ndeval's `alpha-DCG@k`, but at k = 1, where ndeval does not divide.
    """

    def weights(self, depth: int) -> Floats:
        return np.asarray(1 / np.log2(np.arange(2, depth + 2)))


@measure(
    "alpha_nDCG",
    paper="Clarke et al. 2008",
    aliases={"alpha-nDCG": "alpha_nDCG", "α_nDCG": "alpha_nDCG"},
)
class AlphaNDCG(AlphaDCG):
    """`alpha_DCG` over that of the best ranking of the judged documents, found greedily."""

    normal = True


@measure("ERR_IA", paper="Chapelle et al. 2009", aliases={"ERR-IA": "ERR_IA"})
class ErrIA(OfNovelty):
    """Intent-aware ERR: as `alpha_DCG`, with 1 / n in the place of the logarithm.

    Equal to ndeval's `ERR-IA@k`, but at k = 1, where ndeval does not divide.
    """

    def weights(self, depth: int) -> Floats:
        return np.asarray(1 / np.arange(1, depth + 1))


@measure("nERR_IA", paper="Chapelle et al. 2009", aliases={"nERR-IA": "nERR_IA"})
class NErrIA(ErrIA):
    """`ERR_IA` over that of the best ranking of the judged documents, found greedily."""

    normal = True


@measure("NRBP", paper="Clarke, Kolla & Vechtomova 2009")
class NRBP(OfNovelty):
    r"""Novelty- and rank-biased precision: as `alpha_DCG`, with $\beta^{n-1}$ for the logarithm."""

    beta: float = param(0.5, "the user's patience", above=0, below=1)

    def weights(self, depth: int) -> Floats:
        return np.asarray(self.beta ** np.arange(depth))


@measure("nNRBP", paper="Clarke, Kolla & Vechtomova 2009")
class NNRBP(NRBP):
    """`NRBP` over that of the best ranking of the judged documents, found greedily."""

    normal = True


@measure("AP_IA", paper="Agrawal et al. 2009", aliases={"MAP-IA": "AP_IA", "MAP_IA": "AP_IA"})
class ApIA(OfSubtopics):
    """Intent-aware average precision: the mean of AP over subtopics."""

    def score(self, case: Certain) -> Floats:
        values = AP(rel=self.rel).score(case)[:, self.known(case)]
        return share(values.sum(axis=1, keepdims=True), np.array(values.shape[1]))


@measure("P_IA", paper="Agrawal et al. 2009", aliases={"P-IA": "P_IA"})
class PIA(OfSubtopics):
    """Intent-aware precision at k: the mean of P@k over subtopics."""

    needs_cutoff = True

    cutoff: int | None = param(None, "the first k documents", at_least=1, at_most=MOST_RANKS)

    def score(self, case: Certain) -> Floats:
        covers = self.covers(case)
        return share(covers.sum(axis=(0, 2))[:, None] / self.depth, np.array(covers.shape[2]))


@measure(
    "StRecall",
    paper="Zhai, Cohen & Lafferty 2003",
    aliases={"strec": "StRecall", "STREC": "StRecall"},
)
class StRecall(PIA):
    """Subtopic recall at k: the share of subtopics that the first k documents cover."""

    def score(self, case: Certain) -> Floats:
        covers = self.covers(case)
        return share(covers.any(axis=0).sum(axis=1)[:, None], np.array(covers.shape[2]))
