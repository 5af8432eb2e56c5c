"""What a campaign is made of, as rows before they are stored."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qrowd.collection.sets import cut


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


@dataclass(frozen=True)
class QuestionRow:
    """A question on a topic; `right` counts the choices from 0."""

    topic: str
    text: str
    choices: tuple[str, ...]
    right: int


@dataclass(frozen=True)
class Material:
    """What a campaign is made of."""

    topics: Sequence[TopicRow] = ()
    documents: Iterable[DocumentRow] = ()
    pool: Sequence[tuple[str, str]] = ()
    gold: Sequence[GoldRow] = ()
    qualification: Sequence[GoldRow] = ()
    questions: Sequence[QuestionRow] = ()
    priorities: Mapping[tuple[str, str], float] = field(default_factory=dict)


def gold_parts(rows: Sequence[GoldRow], size: int, chance: random.Random) -> list[list[GoldRow]]:
    """Gold rows in sets: by their `set` where they name one, else cut like the pool's."""
    named: dict[tuple[str, str], list[GoldRow]] = defaultdict(list)
    for row in rows:
        named[row.topic, row.set].append(row)
    parts: list[list[GoldRow]] = []
    for (_, name), members in sorted(named.items()):
        parts += [members] if name else cut(members, size, chance)
    return parts
