"""How the pool is cut into sets: pure functions on lists."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


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
    found = {frozenset((at, (at + step) % n)) for step in steps for at in range(n)}
    if each % 2:
        found |= {frozenset((at, at + n // 2)) for at in range(n // 2)}
    return [
        [mixed[at] for at in sorted(couple)]
        for couple in sorted(found, key=sorted)
        if len(couple) == 2
    ]
