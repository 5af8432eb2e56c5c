"""The pages' templates, in which every text is escaped, and their filters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import jinja2
from markupsafe import Markup

from qrowd import rendering
from qrowd.collection.record.act import offered
from qrowd.texts import Text, language_names, listed

FOLDER = Path(__file__).parents[1]
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
UNKNOWN = "–"


@cache
def templates() -> jinja2.Environment:
    """The templates of all pages; a name that is missing is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_said,
    )
    filters = (number, percent, interval, when, ago, listed, english)
    environment.filters |= {each.__name__: each for each in filters}
    environment.globals["language_names"] = language_names
    environment.globals["offered"] = offered
    return environment


@jinja2.pass_context
def _said(context: jinja2.runtime.Context, value: Any) -> Any:
    """A text in the language of the page."""
    return context["t"](value) if isinstance(value, Text) else value


def english(words: str) -> Markup:
    """What is English in every language: errors, and what the analysis says."""
    return Markup('<span lang="en">{}</span>').format(words)


# --- numbers, shares and times as people read them ------------------------------------------------


def number(value: float | None, digits: int = 0) -> str:
    """With thousands; unknown as a dash."""
    return rendering.thousands(value, digits) if _known(value) else UNKNOWN


def percent(value: float | None, digits: int = 0) -> str:
    """A share."""
    return rendering.spaced_percent(value, digits) if _known(value) else UNKNOWN


def interval(estimate: Mapping[str, Any] | None, digits: int = 2) -> Text | str:
    """A value with its ends: 0.61 (0.55 to 0.66)."""
    if estimate is None or not _known(estimate["value"]):
        return UNKNOWN
    shown = {
        end: f"{estimate[end]:.{digits}f}"
        for end in ("value", "low", "high")
        if _known(estimate.get(end))
    }
    return Text("office.word.interval", **shown) if len(shown) == 3 else shown["value"]


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and not math.isnan(value)


@jinja2.pass_context
def when(context: jinja2.runtime.Context, at: int | None) -> Markup:
    """A time in UTC; in browsers `times.js` says it in the reader's zone."""
    if at is None:
        return Markup(UNKNOWN)
    then = datetime.fromtimestamp(at / 1000, UTC)
    text = Text(
        "office.time",
        day=then.day,
        month=Text(f"office.month.short.{then.month}"),
        year=str(then.year),
        clock=f"{then:%H:%M}",
        zone="UTC",
    )
    said = Markup('<time datetime="{}">{}</time>')
    return said.format(then.isoformat(timespec="minutes"), context["t"](text))


def ago(milliseconds: int) -> Text:
    """How long ago: just now, 5 minutes ago, 3 days ago."""
    for unit, name in ((DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes")):
        if milliseconds >= unit:
            return Text(f"office.ago.{name}", n=milliseconds // unit)
    return Text("office.ago.now")
