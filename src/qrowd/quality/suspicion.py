r"""What kind of assessor somebody seems to be: the one place that decides it.

Answers are held against gold where a pair has it, else against what the *others'* answers to that
pair say: the probability $p$ of relevance by Dawid and Skene's model with a sensitivity and a
specificity for each (gold is clamped), the assessor's own answer taken out. No method's merged
probabilities are used: the assessor's own answers are part of these, and some are shrunken.

Who recognises relevant pairs with sensitivity $s$ and the others with specificity $t$ says relevant
with probability $s p + (1-t)(1-p)$. Both are fitted by least squares, so that a doubtful reference
makes them unsure but not small; where all is gold they are plain shares. They are smoothed by one
right and one wrong answer each. *Informedness* $J = s + t - 1$ is 0 for who answers without
looking, at random or always the same, 1 for the perfect, below 0 for who turns the answers around.
"Surely" means at 1.96 standard errors; what tells *against* somebody has to be sure among all
assessors with enough data, by Benjamini and Hochberg's correction at 10 %: of 1,000 honest ones,
tested one by one at 5 %, fifty would look suspicious.

First of these that holds:

| type | rule |
|---|---|
| cannot be told | fewer than `enough` (10) answers that can be compared |
| adversarial | J surely below 0 |
| biased | J surely above 0; s and t surely differ, by more than 0.3 |
| good | J surely above 0, and at least 0.6 |
| sloppy | J surely above 0 |
| uniform | 95 % repeat a pattern of up to six answers, 4 standard errors above chance |
| uniform | J surely below 0.6, and one answer makes up 95 % |
| random | J surely below 0.6 |
| cannot be told | otherwise: the interval of J holds 0 and what is good |

Where the scale has no relevant or no non-relevant grade, "relevant" is above the median answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.comparison.significance import corrected
from qrowd.data.arrays import Array, Floats, Mask, Names, over
from qrowd.data.judgements import Judgements
from qrowd.quality.evidence import Evidence

UNTOLD = "cannot be told"
TYPES = ("good", "sloppy", "random", "uniform", "biased", "adversarial", UNTOLD)
SUSPICIOUS = ("adversarial", "random", "uniform")  # worse than careless
SURE, GOOD, APART, SAME = 1.96, 0.6, 0.3, 0.95
ENOUGH, SURPRISING, LEVEL = 10, 4.0, 0.1
_STEPS, _SETTLED = 50, 1e-3  # of the fit of the others' skills
_PRIOR = 2.0  # answers' worth of the crowd's own mean that everybody's skills are drawn towards


@dataclass(frozen=True, eq=False)
class Suspicion:
    """A type for each assessor, the informedness it rests on, and the reference used."""

    type: Names
    informedness: Floats
    error: Floats
    reference: Names


def suspect(evidence: Evidence, enough: int = ENOUGH) -> Suspicion:
    """The suspected type of every assessor."""
    rows = evidence.single
    yes, truth = _sides(evidence)
    belief = np.where(np.isnan(truth), _by_others(rows, yes, truth), truth)
    held = ~np.isnan(belief)
    n, gold = (
        np.bincount(rows.assessor[kept], minlength=evidence.size)
        for kept in (held, ~np.isnan(truth))
    )
    value, error, apart, apart_error = _skills(
        rows.assessor[held], yes[held], belief[held], evidence.size
    )
    # whose answers repeat a pattern, far oftener than the same answers in a random order would
    answers, repeats = evidence.answers.sum(axis=1), np.nan_to_num(evidence.repeats)
    same = ((evidence.answers / np.maximum(answers[:, None], 1)) ** 2).sum(axis=1)
    beyond_chance = (repeats - same) * np.sqrt(np.maximum(answers - 6, 0))
    patterned = (repeats >= SAME) & (beyond_chance > SURPRISING * np.sqrt(same * (1 - same)))
    plenty = n >= enough
    surely_above = value - SURE * error > 0
    surely_worse = _sure((GOOD - value) / error, plenty)
    lopsided = (np.abs(apart) > APART) & _sure(np.abs(apart) / apart_error, plenty, sides=2)
    rules: list[tuple[Array, str]] = [
        (~plenty, UNTOLD),
        (_sure(-value / error, plenty), "adversarial"),
        (surely_above & lopsided, "biased"),
        (surely_above & (value >= GOOD), "good"),
        (surely_above, "sloppy"),
        (patterned, "uniform"),
        (surely_worse & (evidence.commonest >= SAME), "uniform"),
        (surely_worse, "random"),
    ]
    conditions, names = zip(*rules, strict=True)
    types = np.select(conditions, names, UNTOLD).astype(object)
    reference = np.select([gold == 0, gold == n], ["others", "gold"], "both").astype(object)
    return Suspicion(types, value, error, reference)


def _sides(evidence: Evidence) -> tuple[Floats, Floats]:
    """For each row whether relevant was said, and whether gold says so (NaN without gold)."""
    rows, (at, grade) = evidence.single, evidence.gold_rows
    truth = np.full(len(rows.pair), np.nan)
    if evidence.two_sided or not len(rows.grade):
        truth[at] = grade >= evidence.gold_rel
        return evidence.said_relevant.astype(np.float64), truth
    grades = np.array(rows.scale.grades)
    middle = np.median(grades[rows.grade])
    truth[at] = grade > middle
    return (grades[rows.grade] > middle).astype(np.float64), truth


def _by_others(rows: Judgements, yes: Floats, truth: Floats) -> Floats:
    """For each row P(relevant) of its pair by the others' answers; NaN where unknown."""
    from scipy.special import expit, logit

    pair, who = rows.pair, rows.assessor
    pairs, people = len(rows.pairs), len(rows.assessors)
    known = np.full(pairs, np.nan)
    known[pair] = truth
    votes = np.bincount(pair, minlength=pairs)
    if not len(pair):
        return np.zeros(0)
    belief = over(np.bincount(pair, yes, pairs), votes)
    skills, log_ratio, odds = np.zeros((2, people)), np.zeros(len(pair)), np.zeros(pairs)
    for _ in range(_STEPS):
        belief = np.where(np.isnan(known), belief, known)
        p, before = belief[pair], skills
        skills = np.stack(
            [
                _drawn(np.bincount(who, right, people), np.bincount(who, of, people))
                for right, of in ((p * yes, p), ((1 - p) * (1 - yes), 1 - p))
            ]
        )
        s, t = np.clip(skills, 0.01, 0.99)[:, who]
        log_ratio = np.where(yes == 1, np.log(s / (1 - t)), np.log((1 - s) / t))
        odds = np.bincount(pair, log_ratio, pairs) + logit(np.clip(p.mean(), 0.01, 0.99))
        belief = np.where(votes > 0, expit(odds), np.nan)
        if np.abs(skills - before).max(initial=0.0) < _SETTLED:
            break
    return np.where(_met_two(rows)[who] & (votes[pair] > 1), expit(odds[pair] - log_ratio), np.nan)


