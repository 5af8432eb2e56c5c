"""Paths into nested records, and the flat rows that they lead to.

    data.doc_id                        a key of an object, and one inside of it
    annotations[].completed_by         of each item of a list
    value.choices[0]                   of one item
    ratings{key}, ratings{}            each name in an object, and what it holds
    relevance.*                        whichever of these keys is filled: one of many buttons
    value.choices|rating               the first of these keys that is there

A key may have dots itself (`relevance.responses.users[]`): the longest one that is there counts. A
text that holds JSON is looked into, or a list or dict as Python prints it. Lists of one level stand
side by side: their items belong together by position. Lists inside of lists give a row for each of
the innermost items.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from qrowd.errors import UsageError
from qrowd.io.roles import recognised

if TYPE_CHECKING:
    import polars as pl

    from qrowd.data.arrays import Array

EACH, KEYS, VALUES = "[]", "{key}", "{}"
_PART = re.compile(r"\[(-?\d*)\]|(\{key\}|\{\})")
Path = tuple[str | int, ...]
Row = dict[str, Any]
_NOT_PRESSED = ("", "none", "false", "off")
_SIDE_BY_SIDE = re.compile(r"['\"]\s+['\"]")  # which Python would take for one text
_BETWEEN = re.compile(r"\}\s+\{")
_TOO_MUCH = (RecursionError, MemoryError)
_LIKELY = {"grade": "value", "assessor": "key"}  # where nothing better is there
_DEEPEST = 12  # of what is suggested


def leads_into(text: str, names: Sequence[str]) -> bool:
    """Whether this leads into these columns, rather than naming one that is not there."""
    key = text.partition(".")[0]
    one_of = "|" in text and not set(text.split("|")).isdisjoint(names)
    buttons = "*" in text and any(fnmatchcase(name, text) for name in names)
    return bool(_PART.search(text)) or key in names or one_of or buttons


def parsed(text: str) -> Path:
    """`a.b[].c[0]` as ("a.b", "[]", "c", 0): keys with dots are taken apart where they are met."""
    parts: list[str | int] = []
    at = 0
    for match in _PART.finditer(text):
        key = text[at : match.start()].strip(".")
        parts += [key] if key else []
        parts.append(match[2] or (int(match[1]) if match[1] else EACH))
        at = match.end()
    rest = text[at:].strip(".")
    if not parts and not rest:
        raise UsageError(f"a path names keys, as in annotations[].value, got {text!r}")
    return (*parts, rest) if rest else tuple(parts)


def flat(record: Any, paths: Mapping[str, Path]) -> list[Row]:
    """The rows of one record: a value for each path, None where there is none.

    An item of a list that has none of the values below it is no row, unless no item has any: then
    one row says that something was there.
    """
    row: Row = dict.fromkeys(paths)
    lists: dict[Path, dict[str, Path]] = {}  # the path up to its first [] or {}: the rest of it
    for name, path in paths.items():
        row[name], rest = _walked(record, path)
        if rest:
            start = path[: len(path) - len(rest)]
            lists.setdefault((*start, EACH if rest[0] == EACH else VALUES), {})[name] = rest
    if not lists:
        return [row]
    items = [part for start, inner in lists.items() if (part := _items(record, start, inner))]
    lengths = sorted({len(part) for part in items})
    if len(lengths) > 1:
        side_by_side = " and ".join(map(_written, lists))
        raise ValueError(f"{side_by_side} differ in length ({lengths[0]} and {lengths[-1]})")
    rows = []
    for beside in zip(*items, strict=True):
        inner_rows: list[Row] = [row]
        for part in beside:
            inner_rows = [one | other for one in inner_rows for other in part]
        rows += inner_rows
    names = [name for inner in lists.values() for name in inner]
    return [each for each in rows if any(each[name] is not None for name in names)] or [row]


def _items(record: Any, start: Path, inner: Mapping[str, Path]) -> list[list[Row]]:
    """The rows of each item of the list, or of the object, at a path."""
    held = inside(_walked(record, start[:-1])[0])
    below = {name: rest[1:] for name, rest in inner.items() if rest[0] != KEYS}
    if start[-1] == EACH and held is not None:
        return [flat(item, below) for item in (held if isinstance(held, list) else [held])]
    if start[-1] == EACH or not isinstance(held, Mapping):
        return []
    keys = [name for name, rest in inner.items() if rest[0] == KEYS]
    return [
        [dict.fromkeys(keys, str(key)) | each for each in flat(value, below)]
        for key, value in held.items()
    ]


def _walked(value: Any, path: Path) -> tuple[Any, Path]:
    """What a path leads to, up to its first [] or {}; and the rest of it from there."""
    for at, part in enumerate(path):
        if part in (EACH, KEYS, VALUES):
            return None, path[at:]
        value = inside(value)
        if isinstance(part, int):
            fits = isinstance(value, list) and -len(value) <= part < len(value)
            value = value[part] if fits else None
        else:
            value = _by_key(value, str(part))
    return value, ()


def inside(value: Any) -> Any:
    """A text that holds JSON, or a list or dict as Python prints it, as what it holds."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        for text in (value, _BETWEEN.sub("}, {", value)):  # numpy prints no commas
            with contextlib.suppress(ValueError, RecursionError):
                return json.loads(text)
            if not _SIDE_BY_SIDE.search(text):
                with contextlib.suppress(ValueError, SyntaxError, TypeError, *_TOO_MUCH):
                    return ast.literal_eval(text)
    return value


def _by_key(value: Any, key: str) -> Any:
    """The value of a key, the longest first: `a.b.c` may be one key, or one in another."""
    if not isinstance(value, Mapping):
        return None
    if key in value:
        return value[key]
    if "*" in key and any(fnmatchcase(name, key) for name in value):
        return _pressed(value, key)
    if "|" in key.partition(".")[0]:
        either = (_by_key(value, each) for each in key.split("|"))
        return next((held for held in either if held is not None), None)
    parts = key.split(".")
    for many in range(len(parts) - 1, 0, -1):
        start = ".".join(parts[:many])
        if start in value:
            return _by_key(inside(value[start]), ".".join(parts[many:]))
    return None


def _pressed(value: Mapping[str, Any], pattern: str) -> Any:
    """Of keys that a pattern fits, the one that is filled: one of many buttons.

    Where it says no more than that it is pressed (true), the answer is what the `*` stands for.
    """
    before, _, after = pattern.partition("*")
    answers = []
    for key, held in value.items():
        if fnmatchcase(key, pattern) and as_text(held).strip().lower() not in _NOT_PRESSED:
            pressed = as_text(held).strip().lower() in ("true", "on")
            answers.append(key[len(before) : len(key) - len(after)] if pressed else held)
    return answers


def _written(path: Path) -> str:
    text = ""
    for part in path:
        text += (
            f"[{part}]" if isinstance(part, int) else f".{part}" if part[0] not in "[{" else part
        )
    return text.strip(".")


# --- a table of flat rows -------------------------------------------------------------------------


def flat_frame(
    rows: Iterable[tuple[int, Any]],
    paths: Mapping[str, str],
    error: Callable[[str, int], Exception],
) -> tuple[Array, pl.DataFrame]:
    """All rows that paths lead to, and the record (or its line) that each comes from."""
    import numpy as np
    import polars as pl

    steps = {name: parsed(path) for name, path in paths.items()}
    numbers: list[int] = []
    columns: dict[str, list[Any]] = {name: [] for name in paths}
    for at, (line, record) in enumerate(rows):
        try:
            inside = flat(record, steps)
        except ValueError as problem:
            raise error(str(problem), line) from None
        numbers += [line - 1 if line else at] * len(inside)
        for name, column in columns.items():
            column += [row[name] for row in inside]
    frame = pl.DataFrame([series(name, values) for name, values in columns.items()])
    return np.array(numbers, np.int64), frame


def series(name: str, values: list[Any]) -> pl.Series:
    """A column of numbers where all are, else of texts."""
    import polars as pl

    values = [_alone(value) for value in values]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        return pl.Series(
            name, values, dtype=pl.Float64 if float in kinds else pl.Int64, strict=False
        )
    return pl.Series(
        name, [None if value is None else as_text(value) for value in values], pl.String
    )


def _alone(value: Any) -> Any:
    """The item of a list of one, nothing of an empty one."""
    if isinstance(value, list) and len(value) < 2:
        return _alone(value[0]) if value else None
    return value


def as_text(value: Any) -> str:
    """A value of JSON as the text that a table would have."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)


# --- what a nested file could be read by ----------------------------------------------------------


def leaves(record: Any, start: str = "", depth: int = 0) -> Iterator[str]:
    """The paths to all that is no list and no object in a record."""
    if depth > _DEEPEST:
        return
    record = inside(record)
    if isinstance(record, Mapping):
        for key, value in record.items():
            yield from leaves(value, f"{start}.{key}" if start else str(key), depth + 1)
    elif isinstance(record, list):
        for item in record[:20]:
            yield from leaves(item, f"{start}{EACH}", depth + 1)
    elif start:
        yield start


def suggested(records: Sequence[Any], wanted: Sequence[str]) -> dict[str, str]:
    """The paths whose last keys are called as the wanted columns are: {wanted: path}."""
    paths = list(dict.fromkeys(path for record in records[:50] for path in leaves(record)))
    by_name: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: (path.count(EACH) == 0, len(path))):
        name = path.split(".")[-1].removesuffix(EACH)
        by_name.setdefault(name, path)
    for name, path in list(by_name.items()):
        by_name.setdefault(name.removesuffix("s"), path)  # labels, annotators
    likely = {role: by_name[name] for role, name in _LIKELY.items() if name in by_name}
    found = {role: by_name[name] for role, name in recognised(list(by_name), wanted).items()}
    return {role: path for role, path in {**likely, **found}.items() if role in wanted}
