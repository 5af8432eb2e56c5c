"""What a method may see beside the judgements, and what it looks like to who calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from qrowd.data.arrays import Codes, Floats, Grades
from qrowd.data.consensus import Consensus
from qrowd.data.documents import Documents, Likeness
from qrowd.data.features import Features
from qrowd.data.index import Pairs
from qrowd.data.judgements import Judgements
from qrowd.data.merged import AssessorTable, Merged
from qrowd.data.orders import Orders
from qrowd.data.qrels import Qrels
from qrowd.data.runs import RunSet
from qrowd.data.scores import Scores
from qrowd.errors import UsageError

UNKNOWN = -1


class Progress(Protocol):
    """Somebody who wants to know how far a long fit has come."""

    def __call__(self, done: int, at_most: int, objective: float) -> None:
        """So many iterations are done, of at most so many; the objective is now this."""
        ...


@dataclass(frozen=True, eq=False)
class Given:
    """Gold for some pairs, documents with their text (or their vectors), orders (for methods that
    merge judgements), judgements (for methods that merge orders), reference scores, random
    assessors' scores, what was learned of assessors elsewhere, runs, and what else is known of
    documents (`features`) and of assessors (`people`), and, for screening, people whom somebody has
    marked as bad or not (`known`, column `bad`, 1 or 0).

    `progress(done, at_most, objective)` is called after each iteration of a fit.
    """

    gold: Qrels | None = None
    documents: Documents | Likeness | None = None
    orders: Orders | None = None
    judgements: Judgements | None = None
    reference: Scores | None = None
    random: Scores | None = None
    priors: AssessorTable | None = None
    runs: RunSet | None = None
    features: Features | None = None
    people: Features | None = None
    known: AssessorTable | None = None
    progress: Progress | None = None

    def with_gold(self, judgements: Judgements, clamp: bool = True) -> tuple[Judgements, Grades]:
        """The judgements over a pool with the gold's pairs too, and the gold code of each pair.

        UNKNOWN (-1) where there is no gold, or everywhere if `clamp` is false.
        """
        if self.gold is None:
            return judgements, np.full(len(judgements.pairs), UNKNOWN, np.int8)
        judgements.scale.require_words(self.gold.words)
        gold = judgements.scale.codes_of_gold(self.gold.grade)
        judgements = judgements.with_pool(self.gold.pairs)
        codes = np.full(len(judgements.pairs), UNKNOWN, np.int8)
        if clamp:
            codes[judgements.pairs.locate(self.gold.pairs)] = gold
        return judgements, codes


NOTHING = Given()


def as_given(value: object) -> Given:
    """What was given as it is; for anything else an error that says what to write."""
    if isinstance(value, Given):
        return value
    field = "reference" if isinstance(value, Scores) else "gold"
    raise UsageError(f"expected Given, got {type(value).__name__}; write Given({field}=...)")


class Merger(Protocol):
    """A judgement-level method."""

    def fit(self, judgements: Judgements, given: Given = NOTHING) -> Merged:
        """Merge the judgements of many into one belief about every pair."""
        ...


class ScoreMerger(Protocol):
    """A measure-level method."""

    def fit(self, scores: Scores, given: Given = NOTHING) -> Scores:
        """Merge the scores under many assessors into one."""
        ...


class OrderMerger(Protocol):
    """A method that merges orders."""

    def fit(self, orders: Orders, given: Given = NOTHING) -> Consensus:
        """Merge the orders of many into one worth of every pair."""
        ...


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
