"""A number from 0 to 100 for each document, which the plan's cuts make a grade of."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.way import Chance, Opinion, Opinions, Way
from qrowd.errors import RuleError

LOWEST, HIGHEST = 0, 100


class Slider(Way):
    """A number for each document: one scale for all sets of a topic."""

    name = "slider"
    script = "slider"
    order = 5
    kinds = frozenset({"rating"})
    ballots = "topic"
    keys = ("scale.cuts",)

    def complaints(self, plan: Plan) -> Iterator[Complaint]:
        cuts, wanted = plan.scale.cuts, len(plan.scale.grades) - 1
        if cuts and len(cuts) != wanted:
            text = "office.plan.cuts.number"
            yield Complaint.of("scale.cuts", text, because="scale.grades", wanted=wanted)
        if list(cuts) != sorted(set(cuts)):
            yield Complaint.of("scale.cuts", "office.plan.cuts.order")
        if any(not LOWEST < value <= HIGHEST for value in cuts):
            text = "office.plan.cuts.range"
            yield Complaint.of("scale.cuts", text, lowest=LOWEST, highest=HIGHEST)

    def cuts(self, plan: Plan) -> tuple[float, ...]:
        parts = len(plan.scale.grades)
        return plan.scale.cuts or tuple(HIGHEST * at / parts for at in range(1, parts))

    def refuse(self, plan: Plan, said: Opinion, size: int, earlier: Callable[[], Opinions]) -> None:
        super().refuse(plan, said, size, earlier)
        if said.value is not None and not LOWEST <= said.value <= HIGHEST:
            message = f"value must be a number from {LOWEST} to {HIGHEST}"
            raise RuleError("malformed", message)

    def grade(self, plan: Plan, said: Opinion) -> int | None:
        if said.value is None:
            return None
        return plan.scale.grades[bisect_right(self.cuts(plan), said.value)]

    def robot_says(
        self, plan: Plan, shown: Mapping[str, Any], grade: int, chance: Chance
    ) -> dict[str, Any]:
        """A whole number within the cuts of the grade, where there is one."""
        at, ends = plan.scale.grades.index(grade), (LOWEST, *self.cuts(plan), HIGHEST + 1)
        first, end = math.ceil(ends[at]), math.ceil(ends[at + 1])
        whole = first + math.floor(chance() * (end - first))
        return {"kind": "rating", "value": whole if first < end else ends[at]}
