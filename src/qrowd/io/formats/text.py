"""Text in columns: tabs, commas, semicolons, or blanks as in TREC's files."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qrowd.errors import FormatError, InputError, UsageError
from qrowd.io.formats.format import Format, Read, Row, bytes_by
from qrowd.io.origin import Origin
from qrowd.io.roles import is_number
from qrowd.io.source import START, Source

if TYPE_CHECKING:
    import polars as pl

NOT_UTF8 = "not UTF-8; convert the file, e.g. with: iconv -f latin1 -t utf8"
_RUN = 6  # columns
EMPTY = "the file is empty; fetch or make it again"
_LARGEST_FIELD = 1 << 30
_SEPARATOR = b"sep="
_AS_PARQUET = "save it again: .to_parquet('judgements.parquet')"
_MARKUP = "HTML or XML, and no table; save it as CSV"
_FASTTEXT = "fastText's lines have labels and texts, and no ids; export as JSONL or CSV"
_OTHERS = {
    b"\x04\x22\x4d\x18": "lz4, as ranx saves it; save it again: .save('qrels.json') or .parquet",
    b"ARROW1": f"Arrow's (Feather's) own form; {_AS_PARQUET}",
    b"\xff\xff\xff\xff": f"Arrow's own form, as save_to_disk writes it; {_AS_PARQUET}",
    b"ORC": f"ORC; {_AS_PARQUET}",
    b"\x80": f"a pickle, which may run anything; {_AS_PARQUET}",
    b"<!DOCTYPE": _MARKUP,
    b"<?xml": _MARKUP,
    b"<table": _MARKUP,
    b"__label__": _FASTTEXT,
    b'"__label__': _FASTTEXT,
}


class Text(Format):
    """Text with a separator; all of its columns are strings."""

    headed = False
    quoted = False

    def separator(self, source: Source) -> str:
        """What stands between two fields."""
        raise NotImplementedError

    def has_quotes(self, source: Source) -> bool:
        """Whether a field may be in quotes."""
        return self.quoted

    def fields(self, source: Source) -> list[str]:
        """The first line's."""
        refuse_what_is_no_text(source)
        separator = self.separator(source)
        quoted = self.has_quotes(source)
        return split_fields(first_line(source), separator, quoted=quoted)

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """All columns as strings."""
        import polars as pl

        refuse_what_is_no_text(source)
        separator, quoted = self.separator(source), self.has_quotes(source)
        skipped = int(source.start.startswith(_SEPARATOR))  # Excel's line that states it
        content = source.plain_path or source.read()
        try:
            frame = _parsed(content, separator, names, quoted=quoted, skipped=skipped)
        except pl.exceptions.PolarsError as error:
            shorter = _without_empty_last_cells(source, separator, quoted)
            if shorter is None:
                raise _bad_text(source, separator, len(names), str(error)) from None
            try:
                frame = _parsed(shorter, separator, names, quoted=quoted, skipped=skipped)
            except pl.exceptions.PolarsError as again:
                raise _bad_text(source, separator, len(names), str(again)) from None
        first = skipped + (1 if names else 2)
        data = source.read() if quoted else b""
        if data.count(b"\n") >= frame.height + first:
            # some row goes over several lines: where that is by a lone quote, this says so
            for _ in self.lines(source, data.decode("utf-8", "replace")):
                pass
        origin = Origin(source.name, frame.height, first, source=source, quoted=quoted)
        return _without_blank_rows(origin, frame)

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Every line must have as many fields as the header, or as there are `names`."""
        for line, fields in self.lines(source, text_of(source)):
            if not any(fields) or (line == 1 and source.start.startswith(_SEPARATOR)):
                continue
            if not names:
                names = [field.strip() for field in fields]
                continue
            if len(fields) != len(names):
                raise source.error(_wrong_width(fields, names), line)
            yield line, dict(zip(names, fields, strict=True))

    def lines(self, source: Source, text: str) -> Iterator[tuple[int, list[str]]]:
        """The lines of a text on which rows begin, and the fields of these rows."""
        separator = self.separator(source)
        if not self.has_quotes(source):
            for line, row in enumerate(text.split("\n"), 1):
                yield line, row.rstrip("\r").split(separator)
            return
        reader = _csv_reader(io.StringIO(text, newline=""), separator)
        line = 1
        try:
            for fields in reader:
                yield line, fields
                line = reader.line_num + 1  # a quoted field may go over several lines
        except csv.Error as error:
            raise source.error(f"not CSV: {error}", line) from None


class Tsv(Text):
    """A tab between fields; quotes only where the header has them."""

    name = "tsv"
    suffixes = (".tsv", ".tab")

    def matches(self, source: Source) -> bool:
        """A tab in the first line, unless tabs and blanks are mixed as in TREC's files: there,
        single tabs do not give its columns.
        """
        line = first_line(source)
        if "\t" not in line:
            return False
        cells = line.split("\t")
        return (len(cells) <= _RUN and _are_trecs(cells)) or not _are_trecs(line.split())

    def has_quotes(self, source: Source) -> bool:
        """Where the first field of the header is in quotes."""
        return bool(re.match(r'"[^"\t]*"(\t|$)', first_line(source)))

    def separator(self, source: Source) -> str:
        """The tab."""
        return "\t"

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """With a header."""
        return _unquoted(frame, name, "\t", forbidden="\t\n\r")


class Csv(Text):
    """Commas, or semicolons as spreadsheets in many countries write them, and quotes."""

    name = "csv"
    before = "trec"
    suffixes: tuple[str, ...] = (".csv",)
    quoted = True

    def matches(self, source: Source) -> bool:
        """A comma or semicolon in the first line, which has no more columns by blanks."""
        if source.start.startswith(_SEPARATOR):
            return True
        line = first_line(source)
        if "," not in line and ";" not in line:
            return False
        if ".csv" in Path(source.name).suffixes[-2:]:
            return True
        by_blanks = len(line.split())
        columns = len(split_fields(line, self.separator(source)))
        return not _are_trecs(line.split()) and (by_blanks < 4 or columns > by_blanks)

    def separator(self, source: Source) -> str:
        """The comma, unless the first line has more semicolons outside of quotes, or states it."""
        if source.start.startswith(_SEPARATOR):
            stated = source.start[len(_SEPARATOR) :].split(b"\n")[0].strip(b'\r"')
            return stated.decode("ascii", "replace")[:1] or ","
        line = first_line(source)
        return max(",;", key=lambda mark: len(split_fields(line, mark)))

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """With a header, commas, and quotes where they are needed."""
        return bytes_by(frame.write_csv)


class Qualtrics(Csv):
    """Answers to a survey: two lines after the header are about the questions."""

    name = "qualtrics"
    before = "csv"
    suffixes = ()

    def matches(self, source: Source) -> bool:
        """The questions' ids in the third line."""
        return b'""ImportId""' in source.start and super().matches(source)

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """Without these lines."""
        import numpy as np

        origin, read = super().read(source, names)
        frame = read.lazy().collect()
        return origin.of_rows(np.arange(2, max(frame.height, 2))), frame[2:]

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """Without these lines."""
        return itertools.islice(super().rows(source, names), 2, None)


