"""What is judged: relevance, runs that are noisy views of it, and made text."""

from __future__ import annotations

import numpy as np

from qrowd.data.arrays import Array, Floats, Grades, Mask, Offsets
from qrowd.data.documents import Documents
from qrowd.data.index import Index, Pairs
from qrowd.data.qrels import Qrels
from qrowd.data.topics import Topics
from qrowd.simulation.setting import Setting

_HARD_TOPICS = 0.4  # sigma of the topics' log ease
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]
_WORDS, _OWN, _LENGTH = 3000, 40, 80  # common words, a topic's own, and of a text on average
_SAME, _RELEVANT, _OTHER = 0.2, 0.4, 0.02  # shares of a topic's own words


def relevance(setting: Setting, random: np.random.Generator) -> tuple[Floats, Grades]:
    """How relevant every document is, [topics, documents], and its grade.

    A topic's share of relevant documents is Beta distributed around `prevalence`; each higher grade
    is half as common as the one below it.
    """
    strength = random.standard_normal((setting.topics, setting.documents))
    share = random.beta(8 * setting.prevalence, 8 * (1 - setting.prevalence), setting.topics)
    level = 0.5 ** np.arange(setting.grades - 1)
    tails = np.cumsum(level[::-1])[::-1] / level.sum()  # P(grade >= 1), P(grade >= 2), ...
    upper = 1 - share[:, None] * tails
    quantile = (np.argsort(np.argsort(strength, axis=1), axis=1) + 0.5) / setting.documents
    grade = (quantile[:, :, None] >= upper[:, None, :]).sum(axis=2)
    best = quantile.argmax(axis=1)
    grade[np.arange(setting.topics), best] = np.maximum(grade.max(axis=1), 1)  # none without any
    return strength, grade.astype(np.int8)


def sentences(setting: Setting, truth: Qrels, random: np.random.Generator) -> Qrels:
    """The sentences of documents (`doc#1`, `doc#2`, ...), and which of them are on the topic."""
    n, pairs = setting.sentences or 1, truth.pairs
    numbers = np.array([f"#{at}" for at in range(1, n + 1)], object)
    names = (pairs.document_names[:, None] + numbers[None, :]).ravel()
    index, document = Index.encode(names)
    parts, at = Pairs.from_codes(pairs.topics, index, np.repeat(pairs.topic, n), document)
    share = np.where(truth.grade >= 1, setting.on_topic, setting.off_topic)
    on_topic = random.random((len(pairs), n)) < share[:, None]
    grade = np.empty(len(parts), np.int8)
    grade[at] = on_topic.ravel()
    return Qrels(parts, grade)


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


def texts(
    setting: Setting, topics: Index, documents: Index, grade: Grades, random: np.random.Generator
) -> tuple[Topics | None, Documents | None]:
    """Topics and documents with text, where it was asked for.

    A document draws some of its words from its topic's own, the others from a common vocabulary
    with Zipf's frequencies. At strength 0 that share is the same for all; at strength 1 it is high
    for relevant documents, the more so the higher the grade, and nearly none for the others.
    """
    if setting.text is None:
        return None, None
    words = _vocabulary(_WORDS + _OWN * len(topics), random)
    own = words[_WORDS:].reshape(len(topics), _OWN)
    relevant = _OTHER + (_RELEVANT - _OTHER) * grade.ravel() / max(int(grade.max()), 1)
    share = (1 - setting.text) * _SAME + setting.text * relevant  # of the topic's own words
    written = [
        _text(words[:_WORDS], own[at // grade.shape[1]], p, random) for at, p in enumerate(share)
    ]
    titles = np.array([" ".join(text.split()[:5]) for text in written], object)
    query = np.array([" ".join(words[:3]) for words in own], object)
    about = np.array([f"Documents about {' '.join(words[:8])}." for words in own], object)
    return (
        Topics(topics, query=query, description=about),
        Documents(documents, np.array(written, object), title=titles),
    )


def _vocabulary(n: int, random: np.random.Generator) -> Array:
    """Different words of two to four syllables."""
    words: dict[str, None] = {}
    while len(words) < n:
        count = random.integers(2, 5)
        words["".join(random.choice(_SYLLABLES, count))] = None
    return np.array(list(words), dtype=object)


def _text(common: Array, own: Array, share: float, random: np.random.Generator) -> str:
    length = max(int(random.poisson(_LENGTH)), 10)
    rank = np.minimum(random.zipf(1.3, length), len(common)) - 1
    mine = random.random(length) < share
    words = np.where(mine, own[random.integers(0, len(own), length)], common[rank])
    return " ".join(words.tolist())
