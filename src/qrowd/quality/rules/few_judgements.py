"""Too little to judge by."""

from __future__ import annotations

import numpy as np

from qrowd.quality.doubt import Doubt, Rule, below
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("few-judgements", paper="qrowd")
class FewJudgements(Rule):
    """Doubts who judged so little that nothing can be said of the quality.

    >>> import qrowd as q
    >>> q.FewJudgements(20)
    few-judgements(at_least=20)
    """

    at_least: int = param(10, "the least number of judgements", at_least=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        n = evidence.judgements.per_assessor.astype(np.float64)
        words = f"{{n}} judgements, fewer than {self.at_least}"
        return below(n, n, self.at_least, 1, words)