class Trec(Text):
    """Blanks between fields, any number of them, and no header: what TREC's tools read."""

    name = "trec"
    before = ""
    suffixes = (".qrels", ".qrel", ".trec", ".run", ".res")

    def matches(self, source: Source) -> bool:
        """Any text that no other format takes."""
        return True

    def separator(self, source: Source) -> str:
        """The blank."""
        return " "

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """The text as it is; where blanks separate, and not one each, after squeezing them."""
        import polars as pl

        refuse_what_is_no_text(source)
        data = source.read()
        first = 1 if names else 2
        comments = b"#" in data and (data.startswith(b"#") or b"\n#" in data)
        frame = None if comments else _regular(source.start, data, names)
        if frame is not None:
            return Origin(source.name, frame.height, first, source=source), frame
        data = _squeezed(data)
        notes: tuple[str, ...] = ()
        if comments:
            data, notes = _without_comments(source, data)
        try:
            frame = _parsed(data, " ", names)
        except pl.exceptions.PolarsError as error:
            shorter = _first_fields(data, len(names)) if len(names) == _RUN else None
            if shorter is None:
                raise _bad_text(source, " ", len(names), str(error)) from None
            frame = _parsed(shorter, " ", names)
        origin = Origin(source.name, frame.height, first, source=source, notes=notes)
        origin, frame = _without_blank_rows(origin, frame)
        if names:
            _refuse_short_lines(origin, frame, names)
        return origin, frame

    def write(self, frame: pl.DataFrame, name: str) -> bytes:
        """Qrels, runs and judgements in TREC's order of columns; other tables have none."""
        import polars as pl

        columns = tuple(frame.columns)
        if columns == ("topic", "doc", "grade"):
            frame = frame.select("topic", pl.lit("0").alias("zero"), "doc", "grade")
        elif columns == ("run", "topic", "doc", "rank", "score"):
            frame = frame.select("topic", pl.lit("Q0").alias("Q0"), "doc", "rank", "score", "run")
        elif columns[:4] == ("topic", "doc", "assessor", "grade"):
            if len(columns) > 4:
                lost = " and ".join(columns[4:])
                message = f"TREC's four columns cannot hold {lost}; use the suffix .tsv"
                raise InputError(message, file=name)
            frame = frame.select("topic", "assessor", "doc", "grade")
        else:
            message = f"{name}: this has no TREC form; use .tsv, .csv, .jsonl or .parquet"
            raise UsageError(message)
        if (frame["topic"] == "#").any():
            message = "a topic is called #, as comments begin in TREC's form; use the suffix .tsv"
            raise InputError(message, file=name)
        return _unquoted(frame, name, " ", header=False, forbidden=" \t\n\r")