def _met_two(rows: Judgements) -> Mask:
    """Who shares pairs with at least two others: of two alone nobody can tell which one errs."""
    shared = np.diff(rows.pair_starts)[rows.pair] > 1
    pair, who = rows.pair[shared], rows.assessor[shared]
    first, last = rows.pair_starts[pair], rows.pair_starts[pair + 1] - 1
    people, assessor = len(rows.assessors), rows.assessor  # in order within each pair
    lowest, highest = np.full(people, people), np.full(people, -1)
    others = np.where(assessor[first] == who, assessor[first + 1], assessor[first])
    np.minimum.at(lowest, who, others)
    others = np.where(assessor[last] == who, assessor[last - 1], assessor[last])
    np.maximum.at(highest, who, others)
    return np.asarray(lowest < highest)


def _drawn(right: Array, of: Array) -> Floats:
    """Shares, drawn towards the crowd's."""
    mean = right.sum() / max(float(of.sum()), 1e-9)
    return np.asarray((right + _PRIOR * mean) / (of + _PRIOR))


def _skills(
    who: Array, yes: Floats, belief: Floats, people: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """J and s - t of each assessor, each followed by its standard error.

    Least squares of what was said on p and 1 - p, whose slopes are s and 1 - t; one right and one
    wrong answer are added to each. Errors are those of answers that are yes or no.
    """
    couples = ((belief, belief), (belief, 1 - belief), (1 - belief, 1 - belief))

    def sums(weights: Floats) -> list[Array]:
        return [np.bincount(who, weights * a * b, people) for a, b in couples]

    # the two by two systems of all assessors: [[pp, pq], [pq, qq]] (s, 1 - t) = (py, qy)
    pp, pq, qq = sums(np.ones(len(who)))
    pp, qq = pp + 2, qq + 2
    py, qy = (np.bincount(who, side * yes, people) + 1 for side in (belief, 1 - belief))
    size = pp * qq - pq**2
    s, false = (qq * py - pq * qy) / size, (pp * qy - pq * py) / size
    chance = np.clip(s[who] * belief + false[who] * (1 - belief), 0.0, 1.0)
    vpp, vpq, vqq = sums(chance * (1 - chance))
    vpp, vqq = (v + 2 * np.clip(x * (1 - x), 0, None) for v, x in ((vpp, s), (vqq, false)))

    def error(a: int, b: int) -> Floats:
        """Of a times s + b times 1 - t: the sandwich, with (a, b) through the inverse."""
        left, right = (a * qq - b * pq) / size, (b * pp - a * pq) / size
        return np.asarray(np.sqrt(left**2 * vpp + 2 * left * right * vpq + right**2 * vqq))

    return s - false, error(1, -1), s - (1 - false), error(1, 1)


def _sure(deviation: Floats, plenty: Mask, sides: int = 1) -> Mask:
    """Whose deviation, in standard errors, is surely above 0 among all who have enough data."""
    from scipy.special import ndtr

    p = np.where(plenty, sides * ndtr(-deviation), np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray((corrected(p, "fdr") < LEVEL) & (deviation > 0))
