"""From a file, or an object, to a `Table` with the columns that a noun wants, under our names.

A `Reading` says what is done on the way: which columns are what (`columns`, by name, by place, or
by paths into nested records), which rows count (`where`), whether assessors are columns (`wide`),
and what becomes of grades. The format of a tool states the same for its files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from qrowd.errors import FormatError, UsageError
from qrowd.io import documents, topics
from qrowd.io.formats import FORMATS, format_of
from qrowd.io.formats.format import Format, Row
from qrowd.io.formats.text import EMPTY
from qrowd.io.formats.tool import Tool, first_record
from qrowd.io.grades import Grading, graded
from qrowd.io.nested import names_files, of_object
from qrowd.io.origin import Origin, say, tell
from qrowd.io.paths import inside, leads_into, suggested
from qrowd.io.roles import SYNONYMS, candidates, plain_name, recognised
from qrowd.io.source import PROVENANCE, Source, sources
from qrowd.io.table import Table
from qrowd.io.where import Where, chosen, conditions, kept_rows, overridden
from qrowd.kernel import in_blocks

if TYPE_CHECKING:
    import polars as pl

Columns = str | Sequence[str] | Mapping[str, str] | None
Wide = str | Sequence[str] | None
TRECS_ORDER = (
    "no header; read as topic, assessor, doc, grade (TREC's order); if that is wrong, say the "
    "order: --columns topic,doc,assessor,grade"
)
_GRADE = r"\s*[+-]?\d{1,2}([.,]0+)?\s*"
_FEW = 5  # rows, in which every order of columns may look odd
_MOST_GRADES = 11  # of a wide table that is recognised
# Names of columns that are numbers, but nobody's grades.
_NOBODY = re.compile(
    r"(?i).*(id|rank|position|place|score|count|clicks?|views?|length|words|year|age|index|number|"
    r"date|time|price|weight|seconds|duration|total|mean|median|average|majority|gold|truth|votes?)"
    r"[ _.-]?\d*|(p|n|no)|p\(.*"
)


@dataclass(frozen=True)
class Wanted:
    """What a noun wants of a table: columns it needs, may have, and TREC's order of them."""

    noun: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    shorter: tuple[str, ...] = ()  # another order, of a file with as few columns
    others: str = ""  # a pattern of further columns that are kept
    stated: bool = False  # the command line has --columns for it
    graded: bool = False  # grades may be words, or missing
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of a needed column

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.needed, *self.optional)

    def missing(self, columns: Mapping[str, str]) -> list[str]:
        """The needed columns for which there is none, nor one that stands for it."""
        return [
            name
            for name in self.needed
            if name not in columns and not columns.keys() & set(self.instead.get(name, ()))
        ]


@dataclass(frozen=True)
class Reading:
    """How a file is read, as far as it does not say so itself."""

    columns: Columns = None  # which columns are what
    format: str | None = None
    where: Where = None  # which rows count
    wide: Wide = None  # which columns are assessors
    grading: Grading = field(default_factory=Grading)

    def columns_at(self, wanted: Wanted) -> tuple[str, ...]:
        """The order of columns in a file without a header, where that was stated."""
        return _positions(self.columns, wanted)


AS_IT_IS = Reading()


def tables(source: Any, wanted: Wanted, reading: Reading = AS_IT_IS) -> list[Table]:
    """The tables of an object, or of all files meant by a path, a folder, a glob, `-`."""
    if names_files(source):
        files = _without_others(sources(source), wanted, reading)

        def work(lo: int, hi: int) -> list[Table | FormatError]:
            return [_of_one(file, wanted, reading, len(files) > 1) for file in files[lo:hi]]

        read = _filled(
            [each for block in in_blocks(work, len(files), len(files)) for each in block]
        )
    else:
        read = [_of_object(source, wanted, reading)]
    for note in dict.fromkeys(note for table in read for note in table.notes):
        say(note)
    for table in read:
        tell(table.origin)
    return graded(read, reading.grading) if wanted.graded else read


