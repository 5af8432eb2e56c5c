"""A plan file (TOML) to a `Plan`; every complaint names the line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from qrowd.errors import InputError, ParameterError, UnknownNameError
from qrowd.experiments.plan import SECTIONS, Plan, TopicSet, TopicSets
from qrowd.experiments.plan_checks import check
from qrowd.io.plan_files import file_text, line_of, parsed_toml
from qrowd.registry import params_of


def read_plan(path: str | Path) -> Plan:
    """Read a plan file."""
    return replace(parse_plan(file_text(path), str(path)), folder=str(Path(path).resolve().parent))


def parse_plan(text: str, file: str = "plan") -> Plan:
    """A plan from its text; `file` is what messages call it."""
    found = parsed_toml(text, file)
    known = [*SECTIONS, "names", "runs", "topics"]
    for name, table in found.items():
        if name not in known:
            _refuse(text, file, UnknownNameError.among("section", name, known), name)
        if not isinstance(table, dict):
            _refuse(text, file, f"{name} must be a section, [{name}]", name)
    parts: dict[str, Any] = {
        name: _section(name, kind, found.get(name, {}), text, file)
        for name, kind in SECTIONS.items()
    }
    plan = Plan(
        **parts,
        names=_texts("names", "a method, as a spec string", found, text, file),
        runs=_texts("runs", "a file or a folder", found, text, file),
        topics=_topics(found.get("topics", {}), text, file),
        text=text,
        file=file,
    )
    check(plan)
    return plan


def _refuse(text: str, file: str, message: object, section: str, key: str = "") -> NoReturn:
    raise InputError(str(message), file=file, line=line_of(text, section, key))


def _section(name: str, kind: type, table: Mapping[str, Any], text: str, file: str) -> Any:
    known = {one.name: one for one in params_of(kind)}
    values = {}
    for key, value in table.items():
        if key not in known:
            _refuse(text, file, UnknownNameError.among(f"key of [{name}]", key, known), name, key)
        given = tuple(value) if isinstance(value, list) else value
        try:
            values[key] = known[key].check(given, f"[{name}]")
        except ParameterError as error:
            _refuse(text, file, error, name, key)
    return kind(**values)


def _texts(
    section: str, what: str, found: Mapping[str, Any], text: str, file: str
) -> dict[str, str]:
    """A section whose keys are free and whose values are texts."""
    table = found.get(section, {})
    for name, value in table.items():
        if not isinstance(value, str):
            _refuse(text, file, f"[{section}]: {name} must be {what}", section, name)
    return dict(table)


def _topics(table: Mapping[str, Any], text: str, file: str) -> dict[str, TopicSets]:
    groups = {}
    for name, sets in table.items():
        found = [_topic_set(one) for one in sets] if isinstance(sets, list) else []
        kept = tuple(one for one in found if one is not None)
        if not found or len(kept) < len(found):
            message = f"[topics]: {name} must be a list of lists of topics, each topic in quotes"
            _refuse(text, file, message, "topics", name)
        groups[name] = kept
    return groups


def _topic_set(value: Any) -> TopicSet | None:
    """A topic set from a list of topics, or from `{test = [...], train = [...]}`."""
    if isinstance(value, list):
        value = {"test": value}
    if not isinstance(value, dict) or not {"test"} <= set(value) <= {"test", "train"}:
        return None
    halves = [value["test"], value.get("train", [])]
    names = all(isinstance(half, list) and all(isinstance(n, str) for n in half) for half in halves)
    return TopicSet(*(tuple(half) for half in halves)) if names and value["test"] else None
