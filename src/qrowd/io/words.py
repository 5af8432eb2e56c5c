"""Grades that are words: `Perfect=3,Related=1,unrateable=_`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import UsageError
from qrowd.io.table import Table, as_names

if TYPE_CHECKING:
    pass

Words = str | Mapping[str, int | None] | None
LEFT_OUT = "_"


def meaning(words: Words) -> dict[str, int | None]:
    """What each word means, in small letters; None: its judgements are left out."""
    if words is None:
        return {}
    if isinstance(words, str):
        words = dict(_parsed(part) for part in words.split(",") if part.strip())
    found: dict[str, int | None] = {}
    for word, grade in words.items():
        plain = str(word).strip().lower()
        if found.setdefault(plain, grade) != grade:
            raise UsageError(f"grades gives two meanings to {str(word).strip()!r}")
        if grade is not None and not LOWEST <= grade <= HIGHEST:
            raise UsageError(f"grades must lie between {LOWEST} and {HIGHEST}, got {word}={grade}")
    return found


def _parsed(part: str) -> tuple[str, int | None]:
    word, equals, grade = part.strip().rpartition("=")
    if not equals or not (grade.strip() == LEFT_OUT or grade.strip().lstrip("+-").isdigit()):
        raise UsageError(
            f"grades are stated as word=number (or word=_ to leave it out), got {part.strip()!r}"
        )
    return word, None if grade.strip() == LEFT_OUT else int(grade)


def with_meaning(table: Table, words: Mapping[str, int | None]) -> Table:
    """The table with numbers for words, without the rows that are left out."""
    import polars as pl

    if not words or "grade" not in table:
        return table
    theirs = table.columns["grade"]
    given = as_names(table.frame[theirs])
    plain = given.str.strip_chars().str.to_lowercase()
    numbers = {word: str(grade) for word, grade in words.items() if grade is not None}
    known = plain.replace_strict(numbers, default=None, return_dtype=pl.String)
    frame = table.frame.with_columns(known.fill_null(given).alias(theirs))
    left_out = [word for word, grade in words.items() if grade is None]
    stays = ~plain.is_in(left_out).fill_null(False).to_numpy()
    if stays.all():
        return replace(table, frame=frame)
    if not stays.any():
        raise table.place.error("every row has a grade that is left out")
    kept = np.flatnonzero(stays)
    return replace(table, frame=frame.filter(stays), place=table.place.of_rows(kept))
