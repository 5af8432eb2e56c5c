"""Text in columns: tabs, commas, semicolons, or blanks as in TREC's files."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from qrowd.errors import FormatError, InputError, UsageError
from qrowd.io.formats.format import Format, Read
from qrowd.io.origin import Origin
from qrowd.io.roles import is_number
from qrowd.io.source import START, Source

if TYPE_CHECKING:
    import polars as pl


def first_line(source: Source) -> str:
    """The first line that is not blank."""
    start = source.start.lstrip(b"\r\n")
    if b"\n" not in start and len(source.start) >= START:
        start = source.read().lstrip(b"\r\n")  # a very long line
    return start.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")


def refuse_what_is_no_text(source: Source) -> None:
    """An error for an empty file, and for bytes that are no text."""
    start = source.start
    if not start.strip() and (len(start) < START or not source.read().strip()):
        raise FormatError("the file is empty; fetch or make it again", file=source.name)
    if b"\0" in start:
        message = "this is neither text nor Parquet; is it the right file?"
        raise FormatError(message, file=source.name)


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of one line; blanks separate any number at a time."""
    if separator in (",", ";"):
        return next(csv.reader([line], delimiter=separator), [])
    return line.split() if separator == " " else line.split(separator)


def looks_like_trec(line: str) -> bool:
    """Whether these are TREC's columns: four, the last a number, or six, the fifth a number."""
    fields = line.split()
    number = {4: 3, 6: 4}.get(len(fields))
    return number is not None and is_number(fields[number])


def read_delimited(
    source: Source, separator: str, names: Sequence[str] = (), *, quoted: bool = False
) -> tuple[Origin, pl.DataFrame]:
    """Columns named by the header, or by `names` where there is none."""
    import polars as pl

    refuse_what_is_no_text(source)
    content = source.plain_path or source.read()
    try:
        frame = parsed(content, separator, names, quoted=quoted)
    except pl.exceptions.PolarsError as error:
        short = _without_empty_last_cells(source, separator, quoted)
        if short is None:
            raise bad_text(source, separator, len(names), str(error)) from None
        frame = parsed(short, separator, names, quoted=quoted)
    return without_blank_rows(
        Origin(source.name, 0, 1 if names else 2, None, source, quoted), frame
    )


def parsed(
    content: bytes | Path,
    separator: str,
    names: Sequence[str],
    *,
    quoted: bool = False,
    only: Sequence[str] = (),
) -> pl.DataFrame:
    """Columns as strings: all, or `only` these, where Polars takes no notice of longer lines."""
    import polars as pl

    return pl.read_csv(
        content,
        columns=[at for at, name in enumerate(names) if name in only] or None,
        has_header=not names,
        infer_schema=False,
        schema=dict.fromkeys(names, pl.String) if names else None,
        missing_columns="insert" if names else None,
        separator=separator,
        quote_char='"' if quoted else None,
        glob=False,
    )


def without_blank_rows(origin: Origin, frame: pl.DataFrame) -> tuple[Origin, pl.DataFrame]:
    """The rows that hold something, and where they are."""
    whole = Origin(origin.name, frame.height, origin.first, None, origin.source, origin.quoted)
    counts = frame.null_count().row(0) if frame.width else (0,)
    if not min(counts):
        return whole, frame
    full = ~np.logical_and.reduce([column.is_null().to_numpy() for column in frame])
    if full.all():
        return whole, frame
    return whole.of_rows(np.flatnonzero(full)), frame.filter(full)


def _without_empty_last_cells(source: Source, separator: str, quoted: bool) -> bytes | None:
    """The text without separators at the ends of lines, as spreadsheets leave them there; nothing
    if there are none, or if some line has them and needs them.
    """
    text, mark = source.read(), separator.encode()
    if separator == " " or mark + b"\n" not in text.replace(b"\r\n", b"\n"):
        return None
    lines = text.replace(b"\r\n", b"\n").split(b"\n")
    width = len(split_fields(lines[0].decode("utf-8", "replace"), separator))
    most = lines[0].count(mark) if quoted else width - 1
    return b"\n".join(_cut(line, mark, most) for line in lines)


def _cut(line: bytes, mark: bytes, most: int) -> bytes:
    """The line with at most so many separators, as far as those at its end are too many."""
    over = line.count(mark) - most
    while over > 0 and line.endswith(mark):
        line, over = line[: -len(mark)], over - 1
    return line


def bad_text(source: Source, separator: str, width: int, said: str) -> FormatError:
    """What Polars does not say: the line. Only on the way to an error."""
    for number, raw in enumerate(source.read().split(b"\n"), 1):
        try:
            line = raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError:
            message = "not UTF-8; convert the file, e.g. with: iconv -f latin1 -t utf8"
            return FormatError(message, file=source.name, line=number)
        count = len(split_fields(line, separator))
        width = width or count
        if line and count > width:
            message = f"{count} columns where {width} were expected; fix this line"
            return FormatError(message, file=source.name, line=number)
    return FormatError(f"cannot be read: {said.splitlines()[0]}", file=source.name)


