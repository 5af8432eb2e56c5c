"""Batch files of Mechanical Turk: CSV with `WorkerId`, `Input.*` and `Answer.*`.

An assignment about several documents has numbered columns (`Input.docno1 Answer.relevance1
Input.docno2 ...`): a row for each number. An answer by buttons has a column for each button
(`Answer.relevance.0 Answer.relevance.1`), one of them true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qrowd.io.formats import text
from qrowd.io.formats.format import Format, Read
from qrowd.io.roles import recognised
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_BUTTON = re.compile(r"Answer\.(.+)\.([^.]+)")
_NUMBERED = re.compile(r"(Input|Answer)\.(.*?)[ _.-]?(\d+)")
_NAMED = re.compile(r"(?:Input|Answer)\.(.+)")
_TRUTH = ("true", "false", "on", "off", "")


def matches(source: Source) -> bool:
    """CSV with a column of workers and one of answers."""
    if not text.csv_matches(source):
        return False
    names = text.csv_fields(source)
    return "WorkerId" in names and any(name.startswith("Answer.") for name in names)


def fields(source: Source) -> list[str]:
    """The names of the columns, without `Input.` and `Answer.`."""
    return list(read(source)[1].collect_schema())


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """A row for each document of each assignment; columns keep their own names, too."""
    origin, frame = text.csv_read(source)
    frame = frame.lazy().collect()
    frame = frame.with_columns(_buttons(frame))
    numbered = _numbers(frame.columns)
    if len(numbered) > 1:
        rows = np.tile(np.arange(frame.height), len(numbered))
        return origin.of_rows(rows), _stacked(frame, numbered)
    return origin, _answered(_named(frame))


def _buttons(frame: pl.DataFrame) -> list[pl.Series]:
    """The answer of each group of buttons: the name of the one that is true."""
    import polars as pl

    groups: dict[str, dict[str, str]] = {}
    for name in frame.columns:
        found = _BUTTON.fullmatch(name)
        if found and frame[name].fill_null("").str.to_lowercase().is_in(_TRUTH).all():
            groups.setdefault(f"Answer.{found[1]}", {})[name] = found[2]
    return [
        frame.select(
            pl.coalesce(
                pl.when(pl.col(name).str.to_lowercase().is_in(("true", "on"))).then(pl.lit(option))
                for name, option in options.items()
            )
        )
        .to_series()
        .alias(answer)
        for answer, options in groups.items()
        if answer not in frame.columns
    ]


def _numbers(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """For each number that inputs and answers have: {column without number: column}."""
    found: dict[str, dict[str, dict[str, str]]] = {"Input": {}, "Answer": {}}
    for name in names:
        parts = _NUMBERED.fullmatch(name)
        if parts and not (_BUTTON.fullmatch(name) and f"Answer.{parts[2]}" in names):
            found[parts[1]].setdefault(parts[3], {})[f"{parts[1]}.{parts[2]}"] = name
    both = sorted(found["Input"].keys() & found["Answer"].keys(), key=int)
    return {number: found["Input"][number] | found["Answer"][number] for number in both}


def _stacked(frame: pl.DataFrame, numbered: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    import polars as pl

    used = {name for columns in numbered.values() for name in columns.values()}
    shared = frame.select(name for name in frame.columns if name not in used)
    parts = [
        shared.with_columns(frame[theirs].alias(name) for name, theirs in columns.items())
        for columns in numbered.values()
    ]
    return _answered(_named(pl.concat(parts, how="diagonal")))


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """With the columns of inputs and answers under their names alone, too."""
    short = {name: found[1] for name in frame.columns if (found := _NAMED.fullmatch(name))}
    new = {name: each for name, each in short.items() if each not in frame.columns}
    return frame.with_columns(frame[name].alias(each) for name, each in new.items())


def _answered(frame: pl.DataFrame) -> pl.DataFrame:
    """With the only answer as the grade, whatever it is called."""
    answers = [name for name in frame.columns if name.startswith("Answer.")]
    answers = [name for name in answers if not _BUTTON.fullmatch(name)] or answers
    if len(answers) == 1 and not recognised(frame.columns, ("grade",)):
        return frame.with_columns(frame[answers[0]].alias("grade"))
    return frame


FORMAT = Format("mturk", (), matches, fields, read)
