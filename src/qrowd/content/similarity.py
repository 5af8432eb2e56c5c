"""How alike documents are: neighbours, near-duplicates, and who has a text at all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from qrowd.content.vectors import Vectors, likeness_of
from qrowd.data.arrays import Codes, Floats, Mask
from qrowd.data.documents import Documents, Likeness
from qrowd.data.index import Index, Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.errors import DataWarning, InputError, require_choice
from qrowd.rendering import thousands

_TABLES = 4  # of documents x documents that are held at a time
_MUCH = 2**31
_LISTED = 5
_NOTHING = 1e-6  # a shorter vector is no direction
ROUNDED = 12
"""Cosines that agree to so many digits are equal: what differs beyond is rounding."""


@dataclass(frozen=True, eq=False)
class Alike:
    """A pool and the similarities of its documents."""

    pairs: Pairs
    likeness: Likeness
    code: Codes

    @classmethod
    def of(cls, pairs: Pairs, documents: Documents | Likeness) -> Alike:
        """An error that lists the documents of the pool that are not among these."""
        code = documents.index.find(pairs.documents)
        lacking = np.unique(pairs.document[code[pairs.document] < 0])
        if len(lacking):
            missing = [str(name) for name in pairs.documents.names[lacking]]
            raise InputError(
                f"{len(missing)} of {len(np.unique(pairs.document))} judged documents have no "
                f"text: {' '.join(missing[:_LISTED])}{' ...' * (len(missing) > _LISTED)}; add "
                "them, or leave them out or alone: q.with_text(...), on the command line "
                "--without-text skip or --without-text alone"
            )
        return cls(pairs, likeness_of(documents), code)

    @property
    def notes(self) -> list[str]:
        """What to say of documents without content."""
        if not isinstance(self.likeness, Vectors):
            return []
        empty = int(self.likeness.empty[self.code[np.unique(self.pairs.document)]].sum())
        return [f"{empty} documents have no words: each is like no other"] if empty else []

    def topics(self) -> Iterator[tuple[slice, Floats]]:
        """Each topic's pairs, and the cosine of every two of their documents."""
        for topic, (first, last) in enumerate(pairwise(self.pairs.topic_starts.tolist())):
            if last > first:
                _warn_of_memory(self.pairs.topics.names[topic], last - first)
                rows = slice(first, last)
                yield rows, self.likeness.cosines(self.code[self.pairs.document[rows]])


def nearest_first(cosines: Floats) -> Codes:
    """order[document, place]: the others from the nearest on; equal ones as their names are."""
    near = np.round(cosines, ROUNDED)
    np.fill_diagonal(near, np.inf)
    return np.argsort(-near, axis=1, kind="stable")[:, 1:].astype(np.int32)


def centred(cosines: Floats) -> Floats:
    """The cosines that are left when the mean of the topic's vectors is taken from each of them.

    So the words that all documents of a topic have make no two of them alike. Documents that have
    nothing in common with any other stay as they are, and so do all where no two differ.
    """
    shared = (cosines != 0).sum(axis=1) > 1
    part = cosines[np.ix_(shared, shared)]
    level = part.mean(axis=0) if len(part) else np.zeros(0)
    part = part - level - level[:, None] + level.mean() if len(part) else part
    length = np.sqrt(np.maximum(np.diag(part), 0.0))
    own = length > _NOTHING
    if not own.any():
        return cosines
    away = np.where(own, 1 / np.maximum(length, _NOTHING), 0.0)
    result = cosines.copy()
    result[np.ix_(shared, shared)] = np.clip(part * np.outer(away, away), -1.0, 1.0)
    np.fill_diagonal(result, 1.0)
    return result


