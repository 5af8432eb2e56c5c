"""A way of judging: what is asked of people, and all that follows from it.

    class Grading(Way):
        name = "grades"
        ...

`plan.way` is the way of a plan, `Way.all()` are all of them. Each stands in a file of
`judging/ways`, a room above this one, which is imported by its name when it is first asked for: a
new way is a new file there, and nothing else knows its name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from qrowd.collection.plan.rows import CampaignRows, cut
from qrowd.errors import RuleError, require_name
from qrowd.registry import import_modules
from qrowd.texts import Text

if TYPE_CHECKING:
    from qrowd.collection.database.schema import Assignment
    from qrowd.collection.database.store import Work
    from qrowd.collection.plan.limits import Complaint
    from qrowd.collection.plan.sections import Plan

T = TypeVar("T")
HOME = "qrowd.collection.judging.ways"
GRADED = frozenset({"grade", "rating"})  # kinds of answers that have, or make, a grade


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What somebody says of a document, or of a set: one of these, as its kind tells."""

    kind: str
    grade: int | None = None
    #: one for each document of a set, 1 is best
    ranks: tuple[int, ...] = ()
    #: from 0 to 100
    value: float | None = None
    #: the query of the topic that a document was put to, "" for none; it comes with the grade
    bucket: str | None = None


#: what was said of a set so far, by position; 0 is the set's ranking
Opinions: TypeAlias = Mapping[int, Opinion]
Chance: TypeAlias = Callable[[], float]  # a random number from 0 to 1


@dataclass(frozen=True)
class Trial:
    """What the campaign of `qrowd serve --try` is like."""

    size: int = 4
    sets: int = 3
    gold: int = 1
    grades: tuple[int, ...] = (0, 1, 2)
    seconds: int = 20  # that a document takes
    instructions: str = ""  # in the place of the usual ones


@dataclass(frozen=True)
class Points:
    """What a batch brought, and the most that one of the same worker ever did."""

    made: int
    best: int


