"""Votes one by one: what a method looks like that need not be refitted for each."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from qrowd.data.arrays import Codes, Floats
from qrowd.data.given import NOTHING, Given
from qrowd.data.index import Pairs


class Steps(Protocol):
    """What is believed about one topic's pairs, in several copies that get votes of their own."""

    def add(self, pair: Codes, grade: Codes) -> None:
        """One vote for each copy: on pair[copy], relevant (1) or not (0)."""
        ...

    def relevant(self) -> Floats:
        """P(relevant) of every pair in every copy, [copies, pairs], after the votes so far."""
        ...


@runtime_checkable
class Incremental(Protocol):
    """A method that takes two grades vote by vote."""

    def steps(self, pairs: Pairs, copies: int, given: Given = NOTHING) -> Steps:
        """A start without votes on the pairs of one topic."""
        ...
