"""Plan files (TOML), read and written; every complaint names the line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from qrowd.collection.plan.limits import complaints
from qrowd.collection.plan.sections import CHECKS, Plan, sections
from qrowd.errors import UnknownNameError
from qrowd.io.plan_files import PlanText, file_text, find_line, parsed_toml, table_at
from qrowd.registry import params_of


def read_plan(path: str | Path) -> Plan:
    """Read a plan file."""
    return parse_plan(file_text(path), str(path))


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A plan from its text; `file` is what messages call it."""
    plan = stored_plan(text, file)
    for complaint in complaints(plan):
        raise complaint.error(plan, file)
    return plan


@lru_cache(maxsize=64)
def stored_plan(text: str, file: str = "plan") -> Plan:
    """A plan that was accepted once: what later versions refuse does not lock its campaign."""
    reader = _Reader(text, file)
    tables = parsed_toml(text, file)
    usual = {name: getattr(Plan(), name) for name in sections() if "." not in name}
    for name in tables:
        if name not in usual:
            raise reader.error(UnknownNameError.among("section", name, usual), name)
    parts = {
        name: reader.section(name, tables.get(name, {}), section) for name, section in usual.items()
    }
    return Plan(**parts, text=text)


class _Reader(PlanText):
    """Sections from the tables of a text."""

    def section(self, name: str, table: Any, usual: Any) -> Any:
        """The section `usual` with what a table says instead, also of single checks."""
        self.refuse_value(name, table)
        single = [check for check in CHECKS if name == "checks" and check in table]
        plain = {key: value for key, value in table.items() if key not in single}
        values = self.values(name, plain, params_of(type(usual)), finite=True)
        for check in single:
            values[check] = self.section(f"{name}.{check}", table[check], getattr(usual, check))
        return replace(usual, **values)


# --- written --------------------------------------------------------------------------------------


def plan_text(plan: Plan) -> str:
    """The text of a plan file; reading it gives the same plan."""
    usual = Plan()
    parts = []
    for name in sections():
        section, default = map(attrgetter(name), (plan, usual))
        lines = [
            f"{key.name} = {_value(getattr(section, key.name))}\n"
            for key in params_of(type(section))
            if getattr(section, key.name) != getattr(default, key.name) or key.name == "name"
        ]
        if lines:
            parts.append("".join([f"[{name}]\n", *lines]))
    return "\n".join(parts)


def rewritten(text: str, section: str, values: Mapping[str, Any]) -> str:
    """A plan's text in which keys of a section have other values, None for none at all.

    All else stays as it was written, with its comments; where that cannot be done (a section in
    one line), the text is written anew.
    """
    for key, value in values.items():
        text = _with_value(text, section, key, value)
    return text


def _with_value(text: str, section: str, key: str, value: Any) -> str:
    before, wanted = tomllib.loads(text), tomllib.loads(text)
    *outer, last = section.split(".")
    parent = wanted
    for name in outer:
        parent = parent.setdefault(name, {})
    parent.setdefault(last, {})[key] = list(value) if isinstance(value, tuple) else value
    if value is None:
        del parent[last][key]
        if not parent[last]:
            del parent[last]
    if table_at(wanted, section) == table_at(before, section):
        return text
    lines = text.splitlines(keepends=True)
    line = "" if value is None else f"{key} = {_value(value)}\n"
    head, at = find_line(text, section), find_line(text, section, key)
    alone = [*lines[: head - 1], *lines[at:]]  # without the section, which has no other key
    candidates = (
        *([alone] if at == head + 1 else []),
        [*lines[: at - 1], line, *lines[at:]],  # instead of its line
        alone,
        [*lines[:head], line, *lines[head:]],  # below the head of the section
        [text, "" if text.endswith("\n") else "\n", f"[{section}]\n{line}"],  # at the end
    )
    for candidate in map("".join, candidates):
        try:
            if tomllib.loads(candidate) == wanted:
                return candidate
        except tomllib.TOMLDecodeError:
            continue
    changed = attrgetter(f"{section}.{key}")(Plan()) if value is None else value
    return plan_text(_replaced(stored_plan(text), [*section.split("."), key], changed))


def _replaced(part: Any, path: Sequence[str], value: Any) -> Any:
    """A plan, or a section, in which the key at this path has another value."""
    name, *rest = path
    inner = _replaced(getattr(part, name), rest, value) if rest else value
    return replace(part, **{name: inner})


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