# --- a text's beginning ---------------------------------------------------------------------------


def first_line(source: Source) -> str:
    """The first line that is not blank."""
    start = source.start.lstrip(b"\r\n")
    if start.startswith(_SEPARATOR):
        start = start.partition(b"\n")[2].lstrip(b"\r\n")
    if b"\n" not in start and len(source.start) >= START:
        start = source.read().lstrip(b"\r\n")  # a very long line
    line = start.split(b"\n", 1)[0].decode("utf-8", "replace").rstrip("\r")
    return _after_comments(start) or line if line.startswith("#") else line


def _after_comments(start: bytes) -> str:
    """The first of TREC's lines after comments, if that is what follows them."""
    lines = start.decode("utf-8", "replace").splitlines()
    line = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return line if _are_trecs(line.split()) else ""


def split_fields(line: str, separator: str, *, quoted: bool = False) -> list[str]:
    """The fields of one line; blanks separate any number at a time."""
    if quoted or separator in (",", ";"):
        try:
            return next(_csv_reader([line], separator), [])
        except csv.Error:
            return [line]  # whoever reads the file says what is wrong with it
    return line.split() if separator == " " else line.split(separator)


def _csv_reader(lines: Iterable[str], separator: str) -> Any:
    csv.field_size_limit(_LARGEST_FIELD)  # a document's text may be longer than Python's 128 kB
    return csv.reader(lines, delimiter=separator, strict=True)


def _are_trecs(fields: Sequence[str]) -> bool:
    """Whether these are TREC's columns: four, the last a number, or six, the fifth a number (more
    than six are a run's, too).
    """
    number = 3 if len(fields) == 4 else 4 if len(fields) >= 6 else None
    return number is not None and is_number(fields[number])


# --- all of a text --------------------------------------------------------------------------------


def text_of(source: Source) -> str:
    """A file's text; an error if it is empty or not UTF-8."""
    data = source.read()
    if not data.strip():
        raise source.error(EMPTY)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise source.error(NOT_UTF8, data.count(b"\n", 0, error.start) + 1) from None


def refuse_what_is_no_text(source: Source) -> None:
    """An error for an empty file, and for bytes that are no text."""
    start = source.start
    if not start.strip() and (len(start) < START or not source.read().strip()):
        raise source.error(EMPTY)
    if b"\r" in start and b"\n" not in start:
        raise source.error(
            "lines end as on old Macs (CR alone); save the file with other line ends"
        )
    for head, advice in _OTHERS.items():
        if start.startswith(head):
            raise source.error(advice)
    if b"\0" in start:
        raise source.error("this is neither text nor Parquet; is it the right file?")


def _parsed(
    content: bytes | Path,
    separator: str,
    names: Sequence[str],
    *,
    quoted: bool = False,
    only: Sequence[str] = (),
    skipped: int = 0,
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
        skip_lines=skipped,
        glob=False,
    )


def _without_blank_rows(origin: Origin, frame: pl.DataFrame) -> tuple[Origin, pl.DataFrame]:
    """The rows that hold something, and where they are."""
    import polars as pl

    counts = frame.null_count().row(0) if frame.width else (0,)
    if not min(counts):
        return origin, frame
    full = frame.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    if full.all():
        return origin, frame
    return origin.of_rows(full.arg_true().to_numpy()), frame.filter(full)


