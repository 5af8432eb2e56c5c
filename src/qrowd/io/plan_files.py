"""Plan files in TOML: their text, what it says, and in which line a key stands."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrowd.errors import FormatError, InputError, ParameterError, UnknownNameError
from qrowd.registry import Param

_HEADER = re.compile(r"\s*\[\s*([\w.\- ]+?)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z_][\w\-]*)\s*=")


def file_text(path: str | Path) -> str:
    """The text of a plan file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError:
        raise FormatError("is not text in UTF-8", file=str(path)) from None


def parsed_toml(text: str, file: str) -> dict[str, Any]:
    """What a text in TOML says; an error names the line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        at = int(line.group(1)) if line else text.count("\n") + 1
        raise FormatError(f"is not TOML: {error}", file=file, line=at) from None
    except (ValueError, RecursionError):
        message = "is not a plan: nested too deep, or too long a number"
        raise FormatError(message, file=file) from None


@dataclass(frozen=True)
class PlanText:
    """The text of a plan and what messages call its file: errors are at its lines."""

    text: str
    file: str

    def error(self, message: object, *key: str) -> InputError:
        """The error about a section, or about a section's key."""
        return InputError(str(message), file=self.file, line=line_of(self.text, *key))

    def refuse_value(self, name: str, table: Any) -> None:
        """An error where a value stands in the place of a section."""
        if not isinstance(table, dict):
            raise self.error(f"{name} must be a section, [{name}]", *name.rsplit(".", 1))

    def values(
        self, name: str, table: Mapping[str, Any], params: Iterable[Param], finite: bool = False
    ) -> dict[str, Any]:
        """The checked values of a section's keys; lists are tuples."""
        allowed = {param.name: param for param in params}
        values = {}
        for key, value in table.items():
            if key not in allowed:
                unknown = UnknownNameError.among(f"key of [{name}]", key, allowed)
                raise self.error(unknown, name, key)
            if finite and value in (math.inf, -math.inf):
                raise self.error(f"[{name}]: {key} must be finite, got {value}", name, key)
            try:
                items = tuple(value) if isinstance(value, list) else value
                values[key] = allowed[key].check(items, f"[{name}]")
            except ParameterError as error:
                raise self.error(error, name, key) from None
        return values


def line_of(text: str, section: str, key: str = "") -> int:
    """The line of a key, or of a section's head; the section's, or the last, where it is not."""
    return find_line(text, section, key) or max(1, text.count("\n"))


def table_at(tables: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """The table of a section, also of one inside another (`a.b`); empty if there is none."""
    for name in section.split("."):
        tables = tables.get(name, {})
    return tables


def find_line(text: str, section: str, key: str = "") -> int:
    """The line of a key, or of its section's head; 0 where neither is in the text."""
    current, head, quote = "", 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if quote:
            quote = "" if quote in line else quote
            continue
        if header := _HEADER.match(line):
            current = header.group(1).replace(" ", "")
            head = number if current == section else head
        elif match := _KEY.match(line):
            wanted = (section, key) if current else ("", section)
            if (current, match.group(1)) == wanted:
                return number
        quote = _opened(line)
    return head


def _opened(line: str) -> str:
    """The quotes of a text of several lines that begins in this line."""
    return next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
