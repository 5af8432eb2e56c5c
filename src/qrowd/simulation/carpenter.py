"""A crowd like that of TREC 2011's second crowdsourcing task, by the model of Carpenter 2011.

Assessors' sensitivities and specificities and topics' prevalences come from Beta distributions with
the means and sizes that the model's posterior has on the real crowd; few assessors do most of the
work, and two of the busiest always give the same answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Mask, Offsets
from qrowd.simulation.crowd import assigned
from qrowd.simulation.setting import Setting

PAIRS, JUDGEMENTS, GOLD = 19_033, 89_624, 2_275
TOPICS, DOCUMENTS, ASSESSORS = 100, 191, 762
SPECIFICITY, SENSITIVITY = (0.63, 1.2), (0.81, 3.6)  # means and sizes of the populations
PREVALENCE_SIZE = 3.8
SPAM = (0.083, 0.055)  # shares of the work of who always says 1, of who always says 0
# of every 100 pairs, so many have 1, 2, ... 10 judgements
_DEGREES = np.array([3.2, 3.3, 5.6, 20.2, 61.0, 1.1, 0.3, 0.7, 1.8, 2.8])


class Drawn(NamedTuple):
    """What `carpenter` draws: of each pair, of each judgement, of each assessor."""

    topic: Codes
    position: Codes  # among the topic's documents
    grade: Grades
    gold: Mask
    pair: Offsets
    assessor: Codes
    answer: Grades
    confusion: Floats  # [assessors, true, said]
    kind: tuple[str, ...]


def carpenter(setting: Setting, random: np.random.Generator) -> Drawn:
    """As many pairs as the setting's topics x documents, but for 67 in 19,100."""
    whole = setting.topics * setting.documents
    n = max(whole - round(whole * (TOPICS * DOCUMENTS - PAIRS) / (TOPICS * DOCUMENTS)), 1)
    sizes = random.multinomial(n, random.dirichlet(np.full(setting.topics, 20.0)))
    topic = np.repeat(np.arange(setting.topics), sizes).astype(np.int32)
    position = (np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)).astype(np.int32)
    prevalence = _members((setting.prevalence, PREVALENCE_SIZE), setting.topics, random)
    grade = (random.random(n) < prevalence[topic]).astype(np.int8)
    confusion, kind = _assessors(setting.assessors, random)
    pair, assessor = _rows(setting, n, random)
    p = confusion[assessor, grade[pair], 1]
    answer = (random.random(len(pair)) < p).astype(np.int8)
    gold = np.zeros(n, np.bool_)
    gold[random.choice(n, round(setting.gold * n), replace=False)] = True
    return Drawn(topic, position, grade, gold, pair, assessor, answer, confusion, kind)


def _members(population: tuple[float, float], n: int, random: np.random.Generator) -> Floats:
    mean, size = population
    return np.asarray(random.beta(size * mean, size * (1 - mean), n))


def _assessors(n: int, random: np.random.Generator) -> tuple[Floats, tuple[str, ...]]:
    """The first always says 1, the second always 0."""
    right = np.stack([_members(SPECIFICITY, n, random), _members(SENSITIVITY, n, random)], axis=1)
    right[:2] = [[0.0, 1.0], [1.0, 0.0]][: len(right)]
    confusion = np.empty((n, 2, 2))
    confusion[:, 0] = np.stack([right[:, 0], 1 - right[:, 0]], axis=1)
    confusion[:, 1] = np.stack([1 - right[:, 1], right[:, 1]], axis=1)
    return confusion, ("yes", "no", *["worker"] * n)[:n]


def _rows(setting: Setting, n: int, random: np.random.Generator) -> tuple[Offsets, Codes]:
    """(pair, assessor) of each judgement; every pair and, if they suffice, everybody has one."""
    load = np.exp(setting.skew * random.standard_normal(setting.assessors))
    load /= load[2:].sum() / (1 - sum(SPAM)) if len(load) > 2 else 1.0
    load[:2] = SPAM[: len(load)]
    counts = _degrees(n, round(setting.votes * n), setting.assessors, random)
    pair, assessor = assigned(counts, load, random)
    idle = np.setdiff1d(np.arange(setting.assessors), assessor)
    busy = np.flatnonzero(np.bincount(assessor, minlength=setting.assessors)[assessor] > 10)
    handed = random.permutation(busy)[: len(idle)]
    assessor[handed] = idle[: len(handed)]
    return pair, assessor


def _degrees(n: int, total: int, most: int, random: np.random.Generator) -> Offsets:
    """Judgements per pair, spread as in the real crowd, `total` in all."""
    degree = 1 + random.choice(len(_DEGREES), n, p=_DEGREES / _DEGREES.sum())
    degree = np.minimum(degree, most).astype(np.int64)
    total = min(max(total, n), n * most)
    while degree.sum() != total:
        short = total - int(degree.sum())
        step = 1 if short > 0 else -1
        room = np.flatnonzero(degree < most if short > 0 else degree > 1)
        degree[random.permutation(room)[: abs(short)]] += step
    return degree
