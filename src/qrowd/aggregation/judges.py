"""Machine judges in one table, with how each of them ranks the systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qrowd import registry
from qrowd.aggregation.revision import recalibrate
from qrowd.comparison.correlation import tau_ap
from qrowd.data.arrays import Floats
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample
from qrowd.evaluation.engine import evaluate
from qrowd.evaluation.measure import Measure
from qrowd.quality.machine_judges import judge_table


def judges(
    judgements: Judgements,
    human: Sample | Qrels,
    runs: RunSet | None = None,
    *,
    measure: Measure | str = "nDCG@10",
    level: float = 0.9,
) -> AssessorTable:
    """Every machine judge against a few human labels.

    `pairs` judged, `rate` of relevant answers, `with_human` pairs that have a human label, `kappa`
    with an interval over topics, `sensitivity`, `specificity`, `bias` of the rate on labelled
    pairs, and the `group` of judges who err alike (0: alone). With `runs`, `tau_ap` of the systems
    under the judge with their order under recalibrated labels of all judges, human ones included.

    >>> import qrowd as q
    >>> made = q.simulate(topics=6, documents=40, assessors=4, votes=3, runs=5, seed=1)
    >>> few = q.sample(made.judgements, 80).labelled(made.truth)
    >>> list(q.judges(made.judgements, few, made.runs).columns)[:5]
    ['pairs', 'rate', 'with_human', 'kappa', 'kappa_low']
    """
    table = judge_table(judgements, human, level)
    if runs is None:
        return table
    qrels = human.qrels if isinstance(human, Sample) else human
    return replace(
        table, columns={**table.columns, "tau_ap": _orders(judgements, qrels, runs, measure)}
    )


def _orders(judgements: Judgements, human: Qrels, runs: RunSet, measure: Measure | str) -> Floats:
    merged = recalibrate(registry.get("mv").fit(judgements), human)
    reference = evaluate(runs, merged.soft(), measure).means()[0, 0]
    each = evaluate(runs, judgements.by_assessor(), measure).means()[0]
    return np.array([float(tau_ap(one, reference)) for one in np.nan_to_num(each)])
