"""What an act of an organiser is: what it does, what it must be told, what it would cost.

    checked("raise target", {"target": "5"}) -> {"target": 5}

The acts themselves stand in `office.acts`, a room above this one.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from qrowd.collection.books import ledger
from qrowd.collection.database.store import Work
from qrowd.errors import RuleError, UnknownNameError

Details = dict[str, Any]
Reader = Callable[[str, Any], Any]  # of a detail's name and of what was sent for it

LARGEST = 2**53  # details are JSON, whose numbers are exact up to here


@dataclass(frozen=True)
class Consequence:
    """A question, its answer's name, what follows, and what it costs in minor units.

    A negative cost gives money back. `final` acts cannot be undone.
    """

    question: str
    button: str
    follows: tuple[str, ...] = ()
    cost: int = 0
    final: bool = False
    words: str = ""  # instead of the cost's

    def price(self, work: Work) -> str:
        """The cost in words, beside what is free."""
        shown, free = work.plan.pay.shown, ledger.balance(work).free
        if self.words:
            return self.words
        if not self.cost:
            return "This costs nothing."
        if self.cost < 0:
            return f"This gives back {shown(-self.cost)}."
        missing = self.cost - free
        lacks = f"; {shown(missing)} more would be needed" if missing > 0 else ""
        return f"This costs {shown(self.cost)}; {shown(free)} are free{lacks}."


Undo = Callable[[Work, Details], object]
Foretell = Callable[[Work, Details], Consequence]


@dataclass(frozen=True)
class Act:
    """Something that an organiser can do."""

    #: changes the campaign, returns what `undo` needs; None where a function of its own does it
    do: Callable[[Work, Details], Details] | None
    #: None: it cannot be taken back, and must be asked for twice
    undo: Undo | None = None
    #: what would follow and what it would cost; None: no page asks for it
    foretell: Foretell | None = None
    #: the details that it must have
    needed: Mapping[str, Reader] = field(default_factory=dict)
    #: what it changes, "" for its name: it is undone only while no later act changed the same
    subject: str = ""
    #: the details that it may have; a reason is always allowed
    optional: Mapping[str, Reader] = field(default_factory=dict)
    #: acts of this name add up (a bonus and another one), so each of them can be undone
    adds: bool = False


def known_acts() -> Mapping[str, Act]:
    """All acts by their names. They stand in a room above this one, hence the import by name."""
    acts: Mapping[str, Act] = importlib.import_module("qrowd.collection.office.acts").ACTS
    return acts


def subject_of(name: str, details: Mapping[str, Any]) -> str:
    """What an act changes, as a name: "worker 7", "state"; "" for what is not in the list."""
    act = known_acts().get(name)
    return (act.subject or name).format_map(defaultdict(str, details)) if act else ""


# --- details --------------------------------------------------------------------------------------


def checked(name: str, details: Mapping[str, Any]) -> Details:
    """The details of an act, each as what it should be; an error names the one that is not."""
    act = known_acts().get(name)
    if act is None or act.do is None:
        return dict(details)
    readers: dict[str, Reader] = {**act.needed, **act.optional, "reason": as_text}
    missing = [detail for detail in act.needed if detail not in details]
    if missing:
        raise RuleError("bad-value", f"{name} needs {' and '.join(missing)}")
    for detail in details:
        if detail not in readers:
            error = UnknownNameError.among(f"detail of {name}", detail, readers)
            raise RuleError("bad-value", str(error))
    return {detail: readers[detail](detail, value) for detail, value in details.items()}


def as_number(name: str, value: Any) -> int:
    """A whole number, which may come as text."""
    text = str(value).strip()
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) < 19
    if not plain or abs(int(text)) > LARGEST:
        raise RuleError("bad-value", f"{name} must be a whole number, got {value!r:.100}")
    return int(text)


def as_worker(name: str, value: Any) -> int:
    """A worker's number: 7 or "w7"."""
    return as_number(name, str(value).removeprefix("w"))


def as_workers(name: str, value: Any) -> list[int]:
    """Workers' numbers: a list, or text with commas."""
    numbers = value.split(",") if isinstance(value, str) else value
    if not isinstance(numbers, list | tuple):
        raise RuleError("bad-value", f"{name} must be numbers of workers, got {value!r}")
    return [as_worker(name, number) for number in numbers]


def as_text(name: str, value: Any) -> str:
    """Text and nothing else."""
    if not isinstance(value, str):
        raise RuleError("bad-value", f"{name} must be text, got {value!r}")
    return value


def as_priorities(name: str, value: Any) -> list[list[Any]]:
    """Rows of topic, document, number."""
    try:
        rows: list[list[Any]] = [
            [str(topic), str(doc), float(priority)] for topic, doc, priority in value
        ]
    except (TypeError, ValueError):
        raise RuleError("bad-value", f"{name} must be rows of topic, doc, number") from None
    if not all(abs(priority) < LARGEST for _, _, priority in rows):
        raise RuleError("bad-value", f"{name} must be finite numbers")
    return rows
