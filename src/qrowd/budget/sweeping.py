"""Sweeps: one parameter of a method over many values, each a method of its own."""

from __future__ import annotations

import re

from qrowd import registry
from qrowd.errors import UsageError

_SWEEP = re.compile(r"\s*([A-Za-z][\w-]*)\.(\w+)\s*=\s*(.+)")


def specs_of(listed: str) -> list[str]:
    """The spec strings of a list, separated by commas outside of brackets.

    >>> specs_of("mv, mev(votes=2, own_counts=false), gp")
    ['mv', 'mev(votes=2, own_counts=false)', 'gp']
    """
    return [part.strip() for part in re.split(r",(?![^(]*\))", listed) if part.strip()]


def swept(sweep: str) -> dict[str, list[str]]:
    """The methods of a sweep such as `mvnn.similarity=0.1,0.5,0.9`, under its name.

    >>> swept("mev.votes=1,2")
    {'mev.votes': ['mev', 'mev(votes=2.0)']}
    """
    found = _SWEEP.fullmatch(sweep)
    if not found:
        raise UsageError(
            f"cannot read the sweep {sweep!r}; expected method.parameter=value,value,..., as in "
            "mvnn.similarity=0.1,0.5,0.9"
        )
    method, parameter, values = found.groups()
    specs = [f"{method}({parameter}={value.strip()})" for value in values.split(",")]
    return {f"{method}.{parameter}": [repr(registry.get(spec)) for spec in specs]}
