"""Batch files of Mechanical Turk: CSV with `WorkerId`, `Input.*` and `Answer.*`.

An assignment about several documents has numbered columns (`Input.docno1 Answer.relevance1
Input.docno2 ...`): a row for each number. An answer by buttons has a column for each button
(`Answer.relevance.0 Answer.relevance.1`), one of them true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qrowd.io.formats.format import Read
from qrowd.io.formats.text import Csv, Tsv
from qrowd.io.formats.tool import Tool
from qrowd.io.paths import as_text
from qrowd.io.roles import recognised
from qrowd.io.source import Source
from qrowd.io.where import kept_rows, overridden

if TYPE_CHECKING:
    import polars as pl

_CSV, _TSV = Csv(), Tsv()
_BUTTON = re.compile(r"Answer\.(.+)\.([^.]+)")
_NUMBERED = re.compile(r"(Input|Answer)\.(.*?)[ _.-]?(\d+)")
_NAMED = re.compile(r"(?:Input|Answer)\.(.+)")
_TRUE = ("true", "on")
_TASKS, _STATUS = "Answer.taskAnswers", "AssignmentStatus"
_TRUTH = (*_TRUE, "false", "off", "")


class MTurk(Tool):
    """A row for each document of each assignment; columns keep their own names, too."""

    name = "mturk"
    title = "Mechanical Turk's batch"
    before = "csv"

    def matches(self, source: Source) -> bool:
        """CSV with a column of workers and one of answers."""
        if _TSV.matches(source) or not _CSV.matches(source):
            return False
        names = _CSV.fields(source)
        return "WorkerId" in names and any(name.startswith("Answer.") for name in names)

    def laid_out(self, source: Source, gold: bool = False, where: Sequence[str] = ()) -> Read:
        """With answers by buttons, and numbered documents, in columns of their own."""
        import numpy as np
        import polars as pl

        origin, read = _CSV.read(source)
        frame = read.lazy().collect()
        usual = [f"{_STATUS}!=Rejected"] if _STATUS in frame.columns else []
        origin, frame, left_out = kept_rows(origin, frame, overridden(usual, where))
        notes = tuple(f"{source.name}: {self.title}: {note}" for note in left_out)
        origin = replace(origin, notes=notes, about={"file of": self.title})
        if _TASKS in frame.columns:
            frame = _with_task_answers(frame)
        frame = frame.with_columns(_buttons(frame))
        numbered = _numbers(frame.columns)
        if len(numbered) > 1:
            origin = origin.of_rows(np.tile(np.arange(frame.height), len(numbered)))
            used = {name for columns in numbered.values() for name in columns.values()}
            shared = frame.select(name for name in frame.columns if name not in used)
            parts = [
                shared.with_columns(frame[theirs].alias(name) for name, theirs in columns.items())
                for columns in numbered.values()
            ]
            frame = pl.concat(parts, how="diagonal")
        return origin, _answered(_named(frame))


def _with_task_answers(frame: pl.DataFrame) -> pl.DataFrame:
    """With a column for each answer that `taskAnswers` holds, as JSON: [{"relevance": {"0": true}}]
    is Answer.relevance.0.
    """
    import polars as pl

    rows: list[dict[str, str]] = []
    for text in frame[_TASKS].fill_null(""):
        try:
            held = json.loads(text)
        except ValueError:
            held = {}
        rows.append(dict(_flat_answers(held[0] if isinstance(held, list) and held else held)))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [pl.Series(name, [row.get(name) for row in rows], pl.String) for name in names]
    return frame.drop(_TASKS).with_columns(columns)


def _flat_answers(held: object, start: str = "Answer") -> Iterator[tuple[str, str]]:
    if isinstance(held, dict):
        for key, value in held.items():
            yield from _flat_answers(value, f"{start}.{key}")
    elif held is not None:
        yield start, as_text(held)


def _buttons(frame: pl.DataFrame) -> list[pl.Series]:
    """The answer of each group of buttons: the name of the one that is true."""
    import polars as pl

    groups: dict[str, dict[str, str]] = {}
    for name in frame.columns:
        button = _BUTTON.fullmatch(name)
        if button and frame[name].fill_null("").str.to_lowercase().is_in(_TRUTH).all():
            groups.setdefault(f"Answer.{button[1]}", {})[name] = button[2]
    answers = []
    for answer, options in groups.items():
        if answer not in frame.columns:
            pressed = [
                pl.when(pl.col(name).str.to_lowercase().is_in(_TRUE)).then(pl.lit(option))
                for name, option in options.items()
            ]
            answers.append(frame.select(pl.coalesce(pressed)).to_series().alias(answer))
    return answers


def _numbers(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """For each number that inputs and answers have: {column without number: column}."""
    by_side: dict[str, dict[str, dict[str, str]]] = {"Input": {}, "Answer": {}}
    for name in names:
        parts = _NUMBERED.fullmatch(name)
        if parts and not (_BUTTON.fullmatch(name) and f"Answer.{parts[2]}" in names):
            by_side[parts[1]].setdefault(parts[3], {})[f"{parts[1]}.{parts[2]}"] = name
    inputs, answers = by_side["Input"], by_side["Answer"]
    both = sorted(inputs.keys() & answers.keys(), key=int)
    return {number: inputs[number] | answers[number] for number in both}


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """With the columns of inputs and answers under their names alone, too."""
    matches = (_NAMED.fullmatch(name) for name in frame.columns)
    short = {match[0]: match[1] for match in matches if match}
    return frame.with_columns(
        frame[name].alias(alone) for name, alone in short.items() if alone not in frame.columns
    )


def _answered(frame: pl.DataFrame) -> pl.DataFrame:
    """With the only answer as the grade, whatever it is called."""
    answers = [name for name in frame.columns if name.startswith("Answer.")]
    answers = [name for name in answers if not _BUTTON.fullmatch(name)] or answers
    if len(answers) == 1 and not recognised(frame.columns, ("grade",)):
        return frame.with_columns(frame[answers[0]].alias("grade"))
    return frame
