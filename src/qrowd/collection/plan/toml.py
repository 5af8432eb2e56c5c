"""Plan files (TOML), read and written; every complaint names the line."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from qrowd.collection.plan.limits import BECAUSE, complaints
from qrowd.collection.plan.sections import Check, Checks, Plan, keys, sections
from qrowd.errors import InputError, ParameterError, UnknownNameError
from qrowd.io.plan_files import file_text, find_line, line_of, parsed_toml
from qrowd.registry import Param


def read_plan(path: str | Path) -> Plan:
    """Read a plan file."""
    return parse_plan(file_text(path), str(path))


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A plan from its text; `file` is what messages call it."""
    plan = stored_plan(text, file)
    _refuse_contradictions(plan, file)
    return plan


@lru_cache(maxsize=64)
def stored_plan(text: str, file: str = "plan") -> Plan:
    """A plan that was accepted once: what later versions refuse does not lock its campaign."""
    found = parsed_toml(text, file)
    known = {name: kind for name, kind in sections().items() if "." not in name}
    for name in found:
        if name not in known:
            raise _unknown("section", name, known, file, line_of(text, name))
    parts: dict[str, Any] = {
        name: _checks(found.get(name, {}), text, file)
        if kind is Checks
        else _section(name, kind, found.get(name, {}), text, file)
        for name, kind in known.items()
    }
    return Plan(**parts, text=text)


def _checks(table: Any, text: str, file: str) -> Checks:
    _refuse_value("checks", table, text, file)
    names = [one.name for one in fields(Checks) if "param" not in one.metadata]
    rest = {key: value for key, value in table.items() if key not in names}
    plain = _section("checks", Checks, rest, text, file)
    given = {
        name: _section(f"checks.{name}", Check, table[name], text, file, getattr(plain, name))
        for name in names
        if name in table
    }
    checked: Checks = replace(plain, **given)
    return checked


def _section(name: str, kind: type, table: Any, text: str, file: str, base: Any = None) -> Any:
    _refuse_value(name, table, text, file)
    known = {one.name: one for one in keys(kind)}
    values = {}
    for key, value in table.items():
        line = line_of(text, name, key)
        if key not in known:
            raise _unknown(f"key of [{name}]", key, known, file, line)
        given = tuple(value) if isinstance(value, list) else value
        if given in (math.inf, -math.inf):
            raise InputError(f"[{name}]: {key} must be finite, got {given}", file=file, line=line)
        try:
            values[key] = known[key].check(given, f"[{name}]")
        except ParameterError as error:
            raise InputError(str(error), file=file, line=line) from None
    return kind(**values) if base is None else replace(base, **values)


def _refuse_value(name: str, table: Any, text: str, file: str) -> None:
    if not isinstance(table, dict):
        line = line_of(text, *name.rsplit(".", 1)) if "." in name else line_of(text, name)
        raise InputError(f"{name} must be a section, [{name}]", file=file, line=line)


def _unknown(what: str, name: str, known: Any, file: str, line: int) -> InputError:
    return InputError(str(UnknownNameError.among(what, name, known)), file=file, line=line)


def wrong(
    plan: Plan, section: str, key: str, message: str, file: str = "plan", because: str = ""
) -> InputError:
    """The error for a key that cannot be met, at its line.

    A key that the plan leaves out is reported at the line of `because` (as in "people.workers"),
    the key that its default does not go with.
    """
    line = find_line(plan.text, section, key)
    if not line and because:
        line = find_line(plan.text, *because.rsplit(".", 1))
    return InputError(f"[{section}] {key}: {message}", file=file, line=line or 1)


def _refuse_contradictions(plan: Plan, file: str) -> None:
    for found, section, key, message in complaints(plan):
        if found:
            raise wrong(plan, section, key, message, file, BECAUSE.get(f"{section}.{key}", ""))


def plan_text(plan: Plan) -> str:
    """The text of a plan file; reading it gives the same plan."""
    parts = [_plan_writing_section(name, _at(plan, name), _at(Plan(), name)) for name in sections()]
    return "\n".join(part for part in parts if part)


def _at(plan: Plan, name: str) -> Any:
    """A section of a plan, that of a single check too."""
    found: Any = plan
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _plan_writing_section(name: str, section: Any, usual: Any) -> str:
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
