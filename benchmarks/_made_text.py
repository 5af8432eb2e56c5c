"""Made text: documents of topics whose words follow relevance as much as is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import qrowd as q
from qrowd.data.arrays import Array, Floats

VOCABULARY, LENGTH, OWN = 3000, 120, 40


@dataclass(frozen=True, eq=False)
class Made:
    """A simulated collection with texts; `about` are the words of what is relevant, per topic."""

    collection: q.Collection
    documents: q.Documents
    about: Array


def made_text(collection: q.Collection, strength: float, seed: int) -> Made:
    """Texts for a simulated collection.

    Each topic has a theme that all its documents share, and OWN words that belong to relevance. A
    share `strength` of a relevant document's words is drawn from these, and of another document's
    as many from a like set of other words; the rest is the theme and a common background (Zipf).
    At strength 0 the text says nothing about relevance.
    """
    random = np.random.default_rng(seed)
    truth = collection.truth
    background = 1 / np.arange(1, VOCABULARY + 1)
    background /= background.sum()
    texts: dict[str, str] = {}
    about = np.empty((len(truth.topics), OWN), np.int64)
    for topic in range(len(truth.topics)):
        chosen = random.permutation(np.arange(200, VOCABULARY))[: 3 * OWN]
        about[topic], other, theme = chosen[:OWN], chosen[OWN : 2 * OWN], chosen[2 * OWN :]
        first, last = truth.pairs.topic_starts[topic : topic + 2]
        for row in range(int(first), int(last)):
            own = about[topic] if truth.grade[row] >= 1 else other
            words = _words(random, background, own, theme, strength)
            texts[truth.pairs.document_names[row]] = " ".join(f"w{word}" for word in words)
    return Made(collection, q.Documents.of(texts), about)


def _words(
    random: np.random.Generator, background: Floats, own: Array, theme: Array, strength: float
) -> Array:
    kind = random.random(LENGTH)
    words = random.choice(VOCABULARY, LENGTH, p=background)
    words = np.where(kind < strength + 0.2, random.choice(theme, LENGTH), words)
    return np.asarray(np.where(kind < strength, random.choice(own, LENGTH), words))
