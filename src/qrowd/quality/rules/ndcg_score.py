"""The NDCG score on gold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd.quality.doubt import Doubt, Rule, below
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("ndcg-score", paper="Xia et al. 2011", needs=("gold",))
class NdcgScore(Rule):
    r"""Doubts whose order of the gold documents is too far from gold's.

    $$ \frac{\sum_i (2^{z_i}-1)/\log_2(1+r_i)}{\sum_i (2^{z_i}-1)/\log_2(1+d_i)} $$

    with the assessor's rank $r_i$ and gold's dense rank $d_i$ (equal grades share a rank), averaged
    over topics. Ranks come from the assessor's own grades; equal grades share the mean of their
    discounts. Since tied gold cannot be ranked without loss, an assessor whose best reachable
    score lies below the bound is not doubted.

    >>> import qrowd as q
    >>> q.NdcgScore(at_least=0.7)
    ndcg-score(at_least=0.7)
    """

    at_least: float = param(0.62, "the lowest score that is trusted", at_least=0, at_most=1)
    gold: int = param(5, "minimum number of gold pairs before an assessor is doubted", at_least=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        words = f"NDCG score {{value:.3f}} on {{n}} gold pairs is below {self.at_least:g}"
        value, best = evidence.ndcg
        found = below(value, evidence.by_gold.n, self.at_least, self.gold, words)
        reachable = np.nan_to_num(best) >= self.at_least
        weight = np.where(reachable, found.weight, 1.0)
        return replace(found, doubted=found.doubted & reachable, weight=weight)
