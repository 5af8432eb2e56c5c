"""Accuracy on gold."""

from __future__ import annotations

from qrowd.quality.against_gold import wilson
from qrowd.quality.doubt import Doubt, Rule, below
from qrowd.quality.evidence import Evidence
from qrowd.registry import param, rule


@rule("gold-accuracy", paper="Snow et al. 2008", needs=("gold",))
class GoldAccuracy(Rule):
    r"""Doubts who is right on too few gold pairs.

    The share of an assessor's gold pairs that were judged as gold has them: by grade where both
    have the same scale, else relevant or not (gold from `gold_rel` on). With `surely=true` the
    upper end of Wilson's 95 % interval must lie below the bound, so that few gold pairs
    condemn nobody.

    $$ a_k = \frac{1}{n_k}\sum_{i \in G_k} [\,y_{ik} = z_i\,] $$

    >>> import qrowd as q
    >>> c = q.simulate(seed=1)
    >>> len(q.screen(c.judgements, [q.GoldAccuracy(at_least=0.6)], q.Given(gold=c.gold)).left_out)
    4
    """

    at_least: float = param(0.6, "the lowest accuracy that is trusted", at_least=0, at_most=1)
    gold: int = param(5, "minimum number of gold pairs before an assessor is doubted", at_least=1)
    surely: bool = param(False, "whether the whole interval must lie below")

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        held = evidence.by_gold
        if not self.surely:
            words = f"accuracy {{value:.3f}} on {{n}} gold pairs is below {self.at_least:g}"
            return below(held.accuracy, held.n, self.at_least, self.gold, words)
        upper = wilson(held.right, held.n)[1]
        words = f"accuracy on {{n}} gold pairs is at most {{value:.3f}}, below {self.at_least:g}"
        return below(upper, held.n, self.at_least, self.gold, words)
