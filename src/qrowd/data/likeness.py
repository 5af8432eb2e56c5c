"""How alike documents are, however somebody found out."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from qrowd.data.arrays import Codes, Floats
from qrowd.data.index import Index


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
