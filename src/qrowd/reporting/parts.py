"""What a report is made of: sections of prose, tables, figures and notes."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from qrowd.errors import MissingExtraError
from qrowd.rendering import DIGITS, cell, digits_of, grouped

UNKNOWN = "–"
_BACKTICKS = re.compile(r"`([^`]+)`")
_NAME = re.compile(r'<svg data-name="([^"]*)"')


class Shown(NamedTuple):
    """A cell that is shown as one thing and sorted by another."""

    text: str
    sort: float


class Part:
    """What stands below a heading."""

    @property
    def kind(self) -> str:
        """Its name in the template: prose, items, note, code, figure, table, matrix or group."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Prose(Part):
    """A paragraph; `code` between backticks."""

    text: str


@dataclass(frozen=True)
class Items(Part):
    """Names and what they are."""

    items: Mapping[str, str]


class Note(Prose):
    """Something that a reader should know before trusting a number."""


@dataclass(frozen=True)
class Code(Part):
    """Lines to be typed."""

    text: str


@dataclass(frozen=True)
class Figure(Part):
    """A picture as SVG, with words for those who do not see it."""

    svg: str
    alt: str
    caption: str

    @property
    def name(self) -> str:
        """What it was drawn as; no other picture of a page has this name."""
        match = _NAME.search(self.svg)
        return match[1] if match else ""


@dataclass(frozen=True)
class Table(Part):
    """Columns by name; the first one names the rows.

    `best` says which end of a column is good (`max` or `min`): the best cell is set bold.
    `words` explain columns. `command` prints the same numbers.
    """

    caption: str
    columns: Mapping[str, list[Any]]
    digits: int = DIGITS
    best: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    command: str = ""

    def rows(self) -> list[list[Any]]:
        """The cells, row by row."""
        return [list(row) for row in zip(*self.columns.values(), strict=True)]

    def digits_of(self, name: str) -> int:
        """The decimal places of a column."""
        return digits_of(name, self.digits)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The columns that hold numbers, and are set flush right."""
        return frozenset(
            name
            for name, values in self.columns.items()
            if all(isinstance(value, Shown | int | float) for value in values)
        )

    def champions(self, name: str) -> set[int]:
        """The rows that are best in a column."""
        if name not in self.best:
            return set()
        values = [sort_key(value) for value in self.columns[name]]
        defined = [value for value in values if not math.isnan(value)]
        if len(defined) < 2:
            return set()
        top = max(defined) if self.best[name] == "max" else min(defined)
        return {at for at, value in enumerate(values) if round(value - top, self.digits) == 0}


@dataclass(frozen=True)
class Matrix(Part):
    """Probabilities of each row against each column, coloured from 0 to 1."""

    caption: str
    names: list[str]
    values: list[list[float]]
    words: str
    command: str = ""


@dataclass(frozen=True)
class Group(Part):
    """Figures side by side, where the page is wide enough."""

    parts: tuple[Figure, ...]


@dataclass(frozen=True)
class Fact:
    """A figure for the head of the page: a number, what it is, and the section that has it."""

    value: str
    name: str
    about: str = ""
    section: str = ""


@dataclass(frozen=True)
class Verdict:
    """A question of the first screen, its short answer, and the reasons.

    `level` is good, caution, bad or unknown: a colour, a sign and a word tell it apart.
    """

    question: str
    level: str
    answer: str
    reasons: str

    @property
    def sign(self) -> str:
        """What stands for the level beside its colour."""
        return {"good": "✓", "caution": "!", "bad": "✗", "unknown": "?"}[self.level]


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    parts: tuple[Part, ...]

    @property
    def anchor(self) -> str:
        """The heading as the target of a link."""
        return anchor_of(self.title)


def anchor_of(title: str) -> str:
    """The target of links to the section of this title."""
    return "-".join(word for word in title.lower().split() if word.isalnum())


def sort_key(value: Any) -> float:
    """The number behind a cell; NaN if there is none."""
    if isinstance(value, Shown):
        return value.sort
    return float(value) if isinstance(value, int | float) else math.nan


def sentence(text: str) -> str:
    """A text that begins small and has no full stop, with both."""
    return f"{text[0].upper()}{text[1:]}."


def cell_text(value: Any, digits: int) -> str:
    """A cell as it is read."""
    if isinstance(value, Shown):
        return value.text
    if isinstance(value, int) and not isinstance(value, bool):
        return grouped(value)
    return cell(value, digits, UNKNOWN)


@dataclass(frozen=True)
class Report:
    """Words, tables and pictures about some data; `q.save(report, "report.html")` writes its page.

    `verdicts` answer the first questions, `facts` are the few numbers at the
    head; `made` says with what it was made.
    """

    title: str
    lead: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    made: str
    verdicts: tuple[Verdict, ...] = ()

    def __repr__(self) -> str:
        return f"Report({self.title}: {', '.join(section.title for section in self.sections)})"

    def _repr_html_(self) -> str:
        """The page inside a frame, for a notebook."""
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'

    @property
    def pictures(self) -> dict[str, Figure]:
        """Its pictures by their names."""
        shown: dict[str, Figure] = {}
        for part in (part for section in self.sections for part in section.parts):
            each = part.parts if isinstance(part, Group) else (part,)
            shown |= {figure.name: figure for figure in each if isinstance(figure, Figure)}
        return shown

    def to_html(self) -> str:
        """The page."""
        css, js = _resource("report.css"), _resource("report.js")
        return str(_template().render(report=self, css=css, js=js))


def _resource(name: str) -> str:
    return (files("qrowd.reporting") / "templates" / name).read_text(encoding="utf-8")


def _template() -> Any:
    try:
        import jinja2
        from markupsafe import Markup, escape
    except ModuleNotFoundError:
        raise MissingExtraError.needed("a report", "report") from None

    def worded(text: str) -> Markup:
        return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))

    surroundings = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    filters = {"worded": worded, "sort_key": sort_key, "cell": cell_text, "anchor": anchor_of}
    surroundings.filters |= filters
    return surroundings.from_string(_resource("report.html.j2"))