def write_delimited(
    frame: pl.DataFrame, name: str, separator: str, *, header: bool = True, blanks: str = ""
) -> bytes:
    """The frame as text; without quotes if `blanks` says what names may not hold."""
    into = io.BytesIO()
    if blanks:
        _refuse_blanks(frame, blanks, name)
        frame.write_csv(into, separator=separator, quote_style="never", include_header=header)
    else:
        frame.write_csv(into, separator=separator, include_header=header)
    return into.getvalue()


def _refuse_blanks(frame: pl.DataFrame, bad: str, name: str) -> None:
    """Names that would be read back as two fields, or two lines."""
    import polars as pl

    for column in frame.select(pl.col(pl.String)):
        held = column.str.contains(f"[{bad}]|^$")
        if held.any():
            value = column[int(np.argmax(held.to_numpy()))]
            raise InputError(
                f"{column.name} {value!r} holds a blank, tab or line end (or nothing), which this "
                f"form cannot hold; use the suffix .csv, .jsonl or .parquet",
                file=name,
            )


def matches(source: Source) -> bool:
    """A tab in the first line, unless tabs and blanks are mixed as in TREC's files."""
    line = first_line(source)
    mixed = looks_like_trec(line) and len(line.split("\t")) < len(line.split())
    return "\t" in line and not mixed


def fields(source: Source) -> list[str]:
    """The fields of the first line."""
    refuse_what_is_no_text(source)
    return split_fields(first_line(source), "\t")


def read(source: Source, names: Sequence[str] = ()) -> Read:
    """All columns as strings."""
    return read_delimited(source, "\t", names)


def write(frame: pl.DataFrame, name: str) -> bytes:
    """With a header and without quotes, which other readers of TSV do not know."""
    return write_delimited(frame, name, "\t", blanks="\t\n\r")


FORMAT = Format("tsv", (".tsv", ".tab"), matches, fields, read, write, headed=False)


def separator(source: Source) -> str:
    """The comma, unless the first line has more semicolons outside of quotes."""
    line = first_line(source)
    by_comma, by_semicolon = (len(split_fields(line, mark)) for mark in ",;")
    return ";" if by_semicolon > by_comma else ","


def csv_matches(source: Source) -> bool:
    """A comma or semicolon in the first line, which has no more columns by blanks."""
    line = first_line(source)
    if "," not in line and ";" not in line:
        return False
    if ".csv" in Path(source.name).suffixes[-2:]:
        return True
    by_blanks = len(line.split())
    return not looks_like_trec(line) and (
        by_blanks < 4 or len(split_fields(line, separator(source))) > by_blanks
    )


def csv_fields(source: Source) -> list[str]:
    """The fields of the first line."""
    refuse_what_is_no_text(source)
    return split_fields(first_line(source), separator(source))


def csv_read(source: Source, names: Sequence[str] = ()) -> Read:
    """All columns as strings."""
    return read_delimited(source, separator(source), names, quoted=True)


def csv_write(frame: pl.DataFrame, name: str) -> bytes:
    """With a header, commas, and quotes where they are needed."""
    return write_delimited(frame, name, ",")


CSV_FORMAT = Format("csv", (".csv",), csv_matches, csv_fields, csv_read, csv_write, headed=False)


def trec_matches(source: Source) -> bool:
    """Any text that no other format takes."""
    return True


def trec_fields(source: Source) -> list[str]:
    """The fields of the first line."""
    refuse_what_is_no_text(source)
    return split_fields(first_line(source), " ")


def trec_read(source: Source, names: Sequence[str] = ()) -> Read:
    """The text as it is; where blanks separate, and not one each, after squeezing them."""
    import polars as pl

    refuse_what_is_no_text(source)
    origin = Origin(source.name, 0, 1 if names else 2, None, source)
    data = source.read()
    if squeezed(source.start) == source.start.strip(b" "):
        try:
            wanted = [name for name in names if name[0] != "_" or name == names[-1]]
            frame = parsed(data, " ", names, only=wanted)
            if _is_regular(data, frame, names):
                return without_blank_rows(origin, frame)
        except pl.exceptions.PolarsError:
            pass  # some line further down may have two blanks
    try:
        found = without_blank_rows(origin, parsed(squeezed(data), " ", names))
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


def _refuse_short_lines(source: Source, origin: Origin, frame: pl.DataFrame, width: int) -> None:
    last = frame.to_series(-1)
    if last.null_count():
        row = int(np.argmax(last.is_null().to_numpy()))
        here = len(source.read().split(b"\n")[origin.line(row) - 1].split())
        raise origin.error(f"{here} columns where {width} were expected; fix this line", row)


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


def trec_write(frame: pl.DataFrame, name: str) -> bytes:
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
TREC_FORMAT = Format(
    "trec", SUFFIXES, trec_matches, trec_fields, trec_read, trec_write, headed=False
)
