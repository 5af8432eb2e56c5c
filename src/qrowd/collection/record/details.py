"""The details of acts: kinds of values, each read alike from commands, the interface and forms.

    target: int = detail(Number(low=0, high=1000))        a field of an act, see `act`

A form gives an amount of money in the currency's units, everybody else in minor units.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from qrowd.collection.plan.sections import Pay, Plan
from qrowd.errors import RuleError
from qrowd.rendering import thousands
from qrowd.texts import Text

LONGEST = 10_000  # characters of a text
LARGEST = 2**53  # details are JSON, whose numbers are exact up to here


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a detail is."""

    #: what stands for it in help
    sign: ClassVar[str] = "TEXT"
    #: how a form asks for it: a macro of `live_parts.html.j2`; "" where it cannot
    input: ClassVar[str] = ""

    def read(self, name: str, value: Any) -> Any:
        """A value from outside as it should be; an error names the detail."""
        raise NotImplementedError

    def read_form(self, name: str, text: str, pay: Pay) -> Any:
        """A value from a form."""
        return self.read(name, text)

    def form(self, value: Any, pay: Pay) -> str:
        """A value for a form."""
        return str(self.shown(value, pay))

    def shown(self, value: Any, pay: Pay) -> Any:
        """A value as people read it, in a text."""
        return value


class Line(Kind):
    """A line of text."""

    input = "line"

    def read(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise _bad(name, "text", value)
        if len(value) > LONGEST or "\0" in value:
            most = thousands(LONGEST)
            raise _bad(name, f"text of at most {most} characters, without zeros", value)
        return value


class Words(Line):
    """Text of several lines."""

    input = "words"


@dataclass(frozen=True, kw_only=True)
class Number(Kind):
    """A whole number, which may come as text."""

    low: int | None = None
    high: int | None = None
    sign = "N"
    input = "number"

    def read(self, name: str, value: Any) -> int:
        text = str(value).strip()
        digits = text.removeprefix("-")
        plain = digits.isascii() and digits.isdecimal() and len(digits) < 19
        if not plain or abs(int(text)) > LARGEST:
            raise _bad(name, "a whole number", value)
        if self.low is not None and int(text) < self.low:
            raise _bad(name, f"at least {thousands(self.low)}", value)
        if self.high is not None and int(text) > self.high:
            raise _bad(name, f"at most {thousands(self.high)}", value)
        return int(text)


class Identifier(Number):
    """The number that names a batch, a set, an appeal."""

    def shown(self, value: Any, pay: Pay) -> str:
        return str(value)


class WorkerNumber(Identifier):
    """A worker's number: 7 or "w7"."""

    def read(self, name: str, value: Any) -> int:
        return super().read(name, str(value).removeprefix("w"))

    def shown(self, value: Any, pay: Pay) -> str:
        return f"w{value}"


class WorkerNumbers(Kind):
    """Workers' numbers: a list, or text with commas or blanks."""

    sign = "N,N"
    input = "line"

    def read(self, name: str, value: Any) -> list[int]:
        numbers = value.replace(",", " ").split() if isinstance(value, str) else value
        if not isinstance(numbers, list | tuple):
            raise _bad(name, "numbers of workers", value)
        return [WorkerNumber().read(name, number) for number in numbers]

    def shown(self, value: Any, pay: Pay) -> str:
        return ", ".join(f"w{number}" for number in value)


class Money(Number):
    """An amount in minor units."""

    sign = "CENTS"
    input = "money"

    def read_form(self, name: str, text: str, pay: Pay) -> int:
        try:
            return self.read(name, pay.minor(float(text.replace(",", "."))))
        except (ValueError, OverflowError):
            raise RuleError("bad-value", "give a number, such as 2 or 2.50") from None

    def form(self, value: Any, pay: Pay) -> str:
        return f"{value / 10**pay.digits:.{pay.digits}f}"

    def shown(self, value: Any, pay: Pay) -> str:
        return pay.shown(value)


@dataclass(frozen=True, kw_only=True)
class Choice(Kind):
    """One of these words, each of which has a text of its own."""

    of: tuple[str, ...]
    #: the texts' ids begin with it
    text: str
    input = "choice"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sign", "|".join(self.of))

    def read(self, name: str, value: Any) -> str:
        if value not in self.of:
            raise _bad(name, f"one of {', '.join(self.of)}", value)
        return str(value)

    def form(self, value: Any, pay: Pay) -> str:
        return str(value)

    def shown(self, value: Any, pay: Pay) -> Text:
        return Text(self.text + value)

    def options(self) -> list[tuple[str, Text]]:
        """The words with their texts, for a form."""
        return [(value, Text(self.text + value)) for value in self.of]


@dataclass(frozen=True, kw_only=True)
class Days(Kind):
    """A time in days."""

    high: int
    low: ClassVar[int] = 1  # of a form
    sign = "DAYS"
    input = "number"

    def read(self, name: str, value: Any) -> float:
        try:
            days = float(value)
        except (TypeError, ValueError):
            days = 0.0
        if not 0 < days <= self.high:
            raise _bad(name, f"days, more than 0 and at most {thousands(self.high)}", value)
        return days


class YesNo(Kind):
    """Yes or no; in a form, two buttons."""

    sign = "yes|no"
    input = "answer"

    def read(self, name: str, value: Any) -> bool:
        if value not in (True, False, "yes", "no", "true", "false"):
            raise _bad(name, "yes or no", value)
        return value in (True, "yes", "true")

    def form(self, value: Any, pay: Pay) -> str:
        return "yes" if value else "no"

    def shown(self, value: Any, pay: Pay) -> Text:
        return Text("office.word.yes" if value else "office.word.no")


class Rows(Kind):
    """Rows of something, of which people read how many there are."""

    sign = "ROWS"

    def shown(self, value: Any, pay: Pay) -> int:
        return len(value)


class Priorities(Rows):
    """Rows of topic, document, number."""

    def read(self, name: str, value: Any) -> list[tuple[str, str, float]]:
        try:
            rows = [(str(topic), str(doc), float(priority)) for topic, doc, priority in value]
        except (TypeError, ValueError):
            raise RuleError("bad-value", f"{name} must be rows of topic, doc, number") from None
        if not all(abs(priority) < LARGEST for _, _, priority in rows):
            raise RuleError("bad-value", f"{name} must be finite numbers")
        return rows


@dataclass(frozen=True, kw_only=True)
class Inside(Kind):
    """Something that only our own code has, such as rows or files; nothing from outside is one."""

    of: type

    def read(self, name: str, value: Any) -> Any:
        if not isinstance(value, self.of):
            raise RuleError("bad-value", f"{name} cannot be given like this")
        return value


def _bad(name: str, wanted: str, value: Any) -> RuleError:
    return RuleError("bad-value", f"{name} must be {wanted}, got {value!r:.100}")


# --- fields of acts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Detail:
    """A field of an act."""

    kind: Kind
    name: str = ""
    required: bool = True
    #: whether the record keeps it: what is erased with a person must not be there
    recorded: bool = True
    #: whether a form asks for it, and with a hint under its label
    asked: bool = True
    hint: bool = False
    #: what a form suggests
    suggest: Callable[[Plan], Any] | None = None


def detail(kind: Kind, *, default: Any = dataclasses.MISSING, **options: Any) -> Any:
    """A field of an act: what it is, and the `options` of `Detail`."""
    metadata = {"detail": Detail(kind, **options)}
    return dataclasses.field(default=default, metadata=metadata)
