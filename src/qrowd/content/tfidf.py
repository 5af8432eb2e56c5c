"""Texts as tf-idf vectors."""

from __future__ import annotations

from qrowd.content.vectors import Vectors
from qrowd.data.documents import Documents
from qrowd.data.likeness import Likeness
from qrowd.errors import MissingExtraError


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
