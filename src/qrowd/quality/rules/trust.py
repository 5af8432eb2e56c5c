"""Trust by TurkRank."""

from __future__ import annotations

import dataclasses

import numpy as np

from qrowd.quality.doubt import Doubt, Rule, below
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("trust", paper="Piazzon 2019", uses=("gold",))
class Trust(Rule):
    r"""Doubts who has little of the trust that assessors give each other.

    PageRank with priors over agreement (TurkRank):

    $$ \pi(v) = (1-\beta)\sum_u p(v|u)\,\pi(u) + \beta\,p_v $$

    where $p(v|u)$ is the share of v among all that u agrees with, pair by pair; gold, where given,
    is a node that has the whole prior. Who judges more has more of it, so that trust is divided by
    what it would be if all judgements of a pair were the same, and by the crowd's average of that:
    1 is usual.

    >>> import qrowd as q
    >>> q.Trust(at_least=0.5)
    trust(at_least=0.5)
    """

    at_least: float = param(0.85, "the least trust, 1 being usual in the crowd", at_least=0)
    beta: float = param(0.3, "the weight of the prior", at_least=0, at_most=1)
    judgements: int = param(
        10, "minimum number of judgements before an assessor is doubted", at_least=1
    )

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        words = (
            f"trust {{value:.3f}} of what is usual over {{n}} judgements, below {self.at_least:g}"
        )
        if self.beta != evidence.beta:
            evidence = dataclasses.replace(evidence, beta=self.beta)
        n = evidence.single.per_assessor.astype(np.float64)
        return below(evidence.relative_trust, n, self.at_least, self.judgements, words)
