"""What a campaign is made of, as rows before they are stored, and how they are cut into sets."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from qrowd.collection.plan.sections import Plan

T = TypeVar("T")
Pair: TypeAlias = tuple[str, str]  # the names of a topic and a document


@dataclass(frozen=True)
class TopicRow:
    """A topic as it enters a campaign."""

    name: str
    query: str = ""
    description: str = ""
    narrative: str = ""
    category: str = ""
    language: str = ""


@dataclass(frozen=True)
class DocumentRow:
    """A document as it enters a campaign."""

    name: str
    body: bytes = b""
    title: str = ""
    url: str = ""
    media_type: str = "text/plain"


@dataclass(frozen=True)
class GoldRow:
    """A pair with an expert's grade (None: shown in a qualification, not counted)."""

    topic: str
    document: str
    grade: int | None
    reason: str = ""
    passage: str = ""
    set: str = ""

    @property
    def pair(self) -> Pair:
        """The names of its topic and document."""
        return self.topic, self.document


@dataclass(frozen=True)
class QuestionRow:
    """A question on a topic; `right` counts the choices from 0."""

    topic: str
    text: str
    choices: tuple[str, ...]
    right: int


@dataclass(frozen=True)
class CampaignRows:
    """What a campaign is made of."""

    topics: Sequence[TopicRow] = ()
    documents: Iterable[DocumentRow] = ()
    pool: Sequence[Pair] = ()
    gold: Sequence[GoldRow] = ()
    qualification: Sequence[GoldRow] = ()
    questions: Sequence[QuestionRow] = ()
    priorities: Mapping[Pair, float] = field(default_factory=dict)


def pool_parts(plan: Plan, items: Sequence[T], chance: random.Random) -> list[list[T]]:
    """The sets that what a pool has of one topic is cut into."""
    if plan.preferences:
        return couples(items, plan.sets.couples, chance)
    return cut(items, plan.sets.size, chance)


def gold_parts(rows: Sequence[GoldRow], size: int, chance: random.Random) -> list[list[GoldRow]]:
    """Gold rows in sets: by their `set` where they name one, else cut like the pool's."""
    named: dict[tuple[str, str], list[GoldRow]] = defaultdict(list)
    for row in rows:
        named[row.topic, row.set].append(row)
    parts: list[list[GoldRow]] = []
    for (_, name), members in sorted(named.items()):
        parts += [members] if name else cut(members, size, chance)
    return parts


def cut(items: Sequence[T], size: int, chance: random.Random) -> list[list[T]]:
    """Shuffled lists of at most `size`, as equal in length as possible.

    >>> [len(part) for part in cut(range(12), 5, random.Random(1))]
    [4, 4, 4]
    """
    mixed = chance.sample(list(items), len(items))
    parts = -(-len(mixed) // size)
    return [mixed[at * len(mixed) // parts : (at + 1) * len(mixed) // parts] for at in range(parts)]


def couples(items: Sequence[T], each: int, chance: random.Random) -> list[list[T]]:
    """Couples in which every item occurs about `each` times, and which connect all of them.

    A ring of the shuffled items, with further rings that skip one, two, ...; each ring adds two
    couples per item, an odd last one joins opposite items.

    >>> len(couples(range(10), 4, random.Random(1)))
    20
    """
    mixed = chance.sample(list(items), len(items))
    n = len(mixed)
    steps = range(1, each // 2 + 1)
    rings = {frozenset((at, (at + step) % n)) for step in steps for at in range(n)}
    if each % 2:
        rings |= {frozenset((at, at + n // 2)) for at in range(n // 2)}
    return [
        [mixed[at] for at in sorted(couple)]
        for couple in sorted(rings, key=sorted)
        if len(couple) == 2
    ]
