"""Text, JSON lines, Parquet and frames to a `Table` of string columns that knows its lines.

Synonyms of column names, the order of columns without a header, and what to say of a bad row are
here; what the columns mean to a noun is in the module of that noun.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import FormatError, InputError, UsageError
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("tsv", "csv", "json", "jsonl", "parquet", "trec")
HEADER_HINT = "; if this line is a header, say what it means: --columns grade=NAME,doc=NAME,..."
SEPARATORS = {"tsv": "\t", "csv": ",", "trec": " "}

SYNONYMS = {
    "topic": "topic topic_id topicid query query_id queryid qid request question",
    "doc": "doc doc_id docid docno doc_no document document_id passage passage_id pid item item_id",
    "assessor": (
        "assessor assessor_id worker worker_id workerid annotator annotator_id judge judge_id "
        "rater rater_id user user_id coder"
    ),
    "grade": (
        "grade label rel relevance relevancy judgment judgement rating relevance_label "
        "relevance_grade vote answer"
    ),
    "seconds": "seconds duration duration_seconds work_time worktime elapsed",
    "time": "time timestamp created created_at submitted submitted_at",
    "weight": "weight",
    "run": "run run_id runid tag system system_id",
    "score": "score sim similarity",
    "rank": "rank",
    "place": "place rank",
    "set": "set set_id",
    "better": "better preferred winner",
    "worse": "worse loser",
    "tied": "tied tie",
    "measure": "measure metric",
    "value": "value",
    "draw": "draw",
    "given": "given",
}
_OBJECT = rb"\{\s*(\}[ \t\r]*(\n|,|\]|$)|\"([^\"\\\n]|\\.)*\"\s*:)"
_TRUTH = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}
TASK = ("task", "task_id", "taskid", "hit", "hit_id", "unit", "unit_id")


@dataclass(frozen=True)
class Place:
    """Where rows came from: the file, and the line of the first row (0: rows have no lines)."""

    name: str
    rows: int
    first: int = 0
    kept: Array | None = None
    source: Source | None = None
    format: str = ""

    def line(self, row: int) -> int:
        """The line of a row; 0 where there are no lines."""
        if not self.first:
            return 0
        at = int(self.kept[row]) if self.kept is not None else row
        if self.format == "csv" and self.source is not None:
            return _csv_line(self.source.read(), at + self.first - 1)
        return at + self.first

    def error(self, message: str, row: int = -1) -> FormatError:
        """An error in this file, at this row."""
        line = self.line(row) if row >= 0 else 0
        if row >= 0 and not line:
            message = f"row {row + 1}: {message}"
        return FormatError(message, file=self.name, line=line, row=row)


@dataclass(frozen=True)
class Table:
    """Columns of one file under our names; those of Parquet are read when they are asked for."""

    place: Place
    frame: pl.DataFrame | pl.LazyFrame
    columns: Mapping[str, str]

    def __len__(self) -> int:
        return self.place.rows

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def column(self, name: str, filled: bool = True) -> pl.Series:
        """One column; every row must have a value, unless `filled` is false."""
        import polars as pl

        if isinstance(self.frame, pl.LazyFrame):
            return self.part(name, 0, len(self), filled)
        return self._checked(name, self.frame[self.columns[name]], 0, filled)

    def part(self, name: str, first: int, size: int, filled: bool = True) -> pl.Series:
        """Some neighbouring rows of a column that is not read yet."""
        theirs = self.columns[name]
        rows = self.frame.lazy().select(theirs).slice(first, size)
        return self._checked(name, as_text(rows.collect()[theirs]), first, filled)

    def _checked(self, name: str, found: pl.Series, first: int, filled: bool) -> pl.Series:
        if filled and found.null_count():
            row = first + int(np.argmax(found.is_null().to_numpy()))
            raise self.place.error(f"no value for {name}; every row needs one", row)
        return found.alias(name)

    @property
    def stored(self) -> bool:
        """Whether columns are read when they are asked for."""
        import polars as pl

        return isinstance(self.frame, pl.LazyFrame)

    def take(self, name: str) -> pl.Series:
        """One column, for the last time: the table lets go of it, and of its memory."""
        import polars as pl

        found = self.column(name)
        theirs = self.columns[name]
        if isinstance(self.frame, pl.DataFrame) and list(self.columns.values()).count(theirs) == 1:
            self.frame.drop_in_place(theirs)
        return found


def stacked(tables: Sequence[Table], name: str) -> pl.Series:
    """A column of names of all tables, one after another, which let go of it."""
    import polars as pl

    parts = [as_names(table.take(name)) for table in tables]
    return pl.concat(parts) if len(parts) > 1 else parts[0]


def as_names(column: pl.Series) -> pl.Series:
    """A column as text."""
    import polars as pl

    return column if column.dtype == pl.String else column.cast(pl.String)


def _csv_line(data: bytes, record: int) -> int:
    """The line on which a record of a CSV file starts; quoted fields may hold line ends."""
    reader = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    line = 1
    for number, _ in enumerate(reader):
        if number == record:
            return line
        line = reader.line_num + 1
    return line


# --- what a file is -------------------------------------------------------------------------------


def sniff(source: Source, stated: str | None = None) -> str:
    """The format of a file: as stated, else by its content (and the suffix .csv)."""
    if stated:
        if stated not in FORMATS:
            raise UsageError(f"format must be one of {', '.join(FORMATS)}, got {stated!r}")
        return stated
    if source.start.startswith(b"PAR1"):
        return "parquet"
    start = source.start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(_OBJECT, start):  # a name of a topic may start with brackets and quotes, too
        return "jsonl"
    if re.match(rb"\[\s*(\]\s*$|" + _OBJECT + rb")", start):
        return "json"
    line = first_line(source)
    if "\t" in line:
        return "tsv"
    if "," in line and (len(line.split()) < 4 or source.name.lower().endswith(".csv")):
        return "csv"
    return "trec"


def first_line(source: Source) -> str:
    """The first line that is not blank."""
    start = source.start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    return start.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")


def refuse_what_is_no_text(source: Source) -> None:
    """An error for an empty file, and for bytes that are no text."""
    if not source.start.strip() and not source.read().strip():
        raise FormatError("the file is empty; fetch or make it again", file=source.name)
    if b"\0" in source.start:
        message = "this is neither text nor Parquet; is it the right file?"
        raise FormatError(message, file=source.name)


def read_text(source: Source, format: str, names: Sequence[str] = ()) -> tuple[Place, pl.DataFrame]:
    """Columns separated by tabs, commas or blanks; named by the header, or by `names`."""
    import polars as pl

    try:
        frame, kept = _parsed(source, format, names)
    except pl.exceptions.PolarsError as error:
        raise _bad_text(source, format, len(names), str(error)) from None
    first = 1 if names else 2
    return Place(source.name, frame.height, first, kept, source, format), frame


def _parsed(source: Source, format: str, names: Sequence[str]) -> tuple[pl.DataFrame, Array | None]:
    """The text as it is; where blanks separate, and not one each, after squeezing them."""
    import polars as pl

    if format == "trec" and squeezed(source.start) != source.start.strip(b" "):
        return _fields(squeezed(source.read()), format, names)
    try:
        frame, kept = _fields(source.plain_path or source.read(), format, names)
        if format != "trec" or not any(frame.null_count().row(0)):
            return frame, kept
    except pl.exceptions.PolarsError:
        if format != "trec":
            raise
    return _fields(squeezed(source.read()), format, names)


def _fields(
    content: bytes | Path, format: str, names: Sequence[str]
) -> tuple[pl.DataFrame, Array | None]:
    import polars as pl

    frame = pl.read_csv(
        content,
        has_header=not names,
        infer_schema=False,
        schema=dict.fromkeys(names, pl.String) if names else None,
        missing_columns="insert" if names else None,
        separator=SEPARATORS[format],
        quote_char='"' if format == "csv" else None,
        glob=False,
    )
    return _without_blank_rows(frame)


def squeezed(data: bytes) -> bytes:
    """Fields separated by one blank each, lines by newlines; the number of lines stays."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    for old, new in ((b"\r\n", b"\n"), (b"\t", b" ")):
        if old in data:
            data = data.replace(old, new)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    for old, new in ((b" \n", b"\n"), (b"\n ", b"\n")):
        if old in data:
            data = data.replace(old, new)
    return data.strip(b" ")


