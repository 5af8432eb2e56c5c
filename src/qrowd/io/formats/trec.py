"""TREC's files: columns separated by any number of blanks or tabs, without a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qrowd.errors import InputError, UsageError
from qrowd.io.formats.delimited import (
    bad_text,
    first_line,
    parsed,
    refuse_what_is_no_text,
    split_fields,
    without_blank_rows,
    write_delimited,
)
from qrowd.io.formats.format import Format, Read
from qrowd.io.place import Place
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl


def matches(source: Source) -> bool:
    """Any text that no other format takes."""
    return True


def fields(source: Source) -> list[str]:
    """The fields of the first line."""
    refuse_what_is_no_text(source)
    return split_fields(first_line(source), " ")


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """The text as it is; where blanks separate, and not one each, after squeezing them."""
    import polars as pl

    refuse_what_is_no_text(source)
    place = Place(source.name, 0, 1 if names else 2, None, source)
    data = source.read()
    if squeezed(source.start) == source.start.strip(b" "):
        try:
            wanted = [name for name in names if name[0] != "_" or name == names[-1]]
            frame = parsed(data, " ", names, only=wanted)
            if _is_regular(data, frame, names):
                return without_blank_rows(place, frame)
        except pl.exceptions.PolarsError:
            pass  # some line further down may have two blanks
    try:
        found = without_blank_rows(place, parsed(squeezed(data), " ", names))
    except pl.exceptions.PolarsError as error:
        raise bad_text(source, " ", len(names), str(error)) from None
    if names:
        _refuse_short_lines(source, *found, len(names))
    return found


def _is_regular(data: bytes, frame: pl.DataFrame, names: Sequence[str]) -> bool:
    """Whether one blank separates all fields, and every line has the last one and none beyond."""
    if any(frame.null_count().row(0)):
        return False
    return not names or data.count(b" ") == frame.height * (len(names) - 1)


def _refuse_short_lines(source: Source, place: Place, frame: pl.DataFrame, width: int) -> None:
    last = frame.to_series(-1)
    if last.null_count():
        row = int(np.argmax(last.is_null().to_numpy()))
        here = len(source.read().split(b"\n")[place.line(row) - 1].split())
        raise place.error(f"{here} columns where {width} were expected; fix this line", row)


def squeezed(data: bytes) -> bytes:
    """Fields separated by one blank each, lines by newlines; the number of lines stays."""
    for old, new in ((b"\r\n", b"\n"), (b"\t", b" ")):
        if old in data:
            data = data.replace(old, new)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    for old, new in ((b" \n", b"\n"), (b"\n ", b"\n")):
        if old in data:
            data = data.replace(old, new)
    return data.strip(b" ")


def write(frame: pl.DataFrame, name: str) -> bytes:
    """Qrels, runs and judgements in TREC's order; other tables have none."""
    import polars as pl

    held = tuple(frame.columns)
    if held == ("topic", "doc", "grade"):
        frame = frame.select("topic", pl.lit("0").alias("zero"), "doc", "grade")
    elif held == ("run", "topic", "doc", "rank", "score"):
        frame = frame.select("topic", pl.lit("Q0").alias("Q0"), "doc", "rank", "score", "run")
    elif held[:4] == ("topic", "doc", "assessor", "grade"):
        if len(held) > 4:
            lost = " and ".join(held[4:])
            message = f"TREC's four columns cannot hold {lost}; use the suffix .tsv"
            raise InputError(message, file=name)
        frame = frame.select("topic", "assessor", "doc", "grade")
    else:
        message = f"{name}: this has no TREC form; use .tsv, .csv, .jsonl or .parquet"
        raise UsageError(message)
    return write_delimited(frame, name, " ", header=False, blanks=" \t\n\r")


SUFFIXES = (".qrels", ".qrel", ".trec", ".run", ".res")
FORMAT = Format("trec", SUFFIXES, matches, fields, read, write, headed=False)
