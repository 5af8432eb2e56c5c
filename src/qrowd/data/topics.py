"""What each topic asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from qrowd.data.arrays import Array, Names, no_texts, texts
from qrowd.data.frames import Coded, Framed
from qrowd.data.index import Index

TOPIC_TEXTS = ("query", "description", "narrative", "category", "language")


class Topic(NamedTuple):
    """One topic; a text that is not known is empty."""

    name: str
    query: str = ""
    description: str = ""
    narrative: str = ""
    category: str = ""
    language: str = ""


@dataclass(frozen=True, eq=False)
class Topics(Framed):
    """What each topic asks for: a column of texts each, "" where a text is not known.

    >>> import qrowd as q
    >>> topics = q.Topics.of({"401": "foreign minorities, Germany"}, language={"401": "en"})
    >>> topics["401"].query
    'foreign minorities, Germany'
    """

    index: Index
    query: Names = field(default_factory=no_texts)
    description: Names = field(default_factory=no_texts)
    narrative: Names = field(default_factory=no_texts)
    category: Names = field(default_factory=no_texts)
    language: Names = field(default_factory=no_texts)

    def __post_init__(self) -> None:
        for name in TOPIC_TEXTS:
            object.__setattr__(self, name, texts(name, getattr(self, name), len(self.index)))

    @classmethod
    def of(cls, query: Mapping[str, str], **others: Mapping[str, str]) -> Self:
        """Topics from mappings of names to texts: queries, and any other text of some of them."""
        columns = {"query": query, **others}
        index = Index.of([name for texts in columns.values() for name in texts])
        columns_in_order = {
            field: np.array([texts.get(name, "") for name in index], dtype=object)
            for field, texts in columns.items()
        }
        return cls(index, **columns_in_order)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, name: str) -> Topic:
        """One topic by its name."""
        at = self.index.code(name, "topic")
        return Topic(name, *(str(getattr(self, field)[at]) for field in TOPIC_TEXTS))

    def __repr__(self) -> str:
        return f"Topics({len(self)} topics; {' '.join(self.known) or 'no texts'})"

    @property
    def known(self) -> tuple[str, ...]:
        """The texts that at least one topic has."""
        return tuple(name for name in TOPIC_TEXTS if any(getattr(self, name)))

    def select(self, index: Index) -> Topics:
        """The topics that have one of these names."""
        rows = np.flatnonzero(index.find(self.index) >= 0)
        columns = {name: getattr(self, name)[rows] for name in TOPIC_TEXTS}
        return Topics(Index(self.index.names[rows]), **columns)

    def frame_columns(self) -> dict[str, Coded | Array]:
        """`topic`, then the texts that at least one topic has."""
        codes = np.arange(len(self), dtype=np.int32)
        shown = self.known or ("query",)
        return {"topic": Coded(self.index, codes), **{name: getattr(self, name) for name in shown}}