def _without_blank_rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, Array | None]:
    """The rows that hold something, and which they are if others do not."""
    counts = frame.null_count().row(0) if frame.width else (0,)
    if not min(counts):
        return frame, None
    full = ~np.logical_and.reduce([column.is_null().to_numpy() for column in frame])
    if full.all():
        return frame, None
    return frame.filter(full), np.flatnonzero(full)


def _bad_text(source: Source, format: str, width: int, said: str) -> FormatError:
    """What Polars does not say: the line. Only on the way to an error."""
    for number, raw in enumerate(source.read().split(b"\n"), 1):
        try:
            line = raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError:
            message = "not UTF-8; convert the file, e.g. with: iconv -f latin1 -t utf8"
            return FormatError(message, file=source.name, line=number)
        count = len(split_fields(line, SEPARATORS[format]))
        width = width or count
        if line and count > width:
            message = f"{count} columns where {width} were expected; mend the line"
            return FormatError(message, file=source.name, line=number)
    return FormatError(f"cannot be read: {said.splitlines()[0]}", file=source.name)


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of one line; blanks separate any number at a time."""
    if separator == ",":
        return next(csv.reader([line]), [])
    return line.split() if separator == " " else line.split(separator)


def read_json(source: Source) -> tuple[Place, pl.DataFrame]:
    """A JSON array of objects."""
    import polars as pl

    try:
        rows = json.loads(source.read())
        if not all(isinstance(row, dict) for row in rows):
            raise TypeError
        frame = pl.DataFrame(rows, infer_schema_length=None)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", file=source.name, line=error.lineno) from None
    except (pl.exceptions.PolarsError, TypeError, UnicodeDecodeError, ValueError):
        message = "must be a JSON array of objects with the same keys"
        raise FormatError(message, file=source.name) from None
    return Place(source.name, frame.height, source=source, format="json"), frame


def read_jsonl(source: Source) -> tuple[Place, pl.DataFrame]:
    """One JSON object per line."""
    import polars as pl

    try:
        frame = pl.read_ndjson(source.read(), infer_schema_length=None)
    except pl.exceptions.PolarsError:
        raise _bad_json(source) from None
    return Place(source.name, frame.height, 1, source=source, format="jsonl"), frame


def _bad_json(source: Source) -> FormatError:
    for number, line in enumerate(source.read().split(b"\n"), 1):
        try:
            json.loads(line or b"0")
        except (json.JSONDecodeError, UnicodeDecodeError):
            message = "not a JSON object; every line must be one"
            return FormatError(message, file=source.name, line=number)
    return FormatError("cannot be read as JSON lines; are keys and types alike?", file=source.name)


def read_parquet(source: Source) -> tuple[Place, pl.LazyFrame]:
    """The columns of a Parquet file, not read yet."""
    import polars as pl

    try:
        frame = pl.scan_parquet(source.plain_path or io.BytesIO(source.read()), glob=False)
        rows = frame.select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError):
        message = "the Parquet file is damaged or cut short; fetch or make it again"
        raise FormatError(message, file=source.name) from None
    return Place(source.name, rows, source=source, format="parquet"), frame


def is_frame(given: object) -> bool:
    """Whether this is a pandas or Polars data frame."""
    return type(given).__module__.split(".")[0] in ("polars", "pandas")


def of_frame(frame: Any) -> tuple[Place, pl.DataFrame]:
    """A pandas or Polars data frame."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    elif not isinstance(frame, pl.DataFrame):
        frame = pl.DataFrame({str(name): _of_pandas(frame[name]) for name in frame.columns})
    return Place("the frame", frame.height), frame


