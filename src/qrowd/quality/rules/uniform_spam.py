"""Disagreement while repeating a pattern."""

from __future__ import annotations

from qrowd.quality.doubt import Doubt, Rule, above
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("uniform-spam", paper="Vuurens & De Vries 2012")
class UniformSpam(Rule):
    r"""Doubts who disagrees with the others while repeating the same answers.

    For every sequence s of one to three consecutive answers of the assessor, $D_s$ of the $N_s$
    comparisons with others within its occurrences are disagreements:

    $$ U_k = \frac13 \sum_{\ell=1}^{3} \frac{\sum_{|s|=\ell} D_s^2}{(\sum_{|s|=\ell} N_s)^2} $$

    Who disagrees on half of the pairs has 0.25 with one answer throughout, 0.125 with a pattern of
    two, below 0.08 when answering at random with a fair coin. Answers are taken in the order of
    time where that is known. Weighed down, an assessor keeps at_least / U, halved.

    >>> import qrowd as q
    >>> q.UniformSpam(at_least=0.2)
    uniform-spam(at_least=0.2)
    """

    at_least: float = param(0.1, "the statistic from which on nobody is trusted", above=0)
    comparisons: int = param(30, "comparisons with others needed", at_least=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        words = (
            f"disagrees while repeating answers: {{value:.3f}} in {{n}} comparisons, "
            f"at least {self.at_least:g}"
        )
        value, n = evidence.pattern_disagreement, evidence.distances.comparisons
        return above(value, n, self.at_least, self.comparisons, words)
