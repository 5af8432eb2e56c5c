r"""One assessor's answers on gold documents: the checks of Xia et al. (2011), as pure functions.

A *gold set* is a handful of documents of one topic whose grades are known. An assessor says for
each whether it is relevant, and ranks them (1 is best). The page that shows them can call
`check_set` when the assessor submits. Thresholds are the paper's: 0.85, 0.62, 6 seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qrowd.data.arrays import Array, Floats, Offsets, over
from qrowd.errors import InputError, require_choice

BINARY_AT_LEAST, NDCG_AT_LEAST, SECONDS_AT_LEAST = 0.85, 0.62, 6.0
GOOD, SURELY = 0.9, 0.02  # how often a good assessor is right; how seldom one is called worse
# Bad assessors: how often each is right on relevant documents, and on others. None of them is
# better than a good one on either, so that nobody who is better than good looks like them.
BAD = np.array([(0.5, 0.5), (GOOD, 1 - GOOD), (1 - GOOD, GOOD)])
POINTS = np.array([[15, 10], [5, 12], [0, 9]])  # gold grade 0, 1, 2 x says 0, says 1
IDEALS = ("tied", "standard")

_Grades = Sequence[int] | Array


def binary_points(gold: _Grades) -> Array:
    """The row of POINTS of each gold grade: above 2 counts as 2, negative as 0."""
    return np.clip(np.asarray(gold, np.int64), 0, 2)


def binary_score(gold: _Grades, answers: _Grades, rel: int = 1) -> float:
    """Points of the answers over those of a faultless assessor; answers count from `rel` on.

    >>> binary_score([0, 1, 1, 2, 2], [1, 1, 1, 1, 1])
    0.9122807017543859
    """
    row = binary_points(gold)
    answer = (np.asarray(answers) >= rel).astype(np.int64)
    _same_length(row, answer)
    return float(POINTS[row, answer].sum() / POINTS[row, (row > 0).astype(np.int64)].sum())


def ndcg_score(gold: _Grades, ranks: _Grades, ideal: str = "tied") -> float:
    """DCG of the assessor's ranks over the ideal; gain 2^grade - 1, discount 1/log2(1 + rank).

    `ideal="tied"` is the paper's: equal gold grades share a dense rank (1, 1, 2, ...), so that a
    strict ranking of tied gold cannot reach 1. `"standard"` has the ideal of any textbook. NaN
    where gold has no positive grade.

    >>> ndcg_score([1, 2, 2, 0, 1], [1, 2, 3, 4, 5])
    0.6581843208681687
    """
    grades, places = np.maximum(np.asarray(gold), 0), np.asarray(ranks)
    _same_length(grades, places)
    best = ideal_dcg(grades, ideal)
    return dcg(grades, places) / best if best > 0 else math.nan


def dcg(gold: _Grades, ranks: _Grades) -> float:
    """The discounted gain of documents with these gold grades at these ranks."""
    return float((gains(gold) / np.log2(1.0 + np.asarray(ranks))).sum())


def gains(gold: _Grades) -> Floats:
    """2^grade - 1, nothing below 0."""
    return np.asarray(np.exp2(np.maximum(np.asarray(gold), 0)) - 1.0, dtype=np.float64)


def ideal_dcg(gold: _Grades, ideal: str = "tied") -> float:
    """The DCG that a score of 1 stands for."""
    require_choice("ideal", ideal, IDEALS)
    grades = np.maximum(np.asarray(gold), 0)
    if ideal == "standard":
        return dcg(np.sort(grades)[::-1], np.arange(1, len(grades) + 1))
    _, dense = np.unique(-grades, return_inverse=True)
    return dcg(grades, dense + 1)


def best_ndcg_score(gold: _Grades, ideal: str = "tied") -> float:
    """The highest NDCG score that any ranking of this gold set can reach.

    >>> round(best_ndcg_score([0, 1, 1, 2, 2]), 2)
    0.8
    """
    grades = np.sort(np.maximum(np.asarray(gold), 0))[::-1]
    return ndcg_score(grades, np.arange(1, len(grades) + 1), ideal)


def problems_of(answers: _Grades, ranks: _Grades, rel: int = 1) -> tuple[str, ...]:
    """Why relevance and ranks do not go together; nothing if they do.

    Ranks must be a permutation of 1..n, and every non-relevant document below every relevant one.
    """
    relevant, places = np.asarray(answers) >= rel, np.asarray(ranks)
    _same_length(relevant, places)
    if sorted(places.tolist()) != list(range(1, len(places) + 1)):
        return (f"ranks must be 1 to {len(places)}, each once",)
    if relevant.any() and (~relevant).any() and places[relevant].max() > places[~relevant].min():
        return ("a non-relevant document is ranked above a relevant one",)
    return ()


@dataclass(frozen=True)
class SetCheck:
    """What the checks say of one gold set; `problems` name what must be mended first."""

    binary: float
    ndcg: float
    best_ndcg: float
    seconds: float
    problems: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the assignment may be submitted."""
        return not self.problems and not self.failed


