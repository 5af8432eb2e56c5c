"""A form's fields become a plan: `change(plan, {"sets.target": "5"})`.

A field names a key of the plan (`section.key`, `checks.binary.at_least`) and is text, as a form
sends it. What a change makes necessary elsewhere is changed along with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qrowd.collection.plan.sections import Plan, sections
from qrowd.errors import InputError, ParameterError, UnknownNameError
from qrowd.registry import Param, params_of


def change(plan: Plan, form: Mapping[str, str]) -> Plan:
    """A plan with what a form says; an error that names the key of what is not allowed."""
    for name, text in form.items():
        section, _, key = name.rpartition(".")
        plan = set_key(plan, section, key, value_of(param_of(name), text))
    return consistent(plan)


def param_of(name: str) -> Param:
    """The key of a plan by its name, `section.key`."""
    section, _, key = name.rpartition(".")
    classes = sections()
    if section not in classes:
        raise UnknownNameError.among("section", section, classes)
    params = {param.name: param for param in params_of(classes[section])}
    if key not in params:
        raise UnknownNameError.among(f"key of [{section}]", key, params)
    return params[key]


def set_key(plan: Plan, section: str, key: str, value: Any) -> Plan:
    """A plan with another value of one key."""
    outer, _, inner = section.partition(".")
    changed = getattr(plan, outer)
    if inner:  # a single check
        key, value = inner, replace(getattr(changed, inner), **{key: value})
    changed = replace(changed, **{key: value})
    return replace(plan, text="", **{outer: changed})


def value_of(key: Param, text: str) -> Any:
    """Text as the value of a key; lists have an item on each line, or are separated by commas."""
    text = text.replace("\r\n", "\n").strip()
    try:
        return key.check(_parsed(key, text), key.name)
    except (ValueError, ParameterError):
        raise InputError(
            f"{key.name} must be {key.allowed}; got {text[:60] or 'nothing'}"
        ) from None


def _parsed(key: Param, text: str) -> Any:
    if key.item is not None:
        apart = r"[\s,;]+" if key.item is int else r"\s*\n\s*"
        return tuple(key.item(item) for item in re.split(apart, text) if item)
    if key.type is bool:
        return text.lower() in ("yes", "true", "1", "on")
    if key.type in (int, float):
        number = key.type(text.replace(",", ".") if key.type is float else text)
        if not math.isfinite(number):
            raise ValueError(text)
        return number
    return text


def consistent(plan: Plan) -> Plan:
    """What a change makes necessary elsewhere: what the way of judging needs, an owner is alone."""
    plan = plan.way.settle(plan)
    if plan.owner:
        plan = set_key(plan, "sets", "target", 1)
    longest = max(plan.hit.lease_minutes, plan.hit.longest_minutes)
    return set_key(plan, "hit", "longest_minutes", longest)


def name_of(title: str) -> str:
    """A campaign's name from its title: short, and plain enough for an address."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "campaign"


def refuse_name(name: str) -> None:
    """An error where a name would not do in an address."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise InputError("a name has letters, digits, points, hyphens and underscores, at most 100")
