r"""What kind of assessor somebody seems to be, by rules that anybody can check.

An assessor is held against the best reference there is: gold (with at least `enough` gold pairs),
else what a merging method believes, else the votes of the others. With sensitivity and
specificity against it, *informedness* J = sensitivity + specificity - 1 is 0 for who answers
without looking, at random or always the same, 1 for the perfect, below 0 for who turns the answers
around. (Where the scale has no relevant or no non-relevant grade, J is Cohen's kappa.) Shares are
smoothed by one right and one wrong answer; "surely" means at 1.96 standard errors. What tells
against somebody (J below 0 or below what is good, sensitivity and specificity apart) has to be sure
among all assessors with enough data, by Holm's correction: of 1,000 honest ones, tested one by one
at 5 %, fifty would look suspicious.

First of these that holds:

| type | rule |
|---|---|
| too little data | fewer than `enough` (10) judgements that can be compared |
| adversarial | J surely below 0 |
| good, biased, sloppy | J surely above 0, then: |
| - biased | sensitivity and specificity surely differ, by more than 0.3; see below |
| - good | J at least 0.6 (against the others' votes: half the crowd's median) |
| - sloppy | otherwise |
| uniform, random | J not surely above 0, then: |
| - uniform | 95 % repeat a pattern of up to six answers, 4 standard errors above chance |
| - uniform | J surely below 0.6 (the crowd's median), one answer makes up 95 % |
| - random | J surely below 0.6 (the crowd's median) |
| too little data | otherwise: the interval of J holds 0 and what is good |

Shares of votes pull sensitivity and specificity towards the middle, unequally where few pairs are
relevant. Against the others' votes *biased* therefore means: says relevant surely more, or less,
often than the others do on the same pairs, by 0.15.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qrowd.comparison.significance import holm
from qrowd.data.arrays import Array, Floats, Names
from qrowd.quality.evidence import Evidence, Reference

TYPES = ("good", "sloppy", "random", "uniform", "biased", "adversarial", "too little data")
SUSPICIOUS = ("adversarial", "random", "uniform")  # worse than careless
SURE, GOOD, APART, LEAN, SAME = 1.96, 0.6, 0.3, 0.15, 0.95
ENOUGH, SURPRISING, LEVEL = 10, 4.0, 0.05


@dataclass(frozen=True, eq=False)
class Suspicion:
    """A type for each assessor, the informedness it rests on, and the reference used."""

    type: Names
    informedness: Floats
    error: Floats
    reference: Names


def suspect(evidence: Evidence, enough: int = ENOUGH) -> Suspicion:
    """The suspected type of every assessor."""
    without_gold = _against(evidence, evidence.by_merged or evidence.by_others, enough)
    if evidence.given.gold is None:
        return without_gold
    by_gold = _against(evidence, evidence.by_gold, enough)
    plenty = evidence.by_gold.n >= enough
    names = ("type", "informedness", "error", "reference")
    return Suspicion(
        *(np.where(plenty, getattr(by_gold, n), getattr(without_gold, n)) for n in names)
    )


def _against(evidence: Evidence, reference: Reference, enough: int) -> Suspicion:
    value, error = informedness(reference, evidence.two_sided)
    plenty = reference.n >= enough
    bar, usual = GOOD, GOOD
    if reference.name == "others":
        seen = value[plenty & (value - SURE * error > 0)]
        usual = float(np.median(seen)) if len(seen) else GOOD
        bar = usual / 2
    # whose answers repeat a pattern, far oftener than the same answers in a random order would
    n, repeats = evidence.answers.sum(axis=1), np.nan_to_num(evidence.repeats)
    same = ((evidence.answers / np.maximum(n[:, None], 1)) ** 2).sum(axis=1)
    beyond_chance = (repeats - same) * np.sqrt(np.maximum(n - 6, 0))
    patterned = (repeats >= SAME) & (beyond_chance > SURPRISING * np.sqrt(same * (1 - same)))
    surely_above = value - SURE * error > 0
    surely_below, surely_worse = (_sure((end - value) / error, plenty) for end in (0.0, usual))
    rules: list[tuple[Array, str]] = [
        (~plenty, "too little data"),
        (surely_below, "adversarial"),
        (surely_above & _apart(reference, evidence.two_sided, plenty), "biased"),
        (surely_above & (value >= bar), "good"),
        (surely_above, "sloppy"),
        (patterned, "uniform"),
        (surely_worse & (evidence.commonest >= SAME), "uniform"),
        (surely_worse, "random"),
    ]
    conditions, names = zip(*rules, strict=True)
    types = np.select(conditions, names, "too little data").astype(object)
    return Suspicion(types, value, error, np.full(len(types), reference.name, object))


def _sure(deviation: Floats, plenty: Array) -> Array:
    """Whose deviation, in standard errors, is surely above 0 among all who have enough data."""
    from scipy.special import ndtr

    p = np.where(plenty, 2 * ndtr(-np.abs(deviation)), np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray((holm(p) < LEVEL) & (deviation > 0))


def informedness(reference: Reference, two_sided: bool = True) -> tuple[Floats, Floats]:
    """J of each assessor and its standard error, smoothed by one right and one wrong answer."""
    if not two_sided:
        share, error = _smoothed(reference.right, reference.n)
        room = np.maximum(1 - np.nan_to_num(reference.chance), 1e-9)
        return (share - np.nan_to_num(reference.chance)) / room, error / room
    sensitivity, first = _smoothed(reference.relevant_right, reference.relevant_n)
    specificity, second = _smoothed(reference.other_right, reference.other_n)
    return sensitivity + specificity - 1, np.hypot(first, second)


def _smoothed(right: Floats, n: Floats) -> tuple[Floats, Floats]:
    share = (right + 1) / (n + 2)
    return share, np.sqrt(share * (1 - share) / (n + 2))


def _apart(reference: Reference, two_sided: bool, plenty: Array) -> Array:
    if not two_sided:
        return np.zeros(len(reference.n), np.bool_)
    if reference.name == "others":  # their shares pull both towards the middle, unequally
        says_relevant = reference.relevant_right + reference.other_n - reference.other_right
        rate, error = _smoothed(says_relevant, reference.n)
        lean = np.abs(rate - (reference.relevant_n + 1) / (reference.n + 2))
        return np.asarray((lean > LEAN) & _sure(lean / error, plenty))
    sensitivity, first = _smoothed(reference.relevant_right, reference.relevant_n)
    specificity, second = _smoothed(reference.other_right, reference.other_n)
    apart = np.abs(sensitivity - specificity)
    return np.asarray((apart > APART) & _sure(apart / np.hypot(first, second), plenty))
