"""A `Plan` to a plan file (TOML): what differs from the defaults, so that people can read it."""

from __future__ import annotations

import json
from typing import Any

from qrowd.collection.plan import Plan, keys, sections
from qrowd.registry import Param


def plan_text(plan: Plan) -> str:
    """The text of a plan file; reading it gives the same plan."""
    parts = [_section(name, _at(plan, name), _at(Plan(), name)) for name in sections()]
    return "\n".join(part for part in parts if part)


def _at(plan: Plan, name: str) -> Any:
    """A section of a plan, that of a single check too."""
    found: Any = plan
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _section(name: str, section: Any, usual: Any) -> str:
    given = {one.name: one for one in keys(type(section))}
    lines = [
        _line(given[key], getattr(section, key))
        for key in given
        if getattr(section, key) != getattr(usual, key) or key == "name"
    ]
    return "".join([f"[{name}]\n", *lines]) if lines else ""


def _line(key: Param, value: Any) -> str:
    return f"{key.name} = {_value(value)}\n"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return _text(value)
    return repr(value)


def _text(value: str) -> str:
    """A text: in one line, or between three quotes where it has several."""
    plain = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if "\n" not in value or "\r" in value or "\\" in plain.replace("\\n", "").replace('\\"', ""):
        return plain
    inside = plain[1:-1].replace("\\n", "\n")
    return f'"""\n{inside}"""'