class Way:
    """What is asked of people. The base asks for one answer for each document."""

    #: stored in plans: permanent
    name: ClassVar[str]
    #: the script of the judging page, in `web/static/ways`
    script: ClassVar[str]
    #: where it stands in lists
    order: ClassVar[int]
    #: the kinds of answers that it takes, beside "cannot tell", "broken" and "clear"
    kinds: ClassVar[frozenset[str]]
    #: the checks of a finished batch that apply
    checks: ClassVar[tuple[str, ...]] = ("binary", "seconds")
    #: whether there are gold sets and a qualification
    gold: ClassVar[bool] = True
    #: the least and the most documents of a set
    sizes: ClassVar[tuple[int, int]] = (1, 100)
    #: whether a document is in one set only
    sole: ClassVar[bool] = True
    #: what orders are made of: a ballot of each "set"'s ranking, or of a "topic"'s ratings
    ballots: ClassVar[str] = ""
    #: how many topics a document can be put to; 0: it is judged for its own, which is shown
    buckets: ClassVar[int] = 0
    #: whether a worker who has read a text never gets it again, under another topic or name
    anew: ClassVar[bool] = False
    #: whether a batch stays on one topic as long as nothing else comes before it
    together: ClassVar[bool] = False
    #: keys of the plan that only this way has a use for
    keys: ClassVar[tuple[str, ...]] = ()
    trial: ClassVar[Trial] = Trial()

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            _WAYS[cls.name] = cls()

    @staticmethod
    def all() -> list[Way]:
        """All ways, the usual one first."""
        import_modules(HOME)
        return sorted(_WAYS.values(), key=lambda way: way.order)

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of all ways, the usual one first."""
        return tuple(way.name for way in Way.all())

    @staticmethod
    def named(name: str) -> Way:
        """The way of this name."""
        import_modules(HOME)
        require_name("way", name, _WAYS)
        return _WAYS[name]

    @property
    def graded(self) -> bool:
        """Whether documents have grades in the end."""
        return bool(self.kinds & GRADED)

    @property
    def rated(self) -> bool:
        """Whether documents have values."""
        return "rating" in self.kinds

    @property
    def fixed_size(self) -> bool:
        """Whether all sets are of one size."""
        return self.sizes[0] == self.sizes[1]

    def says(self, part: str) -> Text:
        """One of its texts: `title`, what it `means`, what was done for the `datasheet`."""
        return Text(f"office.way.{self.name}.{part}")

    # --- plans ------------------------------------------------------------------------------------

    def settle(self, plan: Plan) -> Plan:
        """What the choice of this way makes of a plan."""
        least, most = self.sizes
        size = min(max(plan.sets.size, least), most)
        scale = plan.scale if self.rated else replace(plan.scale, cuts=())
        return replace(plan, text="", sets=replace(plan.sets, size=size), scale=scale)

    def complaints(self, plan: Plan) -> Iterator[Complaint]:
        """What is wrong with a plan in this way of judging, beside what `limits` looks at."""
        yield from ()

    def document_of(self, name: str) -> str:
        """The document of a file that what is judged under a name is a part of."""
        return name

    def prepare(self, plan: Plan, rows: CampaignRows, file: str = "plan") -> CampaignRows:
        """What is judged in this way of what files hold; an error where that cannot be.

        `file` is what messages call the plan.
        """
        return rows

    def unmeetable(self, rows: CampaignRows) -> Iterator[Complaint]:
        """Why what files hold cannot be judged in this way."""
        yield from ()

    def warnings(self, plan: Plan, rows: CampaignRows) -> Iterator[Complaint]:
        """What somebody should know of a plan's files before they are judged in this way."""
        yield from ()

    def sets_of(self, plan: Plan, items: Sequence[T], chance: random.Random) -> list[list[T]]:
        """The sets that what a pool has of one topic is cut into."""
        return cut(items, plan.sets.size, chance)

    def cuts(self, plan: Plan) -> tuple[float, ...]:
        """The lowest value of each grade above the lowest, where there are values."""
        return ()

    # --- answers ----------------------------------------------------------------------------------

    def refuse(self, plan: Plan, said: Opinion, size: int, earlier: Callable[[], Opinions]) -> None:
        """An error where an answer does not fit the plan, or what was said `earlier` of the set.

        Positions and ranks are those of the documents as they are shown.
        """
        if said.kind in GRADED | {"ranking"} and said.kind not in self.kinds:
            asked = " and a ".join(sorted(self.kinds))
            message = f"this campaign asks for no {said.kind}; send a {asked}"
            raise RuleError("not-allowed", message)
        if said.kind == "grade" and said.grade not in plan.scale.grades:
            listed = ", ".join(map(str, plan.scale.grades))
            raise RuleError("malformed", f"grade must be one of {listed}")

    def missing(self, plan: Plan, answers: Opinions, size: int) -> str:
        """What must be mended in a set before its batch is finished; "" if nothing."""
        left = sum(position not in answers for position in range(1, size + 1))
        return f"{left} of {size} documents are not judged" if left else ""

    def grade(self, plan: Plan, said: Opinion) -> int | None:
        """The grade of an answer; None where it has none."""
        return said.grade

    def points(self, work: Work, assigned: Assignment) -> Points | None:
        """What a batch brought whose answers are closed; None where no points are counted."""
        return None

    # --- robots -----------------------------------------------------------------------------------

    def robot_says(
        self, plan: Plan, shown: Mapping[str, Any], grade: int, chance: Chance
    ) -> dict[str, Any]:
        """What a robot sends of a document of a set, as `shown`, that it finds worth a grade.

        Empty: nothing.
        """
        return {"kind": "grade", "grade": grade}

    def robot_ranks(self, grades: Sequence[int], chance: Chance) -> list[int]:
        """How a robot ranks a set whose documents it finds worth these grades; empty: not."""
        return []


_WAYS: dict[str, Way] = {}


def ranks_by(grades: Sequence[int], chance: Chance) -> list[int]:
    """Ranks by grades, ties by chance."""
    order = sorted(range(len(grades)), key=lambda at: (-grades[at], chance()))
    return [order.index(at) + 1 for at in range(len(grades))]
