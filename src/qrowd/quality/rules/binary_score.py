"""The binary score on gold."""

from __future__ import annotations

from qrowd.quality.doubt import Doubt, Rule, below
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("binary-score", paper="Xia et al. 2011", needs=("gold",))
class BinaryScore(Rule):
    r"""Doubts whose binary score on gold is too low.

    Points for each answer over those of a faultless assessor, $BV/GV$, on all of the assessor's
    gold pairs; gold above 2 counts as 2, answers count as relevant or not:

    | gold grade | says 0 | says 1 |
    |---|---|---|
    | 0 | 15 | 10 |
    | 1 | 5 | 12 |
    | 2 | 0 | 9 |

    A false alarm costs a third, so that always saying "relevant" scores 0.91 on gold 0 1 1 2 2 and
    passes: `qrowd quality --simulate-checks` tells how often a check is passed by whom.

    >>> import qrowd as q
    >>> q.get("binary-score(0.9)", "rule")
    binary-score(at_least=0.9)
    """

    at_least: float = param(0.85, "the lowest score that is trusted", at_least=0, at_most=1)
    gold: int = param(5, "minimum number of gold pairs before an assessor is doubted", at_least=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        words = f"binary score {{value:.3f}} on {{n}} gold pairs is below {self.at_least:g}"
        value, n = evidence.binary_score, evidence.by_gold.n
        return below(value, n, self.at_least, self.gold, words)
