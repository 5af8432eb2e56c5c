"""Two documents side by side: which one is better?"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.way import Chance, Opinion, Opinions, Trial, Way, ranks_by
from qrowd.errors import RuleError

T = TypeVar("T")


INSTRUCTIONS = (
    "Somebody typed a request into a search engine and found two pages. Read the request first, "
    "then both pages, and say which one answers it better. Say “equally good” only where you "
    "would send either of them, or neither. A page may be the better one although it is not a "
    "good one."
)


class Preferences(Way):
    """Couples of documents, compared; neither may be better. There are no grades."""

    name = "preferences"
    script = "preferences"
    order = 4
    kinds = frozenset({"ranking"})
    checks = ("seconds",)
    gold = False
    sizes = (2, 2)
    sole = False
    ballots = "set"
    together = True
    keys = ("sets.couples",)
    trial = Trial(size=2, sets=6, gold=0, instructions=INSTRUCTIONS)

    def warnings(self, plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
        topics = Counter(name for name, _ in rows.pool)
        alone = [name for name, documents in topics.items() if documents < 2]
        if alone:
            yield Complaint.of("files.pool", "office.plan.pool.alone", topic=min(alone))

    def sets_of(self, plan: Plan, items: Sequence[T], chance: random.Random) -> list[list[T]]:
        return couples(items, plan.sets.couples, chance)

    def refuse(self, plan: Plan, said: Opinion, size: int, earlier: Callable[[], Opinions]) -> None:
        super().refuse(plan, said, size, earlier)
        if said.kind == "ranking" and said.ranks not in ((1, 2), (2, 1), (1, 1)):
            raise RuleError("malformed", "ranks must be 1 and 2, or 1 and 1")

    def missing(self, plan: Plan, answers: Opinions, size: int) -> str:
        return "" if answers else "no document was chosen"

    def robot_says(
        self, plan: Plan, shown: Mapping[str, Any], grade: int, chance: Chance
    ) -> dict[str, Any]:
        return {}

    def robot_ranks(self, grades: Sequence[int], chance: Chance) -> list[int]:
        return ranks_by(grades, chance)


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
