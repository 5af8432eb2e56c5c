"""Machine judges against a few human labels: rates, kappa with an interval, who errs alike.

Intervals are jackknives over topics, with Student's t: documents of a topic are alike, so that
pairs are not independent. Groups are by complete linkage on the correlation of errors (phi):
within a group every two judges' errors correlate by at least one half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Mask, over
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.sample import Sample
from qrowd.errors import InputError, ScaleError, UsageError
from qrowd.evaluation.linear import pair_weights
from qrowd.evaluation.measures.precision import P

ALIKE = 0.5  # correlation of errors within a group
_MOST = 3000
_FEWEST = 10  # shared pairs for a correlation of errors
_TOP = 10  # documents of a run that tell whether a judge favours it


def judge_table(
    judgements: Judgements,
    human: Sample | Qrels,
    level: float = 0.9,
    against: str | None = None,
    runs: RunSet | None = None,
    families: Mapping[str, str] | None = None,
) -> AssessorTable:
    """One row per judge: what they say, and how it compares with the human labels.

    Labels of a `Sample` count by 1 / probability. Everything is about relevant or not, at the
    lowest relevant grade of the judgements' scale. With `against`, how much larger each judge's
    kappa is than that one's: `more`, `more_low`, `more_high`. With `families`, whose each of the
    `runs` is (a pattern of judges' names), how much more often a judge calls relevant what its own
    family's runs have on top than what others have, of the same truth: `own`, `own_low`,
    `own_high`.
    """
    judgements.scale.require_order("a table of judges")
    single = judgements.one_each()
    if len(single.assessors) > _MOST:
        raise UsageError(f"{len(single.assessors)} judges are too many; the table takes {_MOST}")
    answer = single.scale.relevant[single.grade]
    row, truth, weight = _matched(single, human)
    counts = _counts(single, row, answer, truth, weight)
    total = counts.sum(axis=0)
    low, high = _jackknife(counts, kappa, level, counts.sum(axis=(2, 3)) > 0)
    high = np.minimum(high, 1.0)
    further = {}
    if against is not None:
        other = single.assessors.code(against, "judge")

        def more(counts: Floats) -> Floats:
            each = kappa(counts)
            return each - each[..., other, None]

        each = counts.sum(axis=(2, 3)) > 0
        ends = _jackknife(counts, more, level, each | each[:, other, None])
        further = dict(zip(("more", "more_low", "more_high"), (more(total), *ends), strict=True))
    if families is not None and runs is not None:
        sums = _by_family(single, row, answer[row], truth, weight, runs, families)
        ends = _jackknife(sums, _favour, level, sums[..., 1].sum(axis=(2, 3)) > 0)
        own = _favour(sums.sum(axis=0))
        further |= dict(zip(("own", "own_low", "own_high"), (own, *ends), strict=True))
    count = np.bincount(single.assessor, minlength=len(single.assessors))
    shared = np.bincount(single.assessor[row], minlength=len(single.assessors))
    rates = np.bincount(single.assessor, answer.astype(np.float64), minlength=len(count))
    (tn, fp), (fn, tp) = total[:, 0].T, total[:, 1].T
    wrong = answer[row] != truth
    return AssessorTable(
        single.assessors,
        {
            "pairs": count,
            "rate": over(rates, count),
            "with_human": shared,
            "kappa": kappa(total),
            "kappa_low": low,
            "kappa_high": high,
            "sensitivity": over(tp, tp + fn),
            "specificity": over(tn, tn + fp),
            "bias": over(fp - fn, total.sum(axis=(1, 2))),
            "group": _groups(single, row, wrong),
            **further,
        },
    )


def _matched(single: Judgements, human: Sample | Qrels) -> tuple[Codes, Mask, Floats]:
    """Which judgements are about labelled pairs, the truth of each, and its weight."""
    qrels = human.qrels if isinstance(human, Sample) else human
    if not set(qrels.scale.grades) <= set(single.scale.grades):
        raise ScaleError(
            f"human labels have grades {' '.join(map(str, qrels.scale.grades))} but the judges' "
            f"have {' '.join(map(str, single.scale.grades))}; make them binary: "
            "human.binary(at_least=...), on the command line --gold-rel"
        )
    at = qrels.pairs.locate(single.pairs)[single.pair]
    row = np.flatnonzero(at >= 0).astype(np.int32)
    if not len(row):
        raise InputError("no human label is about a pair that a judge judged; do names match?")
    truth = qrels.grade[at[row]] >= single.scale.relevant_from
    chance = human.probability if isinstance(human, Sample) else np.ones(len(qrels))
    return row, truth, 1 / chance[at[row]]


def _counts(single: Judgements, row: Codes, answer: Mask, truth: Mask, weight: Floats) -> Floats:
    """counts[topic, judge, truth, said] of the labelled pairs."""
    topics, judges = len(single.topics), len(single.assessors)
    topic = single.pairs.topic[single.pair[row]].astype(np.int64)
    cell = ((topic * judges + single.assessor[row]) * 2 + truth) * 2 + answer[row]
    held = np.bincount(cell, weight, minlength=topics * judges * 4)
    return np.asarray(held.reshape(topics, judges, 2, 2), np.float64)


def _by_family(
    single: Judgements,
    row: Codes,
    answer: Mask,
    truth: Mask,
    weight: Floats,
    runs: RunSet,
    families: Mapping[str, str],
) -> Floats:
    """sums[topic, judge, truth, whose, 2] over labelled pairs on top of runs: how many the judge
    calls relevant, and of how many. `whose`: of its own family's runs, of the others.
    """
    whose = [families.get(str(run), "") for run in runs.runs]
    if not any(whose):
        raise InputError(
            "no run is in a family; do the names in --families match those of the runs?"
        )
    judges = [str(name) for name in single.assessors]
    own = np.array(
        [[group != "" and fnmatchcase(judge, group) for group in whose] for judge in judges]
    )
    if not own.any():
        raise InputError(
            "no judge has a run in its family; a group of --families is the name of a judge, or a "
            "pattern such as gpt*"
        )
    on_top = pair_weights(runs, single.pairs, P(cutoff=_TOP))  # weights[run, pair]
    topics, judge, pair = len(single.topics), single.assessor[row], single.pair[row]
    cell = (single.pairs.topic[pair].astype(np.int64) * len(judges) + judge) * 2 + truth
    sums = np.empty((topics, len(judges), 2, 2, 2))
    for side, chosen in enumerate((own, ~own)):
        share = chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1)
        shown = np.asarray(share @ on_top)[judge, pair] * weight
        for at, values in enumerate((shown * answer, shown)):
            held = np.bincount(cell, values, minlength=topics * len(judges) * 2)
            sums[..., side, at] = held.reshape(topics, len(judges), 2)
    return sums


def _favour(sums: Floats) -> Floats:
    """How much more often one side is called relevant than the other, of the same truth: Mantel and
    Haenszel's mean of the differences for relevant ones and for others. Without it, a judge who
    errs at random would seem to favour bad runs, of whose documents fewer can be underrated.
    """
    said, of = sums[..., 0], sums[..., 1]
    gap = over(said[..., 0], of[..., 0]) - over(said[..., 1], of[..., 1])
    weight = np.nan_to_num(over(of[..., 0] * of[..., 1], of.sum(axis=-1)))
    return np.asarray(over((np.nan_to_num(gap) * weight).sum(axis=-1), weight.sum(axis=-1)))


def kappa(counts: Floats) -> Floats:
    """Cohen's kappa of tables[..., 2, 2]; not a number where only one answer occurs in both."""
    n = counts.sum(axis=(-2, -1))
    same = over(counts[..., 0, 0] + counts[..., 1, 1], n)
    truth, answer = (over(counts.sum(axis=axis), n[..., None]) for axis in (-1, -2))
    chance = (truth * answer).sum(axis=-1)
    return over(same - chance, 1 - chance)


def _jackknife(
    counts: Floats, statistic: Callable[[Floats], Floats], level: float, labelled: Mask
) -> tuple[Floats, Floats]:
    """The interval of what is computed from the sum of counts[topic, judge, 2, 2], over the topics
    that are `labelled`[topic, judge].
    """
    from scipy.special import stdtrit

    many = labelled.sum(axis=0)
    without = statistic(counts.sum(axis=0) - counts)
    value = statistic(counts.sum(axis=0))
    gap = np.where(labelled, without - value, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = gap.sum(axis=0) / many
        spread = np.where(labelled, (gap - centre) ** 2, 0.0).sum(axis=0) * (many - 1) / many
        half = stdtrit(np.where(many > 1, many - 1.0, np.nan), (1 + level) / 2) * np.sqrt(spread)
    return value - half, value + half


def _groups(single: Judgements, row: Codes, wrong: Mask) -> Array:
    """The number of the group that errs alike, the largest first; 0 for those who err alone."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    judges = len(single.assessors)
    if judges < 2:
        return np.zeros(judges, np.int64)
    apart = 1 - _error_correlation(single, row, wrong)
    np.fill_diagonal(apart, 0.0)
    label = fcluster(linkage(squareform(apart, checks=False), "complete"), 1 - ALIKE, "distance")
    sizes = np.bincount(label)
    order = np.argsort(-sizes, kind="stable")
    number = np.zeros(len(sizes), np.int64)
    number[order] = np.arange(1, len(sizes) + 1)
    return np.where(sizes[label] > 1, number[label], 0)


def _error_correlation(single: Judgements, row: Codes, wrong: Mask) -> Floats:
    """Phi of every two judges' errors on the labelled pairs that both judged; 0 if too few."""
    from scipy.sparse import csr_array

    shape = (len(single.assessors), len(single.pairs))
    where = single.assessor[row], single.pair[row]
    judged = csr_array((np.ones(len(row)), where), shape=shape)
    error = csr_array((wrong.astype(np.float64), where), shape=shape)
    both, mine = (judged @ judged.T).toarray(), (error @ judged.T).toarray()
    same, theirs = (error @ error.T).toarray(), mine.T
    below = np.sqrt(mine * (both - mine)) * np.sqrt(theirs * (both - theirs))
    phi = np.clip(over(both * same - mine * theirs, below), -1.0, 1.0)
    return np.where((both >= _FEWEST) & ~np.isnan(phi), phi, 0.0)
