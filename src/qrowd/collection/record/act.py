"""What each act of an organiser must and may be told, read once for command line and web.

    checked("raise target", {"target": "5"}) -> {"target": 5}

Numbers may come as text; a worker may be 7 or "w7". Every act may have a `reason`.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qrowd.collection.database.store import Work
from qrowd.errors import RuleError, UnknownNameError

LARGEST = 2**53
Reading = Callable[[str, Any], Any]


def _number(name: str, given: Any) -> int:
    text = str(given).strip()
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdecimal() and len(digits) < 19
    if not plain or abs(int(text)) > LARGEST:
        raise RuleError("bad-value", f"{name} must be a whole number, got {given!r:.100}")
    return int(text)


def _worker(name: str, given: Any) -> int:
    return _number(name, str(given).removeprefix("w"))


def _workers(name: str, given: Any) -> list[int]:
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, list | tuple):
        raise RuleError("bad-value", f"{name} must be numbers of workers, got {given!r}")
    return [_worker(name, one) for one in listed]


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise RuleError("bad-value", f"{name} must be text, got {given!r}")
    return given


def _priorities(name: str, given: Any) -> list[list[Any]]:
    try:
        rows = [(str(topic), str(doc), float(value)) for topic, doc, value in given]
    except (TypeError, ValueError):
        raise RuleError("bad-value", f"{name} must be rows of topic, doc, number") from None
    if not all(abs(value) < LARGEST for _, _, value in rows):
        raise RuleError("bad-value", f"{name} must be finite numbers")
    return [list(row) for row in rows]


# by act: what it needs, and what it may have
NEEDED: dict[str, dict[str, Reading]] = {
    "raise target": {"target": _number},
    "retire gold": {"set": _number},
    "prioritise": {"priorities": _priorities},
    "fund": {"amount": _number},
    "bonus": {"worker": _worker, "amount": _number},
    "screen out": {"worker": _worker},
    "stop": {"worker": _worker},
    "message": {"worker": _worker, "text": _text},
    "accept": {"assignment": _number},
    "exclude": {"assignment": _number},
    "refuse": {"assignment": _number},
    "clarify topic": {"topic": _text, "text": _text},
    "draw sample": {},
    "settle": {},
    **{act: {} for act in ("launch", "pause", "resume", "close")},
}
ALLOWED: dict[str, dict[str, Reading]] = {
    "raise target": {"topic": _text},
    "settle": {"workers": _workers},
    "draw sample": {"size": _number},
}
EVERY: dict[str, Reading] = {"reason": _text}


def checked(act: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """The details of an act, each as what it should be; an error names the one that is not."""
    if act not in NEEDED:
        return dict(details)
    needed = NEEDED[act]
    known = {**needed, **ALLOWED.get(act, {}), **EVERY}
    missing = [name for name in needed if name not in details]
    if missing:
        raise RuleError("bad-value", f"{act} needs {' and '.join(missing)}")
    for name in details:
        if name not in known:
            raise RuleError(
                "bad-value", str(UnknownNameError.among(f"detail of {act}", name, known))
            )
    return {name: known[name](name, value) for name, value in details.items()}


Details = dict[str, Any]


@dataclass(frozen=True)
class Act:
    """An act; without `undo` it must be asked twice.

    `subject` says what it changes: an act is undone only while no later one changed the same,
    unless acts of its kind `add` up (a bonus and another one).
    """

    do: Callable[[Work, Details], Details]
    undo: Callable[[Work, Details], None] | None = None
    subject: str = ""
    adds: bool = False


_ACTS: dict[str, Act] = {}


def register(acts: Mapping[str, Act]) -> None:
    """Make acts known by their names."""
    _ACTS.update(acts)


def known_acts() -> Mapping[str, Act]:
    """All acts by their names. They stand in a room above this one, hence the import by name."""
    importlib.import_module("qrowd.collection.office.acts")
    return _ACTS


def subject_of(act: str, details: Mapping[str, Any]) -> str:
    """What an act changes, as a name: "worker 7", "state"; "" for what is not in the list."""
    known = known_acts().get(act)
    return (known.subject or act).format_map(defaultdict(str, details)) if known else ""
