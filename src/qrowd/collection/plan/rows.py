"""What a campaign is made of, as rows before they are stored, and how they are cut into sets."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from qrowd.data.topics import Topic

T = TypeVar("T")
Pair: TypeAlias = tuple[str, str]  # the names of a topic and a document


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

    topics: Sequence[Topic] = ()
    documents: Iterable[DocumentRow] = ()
    pool: Sequence[Pair] = ()
    gold: Sequence[GoldRow] = ()
    qualification: Sequence[GoldRow] = ()
    questions: Sequence[QuestionRow] = ()
    priorities: Mapping[Pair, float] = field(default_factory=dict)

    def without(self, documents: Collection[str]) -> CampaignRows:
        """The same, but no pair with these documents is judged."""
        gold, tests = (
            [row for row in rows if row.document not in documents]
            for rows in (self.gold, self.qualification)
        )
        pool = [pair for pair in self.pool if pair[1] not in documents]
        return replace(self, pool=pool, gold=gold, qualification=tests)


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