def _without_others(files: list[Source], wanted: Wanted, reading: Reading) -> list[Source]:
    """The files without those that lie beside judgements and say what they are about."""
    if len(files) < 2 or reading.format or not wanted.graded:
        return files
    tools = {form.name: form for form in map(format_of, files) if isinstance(form, Tool)}
    others = [
        file
        for file in files
        if documents.matches(file)
        or topics.matches(file)
        or any(tool.beside(first_record(file, tool.base(file))) for tool in tools.values())
    ]
    if len(others) == len(files):
        return files
    for file in others:
        say(f"{file.name}: no judgements, but what they are about; left out")
    return [file for file in files if file not in others]


def _of_one(file: Source, wanted: Wanted, reading: Reading, several: bool) -> Table | FormatError:
    """A file's table; of several files, one may have no row: somebody who has judged nothing."""
    try:
        return _of_file(file, wanted, reading)
    except FormatError as error:
        if several and error.message in (EMPTY, _NO_ROW, _ONLY_HEADER):
            return error
        raise


def _filled(read: Sequence[Table | FormatError]) -> list[Table]:
    """The tables that have rows; files without any are said: an error if there are no others."""
    full = [each for each in read if isinstance(each, Table)]
    empty = [each for each in read if isinstance(each, FormatError)]
    if not full:
        raise empty[0]
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        say(f"{empty[0].file}{more}: nothing in it; left out")
    return full


def _of_file(source: Source, wanted: Wanted, reading: Reading) -> Table:
    if source.name.endswith(PROVENANCE):
        raise source.error("this says where labels come from; name the labels themselves")
    form = format_of(source, reading.format)
    order = reading.columns_at(wanted)
    stated = _mapping(reading.columns, wanted) if not order else {}
    if isinstance(form, Tool) and not (order or reading.wide):
        if wanted.graded or wanted.noun == "pairs":
            return _of_tool(source, form, wanted, reading, stated)
        form = form.base(source) or form
    if stated:
        header = form.fields(source)
        leading = [*stated.values(), *(each.column for each in conditions(reading.where))]
        if any(name not in header and leads_into(name, header) for name in leading):
            return _by_paths(source, list(form.rows(source)), stated, wanted, reading)
    if form.headed:
        return _by_names(*form.read(source), wanted, reading)
    first = form.fields(source)
    is_header = len(recognised(first, wanted.names)) >= min(2, len(wanted.needed))
    if reading.columns is None and not is_header and not reading.wide:
        if wanted.shorter and len(first) == len(wanted.shorter):
            return _in_order(source, form, wanted.shorter, wanted, reading)
        longer = wanted.noun == "runs" and form.name == "trec" and len(first) > len(wanted.plain)
        if len(first) != len(wanted.plain) and not longer:
            raise source.error(_no_header(first, wanted), line=1)
        return _in_order(source, form, wanted.plain, wanted, reading)
    if order:
        return _in_order(source, form, order, wanted, reading)
    _refuse_twins(source, first, stated or recognised(first, wanted.names))
    return _by_names(*form.read(source), wanted, reading)


def _of_object(source: Any, wanted: Wanted, reading: Reading) -> Table:
    origin, frame = of_object(source, wanted.noun)
    stated = _mapping(reading.columns, wanted)
    if any(
        name not in frame.columns and leads_into(name, frame.columns) for name in stated.values()
    ):
        rows = [(0, row) for row in frame.to_dicts()]
        return _by_paths(Source(origin.name, None), rows, stated, wanted, reading)
    return _by_names(origin, frame, wanted, reading)


def _of_tool(
    source: Source, form: Tool, wanted: Wanted, reading: Reading, stated: Mapping[str, str]
) -> Table:
    """A tool's file as the tool's format lays it out, or by paths that were stated."""
    where = conditions(reading.where)
    if stated and not wanted.missing(stated):
        where = overridden(form.usual(source, stated), where)
        reading = replace(reading, where=where)
        return _by_paths(source, list(form.rows(source)), stated, wanted, reading)
    origin, frame = form.laid_out(source, wanted.noun == "qrels", where, stated)
    return _by_names(origin, frame, wanted, replace(reading, where=None, columns=None))


