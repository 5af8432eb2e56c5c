"""Documents and their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from qrowd.data.arrays import Names, freeze
from qrowd.data.index import Index
from qrowd.errors import InputError


@dataclass(frozen=True, eq=False)
class Documents:
    """The text of each document."""

    index: Index
    text: Names

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", freeze(self.text, object))
        if len(self.text) != len(self.index):
            raise InputError(f"{len(self.text)} texts for {len(self.index)} documents")

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        """Documents from a mapping of names to texts."""
        index = Index.of(texts)
        return cls(index, np.array([texts[name] for name in index], dtype=object))

    def __len__(self) -> int:
        return len(self.index)
