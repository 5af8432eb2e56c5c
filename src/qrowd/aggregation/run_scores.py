"""Scores of runs under any kind of relevance: certain, of each assessor, believed, or drawn.

And `judges`: machine judges in one table, with how each of them ranks the systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from qrowd import registry
from qrowd.aggregation.revision import inform, recalibrate
from qrowd.comparison.correlation import tau_ap
from qrowd.comparison.significance import recentred, topic_weights, weighted_means
from qrowd.data.arrays import Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.qrels import Qrels, QrelsSet, SoftQrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample
from qrowd.data.scores import Scores
from qrowd.errors import UsageError
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import Measure
from qrowd.quality.machine_judges import judge_table

_DRAWS = 1000  # of topics, for an interval


@dataclass(frozen=True, kw_only=True)
class Belief:
    """What happens to merged probabilities before runs are scored under them.

    They are corrected by `sample` (as `recalibrate` does), then told how the runs rank the
    documents if `informed` (as `inform` does). Then `draws` qrels are drawn from them; 0: expected
    measures.
    """

    sample: Qrels | None = None
    informed: bool = False
    draws: int = 0
    seed: int = 0

    def relevance(self, merged: Merged, runs: RunSet) -> SoftQrels | QrelsSet:
        """Merged probabilities as something that runs can be scored under."""
        if self.sample is not None:
            merged = recalibrate(merged, self.sample, self.seed, self.draws)
        if self.informed:
            merged = inform(merged, runs, self.seed)
        return merged.draws(self.draws, self.seed) if self.draws else merged.soft()


PLAIN = Belief()


def score_runs(
    runs: RunSet,
    source: Qrels | QrelsSet | Judgements | Merged,
    measures: Iterable[str | Measure],
    *,
    belief: Belief = PLAIN,
    topics: str = "qrels",
    unjudged: float = 0.0,
    keep: str = "topics",
) -> Scores:
    """Score runs under qrels, under each assessor of judgements, or under what was merged.

    The other arguments are those of `evaluate`.
    """
    relevance: Qrels | SoftQrels | QrelsSet
    if isinstance(source, Merged):
        relevance = belief.relevance(source, runs)
    elif isinstance(source, Judgements):
        relevance = source.by_assessor()
    else:
        relevance = source
    return evaluate(runs, relevance, measures, topics=topics, unjudged=unjudged, keep=keep)


def merge_by(spec: str, judgements: Judgements, given: Given = NOTHING) -> Merged:
    """The judgements merged by the method that a spec string names."""
    method = registry.get(spec)
    if method.card.level != "judgements":
        raise UsageError(f"{spec} merges scores, not judgements; see qrowd methods")
    merged: Merged = method.fit(judgements, given)
    return merged


def judges(
    judgements: Judgements,
    human: Sample | Qrels | None = None,
    runs: RunSet | None = None,
    *,
    measure: Measure | str = "nDCG@10",
    level: float = 0.9,
    against: str | None = None,
    families: Mapping[str, str] | None = None,
) -> AssessorTable:
    """Every machine judge against a few human labels.

    Where kinds of assessors are known, the machines among them are compared, and without `human`
    labels the experts' judgements, merged by majority, are these. Else everybody is a judge.

    `pairs` judged, `rate` of relevant answers, `with_human` pairs that have a human label, `kappa`
    with an interval over topics, `sensitivity`, `specificity`, `bias` of the rate on labelled
    pairs, and the `group` of judges who err alike (0: alone). With `against`, one of the judges,
    how much `more` each one's kappa is than that one's, with an interval over topics. With `runs`,
    `tau_ap` of the systems under the judge with their order under recalibrated labels of all
    judges, human ones included, and with `against` how much more that is, too (`more_tau_ap`).
    With `families` of runs (of `read_groups`; a group is a pattern of judges' names), how much more
    often a judge calls relevant what its `own` runs have on top than what others have, of the same
    human label.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=40, assessors=4, votes=3, runs=5, seed=1)
    >>> few = q.sample(made.judgements, 80).labelled(made.truth)
    >>> list(q.judges(made.judgements, few, made.runs).columns)[:5]
    ['pairs', 'rate', 'with_human', 'kappa', 'kappa_low']
    """
    if human is None:
        human = (
            registry.get("mv")
            .fit(_only(judgements, "expert", "name human labels: --human"))
            .qrels()
        )
    if judgements.kinds is not None:
        judgements = _only(judgements, "machine", "name them: --machines")
    if families is not None and runs is None:
        raise UsageError("families are of runs, which were not given")
    table = judge_table(judgements, human, level, against, runs, families)
    if runs is None:
        return table
    qrels = human.qrels if isinstance(human, Sample) else human
    merged = recalibrate(registry.get("mv").fit(judgements), qrels)
    reference = evaluate(runs, merged.soft(), measure)
    each = evaluate(runs, judgements.by_assessor(), measure)
    tau = tau_ap(np.nan_to_num(each.means()[0]), reference.means()[0, 0])
    columns = {**table.columns, "tau_ap": tau}
    if against is not None:
        other = table.assessors.code(against, "judge")
        ends = _nearer(each.values[0], reference.values[0, 0], tau, other, level)
        columns |= {"more_tau_ap": tau - tau[other]}
        columns |= dict(zip(("more_tau_ap_low", "more_tau_ap_high"), ends, strict=True))
    return replace(table, columns=columns)


def _nearer(
    each: Floats, reference: Floats, tau: Floats, other: int, level: float
) -> tuple[Floats, Floats]:
    """The interval of how much nearer to the reference[topic, run] than the `other` judge's the
    order of systems under each[judge, topic, run] is: all see the same draws of topics.
    """
    if len(reference) < 2:
        return tau * np.nan, tau * np.nan
    weights = topic_weights(len(reference), _DRAWS, seed=0)
    truth = weighted_means(weights, reference)
    drawn = np.stack([tau_ap(weighted_means(weights, scores), truth) for scores in each])
    most = np.full(len(tau), 2.0)
    return recentred(drawn - drawn[other], tau - tau[other], level, -most, most)


def _only(judgements: Judgements, kind: str, otherwise: str) -> Judgements:
    """The judgements of one kind of assessors, over the pairs that they judged."""
    chosen = judgements.of_kind(kind)
    if not len(chosen):
        raise UsageError(f"no judgement is by an assessor of the kind {kind}; {otherwise}")
    return chosen.of_pairs(np.diff(chosen.pair_starts) > 0)