def _by_paths(
    source: Source, rows: list[Row], stated: Mapping[str, str], wanted: Wanted, reading: Reading
) -> Table:
    """The rows of nested records, by paths."""
    missing = wanted.missing(stated)
    if missing:
        raise source.error(_missing(list(stated.values()), missing, stated, wanted))
    numbers, frame, notes = chosen(source, rows, stated, conditions(reading.where))
    if not frame.height:
        raise source.error(_NO_ROW)
    for name in stated:
        if name in wanted.needed and frame[name].null_count() == frame.height:
            where = suggested([row for _, row in rows[:50]], wanted.names).get(name)
            hint = f"; perhaps {name}={where}" if where else ""
            raise source.error(f"{stated[name]} leads to nothing, in no row{hint}")
    origin = Origin(source.name, frame.height, int(rows[0][0] > 0), kept=numbers, source=source)
    said = tuple(f"{source.name}: {note}" for note in notes)
    return Table(origin, frame, {name: name for name in stated}, said, stated=True)


def _in_order(
    source: Source, form: Format, order: Sequence[str], wanted: Wanted, reading: Reading
) -> Table:
    """A text without a header, whose columns have this order."""
    names = [name if name in wanted.names else f"_{at}" for at, name in enumerate(order)]
    origin, frame = _read_plain(source, form, names, exact=reading.columns is None)
    if reading.columns is None and wanted.graded:
        origin = replace(origin, about={"read as": f"{' '.join(order)}, without a header"})
    kept = [name for name in names if name in wanted.names]
    frame = _collected(origin, frame, kept)
    guessed = reading.columns is None
    notes = origin.notes
    if guessed and form.name == "csv" and "assessor" in kept:
        qrels = frame["assessor"].unique().to_list() in (["0"], ["Q0"])
        # of anything else, the order is anybody's guess
        notes = notes if qrels else (*notes, f"{origin.name}: {TRECS_ORDER}")
    columns = {name: name for name in kept}
    table = Table(
        origin, frame, columns, notes, stated=not guessed, guessed=guessed and form.name != "csv"
    )
    if guessed and "grade" in wanted.needed:
        _refuse_other_order(table)
    return table


def _read_plain(
    source: Source, form: Format, names: Sequence[str], exact: bool
) -> tuple[Origin, pl.DataFrame]:
    """A text without a header; TREC's, where single tabs do not give `exact`ly its columns, by
    blanks and tabs in any number.
    """
    import polars as pl

    if form.name != "tsv" or not exact:
        origin, frame = form.read(source, names)
        return origin, frame.lazy().collect()
    try:
        origin, frame = form.read(source, names)
        frame = frame.lazy().collect()
        if not any(frame.null_count().row(0)):
            return origin, frame.with_columns(pl.all().str.strip_chars())
    except FormatError as error:
        try:
            return _read_plain(source, FORMATS["trec"], names, exact=False)
        except FormatError:
            raise error from None
    return _read_plain(source, FORMATS["trec"], names, exact=False)


def _refuse_other_order(table: Table) -> None:
    """An error about four columns that are hardly topic, assessor, document and grade: grades that
    are all the same, and documents that are a few small numbers, as in `topic doc grade iteration`.
    """
    grade, doc = table.frame["grade"], table.frame["doc"]
    if len(table) < _FEW or grade[0] is None or not (grade == grade[0]).all():
        return
    some = doc.unique()
    if len(some) > _MOST_GRADES or not all(re.fullmatch(_GRADE, name) for name in some.to_list()):
        return
    if "assessor" in table and table.frame["assessor"].n_unique() >= max(_FEW, len(some)):
        raise table.origin.error(
            f"every grade is {grade[0]} and documents are called {', '.join(sorted(some)[:4])}: is "
            "the order topic, doc, grade? Then say so: --columns topic,doc,grade,_ (as it is read "
            "now: --columns topic,assessor,doc,grade)",
            0,
        )


_NO_ROW = "there is no row in it"
_ONLY_HEADER = "there is a header but no row"