def check_set(
    gold: _Grades,
    answers: _Grades,
    ranks: _Grades,
    seconds: float = math.nan,
    *,
    rel: int = 1,
    binary_at_least: float = BINARY_AT_LEAST,
    ndcg_at_least: float = NDCG_AT_LEAST,
    seconds_at_least: float = SECONDS_AT_LEAST,
    ideal: str = "tied",
) -> SetCheck:
    """All of the paper's checks on one gold set; `seconds` is the time for the whole set."""
    binary, ndcg = binary_score(gold, answers, rel), ndcg_score(gold, ranks, ideal)
    each = seconds / len(np.asarray(gold))
    scores = (("binary", binary, binary_at_least), ("ndcg", ndcg, ndcg_at_least))
    failed = [name for name, value, least in scores if not value >= least]
    if each < seconds_at_least:
        failed.append("seconds")
    best = best_ndcg_score(gold, ideal)
    return SetCheck(binary, ndcg, best, each, problems_of(answers, ranks, rel), tuple(failed))


def unusable(gold: _Grades, ndcg_at_least: float = NDCG_AT_LEAST, ideal: str = "tied") -> str:
    """Why a gold set cannot be used for the NDCG check, or nothing."""
    best = best_ndcg_score(gold, ideal)
    if math.isnan(best):
        return "no positive grade: the NDCG score is 0/0"
    if best < ndcg_at_least:
        return f"nobody can pass: the best reachable NDCG score is {best:.3f}"
    return ""


def _same_length(gold: Array, answers: Array) -> None:
    if gold.shape != answers.shape or gold.ndim != 1 or not len(gold):
        raise InputError(
            f"gold and answers must be two lists of one length: {len(gold)}, {len(answers)}"
        )


# --- over many gold sets --------------------------------------------------------------------------


def good_p(
    missed: Array | int, relevant: Array | int, false_alarms: Array | int, other: Array | int
) -> Floats:
    r"""How seldom a good assessor's answers to gold documents *ever* look as bad as these do now.

    Wald's sequential test (1945) of "right in 90 of 100 cases" against the mean of three bad
    assessors $b$: one who guesses, one who says "relevant" and one who says "not relevant" of nine
    documents in ten, whatever they are about. Of `relevant` documents that many were `missed`, of
    the `other` ones so many were `false_alarms`; $r$ is a right answer's class, $w$ a wrong one's:

    $$ p = \Big/ \tfrac13 \sum_b \prod_r \frac{b_r}{0.9} \prod_w \frac{1 - b_w}{0.1} $$

    The likelihood ratio is 1 at the start and does not grow on average for whoever is right at
    least nine times in ten, on relevant documents and on others. So it ever reaches 1/p with a
    probability of at most p (Ville 1939), however often one looks: `p <= SURELY` may be asked after
    every batch.

    >>> good_p(missed=1, relevant=8, false_alarms=0, other=2).round(3).tolist()
    1.0
    >>> good_p(missed=0, relevant=8, false_alarms=2, other=2).round(3).tolist()
    0.037
    """
    return p_of_ratios(log_ratios(missed, relevant, false_alarms, other))


