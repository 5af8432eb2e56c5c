"""Numbers, shares and times as people read them; filters of the templates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
UNKNOWN = "–"


def number(value: float | None, digits: int = 0) -> str:
    """With thousands; unknown as a dash."""
    return UNKNOWN if unknown(value) else f"{value:,.{digits}f}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share."""
    return UNKNOWN if value is None or unknown(value) else f"{value * 100:.{digits}f}\u00a0%"


def interval(found: Mapping[str, Any] | None, digits: int = 2) -> str:
    """A value with its ends: 0.61 (0.55 to 0.66)."""
    if found is None or unknown(found["value"]):
        return UNKNOWN
    ends = [found.get("low"), found.get("high")]
    value = f"{found['value']:.{digits}f}"
    if any(unknown(end) for end in ends):
        return value
    return f"{value} ({ends[0]:.{digits}f} to {ends[1]:.{digits}f})"


def unknown(value: float | None) -> bool:
    """Whether there is no such number."""
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
            return f"{n} {name}{'s' if n > 1 else ''} ago"
    return "just now"


FILTERS = {
    "number": number,
    "percent": percent,
    "interval": interval,
    "when": when,
    "ago": ago,
}