def _by_names(
    origin: Origin, frame: pl.DataFrame | pl.LazyFrame, wanted: Wanted, reading: Reading
) -> Table:
    """The table with our names for its columns: as stated, else by their names."""
    names = list(frame.collect_schema())
    stated = _mapping(reading.columns, wanted)
    if not origin.rows:
        raise origin.error(_ONLY_HEADER if origin.first > 1 else _NO_ROW)
    said = conditions(reading.where)
    for condition in said:
        if condition.column not in names:
            raise origin.error(f"no column {condition.column!r}; there are: {_listed(names)}")
    notes = list(origin.notes)
    if said:
        frame = frame.lazy().collect()
        origin, frame, left_out = kept_rows(origin, frame, said)
        notes += [f"{origin.name}: {note}" for note in left_out]
    ours = stated or recognised(names, wanted.names)
    if "assessor" in wanted.names and "grade" in wanted.needed:
        origin, frame, ours, note = _unpivoted(origin, frame, ours, reading)
        notes += note
        names = list(frame.collect_schema())
    for name, theirs in ours.items():
        if theirs not in names:
            raise origin.error(f"no column {theirs!r} for {name}; there are: {_listed(names)}")
    missing = wanted.missing(ours)
    if missing:
        nested = "" if stated else _nested_advice(frame, wanted)
        raise origin.error(nested or _missing(names, missing, stated, wanted))
    rest = [name for name in names if name not in {*ours, *ours.values()}]
    others = {name: name for name in rest if wanted.others and re.fullmatch(wanted.others, name)}
    kept = list(dict.fromkeys((*ours.values(), *others)))
    if not stated and not origin.about:
        notes += _two_for_one(origin, names, wanted)
    collected = _collected(origin, frame, kept, lambda: _nested_advice(frame, wanted))
    return Table(origin, collected, ours | others, tuple(notes), stated=bool(stated))


# --- assessors that are columns -------------------------------------------------------------------


def _unpivoted(
    origin: Origin, frame: pl.DataFrame | pl.LazyFrame, ours: dict[str, str], reading: Reading
) -> tuple[Origin, pl.DataFrame | pl.LazyFrame, dict[str, str], list[str]]:
    """A wide table as rows: one for each of the columns that are assessors, and each row."""
    import polars as pl

    names = list(frame.collect_schema())
    if reading.wide is not None:
        assessors = _stated_assessors(origin, names, reading.wide)
    elif "doc" in ours and not {"grade", "assessor"} & ours.keys() and not reading.columns:
        assessors = _recognised_assessors(frame, [n for n in names if n not in ours.values()])
    else:
        assessors = []
    if not assessors:
        return origin, frame, ours, []
    whole = frame.lazy().collect()
    index = [name for name in ours.values() if name not in assessors and name in names]
    rows = np.tile(np.arange(whole.height), len(assessors))
    long = pl.concat(
        [
            whole.select(
                *index,
                pl.lit(name).alias("wide name"),
                pl.col(name).cast(pl.String).alias("wide grade"),
            )
            for name in assessors
        ]
    )
    columns = {name: theirs for name, theirs in ours.items() if theirs in index}
    # in a survey who answered has a row, and documents are columns
    role = "doc" if "assessor" in columns and "doc" not in columns else "assessor"
    columns |= {role: "wide name", "grade": "wide grade"}
    notes = []
    if reading.wide is None:
        notes = [
            f"{origin.name}: {len(assessors)} columns are taken for assessors: "
            f"{_listed(assessors)}; to choose: --wide {','.join(assessors[:2])},..."
        ]
    about = {**origin.about, role: f"the columns {_listed(assessors)}"}
    return replace(origin.of_rows(rows), about=about), long, columns, notes


def _stated_assessors(origin: Origin, names: Sequence[str], wide: str | Sequence[str]) -> list[str]:
    parts = wide.split(",") if isinstance(wide, str) else list(wide)
    assessors: list[str] = []
    for part in (part.strip() for part in parts):
        fits = [name for name in names if name == part] or [
            name for name in names if fnmatchcase(name, part)
        ]
        if not fits:
            raise origin.error(f"no column {part!r} for --wide; there are: {_listed(names)}")
        assessors += fits
    return list(dict.fromkeys(assessors))