def _of_pandas(column: Any) -> pl.Series:
    """A pandas column without pyarrow: numbers as they are, everything else as text."""
    import polars as pl

    if column.dtype.kind in "iuf":
        return pl.Series(column.to_numpy())
    missing = column.isna().to_numpy()
    return pl.Series([None if no else str(x) for x, no in zip(column, missing, strict=True)])


def as_text(column: pl.Series) -> pl.Series:
    """Numbers and text as they are, everything else as text."""
    import polars as pl

    if column.dtype.is_numeric() or column.dtype == pl.String:
        return column
    if column.dtype == pl.Datetime:
        return column.dt.epoch("us") / 1e6
    return column.cast(pl.String, strict=False)


# --- what its columns are -------------------------------------------------------------------------


def recognised(names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Which of a header's names mean which of the wanted columns: {wanted: name}."""
    plain = {name.strip().lower().replace(" ", "_").replace("-", "_"): name for name in names}
    found = {}
    for column in wanted:
        for synonym in SYNONYMS[column].split():
            if synonym in plain:
                found[column] = plain[synonym]
                break
    task = [plain[name] for name in TASK if name in plain]
    if task and "doc" in wanted and "doc" not in found:
        found["doc"] = task[0]
    elif task and "topic" in wanted and "topic" not in found:
        found["topic"] = task[0]
    return found


def whole_numbers(table: Table, column: str) -> Array:
    """A column of grades as int8, taken; an error that names the line of the first bad one."""
    import polars as pl

    given = table.take(column)
    values = given.cast(pl.Int8, strict=False)
    if values.null_count() and given.dtype == pl.String:
        given = given.replace(_TRUTH)
        values = given.cast(pl.Int8, strict=False)
    if given.dtype.is_float() or values.null_count():
        real = given.cast(pl.Float64, strict=False)
        bad = real.is_null() | real.is_nan() | (real != real.floor()) | (real.abs() > HIGHEST)
        if bad.any():
            row = int(np.argmax(bad.to_numpy()))
            message = f"{column} must be a whole number from {LOWEST} to {HIGHEST}"
            hint = HEADER_HINT if table.place.first == 1 and table.place.line(row) == 1 else ""
            raise table.place.error(f"{message}, got {str(given[row])!r}{hint}", row)
        values = real.cast(pl.Int8)
    return values.to_numpy()


def numbers(table: Table, column: str) -> Array:
    """A column of numbers, NaN where there is none; an error with the line of a bad one."""
    import polars as pl

    given = table.column(column, filled=False)
    values = given.cast(pl.Float64, strict=False)
    if values.null_count() > given.null_count():
        row = int(np.argmax((values.is_null() & given.is_not_null()).to_numpy()))
        raise table.place.error(f"{column} must be a number, got {str(given[row])!r}", row)
    return values.to_numpy()


def placed(error: InputError, places: Sequence[Place]) -> InputError:
    """An error about a row of the tables one after another, placed in its file and line."""
    row = error.row
    for place in places:
        if 0 <= row < place.rows:
            return place.error(error.message, row)
        row -= place.rows
    return error.at(places[0].name) if len(places) == 1 else error
