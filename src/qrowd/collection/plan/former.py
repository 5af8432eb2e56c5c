"""Defaults that plans had before: what is stored goes on under the rules that it was made with.

A stored plan holds only what differs from the defaults. Before one of them changes, the old one is
written down here, with the version of the schema that brings the new one: the migration to that
version writes it into the plans of campaigns, and drafts of before get it when they are read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qrowd.collection.plan.sections import CHECKS
from qrowd.collection.plan.toml import rewritten
from qrowd.io.plan_files import table_at


@dataclass(frozen=True)
class Former:
    """A key's default until a version of the schema."""

    until: str
    section: str  # of a single check: `checks.binary`
    key: str
    #: what it was, in a plan with these tables
    value: Callable[[Mapping[str, Any]], Any]


def _entry(tables: Mapping[str, Any]) -> str:
    """Whoever named somebody came in, unless visits had to be signed."""
    return "platform" if tables.get("platform", {}).get("jwks") else "open"


FORMER = (
    Former("0004", "people", "entry", _entry),
    # nobody was screened out by default, however often gold was missed or answered too fast
    *(Former("0005", f"checks.{name}", "action", lambda _: "exclude") for name in CHECKS),
    Former("0005", "checks", "screen_out_after", lambda _: 3),
)
NEWEST = max(former.until for former in FORMER)


def with_former_defaults(text: str, version: str) -> str:
    """A plan's text that was stored under a version of the schema, as it is said today."""
    for former in FORMER:
        tables = tomllib.loads(text)
        if version < former.until and former.key not in table_at(tables, former.section):
            text = rewritten(text, former.section, {former.key: former.value(tables)})
    return text
