"""Answers to questions become a plan: `change(plan, {"sets.target": "5"})`.

An answer names a key of the plan (`section.key`, `checks.binary.at_least`) and is text, as a form
sends it. What an answer makes necessary elsewhere is changed along with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qrowd.collection.plan.sections import Plan, keys, sections
from qrowd.errors import InputError, ParameterError, UnknownNameError
from qrowd.registry import Param

_NAME = re.compile(r"[^a-z0-9]+")


def change(plan: Plan, answers: Mapping[str, str]) -> Plan:
    """A plan with these answers; an error that names the key of one that is not allowed."""
    for name, text in answers.items():
        section, _, key = name.rpartition(".")
        plan = set_key(plan, section, key, value_of(param_of(name), text))
    return consistent(plan)


def param_of(name: str) -> Param:
    """The key that an answer is about."""
    section, _, key = name.rpartition(".")
    known = sections()
    if section not in known:
        raise UnknownNameError.among("section", section, known)
    found = {one.name: one for one in keys(known[section])}
    if key not in found:
        raise UnknownNameError.among(f"key of [{section}]", key, found)
    return found[key]


def set_key(plan: Plan, section: str, key: str, value: Any) -> Plan:
    """A plan with another value of one key."""
    outer, _, inner = section.partition(".")
    held = getattr(plan, outer)
    if inner:
        changed = replace(held, **{inner: replace(getattr(held, inner), **{key: value})})
    else:
        changed = replace(held, **{key: value})
    made: Plan = replace(plan, text="", **{outer: changed})
    return made


def value_of(key: Param, text: str) -> Any:
    """Text as the value of a key; lists have an item on each line, or are separated by commas."""
    given = text.replace("\r\n", "\n").strip()
    try:
        value = _parsed(key, given)
        return key.check(value, key.name)
    except (ValueError, ParameterError):
        raise InputError(
            f"{key.name} must be {key.allowed}; got {given[:60] or 'nothing'}"
        ) from None


def _parsed(key: Param, text: str) -> Any:
    if key.item is not None:
        apart = r"[\s,;]+" if key.item is int else r"\s*\n\s*"
        return tuple(key.item(one) for one in re.split(apart, text) if one)
    if key.type is bool:
        return text.lower() in ("yes", "true", "1", "on")
    if key.type in (int, float):
        number = key.type(text.replace(",", ".") if key.type is float else text)
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError(text)
        return number
    return text


def consistent(plan: Plan) -> Plan:
    """What one answer makes necessary elsewhere: couples have two documents, an owner is alone."""
    if plan.preferences and plan.sets.size != 2:
        plan = set_key(plan, "sets", "size", 2)
    if plan.ranked and plan.sets.size < 2:
        plan = set_key(plan, "sets", "size", 2)
    if plan.owner and plan.sets.target != 1:
        plan = set_key(plan, "sets", "target", 1)
    longest = max(plan.hit.lease_minutes, plan.hit.longest_minutes)
    return set_key(plan, "hit", "longest_minutes", longest)


def name_of(title: str) -> str:
    """A campaign's name from its title: short, and plain enough for an address."""
    return _NAME.sub("-", title.lower()).strip("-")[:60].strip("-") or "campaign"


def refuse_name(name: str) -> None:
    """An error where a name would not do in an address."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError("a name has letters, digits, points, hyphens and lines below, at most 100")
