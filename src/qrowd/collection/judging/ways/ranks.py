"""Grades, then an order of the documents of a set."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.way import Chance, Opinion, Opinions, Way, ranks_by
from qrowd.errors import RuleError


class Ranks(Way):
    """Grades, and an order that goes with them."""

    script = "ranks"
    kinds = frozenset({"grade", "ranking"})
    checks = ("binary", "ndcg", "seconds")
    sizes = (2, 100)
    ballots = "set"

    def refuse(self, plan: Plan, said: Opinion, size: int, earlier: Callable[[], Opinions]) -> None:
        super().refuse(plan, said, size, earlier)
        if said.kind != "ranking":
            return
        if sorted(said.ranks) != list(range(1, size + 1)):
            raise RuleError("malformed", f"ranks must be 1 to {size}, each once")
        if problem := self._contradiction(plan, earlier(), said.ranks):
            raise RuleError("incompatible", problem)

    def missing(self, plan: Plan, answers: Opinions, size: int) -> str:
        if problem := super().missing(plan, answers, size):
            return problem
        if 0 not in answers:
            return "the documents are not ranked"
        return self._contradiction(plan, answers, answers[0].ranks)

    def _contradiction(self, plan: Plan, answers: Opinions, ranks: Sequence[int]) -> str:
        """Why ranks and grades do not go together. Ungraded documents are left out."""
        graded = [
            (rank, -self.level(plan, answers[position].grade or 0))
            for position, rank in enumerate(ranks, 1)
            if position in answers and answers[position].grade is not None
        ]
        best_first = [level for _, level in sorted(graded)]
        if best_first != sorted(best_first):
            return "a document with a lower grade is ranked above one with a higher grade"
        return ""

    def level(self, plan: Plan, grade: int) -> int:
        """What the order must go with."""
        return grade

    def robot_ranks(self, grades: Sequence[int], chance: Chance) -> list[int]:
        return ranks_by(grades, chance)


class Ranked(Ranks):
    """The order is free among documents of one grade."""

    name = "ranked"
    order = 2


class FreeRanks(Ranks):
    """The order is free among relevant documents, and among the others (Xia et al. 2011)."""

    name = "free-ranks"
    order = 3

    def level(self, plan: Plan, grade: int) -> int:
        return int(grade >= plan.scale.relevant_from)