def free_memory() -> int:
    """Bytes that are free now, as far as the system tells."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2**63


def _warn_of_memory(topic: str, documents: int) -> None:
    need = _TABLES * 8 * documents**2
    if need < _MUCH:
        return
    about = (
        f"topic {topic} has {thousands(documents)} documents: the similarities of every two of "
        f"them need about {need / 2**30:.1f} GB of memory"
    )
    free = free_memory()
    if need > free:
        raise InputError(
            f"{about}, and {free / 2**30:.1f} GB are free; merge a smaller pool of this topic, or "
            "use a method that reads no documents"
        )
    warnings.warn(about, DataWarning, stacklevel=2)


def groups_of(cosines: Floats, near: float) -> Codes:
    """The group of each document: those linked by cosines of `near` or more are one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    linked = csr_array(cosines >= near - 1e-12)
    return np.asarray(connected_components(linked, directed=False)[1], np.int32)


def one_of_each(group: Codes) -> Codes:
    """The first document of each group, in order."""
    return np.sort(np.unique(group, return_index=True)[1]).astype(np.int32)


def distinct(pairs: Pairs, documents: Documents | Likeness, near: float, preferred: Mask) -> Mask:
    """Which pairs stay when a topic keeps one of each group: the first preferred one, if any."""
    kept = np.zeros(len(pairs), np.bool_)
    for rows, cosines in Alike.of(pairs, documents).topics():
        group = groups_of(cosines, near)
        order = np.argsort(~preferred[rows], kind="stable")
        kept[rows.start + order[one_of_each(group[order])]] = True
    return kept


WAYS = ("skip", "alone")


@dataclass(frozen=True, eq=False)
class WithText:
    """Judgements, documents and gold that fit together; `missing` documents had no text."""

    judgements: Judgements
    documents: Documents | Vectors
    gold: Qrels | None
    missing: tuple[str, ...]


def with_text(
    judgements: Judgements,
    documents: Documents | Vectors,
    gold: Qrels | None = None,
    *,
    without: str = "skip",
) -> WithText:
    """Judgements that a method which reads documents can merge, though some have no text.

    `without="skip"`: pairs whose document has no text are left out, of the pool and of gold.
    `without="alone"`: they stay, and are like no other document.

    >>> import qrowd as q
    >>> crowd = q.Judgements.of(["t"] * 2, ["a", "b"], ["ann"] * 2, [1, 0])
    >>> q.with_text(crowd, q.Documents.of({"a": "some words"})).missing
    ('b',)
    """
    require_choice("without", without, WAYS)
    pool = judgements if gold is None else judgements.with_pool(gold.pairs)
    used = Index(pool.pairs.documents.names[np.unique(pool.pairs.document)])
    missing = used.without(documents.index)
    names = tuple(str(name) for name in missing)
    if not names:
        return WithText(judgements, documents, gold, ())
    if without == "alone":
        return WithText(judgements, _with_empty(documents, missing), gold, names)
    if gold is not None:
        gold = gold.select(_have_text(gold.pairs, documents))
    kept = judgements.of_pairs(_have_text(judgements.pairs, documents))
    return WithText(kept, documents, gold, names)


def _have_text(pairs: Pairs, documents: Documents | Vectors) -> Mask:
    """Which pairs have a document that is among these."""
    return np.asarray((documents.index.find(pairs.documents) >= 0)[pairs.document])


def _with_empty(documents: Documents | Vectors, missing: Index) -> Documents | Vectors:
    if isinstance(documents, Vectors):
        return documents.with_empty(missing)
    texts = dict(zip(documents.index, documents.text, strict=True))
    return Documents.of(texts | dict.fromkeys(missing, ""))


def qrels_with_text(
    qrels: Qrels, documents: Documents | Vectors, *, without: str = "skip"
) -> tuple[Documents | Vectors, Qrels]:
    """The same for qrels: documents and pairs that fit together."""
    missing = Index(qrels.pairs.documents.names).without(documents.index)
    if without == "alone":
        return (_with_empty(documents, missing) if len(missing) else documents), qrels
    return documents, qrels.select(_have_text(qrels.pairs, documents))
