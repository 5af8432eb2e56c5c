"""What the assessors say, and how long they take."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades, Offsets
from qrowd.simulation import assessors
from qrowd.simulation.setting import KINDS


class Crowd(NamedTuple):
    """What is true of the assessors."""

    kind: Codes
    confusion: Floats
    workload: Floats
    pace: Floats
    sequence: Codes
    length: Codes


class Answers(NamedTuple):
    """One row per judgement."""

    grade: Grades
    seconds: Floats
    time: Floats


def answers(
    crowd: Crowd,
    rows: tuple[Offsets, Codes],
    truth: Grades,
    trouble: tuple[Floats, float],
    random: np.random.Generator,
) -> Answers:
    """The grades given, for rows of (pair, assessor), in the random order in which all judge.

    `trouble` is the difficulty of each pair and the correlation that it causes.
    """
    pair, assessor = rows
    order = np.lexsort((random.random(len(pair)), assessor))
    place = _places(assessor[order])
    grade = np.empty(len(pair), np.int8)
    grade[order] = _graded(crowd, (pair[order], assessor[order], place), truth, trouble, random)
    seconds, time = np.empty(len(pair)), np.empty(len(pair))
    seconds[order], time[order] = _clock(crowd.pace[assessor[order]], place, random)
    return Answers(grade, seconds, time)


def _places(assessor: Codes) -> Offsets:
    """The position of each row among its assessor's rows; sorted by assessor."""
    starts = np.flatnonzero(np.diff(assessor, prepend=-1))
    return np.arange(len(assessor)) - np.repeat(starts, np.diff(np.append(starts, len(assessor))))


def _graded(
    crowd: Crowd,
    rows: tuple[Offsets, Codes, Offsets],
    truth: Grades,
    trouble: tuple[Floats, float],
    random: np.random.Generator,
) -> Grades:
    pair, assessor, place = rows
    chances = crowd.confusion[assessor, truth[pair]]
    right = chances[np.arange(len(pair)), truth[pair]]
    careful = assessors.attentive(crowd.kind)[assessor]
    wrong = _errs(1 - right, trouble[0][pair], np.where(careful, trouble[1], 0.0), random)
    chances[np.arange(len(pair)), truth[pair]] = 0.0
    edges = np.cumsum(chances, axis=1)
    other = (random.random(len(pair))[:, None] * edges[:, -1:] >= edges).sum(axis=1)
    said = np.where(wrong, np.minimum(other, chances.shape[1] - 1), truth[pair]).astype(np.int8)
    repeated = crowd.sequence[assessor, place % crowd.length[assessor]]
    pattern = crowd.kind[assessor] == KINDS.index("pattern")
    return np.where(pattern, repeated, said).astype(np.int8)


def _errs(
    chance: Floats, difficulty: Floats, correlation: Floats, random: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Who errs: a latent normal with a part shared by all who judge the document.

    The chance of an error stays what it is on average; only errors on one document come together.
    """
    from scipy.special import ndtri

    own = random.standard_normal(len(chance))
    latent = np.sqrt(correlation) * difficulty + np.sqrt(1 - correlation) * own
    return np.asarray(latent < ndtri(chance))


def _clock(pace: Floats, place: Offsets, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Seconds of each judgement, and the time of its end, from each assessor's first one on."""
    seconds = np.round(pace * np.exp(0.5 * random.standard_normal(len(pace))), 1)
    total = np.cumsum(seconds)
    first = np.maximum.accumulate(np.where(place == 0, np.arange(len(place)), 0))
    before = np.where(first > 0, total[first - 1], 0.0)
    return seconds, np.round(total - before, 1)