def _without_empty_last_cells(source: Source, separator: str, quoted: bool) -> bytes | None:
    """The text without separators at the ends of lines, as spreadsheets leave them there; nothing
    if there are none, or if some line has them and needs them.
    """
    text = source.read().replace(b"\r\n", b"\n")
    mark = separator.encode()
    if mark + b"\n" not in text:
        return None
    lines = text.split(b"\n")
    width = len(split_fields(lines[0].decode("utf-8", "replace"), separator))
    most = lines[0].count(mark) if quoted else width - 1
    return b"\n".join(_cut(line, mark, most) for line in lines)


def _cut(line: bytes, mark: bytes, most: int) -> bytes:
    """The line with at most so many separators, as far as those at its end are too many."""
    over = line.count(mark) - most
    while over > 0 and line.endswith(mark):
        line, over = line[: -len(mark)], over - 1
    return line


def _wrong_width(fields: Sequence[object], names: Sequence[object]) -> str:
    return f"{len(fields)} columns where {len(names)} were expected; fix this line"


def _bad_text(source: Source, separator: str, width: int, reason: str) -> FormatError:
    """What Polars does not say: the line. Only on the way to an error."""
    for number, raw in enumerate(source.read().split(b"\n"), 1):
        try:
            line = raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError:
            return source.error(NOT_UTF8, number)
        fields = split_fields(line, separator)
        width = width or len(fields)
        if line and len(fields) > width:
            return source.error(_wrong_width(fields, range(width)), number)
    return source.error(f"cannot be read: {reason.splitlines()[0]}")


# --- blanks between fields ------------------------------------------------------------------------


def _squeezed(data: bytes) -> bytes:
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


def _regular(start: bytes, data: bytes, names: Sequence[str]) -> pl.DataFrame | None:
    """The text as it is, if every line has all fields and one blank between any two: much faster
    than to squeeze all of it first.
    """
    import polars as pl

    if _squeezed(start) != start.strip(b" "):
        return None
    wanted = [name for name in names if name[0] != "_" or name == names[-1]]
    try:
        frame = _parsed(data, " ", names, only=wanted)
    except pl.exceptions.PolarsError:
        return None  # some line further down may have two blanks
    if any(frame.null_count().row(0)):
        return None
    regular = not names or data.count(b" ") == frame.height * (len(names) - 1)
    return frame if regular else None


def _without_comments(source: Source, data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Lines that begin with # emptied, but for those of a topic whose name begins so; both said."""
    lines = data.split(b"\n")
    said = [at for at, line in enumerate(lines) if line.startswith(b"#")]
    fields = {at: lines[at].decode("utf-8", "replace").split() for at in said}
    rows = [at for at in said if fields[at][0] != "#" and _are_trecs(fields[at])]
    for at in set(said) - set(rows):
        lines[at] = b""
    notes = []
    if len(rows) < len(said):
        notes.append(f"{source.name}: {len(said) - len(rows)} lines are comments (#): left out")
    if rows:
        name = fields[rows[0]][0]
        notes.append(f"{source.name}:{rows[0] + 1}: {name} is taken for a topic, not for a comment")
    return b"\n".join(lines), tuple(notes)


def _first_fields(data: bytes, width: int) -> bytes | None:
    """Lines without what follows the last column of a run, as trec_eval reads them; nothing if
    one has its rank elsewhere, since a name holds a blank.
    """
    lines = [line.split(b" ") for line in data.split(b"\n")]
    if not all(len(fields) <= width or fields[3].isdigit() for fields in lines):
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return b"\n".join(b" ".join(fields[:width]) for fields in lines)


def _refuse_short_lines(origin: Origin, frame: pl.DataFrame, names: Sequence[str]) -> None:
    short = frame.to_series(-1).is_null().arg_true()
    if len(short):
        assert origin.source is not None
        line = origin.source.read().split(b"\n")[origin.line(short[0]) - 1]
        raise origin.error(_wrong_width(line.split(), names), short[0])


# --- writing --------------------------------------------------------------------------------------


def _unquoted(
    frame: pl.DataFrame, name: str, separator: str, *, forbidden: str, header: bool = True
) -> bytes:
    """Without quotes, which other readers do not know: so names may not hold these letters."""
    import polars as pl

    for column in frame.select(pl.col(pl.String)):
        held = column.str.contains(f"[{forbidden}]|^$").arg_true()
        if len(held):
            raise InputError(
                f"{column.name} {column[held[0]]!r} holds a blank, tab or line end (or nothing), "
                "which this form cannot hold; use the suffix .csv, .jsonl or .parquet",
                file=name,
            )
    return bytes_by(
        frame.write_csv, separator=separator, quote_style="never", include_header=header
    )
