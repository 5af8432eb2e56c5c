"""Speed."""

from __future__ import annotations

import numpy as np

from qrowd.quality.doubt import Doubt, Rule, below
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("too-fast", paper="Xia et al. 2011", needs=("seconds",))
class TooFast(Rule):
    """Doubts who takes too little time to have read the documents.

    The median over the assessor's judgements, so that one long pause hides nothing. The paper
    trusts no judgement made in less than 6 seconds.

    >>> import qrowd as q
    >>> q.TooFast(seconds=4)
    too-fast(seconds=4.0)
    """

    seconds: float = param(6.0, "the least seconds per document (median)", at_least=0)
    judgements: int = param(
        5, "minimum number of judgements before an assessor is doubted", at_least=1
    )

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        words = f"{{value:.1f}} seconds per document over {{n}} judgements, below {self.seconds:g}"
        n = np.where(np.isnan(evidence.seconds), 0, evidence.judgements.per_assessor)
        return below(evidence.seconds, n, self.seconds, self.judgements, words)
