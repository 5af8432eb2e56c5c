"""What the methods with one and with two coins per assessor have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.aggregation.ballot import TIES_INSIDE, Expected
from qrowd.aggregation.class_prior import CLASS_PRIORS
from qrowd.registry import param


@dataclass(frozen=True, kw_only=True, repr=False)
class Coins:
    """Their parameters, and when their EM has settled."""

    labels: str = param("hard", "how a label counts", choices=("hard", "soft"))
    prior: str = param("none", "of the grades", choices=CLASS_PRIORS)
    smoothing: float = param(1.0, "added to right and to wrong judgements", above=0)
    ties: str = param("split", "what to do with tied labels while it iterates", choices=TIES_INSIDE)
    trust: float = param(1.0, "how much each judgement behind `priors` counts", at_least=0)
    tol: float = param(1e-9, "soft: stop when the objective gains less per judgement", above=0)
    max_iter: int = param(1000, "maximum number of iterations", at_least=1)
    clamp: bool = param(True, "treat gold as certain, and learn accuracies from it")

    def _settled(self, before: Expected, step: Expected, gain: float, votes: float) -> bool:
        if self.labels == "hard":
            return np.array_equal(before.posterior, step.posterior)
        return abs(gain) <= self.tol * votes
