"""Reasons to doubt an assessor, as values: parameters, and no data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from qrowd.comparison.significance import wilson
from qrowd.data.arrays import Floats
from qrowd.errors import InputError, ParameterError
from qrowd.quality.against_gold import SURELY, good_p
from qrowd.quality.behaviour import entropies
from qrowd.quality.doubt import Doubt, Rule, above, below
from qrowd.quality.evidence import Evidence
from qrowd.quality.suspicion import TYPES, suspect
from qrowd.registry import param, rule


@rule("few-judgements", paper="qrowd")
class FewJudgements(Rule):
    """Doubts assessors who judged so little that nothing can be said of their quality.

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


@rule("nothing-relevant", paper="Ferrante, Ferro & Losiouk 2019")
class NothingRelevant(Rule):
    """Doubts assessors who found nothing relevant on some topic.

    Scores under such an assessor cannot tell runs apart there. The papers on the pools of TREC 2012
    left out two for it. Topics of which an assessor judged few documents do not count.

    >>> import qrowd as q
    >>> q.NothingRelevant(documents=50)
    nothing-relevant(documents=50)
    """

    documents: int = param(20, "the least documents of a topic for it to count", at_least=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        rows, shape = evidence.single, (evidence.size, len(evidence.single.topics))
        cell = rows.assessor.astype(np.int64) * shape[1] + rows.pairs.topic[rows.pair]
        judged = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
        found = np.bincount(cell, evidence.said_relevant, shape[0] * shape[1]).reshape(shape)
        counts = judged >= self.documents
        empty = (counts & (found == 0)).sum(axis=1).astype(np.float64)
        words = "nothing relevant on {value:.0f} of {n} topics"
        return above(empty, counts.sum(axis=1).astype(np.float64), 1, 1, words)


@rule("gold-accuracy", paper="Snow et al. 2008", needs=("gold",))
class GoldAccuracy(Rule):
    r"""Doubts assessors who are right on too few gold pairs.

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


@rule("binary-score", paper="Xia et al. 2011", needs=("gold",))
class BinaryScore(Rule):
    r"""Doubts assessors whose binary score on gold is too low.

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


@rule("surely-worse", paper="Wald 1945", needs=("gold",))
class SurelyWorse(Rule):
    r"""Doubts assessors whose answers to gold are surely worse than a good one's would be.

    A good assessor says "relevant" of nine in ten relevant documents and of one in ten others.
    Wald's sequential test against guessing, against "always relevant" and "always not relevant"
    (`quality.against_gold.good_p`): of good assessors at most the share `p` is ever doubted,
    however often the rule is asked. Campaigns act by it (`screen-out-surely`).

    >>> import qrowd as q
    >>> c = q.simulate(seed=1)
    >>> len(q.screen(c.judgements, [q.SurelyWorse()], q.Given(gold=c.gold)).left_out)
    8
    """

    p: float = param(SURELY, "share of good assessors who may be doubted", above=0, below=1)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        held = evidence.by_gold
        missed = held.relevant_n - held.relevant_right
        false_alarms = held.other_n - held.other_right
        value = good_p(missed, held.relevant_n, false_alarms, held.other_n)
        words = (
            "only {value:.2g} of good assessors would ever answer gold this badly ({n} pairs); "
            f"{self.p:g} or less is doubted"
        )
        return below(value, held.n, np.nextafter(self.p, 1), 1, words)


@rule("ndcg-score", paper="Xia et al. 2011", needs=("gold",))
class NdcgScore(Rule):
    r"""Doubts assessors whose order of the gold documents is too far from gold's.

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
        doubt = below(value, evidence.by_gold.n, self.at_least, self.gold, words)
        reachable = np.nan_to_num(best) >= self.at_least
        weight = np.where(reachable, doubt.weight, 1.0)
        return replace(doubt, doubted=doubt.doubted & reachable, weight=weight)


@rule("too-fast", paper="Xia et al. 2011", needs=("seconds",))
class TooFast(Rule):
    """Doubts assessors who took too little time to have read the documents.

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


@rule("random-spam", paper="Vuurens & De Vries 2012")
class RandomSpam(Rule):
    r"""Doubts assessors as far from the others as somebody who answers without looking.

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
        doubt = above(value, far.comparisons, self.at_least, self.comparisons, words)
        middle = np.nanmedian(far.ratio) if (far.comparisons > 0).any() else 0.0
        error = np.maximum(far.error, 0.5 / np.sqrt(np.maximum(evidence.single.per_assessor, 1)))
        doubted = doubt.doubted & (far.ratio - middle > self.sure * error)
        left = np.clip(1 - np.nan_to_num(far.ratio, nan=0.0), 0, 1)
        return replace(doubt, doubted=doubted, weight=np.where(doubted, left, 1.0))


@rule("uniform-spam", paper="Vuurens & De Vries 2012")
class UniformSpam(Rule):
    r"""Doubts assessors who disagree with the others and repeat the same answers.

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


@rule("suspected", paper="qrowd", uses=("gold",))
class Suspected(Rule):
    """Doubts assessors suspected to be of one of these types (names separated by blanks).

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
        suspicion = suspect(evidence)
        doubted = np.isin(suspicion.type.astype(str), self.types.split())
        weight = np.where(doubted, np.clip(suspicion.informedness, 0, 1), 1.0)
        n = evidence.single.per_assessor.astype(np.float64)

        def say(k: int) -> str:
            value, reference = suspicion.informedness[k], suspicion.reference[k]
            return f"seems {suspicion.type[k]}: informedness {value:.3f} against {reference}"

        return Doubt(suspicion.informedness, n, doubted, weight, say)


@rule("trust", paper="Piazzon 2019", uses=("gold",))
class Trust(Rule):
    r"""Doubts assessors who get little of the trust that assessors give each other.

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
            evidence = replace(evidence, beta=self.beta)
        n = evidence.single.per_assessor.astype(np.float64)
        return below(evidence.relative_trust, n, self.at_least, self.judgements, words)


@rule("learned", paper="after Piazzon 2019", needs=("known",), uses=("gold",))
class Learned(Rule):
    r"""Doubts assessors who look like those whom somebody has marked as bad.

    A logistic regression with a ridge on what the table of assessors says of everybody: agreement,
    share of relevant answers, repeats, longest run, entropy, trust, the two spam statistics,
    seconds where they are known, and how much they judged. It is trained on marked people
    (`Given(known=...)`: column `bad`, 1 or 0). Its precision is told with each doubt: the share of
    bad ones among the marked people whom it doubts, each by a classifier that has not seen them
    (five folds). Nobody who was marked as good is doubted.

    >>> import qrowd as q
    >>> q.Learned(at_least=0.9)
    learned(at_least=0.9)
    """

    at_least: float = param(
        0.5, "the probability from which on nobody is trusted", above=0, below=1
    )
    ridge: float = param(1.0, "how strongly coefficients are held to 0", above=0)

    def doubts(self, evidence: Evidence) -> Doubt:
        """Whom this rule doubts."""
        known = evidence.given.known
        assert known is not None
        if "bad" not in known.columns:
            raise InputError("people whom somebody has marked need a column bad: 1 or 0")
        at = evidence.judgements.assessors.find(known.assessors)
        marks = {"1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
        for who, mark in zip(known.assessors, known["bad"].tolist(), strict=True):
            if str(mark) not in marks:
                raise InputError(f"bad must be 1 or 0, got {mark!r} for {who}")
        bad = np.array([marks[str(mark)] for mark in known["bad"].tolist()])[at >= 0]
        at = at[at >= 0]
        if len(np.unique(bad)) < 2 or len(bad) < 10:
            raise InputError(
                f"of those who judged, {len(bad)} people are marked as bad (1) or not (0): it "
                "takes 10 at least, and both kinds"
            )
        features = _features(evidence)
        chance = expit(features @ _coefficients(features[at], bad, self.ridge))
        fold = np.empty(len(at), np.int64)  # of each kind, one after the other
        for kind in (0, 1):
            own = np.flatnonzero(bad == kind)
            fold[own] = np.arange(len(own)) % 5
        unseen = np.empty(len(at))
        for part in np.unique(fold):
            taught = fold != part
            weights = _coefficients(features[at[taught]], bad[taught], self.ridge)
            unseen[~taught] = expit(features[at[~taught]] @ weights)
        told = unseen >= self.at_least
        share = f"a share of {bad[told].mean():.2f}" if told.any() else "an unknown share"
        words = (
            f"bad with probability {{value:.2f}}; of {{n}} marked people the rule would doubt "
            f"{int(told.sum())} without having seen them, and {share} of these is bad"
        )
        doubt = above(chance, np.full(evidence.size, float(len(at))), self.at_least, 1, words)
        doubted = doubt.doubted.copy()
        doubted[at[bad == 0]] = False
        return replace(doubt, doubted=doubted, weight=np.where(doubted, 1 - chance, 1.0))


def _features(evidence: Evidence) -> Floats:
    """What is known of each assessor, in units of its spread over all; a constant first."""
    judged = np.maximum(evidence.single.per_assessor, 1)
    columns = [
        np.log(judged),
        evidence.agreement,
        evidence.says_relevant,
        evidence.longest_run / judged,
        evidence.repeats,
        entropies(evidence.answers),
        evidence.relative_trust,
        evidence.distances.ratio,
        evidence.pattern_disagreement,
    ]
    if evidence.timed:
        columns.append(np.log1p(evidence.seconds))
    table = np.stack([np.asarray(column, np.float64) for column in columns], axis=1)
    middle, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    scaled = np.nan_to_num((table - middle) / np.where(spread > 0, spread, 1.0))
    return np.column_stack([np.ones(len(scaled)), scaled])


def _coefficients(features: Floats, bad: Floats, ridge: float) -> Floats:
    """Logistic regression by Newton's steps; the constant is free."""
    weights = np.zeros(features.shape[1])
    penalty = np.diag([1e-6, *[ridge] * (features.shape[1] - 1)])
    for _ in range(50):
        p = expit(features @ weights)
        slope = features.T @ (bad - p) - penalty @ weights
        step = np.linalg.solve((features.T * (p * (1 - p))) @ features + penalty, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return weights
