"""Measures of the set of retrieved documents, and counts: what does not depend on the order."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats
from qrowd.evaluation.measure import MOST_RANKS, Measure, OfFirst, share
from qrowd.evaluation.relevance import Certain, Random
from qrowd.registry import measure, param


@measure("SetP", paper="van Rijsbergen 1979", aliases={"SetRelP": "SetP(relative=True)"})
class SetP(OfFirst):
    r"""Precision of all that was retrieved: the share of relevant documents in the list.

    Equal to trec_eval's `set_P`. `relative=True` divides by the best precision that a list of this
    length can have (`set_relative_P`); with a cutoff, that $k$ documents can have: `relative_P_k`.
    """

    relative: bool = param(False, "as a share of the best that there can be")

    def score(self, case: Certain) -> Floats:
        shown = np.broadcast_to(case.ranked.lengths[:, None], case.shape)
        if self.relative:
            shown = np.full(case.shape, self.cutoff) if self.cutoff else shown
            shown = np.minimum(shown, case.recall_base(self.level))
        return share(case.hits(self.level, self.depth), np.minimum(shown, self.depth))


@measure("SetF", paper="van Rijsbergen 1979")
class SetF(Measure):
    r"""F of all that was retrieved: the weighted harmonic mean of `SetP` and `R`.

    $$\mathrm{SetF} = \frac{(\beta + 1) P R}{R + \beta P}$$

    Equal to trec_eval's `set_F`, where $\beta$ is 1, and to ir_measures'; van Rijsbergen's
    $\beta$ is the root of theirs.
    """

    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)
    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    beta: float = param(1.0, "how much recall counts against precision", above=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        hits = case.hits(self.level, self.depth)
        p = share(hits, np.minimum(case.ranked.lengths, self.depth)[:, None])
        r = share(hits, case.recall_base(self.level))
        return share((self.beta + 1) * p * r, r + self.beta * p)


@measure("SetAP", paper="Buckley & Voorhees 2005")
class SetAP(Measure):
    """Precision times recall of all that was retrieved: trec_eval's `set_map`."""

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    judged_only: bool = param(False, "leave documents without a judgement out of the ranking")

    def score(self, case: Certain) -> Floats:
        hits = case.hits(self.level, self.depth)
        return share(hits * hits, case.ranked.lengths[:, None] * case.recall_base(self.level))


@measure("NumRet", paper="trec_eval", over_topics="sum")
class NumRet(Measure):
    """How many documents were retrieved; with `rel`, how many of this grade or a higher one.

    trec_eval's `num_ret`. Over topics it is added up, as all counts are.
    """

    rel: int | None = param(None, "the lowest grade that is counted", at_least=0)

    @property
    def level(self) -> int:
        """That of other measures, for notes."""
        return 1 if self.rel is None else self.rel

    def score(self, case: Certain) -> Floats:
        if self.rel is not None:
            return case.hits(self.rel, self.depth)
        return np.broadcast_to(case.ranked.lengths[:, None].astype(np.float64), case.shape)

    def expectation(self, case: Random) -> Floats:
        if self.rel is not None:
            return np.asarray(case.relevant(self.rel, self.depth).sum(axis=1))
        return case.ranked.lengths.astype(np.float64)


@measure("NumRelRet", paper="trec_eval", over_topics="sum")
class NumRelRet(Measure):
    """How many relevant documents were retrieved: trec_eval's `num_rel_ret`."""

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)

    def score(self, case: Certain) -> Floats:
        return case.hits(self.level, self.depth)

    def expectation(self, case: Random) -> Floats:
        return np.asarray(case.relevant(self.level, self.depth).sum(axis=1))


@measure("NumNonrelRet", paper="trec_eval", over_topics="sum")
class NumNonrelRet(NumRelRet):
    """How many documents were retrieved that somebody judged, and not as relevant.

    trec_eval's `num_nonrel_judged_ret`.
    """

    def score(self, case: Certain) -> Floats:
        return np.asarray(case.hits(0, self.depth) - case.hits(self.level, self.depth))

    def expectation(self, case: Random) -> Floats:
        known = case.along(1 - case.chance(self.level))
        return np.asarray(known.sum(axis=1))


@measure("NumRel", paper="trec_eval", over_topics="sum")
class NumRel(NumRelRet):
    """How many relevant documents there are, retrieved or not: trec_eval's `num_rel`."""

    def score(self, case: Certain) -> Floats:
        return np.broadcast_to(case.recall_base(self.level).astype(np.float64), case.shape)

    def expectation(self, case: Random) -> Floats:
        return np.full(len(case.ranked), case.chance(self.level).sum())


@measure("NumQ", paper="trec_eval", over_topics="sum")
class NumQ(Measure):
    """How many topics a run is scored on: trec_eval's `num_q`; 1 on each of them."""

    def score(self, case: Certain) -> Floats:
        return np.ones(case.shape)

    def expectation(self, case: Random) -> Floats:
        return np.ones(len(case.ranked))


@measure("Utility", paper="trec_eval")
class Utility(Measure):
    """Relevant documents that were retrieved, less all others: trec_eval's `utility`."""

    rel: int = param(1, "the lowest grade that is relevant", at_least=0)
    cutoff: int | None = param(None, "only the first k documents", at_least=1, at_most=MOST_RANKS)

    def score(self, case: Certain) -> Floats:
        shown = np.minimum(case.ranked.lengths, self.depth)[:, None]
        return np.asarray(2 * case.hits(self.level, self.depth) - shown)
