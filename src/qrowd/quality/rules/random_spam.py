"""Distance to the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd.quality.doubt import Doubt, Rule, above
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("random-spam", paper="Vuurens & De Vries 2012")
class RandomSpam(Rule):
    r"""Doubts who is as far from the others as one who answers without looking.

    $$ R_k = \operatorname{mean}_{j \in J_k,\, i \ne k} (g_j - g_i)^2 $$

    over all judgements $g_i$ of the same pairs by others, grades scaled to 0..1. What counts is
    $R_k$ over its value by chance, if the same answers had been given to the same pairs in a random
    order (`of=chance`): 1 for who answers at random or always the same, whatever the share of
    relevant documents. `of=distance` is $R_k$ itself, as in the paper.

    Few judgements, or few relevant documents, bring honest assessors near to chance, too. Nobody is
    doubted who is not worse than the crowd's median by `sure` standard deviations of the ratio
    over random orders of the answers (0.5 / sqrt(judgements) at least, since somebody may have
    given the same few answers with good reason).

    Weighed down, an assessor keeps 1 - R / chance of each vote, nothing from chance on.

    >>> import qrowd as q
    >>> q.RandomSpam(at_least=0.95)
    random-spam(at_least=0.95)
    """

    at_least: float = param(0.9, "the distance from which on nobody is trusted", above=0)
    of: str = param("chance", "what the distance is measured in", choices=("chance", "distance"))
    sure: float = param(1.64, "standard deviations that must lie above the median", at_least=0)
    comparisons: int = param(30, "comparisons with others needed", at_least=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        far = evidence.distances
        value = far.ratio if self.of == "chance" else far.mean
        unit = " of that by chance" if self.of == "chance" else ""
        words = (
            f"squared distance to the others {{value:.3f}}{unit} "
            f"in {{n}} comparisons, at least {self.at_least:g}"
        )
        found = above(value, far.comparisons, self.at_least, self.comparisons, words)
        middle = np.nanmedian(far.ratio) if (far.comparisons > 0).any() else 0.0
        error = np.maximum(far.error, 0.5 / np.sqrt(np.maximum(evidence.single.per_assessor, 1)))
        doubted = found.doubted & (far.ratio - middle > self.sure * error)
        left = np.clip(1 - np.nan_to_num(far.ratio, nan=0.0), 0, 1)
        return replace(found, doubted=doubted, weight=np.where(doubted, left, 1.0))
