"""Rows that are chosen by what a column holds: `status=APPROVED`, `status!=REJECTED`.

`*` is any text, and upper and lower case are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qrowd.errors import UsageError
from qrowd.io.origin import Origin
from qrowd.io.paths import flat_frame
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

    from qrowd.data.arrays import Array

_CONDITION = re.compile(r"(?s)(.+?)\s*(!?=)\s*(.*)")
_SHOWN = 6


@dataclass(frozen=True)
class Condition:
    """Rows where a column holds one of these values, or (not `equal`) none of them."""

    column: str
    equal: bool
    values: tuple[str, ...]

    def fitting(self, texts: Iterable[str]) -> list[str]:
        """Those of these texts that are one of the values; `*` is any text."""
        parts = (".*".join(map(re.escape, value.split("*"))) for value in self.values)
        pattern = re.compile("|".join(parts), re.DOTALL)
        return [text for text in texts if pattern.fullmatch(text)]

    def __str__(self) -> str:
        return f"{self.column}{'' if self.equal else '!'}={' or '.join(self.values)}"


Where = str | Sequence[str] | Sequence[Condition] | Mapping[str, Any] | None


def conditions(where: Where) -> list[Condition]:
    """What was stated; a column that is stated twice may hold either value."""
    if where is None:
        return []
    if not isinstance(where, str | Mapping):
        read = [each for each in where if isinstance(each, Condition)]
        if read:
            return read
    if isinstance(where, Mapping):
        pairs = ((column, value) for column, value in where.items())
        where = [
            f"{column}={each}"
            for column, value in pairs
            for each in (value if isinstance(value, list | tuple | set) else [value])
        ]
    values: dict[tuple[str, bool], list[str]] = {}
    for text in [where] if isinstance(where, str) else where:
        match = _CONDITION.fullmatch(str(text).strip())
        if not match:
            raise UsageError(
                f"rows are chosen by column=value or column!=value, got {text!r}; as in "
                "status=APPROVED"
            )
        values.setdefault((match[1].strip(), match[2] == "="), []).append(match[3].strip().lower())
    return [Condition(column, equal, tuple(said)) for (column, equal), said in values.items()]


def overridden(usual: Where, where: Where) -> list[Condition]:
    """What was stated, and what is usual about all other columns."""
    stated = conditions(where)
    named = {condition.column for condition in stated}
    return [each for each in conditions(usual) if each.column not in named] + stated


def chosen(
    source: Source,
    rows: Iterable[tuple[int, Any]],
    columns: Mapping[str, str],
    stated: Sequence[Condition],
) -> tuple[Array, pl.DataFrame, list[str]]:
    """The rows of records that fulfil all conditions, where they are, and how many did not."""
    also = {f"where {at}": condition.column for at, condition in enumerate(stated)}
    numbers, frame = flat_frame(rows, {**columns, **also}, source.error)
    origin = Origin(source.name, frame.height, kept=numbers)
    origin, frame, notes = kept_rows(origin, frame, stated, list(also))
    assert origin.kept is not None
    return origin.kept, frame.drop(also), notes


def kept_rows(
    origin: Origin, frame: pl.DataFrame, stated: Sequence[Condition], names: Sequence[str] = ()
) -> tuple[Origin, pl.DataFrame, list[str]]:
    """The rows that fulfil all conditions, and a word about the others.

    `names` are those of the columns, where they are not the conditions' own.
    """
    import polars as pl

    notes = []
    for condition, name in zip(stated, names or [each.column for each in stated], strict=True):
        text = frame[name].cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
        text = text.str.replace(r"^(\d+)\.0$", "${1}")
        fits = text.is_in(condition.fitting(text.unique().to_list())) == condition.equal
        if fits.all():
            continue
        others = text.filter(~fits).value_counts(sort=True)
        listed = ", ".join(
            f"{count} with {value or 'nothing'}" for value, count in others.rows()[:_SHOWN]
        )
        if not fits.any():
            raise origin.error(f"no row has {condition}; {condition.column}: {listed}")
        notes.append(
            f"left out, since {condition} is wanted: {listed} (to choose: --where "
            f"'{condition.column}=*')"
        )
        frame = frame.filter(fits)
        origin = origin.of_rows(fits.arg_true().to_numpy())
    return origin, frame, notes