def _recognised_assessors(frame: pl.DataFrame | pl.LazyFrame, names: Sequence[str]) -> list[str]:
    """The columns that hold grades and nothing else, if these are all that is left, and several."""
    import polars as pl

    named = [name for name in names if name.strip() and not name.startswith("Unnamed:")]
    spoken = [
        name
        for name in named
        if not recognised([name], tuple(SYNONYMS)) and plain_name(name) not in _TEXTS_BESIDE
    ]
    if len(spoken) < 2 or any(_NOBODY.fullmatch(name) for name in spoken):
        return []
    some = frame.lazy().select(spoken).collect()
    grades: set[str] = set()
    for column in some:
        if not (column.dtype.is_numeric() or column.dtype == pl.String or column.dtype == pl.Null):
            return []
        values = column.cast(pl.String).drop_nulls().unique()
        if len(values) > 2 * _MOST_GRADES:
            return []
        texts = [text.strip() for text in values.to_list() if text.strip()]
        if not all(re.fullmatch(_GRADE, text) for text in texts):
            return []
        grades |= {re.sub(r"[.,]0+$", "", text) for text in texts}
    return spoken if 1 <= len(grades) <= _MOST_GRADES else []


_TEXTS_BESIDE = {"text", "title", "body", "url", "query", "comment", "comments", "passage"}


def _collected(
    origin: Origin,
    frame: pl.DataFrame | pl.LazyFrame,
    names: Sequence[str],
    advice: Callable[[], str] = str,
) -> pl.DataFrame:
    """These columns of a frame, read if they are not yet, as numbers and text."""
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        try:
            frame = frame.select(names).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
            message = "the file is damaged in the middle; fetch or make it again"
            raise FormatError(message, file=origin.name) from None
    return pl.DataFrame([_plain(origin, frame[name], advice) for name in names])


def _plain(origin: Origin, column: pl.Series, advice: Callable[[], str]) -> pl.Series:
    """Numbers and text as they are, times as seconds, everything else as text."""
    import polars as pl

    kind = column.dtype
    if kind.is_numeric() or kind == pl.String:
        return column
    if isinstance(kind, pl.List | pl.Array) and not (column.list.len() > 1).any():
        return _plain(origin, column.list.first(), advice)  # a list of one is what it holds
    if kind == pl.Null:
        return column.cast(pl.String)
    if kind.is_nested() or kind == pl.Object:
        held = "lists" if isinstance(kind, pl.List | pl.Array) else "objects"
        problem = f"the column {column.name!r} holds {held}; it must be text or numbers"
        raise origin.error("; ".join(filter(None, (problem, advice()))))
    if kind == pl.Datetime or kind == pl.Date:
        return column.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    if kind == pl.Duration:
        return column.dt.total_microseconds() / 1e6
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        message = f"the column {column.name!r} holds bytes that are no text"
        raise origin.error(message) from None


def _nested_advice(frame: pl.DataFrame | pl.LazyFrame, wanted: Wanted) -> str:
    """How nested records could be read, if they are nested and their keys say it."""
    import polars as pl

    try:
        some = frame.lazy().head(50).collect()
    except (pl.exceptions.PolarsError, OSError):
        return ""  # whoever reads all of it says that it is damaged
    texts = (column.drop_nulls() for column in some if column.dtype == pl.String)
    in_texts = any(isinstance(inside(text), list | dict) for column in texts for text in column)
    if not in_texts and not any(kind.is_nested() or kind == pl.Object for kind in some.dtypes):
        return ""
    paths = suggested(some.to_dicts(), wanted.names)
    listed = ",".join(
        f"{name}={paths.get(name, 'PATH')}"
        for name in wanted.names
        if name in paths or name in wanted.needed
    )
    how = "" if "PATH" not in listed else f" ({_PATHS})"
    return f"rows are nested: say where the columns are, --columns '{listed}'{how}"


_PATHS = "as a.b, a[].b for each item of a list, a{key} and a{} for each name of an object"


# --- what the user said of the columns ------------------------------------------------------------