def log_ratios(
    missed: Array | int, relevant: Array | int, false_alarms: Array | int, other: Array | int
) -> Floats:
    """The logarithm of each bad assessor's likelihood over a good one's; more answers add to it."""
    wrong = np.stack(np.broadcast_arrays(missed, false_alarms), -1)
    right = np.stack(np.broadcast_arrays(relevant, other), -1) - wrong
    ratios = right @ np.log(BAD / GOOD).T + wrong @ np.log((1 - BAD) / (1 - GOOD)).T
    return np.asarray(ratios, np.float64)


def p_of_ratios(ratios: Floats) -> Floats:
    """`good_p` of what `log_ratios` come to; by logarithms, since hundreds of answers overflow."""
    against = np.logaddexp.reduce(ratios, axis=-1) - math.log(len(BAD))
    return np.asarray(np.exp(-np.maximum(against, 0.0)), np.float64)


# --- many assessors at once -----------------------------------------------------------------------


def binary_scores(assessor: Array, gold: Array, relevant: Array, assessors: int) -> Floats:
    """The binary score of each assessor over all rows (assessor, gold grade, said relevant)."""
    row = binary_points(gold)
    got = np.bincount(assessor, POINTS[row, relevant.astype(np.int64)], assessors)
    most = np.bincount(assessor, POINTS[row, (row > 0).astype(np.int64)], assessors)
    return over(got, most)


def ndcg_scores(
    assessor: Array, topic: Array, gold: Array, answer: Array, assessors: int, ideal: str = "tied"
) -> tuple[Floats, Floats]:
    """The NDCG score of each assessor, and the best reachable one: means over topics.

    The ranks are those of the assessor's own grades; documents with equal grades share the mean
    discount of their places (McSherry & Najork 2008), which is the expectation over all ways to
    break the ties. Topics with a single gold document, or none above 0, are left out.
    """
    require_choice("ideal", ideal, IDEALS)
    key = assessor.astype(np.int64) * (int(topic.max(initial=0)) + 1) + topic
    group = np.asarray(np.unique(key, return_inverse=True)[1], np.int64)
    groups = int(group.max(initial=-1)) + 1
    owner = np.zeros(groups, np.int64)
    owner[group] = assessor
    gain = gains(gold)
    got = _gained(group, answer, gain, _places)
    best = _gained(group, gold, gain, _places)
    full = _gained(group, gold, gain, _dense) if ideal == "tied" else best
    size = np.bincount(group, minlength=groups)
    used = (full > 0) & (size > 1)
    n = np.bincount(owner[used], minlength=assessors)
    score, reachable = (
        np.bincount(owner[used], part[used] / full[used], assessors) for part in (got, best)
    )
    return over(score, n), over(reachable, n)


def _gained(group: Offsets, by: Array, gain: Floats, discount: Any) -> Floats:
    """The DCG of each group when its rows are ordered by `by`, descending."""
    order = np.lexsort([-by.astype(np.int64), group])
    group, by, gain = group[order], by[order], gain[order]
    if not len(group):
        return np.zeros(0)
    return np.bincount(group, gain * discount(group, by)).astype(np.float64)


def _places(group: Offsets, by: Array) -> Floats:
    """The discount of each row's place in its group; equal rows share the mean of theirs."""
    place = np.arange(len(group)) - np.flatnonzero(_new(group))[np.cumsum(_new(group)) - 1]
    tie = np.cumsum(_new(group) | _new(by)) - 1
    return np.asarray(over(np.bincount(tie, 1 / np.log2(2.0 + place)), np.bincount(tie))[tie])


def _dense(group: Offsets, by: Array) -> Floats:
    """The discount of each row's dense rank in its group: equal rows have equal ranks."""
    step = np.cumsum(_new(group) | _new(by))
    rank = step - step[np.flatnonzero(_new(group))][np.cumsum(_new(group)) - 1]
    return np.asarray(1 / np.log2(2.0 + rank))


def _new(values: Array) -> Array:
    return np.concatenate([[True], values[1:] != values[:-1]])
