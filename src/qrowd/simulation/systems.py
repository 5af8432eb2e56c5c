"""What the runs rank: noisy views of how relevant the documents are."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Floats, Grades, Mask, Offsets
from qrowd.simulation.setting import Setting

_HARD_TOPICS = 0.4  # sigma of the topics' log ease


def relevance(setting: Setting, random: np.random.Generator) -> tuple[Floats, Grades]:
    """How relevant every document is, [topics, documents], and its grade.

    A topic's share of relevant documents is Beta distributed around `prevalence`; each higher grade
    is half as common as the one below it.
    """
    strength = random.standard_normal((setting.topics, setting.documents))
    share = random.beta(8 * setting.prevalence, 8 * (1 - setting.prevalence), setting.topics)
    upper = 1 - share[:, None] * _tails(setting.grades)
    place = (np.argsort(np.argsort(strength, axis=1), axis=1) + 0.5) / setting.documents
    grade = (place[:, :, None] >= upper[:, None, :]).sum(axis=2)
    best = place.argmax(axis=1)
    grade[np.arange(setting.topics), best] = np.maximum(grade.max(axis=1), 1)  # none without any
    return strength, grade.astype(np.int8)


def _tails(grades: int) -> Floats:
    """P(grade >= 1), P(grade >= 2), ... among the relevant."""
    share = 0.5 ** np.arange(grades - 1)
    return np.asarray(np.cumsum(share[::-1])[::-1] / share.sum())


def qualities(setting: Setting, random: np.random.Generator) -> Floats:
    """The signal of each run, evenly spaced from worst to best, in random order."""
    return random.permutation(np.linspace(setting.worst, setting.best, setting.runs))


def rankings(
    setting: Setting, strength: Floats, quality: Floats, random: np.random.Generator
) -> tuple[Offsets, Floats]:
    """The documents that each run ranks, [runs, topics, depth], best first, and their scores."""
    depth = min(setting.depth, setting.documents)
    ease = np.exp(_HARD_TOPICS * random.standard_normal(setting.topics))[:, None]
    shared = np.sqrt(setting.alike) * random.standard_normal(strength.shape)
    chosen = np.empty((setting.runs, setting.topics, depth), np.int64)
    scores = np.empty(chosen.shape)
    for run, signal in enumerate(quality):
        own = np.sqrt(1 - setting.alike) * random.standard_normal(strength.shape)
        score = np.round(signal * ease * strength + shared + own, 4)
        chosen[run] = np.argsort(-score, axis=1, kind="stable")[:, :depth]
        scores[run] = np.take_along_axis(score, chosen[run], axis=1)
    return chosen, scores


def pooled(setting: Setting, ranked: Offsets) -> Mask:
    """Which documents are to be judged: [topics, documents]."""
    if setting.pool is None or not setting.runs:
        return np.ones((setting.topics, setting.documents), np.bool_)
    result = np.zeros((setting.topics, setting.documents), np.bool_)
    top = ranked[:, :, : setting.pool]
    result[np.arange(setting.topics)[None, :, None], top] = True
    return result
