"""Judged documents that have no text: left out, or left alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qrowd.content.vectors import Vectors
from qrowd.data.documents import Documents
from qrowd.data.index import Index
from qrowd.data.judgements import Judgements
from qrowd.data.qrels import Qrels
from qrowd.errors import ParameterError

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
    if without not in WAYS:
        raise ParameterError(f"without must be one of {', '.join(WAYS)}, got {without!r}")
    pool = judgements if gold is None else judgements.with_pool(gold.pairs)
    used = Index(pool.pairs.documents.names[np.unique(pool.pairs.document)])
    missing = used.without(documents.index)
    names = tuple(str(name) for name in missing)
    if not names:
        return WithText(judgements, documents, gold, ())
    if without == "alone":
        return WithText(judgements, _with_empty(documents, missing), gold, names)
    if gold is not None:
        gold = gold.select(_kept(documents, gold.pairs.documents)[gold.pairs.document])
    return WithText(_only(judgements, documents), documents, gold, names)


def _kept(
    documents: Documents | Vectors, names: Index
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return documents.index.find(names) >= 0


def _only(judgements: Judgements, documents: Documents | Vectors) -> Judgements:
    pairs = judgements.pairs
    inside = _kept(documents, pairs.documents)[pairs.document]
    chosen = judgements.select(inside[judgements.pair])
    recode = np.cumsum(inside, dtype=np.int32) - np.int32(1)
    return replace(chosen, pairs=pairs.select(inside), pair=recode[chosen.pair])


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
    return documents, qrels.select(_kept(documents, qrels.pairs.documents)[qrels.pairs.document])