def _positions(columns: Columns, wanted: Wanted) -> tuple[str, ...]:
    """The order of columns in a file without a header, where that was stated."""
    if columns is None or isinstance(columns, Mapping):
        return ()
    parts = columns.replace(",", " ").split() if isinstance(columns, str) else list(columns)
    if any("=" in part for part in parts):
        return ()
    _check_names([part for part in parts if part != "_"], wanted)
    missing = [name for name in wanted.needed if name not in parts]
    if missing:
        raise UsageError(f"columns name no {' and no '.join(missing)}: {' '.join(parts)}")
    return tuple(parts)


def _mapping(columns: Columns, wanted: Wanted) -> dict[str, str]:
    """`topic=query,grade=stars` as a mapping."""
    if columns is None:
        return {}
    if isinstance(columns, Mapping):
        named = list(columns.items())
    else:
        parts = columns.split(",") if isinstance(columns, str) else columns
        if not all("=" in part for part in parts):
            raise UsageError(
                "columns of a file with a header are stated as topic=NAME,doc=NAME,..."
            )
        split = (part.strip().split("=", 1) for part in parts)
        named = [(name.strip(), theirs.strip()) for name, theirs in split]
    _check_names([name for name, _ in named], wanted)
    return dict(named)


def _check_names(names: Sequence[str], wanted: Wanted) -> None:
    for name in names:
        if name not in wanted.names:
            allowed = " ".join(wanted.names)
            raise UsageError(f"columns must be among {allowed} (_ skips one), got {name!r}")
    if len(set(names)) < len(names):
        raise UsageError(f"columns name one twice: {' '.join(names)}")


# --- what to tell the user ------------------------------------------------------------------------


def _two_for_one(origin: Origin, names: Sequence[str], wanted: Wanted) -> tuple[str, ...]:
    """What to say of columns that mean the same."""
    return tuple(
        f"{origin.name}: {' and '.join(each)} may all be the {role}; {each[0]} is used; to choose, "
        f"name the columns: --columns {role}={each[1]},..."
        for role, each in candidates(names, wanted.names).items()
        if len(each) > 1
    )


def _missing(
    names: Sequence[str], missing: Sequence[str], stated: Mapping[str, str], wanted: Wanted
) -> str:
    ours = recognised(names, wanted.needed) | dict(stated)
    listed = ",".join(f"{name}={ours.get(name, 'NAME')}" for name in wanted.needed)
    if stated:
        return (
            f"--columns names no {' and no '.join(missing)}; name every column that is to be read: "
            f"--columns {listed}; there are: {_listed(names)}"
        )
    if "grade" in missing and {"better", "worse"} <= recognised(names, ("better", "worse")).keys():
        return (
            f"these are preferences ({_listed(names)}), and {wanted.noun} grade one document at a "
            "time; `qrowd rank` merges preferences"
        )
    called = "; ".join(
        f"{name} may be called {', '.join(SYNONYMS[name].split()[:6])}" for name in missing
    )
    message = f"no column for {' and '.join(missing)} among: {_listed(names)}; {called}"
    if not wanted.stated:
        return f"{message}; rename the columns in the file"
    wide = ""
    if "grade" in missing and "assessor" in wanted.names and "doc" in ours:
        wide = "; or, if columns are assessors: --wide NAME,NAME,..."
    return f"{message}; or say what the columns are: --columns {listed}{wide}"


def _no_header(first: Sequence[str], wanted: Wanted) -> str:
    trec = f"TREC's {len(wanted.plain)} columns ({' '.join(wanted.plain)}), "
    either = f"{trec if wanted.plain else ''}a header with {' '.join(wanted.needed)}"
    stated = f", or --columns (e.g. --columns {','.join(wanted.needed)})" if wanted.stated else ""
    return f"{len(first)} columns and no header that is known; {wanted.noun} need {either}{stated}"


def _refuse_twins(source: Source, header: Sequence[str], used: Mapping[str, str]) -> None:
    """An error about two columns of one name that is used."""
    for name in used.values():
        if list(header).count(name) > 1:
            raise source.error(f"two columns are called {name!r}; rename one of them", line=1)


def _listed(names: Sequence[str]) -> str:
    """The names of columns, not more than fit a message."""
    shown = " ".join(name if len(name) < 40 else f"{name[:37]}..." for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")
