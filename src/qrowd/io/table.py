"""Text, JSON lines, Parquet and frames to a `Table` of string columns that knows its lines.

Synonyms of column names, the order of columns without a header, and what to say of a bad row are
here; what the columns mean to a noun is in the module of that noun.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.data.arrays import Array
from qrowd.errors import FormatError, InputError, UsageError
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("tsv", "csv", "json", "jsonl", "parquet", "trec")

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
    "measure": "measure metric",
    "value": "value",
    "draw": "draw",
    "given": "given",
}
TASK = ("task", "task_id", "taskid", "hit", "hit_id", "unit", "unit_id")


@dataclass(frozen=True)
class Table:
    """String columns of one file; `first` is the line of the first row (0: rows have no lines)."""

    name: str
    frame: pl.DataFrame
    first: int = 0
    kept: Array | None = None
    source: Source | None = None
    format: str = ""

    def __len__(self) -> int:
        return self.frame.height

    def line(self, row: int) -> int:
        """The line of a row; 0 where there are no lines."""
        if not self.first:
            return 0
        at = int(self.kept[row]) if self.kept is not None else row
        if self.format == "csv" and self.source is not None:
            return _csv_line(self.source.data, at + self.first - 1)
        return at + self.first

    def error(self, message: str, row: int = -1) -> FormatError:
        """An error in this file, at this row."""
        line = self.line(row) if row >= 0 else 0
        if row >= 0 and not line:
            message = f"row {row + 1}: {message}"
        return FormatError(message, file=self.name, line=line, row=row)

    def without_blank_rows(self) -> Table:
        """The table without rows that hold nothing."""
        counts = self.frame.null_count().row(0) if self.frame.width else (0,)
        if not min(counts):
            return self
        full = ~np.logical_and.reduce([s.is_null().to_numpy() for s in self.frame])
        import polars as pl

        kept = np.flatnonzero(full)
        return replace(self, frame=self.frame.filter(pl.Series(full)), kept=kept)

    def complete(self, columns: Sequence[str]) -> Table:
        """The table itself, if these columns have a value in every row."""
        for name in columns:
            column = self.frame[name]
            if column.null_count():
                row = int(np.argmax(column.is_null().to_numpy()))
                raise self.error(f"no value for {name}; every row needs one", row)
        return self


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
    """The format of a file: as stated, else by its content (and its suffix, tsv or csv)."""
    if stated:
        if stated not in FORMATS:
            raise UsageError(f"format must be one of {', '.join(FORMATS)}, got {stated!r}")
        return stated
    if source.head.startswith(b"PAR1"):
        return "parquet"
    start = source.data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{"):
        return "jsonl"
    if start.startswith(b"["):
        return "json"
    line = first_line(source.data)
    if "\t" in line:
        return "tsv"
    if "," in line and (len(line.split()) < 4 or source.name.lower().endswith(".csv")):
        return "csv"
    return "trec"


def first_line(data: bytes) -> str:
    """The first line that is not blank."""
    start = data[:65536].removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    return start.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")


def read_table(source: Source, format: str) -> Table:
    """A table whose format names its columns: json, jsonl, parquet."""
    _refuse_emptiness(source, format)
    reader: Mapping[str, Callable[[Source], Table]] = {
        "json": _read_json,
        "jsonl": _read_jsonl,
        "parquet": _read_parquet,
    }
    return reader[format](source).without_blank_rows()


def _refuse_emptiness(source: Source, format: str) -> None:
    if format == "parquet":
        return
    if not source.data.strip():
        raise FormatError("the file is empty", file=source.name)
    if b"\0" in source.data[:65536]:
        raise FormatError(
            "this is no text file, nor Parquet; is it the right file?", file=source.name
        )


def read_with_header(source: Source, format: str) -> Table:
    """Text whose first line names the columns, separated by tabs, commas or blanks."""
    _refuse_emptiness(source, format)
    return _delimited(source, format, header=True).without_blank_rows()


def read_plain(source: Source, names: Sequence[str], separator: str = " ") -> Table:
    """A table without a header: as many columns as names."""
    _refuse_emptiness(source, "")
    kind = {" ": "trec", "\t": "tsv", ",": "csv"}[separator]
    return _delimited(source, kind, header=False, names=names).without_blank_rows()


def squeezed(data: bytes) -> bytes:
    """Fields separated by one blank each, lines by newlines; the number of lines stays."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    for old, new in ((b"\r\n", b"\n"), (b"\t", b" ")):
        if old in data:
            data = data.replace(old, new)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    if b" \n" in data:
        data = data.replace(b" \n", b"\n")
    if b"\n " in data:
        data = data.replace(b"\n ", b"\n")
    return data.strip(b" ")


