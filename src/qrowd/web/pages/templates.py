"""The pages' templates, in which every text is escaped, and their filters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from qrowd import rendering
from qrowd.collection.record.act import offered

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
    )
    environment.filters |= {
        "number": number,
        "percent": percent,
        "interval": interval,
        "when": when,
        "ago": ago,
    }
    environment.globals["offered"] = offered
    return environment


# --- numbers, shares and times as people read them ------------------------------------------------


def number(value: float | None, digits: int = 0) -> str:
    """With thousands; unknown as a dash."""
    if value is None or _unknown(value):
        return UNKNOWN
    return rendering.thousands(value, digits)


def percent(value: float | None, digits: int = 0) -> str:
    """A share."""
    if value is None or _unknown(value):
        return UNKNOWN
    return rendering.spaced_percent(value, digits)


def interval(estimate: Mapping[str, Any] | None, digits: int = 2) -> str:
    """A value with its ends: 0.61 (0.55 to 0.66)."""
    if estimate is None or _unknown(estimate["value"]):
        return UNKNOWN
    value, low, high = estimate["value"], estimate.get("low"), estimate.get("high")
    if _unknown(low) or _unknown(high):
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _unknown(value: float | None) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def when(at: int | None) -> Markup:
    """A time by the server's clock."""
    if at is None:
        return Markup(UNKNOWN)
    then = datetime.fromtimestamp(at / 1000).astimezone()
    text = escape(f"{then.day} {then:%b %Y, %H:%M}")
    return Markup('<time datetime="{}">{}</time>').format(then.isoformat(timespec="minutes"), text)


def ago(milliseconds: int) -> str:
    """How long ago: just now, 5 minutes ago, 3 days ago."""
    for unit, name in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        n = milliseconds // unit
        if n:
            return f"{rendering.counted(n, name)} ago"
    return "just now"
