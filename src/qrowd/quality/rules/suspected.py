"""The suspected type."""

from __future__ import annotations

import numpy as np

from qrowd.errors import ParameterError
from qrowd.quality.doubt import Doubt, Rule
from qrowd.quality.evidence import Evidence
from qrowd.quality.suspicion import TYPES, suspect
from qrowd.registry import param, rule


@rule("suspected", paper="qrowd", uses=("gold",))
class Suspected(Rule):
    """Doubts who is suspected to be of one of the types named, separated by blanks.

    The types are good, sloppy, random, uniform, biased and adversarial; the page on quality has the
    rules by which they are told apart. Weighed down, an assessor keeps the informedness (0 for
    who answers without looking).

    >>> import qrowd as q
    >>> q.Suspected("uniform")
    suspected(types='uniform')
    """

    types: str = param("random uniform adversarial", "the types that are doubted")

    def __post_init__(self) -> None:
        for name in self.types.split():
            if name not in TYPES[:-1]:
                raise ParameterError(
                    f"suspected: types must be among {', '.join(TYPES[:-1])}, got {name!r}"
                )

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        found = suspect(evidence)
        doubted = np.isin(found.type.astype(str), self.types.split())
        weight = np.where(doubted, np.clip(found.informedness, 0, 1), 1.0)
        n = evidence.single.per_assessor.astype(np.float64)

        def say(k: int) -> str:
            value, kind, by = found.informedness[k], found.type[k], found.reference[k]
            return f"seems {kind}: informedness {value:.3f} against {by}"

        return Doubt(found.informedness, n, doubted, weight, say)
