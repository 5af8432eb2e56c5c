r"""Do two people give one person's answers? Found without truth, gold or a model of documents.

Two who judge by themselves agree as far as their skills let them. Cohen's $\kappa_{ij}$ of two
people whose errors are independent is about $q_i q_j$, where $q_i$ is how well $i$ follows what is
there to be seen (the agreement of one-coin workers has rank one: Dalvi et al. 2013). The $q$ are
fitted by least squares, each couple weighted by the pairs that it shares; a couple is held against
the product of the two $q$ that all *other* couples give. Two good people agree well,
but with everybody else, too: only who agrees far better with one person than with the rest copies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qrowd.data.arrays import Codes, Floats

SHARED = 20  # pairs before a couple is looked at
BUSIEST = 100  # people who are compared, couple by couple
FARTHER = 0.15  # of kappa beyond what is expected: less is nobody's business
ALIKE = 0.85  # of the shared pairs
CANDIDATES = 10
_ROUNDS = 30


@dataclass(frozen=True)
class Copy:
    """Two people, by their codes, who agree on `same` of `shared` pairs; `expected` would be."""

    one: int
    other: int
    shared: int
    same: int
    expected: float
    p: float  # corrected for all couples that were looked at


def copies(pair: Codes, who: Codes, answer: Codes, level: float) -> list[Copy]:
    """The couples that surely copy, the surest first; rows are answers, one of each to a pair."""
    from scipy.special import ndtr

    people = np.unique(who)
    if len(people) < 4:  # of three, each couple is held against one other only
        return []
    counts = np.bincount(who)
    busy = np.sort(np.argsort(-counts, kind="stable")[:BUSIEST])
    busy = busy[counts[busy] >= SHARED]
    rows = np.isin(who, busy)
    at, column = np.searchsorted(busy, who[rows]), np.unique(pair[rows], return_inverse=True)[1]
    said = np.zeros((int(answer.max(initial=0)) + 1, len(busy), column.max(initial=-1) + 1))
    said[answer[rows], at, column] = 1
    judged = said.any(axis=0).astype(float)
    shared, same = judged @ judged.T, (said @ said.transpose(0, 2, 1)).sum(axis=0)
    shares = said.sum(axis=2) / np.maximum(judged.sum(axis=1), 1)
    chance = np.minimum(shares.T @ shares, 0.99)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(shared > 0, (same / shared - chance) / (1 - chance), 0.0)
    weight = np.where(np.eye(len(busy), dtype=bool), 0.0, shared)
    tested = np.triu(shared >= SHARED, 1)
    # who agrees most beyond what all couples together say: these are looked at one by one
    beyond = np.where(tested, _deviations(kappa, chance, shared, _skills(kappa, weight)), -np.inf)
    found = []
    for couple in np.argsort(-beyond, axis=None)[:CANDIDATES]:
        i, j = divmod(int(couple), len(busy))
        if not tested[i, j]:
            break
        others = weight.copy()
        others[i, j] = others[j, i] = 0.0  # or the couple would speak for itself
        skill = _skills(kappa, others)
        expected, by_chance = float(skill[i] * skill[j]), float(chance[i, j])
        evidence = others @ skill**2
        alike = same[i, j] >= ALIKE * shared[i, j] and kappa[i, j] - expected >= FARTHER
        if not alike or not evidence[[i, j]].all():
            continue
        agree = expected * (1 - by_chance) + by_chance
        spread = agree * (1 - agree) / (1 - by_chance) ** 2
        doubt = skill[j] ** 2 / evidence[i] + skill[i] ** 2 / evidence[j]
        z = (kappa[i, j] - expected) / math.sqrt(spread * (1 / shared[i, j] + doubt))
        # strict and lenient people agree among themselves: that is wider than chance, no copying
        rest = _deviations(kappa, chance, shared, skill)[tested & (others > 0)]
        width = max(1.0, 1.4826 * float(np.median(np.abs(rest)))) if len(rest) else 1.0
        p = min(1.0, float(ndtr(-z / width)) * int(tested.sum()))
        if p < level:
            one, other = int(busy[i]), int(busy[j])
            found.append(Copy(one, other, int(shared[i, j]), int(same[i, j]), agree, p))
    return sorted(found, key=lambda copy: copy.p)


def _deviations(kappa: Floats, chance: Floats, shared: Floats, skill: Floats) -> Floats:
    """How far each couple's kappa lies above the product of the skills, in standard errors."""
    expected = np.outer(skill, skill)
    agree = expected * (1 - chance) + chance
    error = np.sqrt(np.maximum(agree * (1 - agree), 1e-4) / np.maximum(shared, 1)) / (1 - chance)
    return np.asarray((kappa - expected) / error)


def _skills(kappa: Floats, weight: Floats) -> Floats:
    """The q with q_i q_j near kappa_ij: weighted least squares, one person at a time."""
    skill = np.full(len(kappa), 0.7)
    for _ in range(_ROUNDS):
        top, below = (weight * kappa) @ skill, weight @ skill**2
        skill = np.clip(np.where(below > 0, top / np.maximum(below, 1e-9), 0.0), 0.05, 1.0)
    return skill
