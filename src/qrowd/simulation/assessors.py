"""Who judges: how often each assessor gives which grade for which true grade."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Codes, Floats
from qrowd.simulation.setting import KINDS, SPAM, Setting

# mean sensitivity and specificity of those who look at the document
_SKILL = {"good": (0.88, 0.92), "sloppy": (0.70, 0.74), "adversarial": (0.15, 0.15)}
_LENIENT, _STRICT = (0.95, 0.55), (0.50, 0.96)
_FIRMNESS = 40.0  # of the Beta distributions around these means
_NEARER = 0.35  # a wrong grade one step further away is this much rarer
_LEAN = 3.0  # a biased assessor's wrong grades lie this much oftener on the preferred side
_SECONDS = {"good": 20.0, "sloppy": 9.0, "biased": 16.0, "adversarial": 15.0}
_SPAM_SECONDS = 2.5


def kinds_of(setting: Setting) -> Codes:
    """The kind of each assessor, as a code of KINDS; shares by largest remainder, no chance."""
    weights = np.array(setting.weights)
    ideal = weights / weights.sum() * setting.assessors
    counts = np.floor(ideal).astype(np.int64)
    left = setting.assessors - int(counts.sum())
    counts[np.argsort(counts - ideal, kind="stable")[:left]] += 1
    return np.repeat(np.arange(len(KINDS), dtype=np.int32), counts)


def attentive(kind: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Who looks at the document at all, and so is misled by a difficult one."""
    return np.array([name not in SPAM for name in KINDS])[kind]


def confusions(kind: Codes, grades: int, random: np.random.Generator) -> Floats:
    """P(says h | true grade g) of each assessor: [assessors, g, h]."""
    lean = _leans(kind)
    right = _chances_to_be_right(kind, lean, grades, random)
    result = right[:, :, None] * np.eye(grades) + (1 - right)[:, :, None] * _wrong(
        kind, lean, grades
    )
    coins = random.dirichlet(np.full(grades, 2.0), len(kind))
    for name, row in (("random", coins), ("yes", np.eye(grades)[-1]), ("no", np.eye(grades)[0])):
        chosen = kind == KINDS.index(name)
        result[chosen] = np.broadcast_to(row, (len(kind), grades))[chosen][:, None, :]
    return result


def _leans(kind: Codes) -> Floats:
    """1 for lenient, -1 for strict assessors, taking turns; 0 for the unbiased."""
    biased = kind == KINDS.index("biased")
    return np.where(biased, np.where(np.cumsum(biased) % 2 == 1, 1.0, -1.0), 0.0)


def _chances_to_be_right(
    kind: Codes, lean: Floats, grades: int, random: np.random.Generator
) -> Floats:
    """P(right | true grade): the specificity for grade 0, the sensitivity for the others."""
    means = np.full((len(kind), 2), 0.5)
    for name, skill in _SKILL.items():
        means[kind == KINDS.index(name)] = skill
    means[lean > 0], means[lean < 0] = _LENIENT, _STRICT
    drawn = random.beta(_FIRMNESS * means, _FIRMNESS * (1 - means))
    return drawn[:, np.where(np.arange(grades) == 0, 1, 0)]


def _wrong(kind: Codes, lean: Floats, grades: int) -> Floats:
    """The distribution of the wrong grades: near ones first, on the side that one leans to."""
    step = np.arange(grades)[None, :] - np.arange(grades)[:, None]
    nearness = np.where((kind == KINDS.index("adversarial"))[:, None, None], 1 / _NEARER, _NEARER)
    weight = nearness ** np.abs(step) * _LEAN ** (lean[:, None, None] * np.sign(step))
    weight = weight * (step != 0)
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))


def workloads(kind: Codes, skew: float, random: np.random.Generator) -> Floats:
    """The share of all work that each assessor would take: log-normal, `skew` = its sigma."""
    load = np.exp(skew * random.standard_normal(len(kind)))
    return np.asarray(load / load.sum())


def paces(kind: Codes, random: np.random.Generator) -> Floats:
    """The typical seconds per judgement of each assessor."""
    typical = np.array([_SECONDS.get(name, _SPAM_SECONDS) for name in KINDS])[kind]
    return np.asarray(typical * np.exp(0.25 * random.standard_normal(len(kind))))


def patterns(n: int, grades: int, random: np.random.Generator) -> tuple[Codes, Codes]:
    """A sequence of two to six grades for each of n assessors: [n, 6] and their lengths."""
    length = random.integers(2, 7, n).astype(np.int32)
    sequence = random.integers(0, grades, (n, 6)).astype(np.int32)
    sequence[:, 1] = (sequence[:, 0] + 1) % grades  # not the same grade over and over
    return sequence, length
