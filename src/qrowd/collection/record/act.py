"""What an act of an organiser is: one class, which nothing else knows by its name.

    class Bonus(Act):
        \"\"\"Owe a worker more than their batches earn.\"\"\"      # in help and in the interface

        name = "bonus"                                         # stored in the record: permanent
        on = ("worker",)
        scope = "pay"
        subject = "bonus {worker}"
        adds = True
        worker: int = detail(WorkerNumber())
        amount: int = detail(Money())

        def do(self, work: Work) -> Details: ...

        @staticmethod
        def undo(work: Work, stored: Stored) -> None: ...

The record, pages, the interface, the command line, its help and undo come from that. What an act
says stands in `web/texts` under `office.act.bonus.`: `name`, `question`, `follows`, `button`,
`done`, and for a form `title`, `look` and `detail.amount` for each of its fields. Acts stand in the
package `office.acts`, in a room above this one: its modules are imported by their names.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self, dataclass_transform

from qrowd.collection.books import ledger
from qrowd.collection.database.store import Work
from qrowd.collection.plan.sections import Pay
from qrowd.collection.record.details import Detail, Kind, Line, detail
from qrowd.errors import RuleError, UnknownNameError, require_name
from qrowd.registry import import_modules
from qrowd.texts import Text

Details = dict[str, Any]  # what is added to the record
Stored = Mapping[str, Any]  # details of the record, of any version

_ACTS: dict[str, type[Act]] = {}


@dataclass(frozen=True)
class Consequence:
    """What is asked before an act: a question, its answer's name, what follows, what it costs.

    The cost is in minor units; a negative one gives money back. The price says it in words. What it
    `offers` are other acts that help those whom it is about.
    """

    act: Act
    question: Text
    button: Text
    follows: tuple[Text, ...]
    cost: int
    price: Text
    offers: tuple[Act, ...] = ()


def _price(work: Work, cost: int) -> Text:
    """A cost in words, beside what is free."""
    shown, free = work.plan.pay.shown, ledger.balance(work).free
    if not cost:
        return Text("office.price.nothing")
    if cost < 0:
        return Text("office.price.back", amount=shown(-cost))
    values = {"amount": shown(cost), "free": shown(free), "missing": shown(cost - free)}
    return Text("office.price.cost" if cost <= free else "office.price.short", **values)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(detail,))
@dataclass(frozen=True, kw_only=True)
class Act:
    """Something that an organiser can do; its fields are the details that are recorded.

    Each subclass is a frozen dataclass too, and one with a name is found by it.
    """

    name: ClassVar[str]
    #: where its button stands: campaign, worker, batch, gold, topic, appeal, money
    on: ClassVar[tuple[str, ...]] = ()
    #: the states of what it is on in which it is possible; (): in all
    states: ClassVar[tuple[str, ...]] = ()
    #: what somebody must be allowed: manage, pay, people
    scope: ClassVar[str] = "manage"
    #: what it changes, "" for its name: it is undone only while no later act changed the same
    subject: ClassVar[str] = ""
    #: acts of this name add up (a bonus and another one), so each of them can be undone
    adds: ClassVar[bool] = False
    #: it cannot be undone, and must be asked for twice
    final: ClassVar[bool] = False
    #: the page and the command that do it, where details are too much or not enough
    page: ClassVar[str] = ""
    command: ClassVar[str] = ""
    #: what `do` adds to the record and people want to read there
    results: ClassVar[tuple[tuple[str, Kind], ...]] = ()
    #: what `do` adds for `undo` alone, and is too much to read
    unread: ClassVar[tuple[str, ...]] = ()
    #: qrowd does it again and again by itself: of several in a row the newest is shown
    repeated: ClassVar[bool] = False

    reason: str = detail(Line(), default="", asked=False)

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
        if "name" in vars(cls):
            for name in cls.details().keys() & vars(Act).keys() - {"reason"}:
                raise TypeError(f"{cls.__name__}: no detail can be called {name}, as acts have it")
            _ACTS[cls.name] = cls

    def do(self, work: Work) -> Details | None:
        """Change the campaign; what `undo` needs to know besides the fields, if anything."""
        raise NotImplementedError

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        """Bring back the state before, from what the record has."""
        raise NotImplementedError

    def foretell(self, work: Work) -> Consequence:
        """What would follow and what it would cost."""
        return self.ask(work, "follows")

    # --- what it says -----------------------------------------------------------------------------

    @classmethod
    def says(cls, part: str, **values: Any) -> Text:
        """One of its texts."""
        return Text(f"office.act.{cls.name.replace(' ', '-')}.{part}", **values)

    def ask(self, work: Work, *follows: str | Text, cost: int = 0, **values: Any) -> Consequence:
        """The consequence, whose texts say its details and `values`.

        What follows is a text, or one of its own by the part of its name.
        """
        values = self.shown(vars(self), work.plan.pay) | values
        said = [self.says(each, **values) if isinstance(each, str) else each for each in follows]
        question, button = self.says("question", **values), self.says("button", **values)
        return Consequence(self, question, button, tuple(said), cost, _price(work, cost))

    @classmethod
    def shown(cls, stored: Stored, pay: Pay) -> dict[str, Any]:
        """Of what the record has, that which people read."""
        kinds = {name: each.kind for name, each in cls.details().items()} | dict(cls.results)
        return {
            name: kind.shown(stored[name], pay) for name, kind in kinds.items() if name in stored
        }

    # --- its details ------------------------------------------------------------------------------

    @classmethod
    def details(cls) -> dict[str, Detail]:
        """Its fields by their names."""
        return {
            field.name: dataclasses.replace(
                field.metadata["detail"],
                name=field.name,
                required=field.default is dataclasses.MISSING,
            )
            for field in dataclasses.fields(cls)
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The act with these details from outside; an error names the one that is not right."""
        details = cls.details()
        for name in values:
            if name not in details:
                error = UnknownNameError.among(f"detail of {cls.name}", name, details)
                raise RuleError("bad-value", str(error))
        missing = [name for name, each in details.items() if each.required and name not in values]
        if missing and cls.command:
            raise RuleError("not-allowed", f"{cls.name} has a command of its own: {cls.command}")
        if missing:
            raise RuleError("bad-value", f"{cls.name} needs {' and '.join(missing)}")
        return cls(**{name: details[name].kind.read(name, value) for name, value in values.items()})

    @classmethod
    def of_form(cls, text: Callable[[str], str], pay: Pay) -> Self:
        """The act that a form wants; `text` gives what a field holds, "" for nothing."""
        sent = {name: each for name, each in cls.details().items() if text(name)}
        return cls.of(
            {name: each.kind.read_form(name, text(name), pay) for name, each in sent.items()}
        )

    @classmethod
    def inputs(cls, known: Collection[str]) -> list[Detail]:
        """What a form asks for, where these details are known."""
        asked = [each for each in cls.details().values() if each.asked and each.kind.input]
        return [each for each in asked if each.name not in known]

    def form(self, pay: Pay) -> dict[str, str]:
        """Its details as a form sends them."""
        kinds = {name: each.kind for name, each in self.details().items()}
        return {name: kinds[name].form(value, pay) for name, value in self.recorded().items()}

    def recorded(self) -> Details:
        """The details that are written down: those that were said."""
        return {
            name: getattr(self, name)
            for name, each in self.details().items()
            if each.recorded and (each.required or getattr(self, name) != getattr(type(self), name))
        }

    @classmethod
    def subject_of(cls, stored: Stored) -> str:
        """What an act with these details changes, as a name: "worker 7", "state"."""
        return (cls.subject or cls.name).format_map(defaultdict(str, stored))

    @classmethod
    def usage(cls) -> str:
        """It and its details, as the command line is told: `bonus worker=N amount=CENTS`."""
        signs = [
            f"{name}={each.kind.sign}" if each.required else f"[{name}={each.kind.sign}]"
            for name, each in cls.details().items()
            if each.asked
        ]
        name = f'"{cls.name}"' if " " in cls.name else cls.name
        return " ".join([name, *signs])

    @classmethod
    def summary(cls) -> str:
        """What it does, in one sentence: the first line of its docstring."""
        return (cls.__doc__ or "").partition("\n")[0]


# --- all of them ----------------------------------------------------------------------------------


@cache
def all_acts() -> dict[str, type[Act]]:
    """All acts by their names."""
    import_modules("qrowd.collection.office.acts")
    by_module = sorted(_ACTS.values(), key=lambda act: act.__module__)  # whoever imported first
    _ACTS.clear()
    _ACTS.update({act.name: act for act in by_module})
    return _ACTS


def act_named(name: str) -> type[Act]:
    """The act of this name."""
    acts = all_acts()
    require_name("act", name, acts)
    return acts[name]


def offered(on: str, state: str, scopes: Collection[str]) -> list[type[Act]]:
    """The acts on something in a state, for somebody who is allowed so much."""
    return [
        act
        for act in all_acts().values()
        if on in act.on and act.scope in scopes and (not act.states or state in act.states)
    ]
