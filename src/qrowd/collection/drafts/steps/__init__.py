"""The steps of the wizard. Each is one class in the module of its family, and one template.

    all_steps()["pay"].suggest(draft)    a step by its name; the mapping is in the wizard's order
    step_of("pay", "budget")             the name of the step that asks for a key of the plan

Modules of this package are found by themselves, and their classes by being there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.uploads import Upload
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.sections import Plan
from qrowd.errors import RuleError, UsageError
from qrowd.registry import import_modules

REGISTERED: dict[str, Step] = {}  # by name, as their classes are made


@dataclass(frozen=True)
class StepForm:
    """What was filled in for a step: texts by key of the plan, files by kind, further choices."""

    step: str
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Sequence[Upload]] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)
    campaigns: Collection[str] = ()  # the names that are taken


class Step:
    """A step of the wizard; a subclass with a name is in it.

    Its page is `organiser/steps/NAME.html.j2`; the texts `office.step.NAME.short` and `.question`
    are its name in the list of steps and its heading.
    """

    #: stored in drafts, and part of addresses: permanent
    name: ClassVar[str] = ""
    #: the step that it comes after; "" for the first one
    after: ClassVar[str] = ""
    #: the keys of the plan that its form fills in
    keys: ClassVar[tuple[str, ...]] = ()
    #: the kinds of files that its form may bring, which are keys of `[files]`
    uploads: ClassVar[tuple[str, ...]] = ()
    #: those of its keys that have a switch, and what "off" means
    off: ClassVar[Mapping[str, str]] = {}
    #: those of its keys that the form asks for in percent; plans have shares
    percents: ClassVar[tuple[str, ...]] = ()
    #: the fields of its form that are no keys of the plan
    choices: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            if cls.name in REGISTERED:
                raise UsageError(f"two steps of the wizard are called {cls.name!r}")
            REGISTERED[cls.name] = cls()

    @property
    def fills_in(self) -> tuple[str, ...]:
        """All keys of the plan that it is about, files too."""
        return (*self.keys, *(f"files.{kind}" for kind in self.uploads))

    def suggest(self, draft: Draft) -> Plan:
        """The plan with what most people want, before anybody has filled in the form."""
        return draft.plan

    def follow(self, draft: Draft, plan: Plan, form: StepForm) -> Plan:
        """The plan, which has the form's texts and files by now, with what else follows."""
        return plan

    def comes_again(self, draft: Draft, form: StepForm) -> bool:
        """Whether the form, which the draft has by now, leads to this step once more."""
        return False

    def problems(self, draft: Draft) -> Iterator[Complaint]:
        """What is wrong beside what a plan and its files say (`plan.limits`, `plan.forecast`)."""
        return iter(())

    def shown(self, draft: Draft) -> Mapping[str, Any]:
        """What its template wants beside what all of them have."""
        return {}


def all_steps() -> dict[str, Step]:
    """The steps by their names, each after the one that it names.

    Of several after the same one, the one that fewer steps follow comes first: a new step stands
    between two that were neighbours.
    """
    after: dict[str, list[Step]] = defaultdict(list)
    for step in REGISTERED.values():
        after[step.after].append(step)

    def chain(name: str) -> list[Step]:
        branches = [[step, *chain(step.name)] for step in after[name]]
        branches.sort(key=lambda branch: (len(branch), branch[0].name))
        return [step for branch in branches for step in branch]

    order = {step.name: step for step in chain("")}
    for name, step in REGISTERED.items():
        if step.after and step.after not in REGISTERED:
            raise UsageError(f"step {name!r} comes after {step.after!r}, which is no step")
    circle = sorted(REGISTERED.keys() - order.keys())
    if circle:
        raise UsageError(f"steps come after each other in a circle: {', '.join(circle)}")
    return order


def step_named(name: str) -> Step:
    """A step; an error where this version has none of that name."""
    steps = all_steps()
    if name not in steps:
        raise RuleError("not-found", f"there is no question {name!r}")
    return steps[name]


def step_of(section: str, key: str) -> str:
    """The step that asks for a key of the plan; "" where none does."""
    name = f"{section}.{key}"
    return next((step.name for step in REGISTERED.values() if name in step.fills_in), "")


def suggested(draft: Draft, step: str) -> Plan:
    """The draft's plan, with a suggestion where nobody has filled in this step yet."""
    return draft.plan if step in draft.answered else step_named(step).suggest(draft)


import_modules(__name__)