def _delimited(source: Source, format: str, *, header: bool, names: Sequence[str] = ()) -> Table:
    import polars as pl

    content = squeezed(source.data) if format == "trec" else source.data
    separator = {"tsv": "\t", "csv": ",", "trec": " "}[format]
    try:
        frame = pl.read_csv(
            content,
            has_header=header,
            infer_schema=False,
            schema=dict.fromkeys(names, pl.String) if names else None,
            missing_columns="insert" if names else None,
            separator=separator,
            quote_char='"' if format == "csv" else None,
        )
    except pl.exceptions.PolarsError as error:
        raise _bad_text(source, content, separator, len(names), str(error)) from None
    return Table(source.name, frame, 2 if header else 1, source=source, format=format)


def _bad_text(source: Source, content: bytes, separator: str, width: int, said: str) -> FormatError:
    """What Polars could not say: the line. Only on the way to an error."""
    lines = content.split(b"\n")
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError:
            message = "not UTF-8; convert the file, e.g. with iconv -f latin1 -t utf8"
            return FormatError(message, file=source.name, line=number)
        count = len(split_fields(line, separator))
        width = width or count
        if line and count > width:
            message = f"{count} columns where {width} were expected"
            return FormatError(message, file=source.name, line=number)
    return FormatError(f"cannot be read: {said.splitlines()[0]}", file=source.name)


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of one line; blanks separate any number at a time."""
    if separator == ",":
        return next(csv.reader([line]), [])
    return line.split() if separator == " " else line.split(separator)


def _read_json(source: Source) -> Table:
    import json

    import polars as pl

    try:
        rows = json.loads(source.data)
        frame = pl.DataFrame(rows, infer_schema_length=None)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error.msg}", file=source.name, line=error.lineno) from None
    except (pl.exceptions.PolarsError, TypeError, UnicodeDecodeError, ValueError):
        message = "must be a JSON array of objects with the same keys"
        raise FormatError(message, file=source.name) from None
    return Table(source.name, strings(frame), source=source, format="json")


def _read_jsonl(source: Source) -> Table:
    import polars as pl

    try:
        frame = pl.read_ndjson(source.data, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        raise _bad_json(source) from None
    return Table(source.name, strings(frame), 1, source=source, format="jsonl")


def _bad_json(source: Source) -> FormatError:
    import json

    for number, line in enumerate(source.data.split(b"\n"), 1):
        try:
            json.loads(line or b"0")
        except (json.JSONDecodeError, UnicodeDecodeError):
            message = "not a JSON object; every line must be one"
            return FormatError(message, file=source.name, line=number)
    return FormatError("cannot be read as JSON lines", file=source.name)


def _read_parquet(source: Source) -> Table:
    import polars as pl

    try:
        frame = pl.read_parquet(source.path or io.BytesIO(source.data))
    except (pl.exceptions.PolarsError, OSError):
        message = "the Parquet file is damaged or cut short; fetch or make it again"
        raise FormatError(message, file=source.name) from None
    return Table(source.name, strings(frame), source=source, format="parquet")


def is_frame(given: object) -> bool:
    """Whether this is a pandas or Polars data frame."""
    return type(given).__module__.split(".")[0] in ("polars", "pandas")


def of_frame(frame: Any) -> Table:
    """A table from a pandas or Polars data frame."""
    import polars as pl

    if type(frame).__module__.split(".")[0] == "pandas":
        frame = pl.DataFrame({str(name): frame[name].to_numpy() for name in frame.columns})
    elif isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    return Table("the frame", strings(frame))


def strings(frame: pl.DataFrame) -> pl.DataFrame:
    """Numbers are kept, everything else becomes text."""
    import polars as pl

    kept = (pl.String, pl.Categorical, pl.Enum)
    return frame.with_columns(
        pl.col(name).cast(pl.String, strict=False)
        for name, dtype in frame.schema.items()
        if not (dtype.is_numeric() or dtype in kept or dtype == pl.Datetime)
    )


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
    """A column of grades as numbers; an error that names the line of the first bad one."""
    import polars as pl

    given = table.frame[column]
    values = given.cast(pl.Int64, strict=False) if given.dtype == pl.String else given
    if values.dtype.is_float() or values.null_count():
        real = given.cast(pl.Float64, strict=False)
        bad = real.is_null() | real.is_nan() | real.is_infinite() | (real != real.floor())
        if bad.any():
            row = int(np.argmax(bad.to_numpy()))
            message = f"{column} must be a whole number, got {str(given[row])!r}"
            raise table.error(message, row)
        values = real.cast(pl.Int64)
    return values.to_numpy()


def numbers(table: Table, column: str) -> Array:
    """A column of numbers; an error that names the line of the first bad one."""
    import polars as pl

    given = table.frame[column]
    values = given.cast(pl.Float64, strict=False)
    if values.null_count() > given.null_count():
        row = int(np.argmax((values.is_null() & given.is_not_null()).to_numpy()))
        raise table.error(f"{column} must be a number, got {str(given[row])!r}", row)
    return values.to_numpy()


def place(error: InputError, tables: Sequence[Table]) -> InputError:
    """An error about a row of the tables one after another, placed in its file and line."""
    row = error.row
    for table in tables:
        if 0 <= row < len(table):
            return table.error(error.message, row)
        row -= len(table)
    return error.at(tables[0].name) if len(tables) == 1 else error
