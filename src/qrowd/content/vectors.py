"""Documents as vectors: given, or by tf-idf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats
from qrowd.data.documents import Documents, Likeness
from qrowd.data.index import Index
from qrowd.errors import InputError, MissingExtraError


@dataclass(frozen=True, eq=False)
class Vectors:
    """One row of length 1 per document: `rows` is a dense array or a sparse (CSR) one.

    A document without any content (an empty text, a row of zeros) is alike to none but itself.

    >>> import qrowd as q
    >>> vectors = q.Vectors.of(["a", "b", "c"], [[1, 0], [1, 1], [0, 2]])
    >>> vectors.cosines([0, 1, 2]).round(2).tolist()
    [[1.0, 0.71, 0.0], [0.71, 1.0, 0.71], [0.0, 0.71, 1.0]]
    """

    index: Index
    rows: Any

    @classmethod
    def of(cls, names: Any, rows: Any) -> Self:
        """Vectors of any length, in any order of names; a dense array or a sparse one."""
        names = [str(name) for name in names]
        rows = rows.tocsr() if hasattr(rows, "tocsr") else np.asarray(rows, np.float64)
        if rows.ndim != 2:
            raise InputError(f"vectors must be a table, one row per document, got {rows.ndim} axes")
        if rows.shape[0] != len(names):
            raise InputError(
                f"{rows.shape[0]} vectors for {len(names)} documents; one row per document"
            )
        _refuse_repeated(names)
        _refuse_not_finite(rows, names)
        if hasattr(rows, "eliminate_zeros"):
            rows = rows.copy()
            rows.eliminate_zeros()
        index = Index.of(names)
        order = np.argsort(index.codes(names), kind="stable")
        return cls(index, unit_rows(rows[order]))

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"Vectors({len(self)} documents, {self.rows.shape[1]} features)"

    def cosines(self, documents: Codes | Sequence[int]) -> Floats:
        """The cosine of every two of these documents, by their codes; 1 on the diagonal."""
        chosen = self.rows[np.asarray(documents, np.int32)]
        product = chosen @ chosen.T
        whole = np.asarray(product.toarray() if hasattr(product, "toarray") else product)
        dense: Floats = np.clip((whole + whole.T) / 2, -1.0, 1.0)
        np.fill_diagonal(dense, 1.0)
        return dense

    def with_empty(self, names: Index) -> Vectors:
        """The same, and these documents without content."""
        index = self.index.union(names)
        at = self.index.find(index)
        if hasattr(self.rows, "tocsr"):
            from scipy.sparse import csr_array, vstack

            rows = vstack([self.rows, csr_array((1, self.rows.shape[1]))]).tocsr()
        else:
            rows = np.vstack([self.rows, np.zeros((1, self.rows.shape[1]))])
        return Vectors(index, rows[np.where(at >= 0, at, len(self))])

    @property
    def empty(self) -> Array:
        """Which documents have no content."""
        if hasattr(self.rows, "indptr"):
            return np.asarray(np.diff(self.rows.indptr) == 0)
        return np.asarray(~self.rows.any(axis=1))


def unit_rows(rows: Any) -> Any:
    """The rows scaled to length 1; rows of zeros stay."""
    if hasattr(rows, "multiply"):
        length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return rows.multiply(1 / np.where(length > 0, length, 1.0)[:, None]).tocsr()
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def _refuse_repeated(names: list[str]) -> None:
    seen: set[str] = set()
    for row, name in enumerate(names):
        if name in seen:
            raise InputError(f"document {name} has two vectors; keep one of them", row=row)
        seen.add(name)


def _refuse_not_finite(rows: Any, names: list[str]) -> None:
    values = rows.data if hasattr(rows, "tocsr") else rows
    if np.isfinite(values).all():
        return
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    row = int(np.argmax(~np.isfinite(dense).all(axis=1)))
    message = f"the vector of document {names[row]} holds NaN or an infinite number; fix this row"
    raise InputError(message, row=row)


def tfidf(documents: Documents) -> Vectors:
    """The texts as tf-idf vectors of length 1: every word counts, nothing is pruned or stemmed.

    scikit-learn's TfidfVectorizer with its defaults, over all documents given: words of two letters
    or more, in lower case; a word's weight is its count times 1 + ln((1 + n) / (1 + documents that
    have it)). A document without a text is read by its title; one without any such word has an
    empty vector and is alike to no other.

    >>> import qrowd as q
    >>> texts = {"a": "red apples", "b": "red apples and pears", "c": "blue sky"}
    >>> vectors = q.tfidf(q.Documents.of(texts))
    >>> vectors.cosines([0, 1, 2])[0].round(2).tolist()
    [1.0, 0.61, 0.0]
    """
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError:
        raise MissingExtraError.needed("reading documents", "text") from None
    from scipy.sparse import csr_matrix

    texts = [
        str(text or title) for text, title in zip(documents.text, documents.title, strict=True)
    ]
    try:
        rows = TfidfVectorizer().fit_transform(texts)
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        rows = csr_matrix((len(texts), 1))  # not one word in any text
    return Vectors(documents.index, rows.tocsr())


def likeness_of(documents: Documents | Likeness) -> Likeness:
    """How alike documents are: by their texts, unless it is known already."""
    return tfidf(documents) if isinstance(documents, Documents) else documents
