"""Documents: their text, what else is known of them, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from qrowd.data.arrays import Array, Codes, Floats, Names, no_texts, texts
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index
from qrowd.errors import InputError

DOCUMENT_TEXTS = ("text", "title", "url", "media", "file")


class Document(NamedTuple):
    """One document; a text that is not known is empty."""

    name: str
    text: str
    title: str
    url: str
    media: str
    file: str
    others: Mapping[str, str]


def _no_bytes(file: str) -> bytes:
    raise InputError("the bytes of this document are not known; only its text is", file=file)


@dataclass(frozen=True, eq=False)
class Documents(Framed):
    """The text of each document and, where they are known, its title, its address (`url`), its
    media type (`media`, as in `text/html`) and `others`, further texts by name. "" is not known.

    `file` names what holds a document's bytes; `fetch` gets them from there when somebody asks.

    >>> import qrowd as q
    >>> documents = q.Documents.of({"d1": "Turkey soup.", "d2": "Leftovers."})
    >>> documents["d1"].text
    'Turkey soup.'
    """

    index: Index
    text: Names
    title: Names = field(default_factory=no_texts)
    url: Names = field(default_factory=no_texts)
    media: Names = field(default_factory=no_texts)
    file: Names = field(default_factory=no_texts)
    others: Mapping[str, Names] = field(default_factory=dict)
    fetch: Callable[[str], bytes] = _no_bytes

    def __post_init__(self) -> None:
        n = len(self.index)
        for name in DOCUMENT_TEXTS:
            object.__setattr__(self, name, texts(name, getattr(self, name), n))
        others = {name: texts(name, column, n) for name, column in self.others.items()}
        kept = {name: column for name, column in others.items() if any(column)}
        object.__setattr__(self, "others", kept)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        """Documents from a mapping of names to texts."""
        index = Index.of(texts)
        return cls(index, np.array([texts[name] for name in index], dtype=object))

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, name: str) -> Document:
        """One document by its name."""
        at = self.index.code(name, "document")
        fields = {column: str(getattr(self, column)[at]) for column in DOCUMENT_TEXTS}
        others = {column: str(each[at]) for column, each in self.others.items()}
        return Document(name, **fields, others=others)

    def __repr__(self) -> str:
        return f"Documents({len(self)} documents; {' '.join(self.known) or 'no texts'})"

    @property
    def known(self) -> tuple[str, ...]:
        """The texts that at least one document has."""
        own = (name for name in DOCUMENT_TEXTS if any(getattr(self, name)))
        return (*own, *self.others)

    def read_bytes(self, name: str) -> bytes:
        """The document's bytes, read now; those of its text where it has no file."""
        document = self[name]
        return self.fetch(document.file) if document.file else document.text.encode()

    def select(self, index: Index) -> Documents:
        """The documents that have one of these names."""
        rows = np.flatnonzero(index.find(self.index) >= 0)
        columns = {name: getattr(self, name)[rows] for name in DOCUMENT_TEXTS}
        others = {name: column[rows] for name, column in self.others.items()}
        names = Index(self.index.names[rows])
        return Documents(names, **columns, others=others, fetch=self.fetch)

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`doc text`, then what else at least one document has."""
        codes = np.arange(len(self), dtype=np.int32)
        own = {name: getattr(self, name) for name in DOCUMENT_TEXTS}
        shown = {name: column for name, column in own.items() if name == "text" or any(column)}
        return {"doc": Coded(self.index, codes), **shown, **self.others}


@runtime_checkable
class Likeness(Protocol):
    """Documents whose similarities are known; `index` names them."""

    @property
    def index(self) -> Index:
        """The documents."""
        ...

    def cosines(self, documents: Codes) -> Floats:
        """The cosine of every two of these documents; 1 on the diagonal."""
        ...
