"""Grades as people write them: numbers, words, fractions, nothing at all."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.errors import FormatError, UsageError, require_choice
from qrowd.io.origin import say
from qrowd.io.table import Table, real_numbers, short

if TYPE_CHECKING:
    import polars as pl


Words = str | Mapping[str, int | None] | Sequence[str] | None
MISSING = ("skip", "error")
FRACTIONS = ("refuse", "weights")
NOMINAL = "nominal"  # in the place of words: they have no order
_LEFT_OUT = "_"
_MOST, _FEW = 30, 5  # labels that may be without an order; these at most, however few rows
_NO_GRADE = ("", "nan", "na", "n/a", "null", "<na>")  # what programs write where there is none
_SHOWN = 12
_NO_OPINION = {
    *("cannot judge", "can't judge", "cannot say", "can't say", "don't know", "unrateable"),
    *("cannot tell", "can't tell", "unjudgeable", "skip", "skipped", "no answer"),
}
# The words of scales that leave no doubt, each from 0 on. Other words that have an order, or may
# have one, need --grades.
_NOT = {"not relevant", "non relevant", "nonrelevant", "irrelevant", "not at all relevant"}
_PARTLY = {
    *("partially relevant", "partly relevant", "somewhat relevant", "marginally relevant"),
    *("slightly relevant", "fairly relevant", "related"),
}
_RELEVANT = {"relevant"}
_HIGHLY = {"highly relevant", "very relevant"}
_PERFECTLY = {"perfectly relevant", "perfect"}
_SCALES = (
    (_NOT, _RELEVANT),
    (_NOT, _PARTLY, _RELEVANT),
    (_NOT, _RELEVANT, _HIGHLY),
    (_NOT, _PARTLY, _HIGHLY),
    (_NOT, _PARTLY, _RELEVANT, _HIGHLY),
    (_NOT, _PARTLY, _HIGHLY, _PERFECTLY),
    (_NOT, _RELEVANT, _HIGHLY, _PERFECTLY),
)


_ORDERED = {
    *("yes", "no", "true", "false", "y", "n", "t", "f", "maybe", "partially", "partly"),
    *("perfect", "excellent", "very good", "good", "fair", "ok", "okay", "bad", "poor", "very bad"),
    *("high", "medium", "low", "none", "all", "some", "much", "little", "related", "off topic"),
    *("strongly agree", "agree", "neutral", "disagree", "strongly disagree", "best", "worst"),
    *_NO_OPINION,
}


@dataclass(frozen=True)
class Grading:
    """What becomes of a column of grades."""

    words: Words = None  # what words mean
    missing: str = "skip"  # what to do with rows that have none
    cut: float | None = None  # relevant from here on, where grades are fractions
    fractions: str = "refuse"  # or `weights`: what becomes of them without a cut

    def __post_init__(self) -> None:
        require_choice("missing", self.missing, MISSING)
        require_choice("fractions", self.fractions, FRACTIONS)
        if self.cut is not None and self.fractions != "refuse":
            raise UsageError("fractions are cut, or taken as weights: state one of them")
        meaning(self.words)


def graded(tables: Sequence[Table], grading: Grading) -> list[Table]:
    """The tables with whole numbers as grades, without the rows that have none."""
    tables = [_of_buckets(table) for table in tables]
    labels = _labels(tables, grading)
    words = dict(zip(labels, range(len(labels)), strict=True)) or meaning(grading.words)
    parts = [_in_bytes(_in_numbers(table, words)) for table in tables]
    unknown = [] if words else sorted({word for table in parts for word in words_of(table)})
    if unknown and (known := scale_of(unknown)):
        listed = ", ".join(f"{word} = {grade}" for word, grade in known.items())
        say(f"{_where(parts)}: grades are words: {listed}; if they mean something else, --grades")
        meant = {plain(word): grade for word, grade in known.items()}
        parts = [_in_bytes(_in_numbers(table, meant)) for table in parts]
    parts = [table for table in _with_a_grade(parts, grading.missing) if len(table)]
    for table in parts:
        _refuse_words(table)
    parts = [replace(table, words=tuple(labels.values())) for table in parts] if labels else parts
    if grading.cut is not None:
        parts = [_cut(table, grading.cut) for table in parts]
    elif grading.fractions == "weights":
        parts = [_weighted(table) for table in parts]
    return parts


_NUMBERED: ContextVar[dict[str, str] | None] = ContextVar("numbered", default=None)


@contextmanager
def same_labels() -> Iterator[None]:
    """Inside, a label without an order has the same number in all files, gold among them."""
    token = _NUMBERED.set({})
    try:
        yield
    finally:
        _NUMBERED.reset(token)


def _labels(tables: Sequence[Table], grading: Grading) -> dict[str, str]:
    """Labels without an order, by their plain form, numbered as they stand: those that are known
    already, then new ones in the order of the alphabet, which is said. None if these are grades.
    """
    stated, shared = grading.words, _NUMBERED.get()
    if stated is None:
        plainly = grading.cut is None and grading.fractions == "refuse"
        if not (plainly and _without_order(tables)):
            return {}
    elif isinstance(stated, str | Mapping) and stated != NOMINAL:
        return {}
    labels = {} if isinstance(stated, str | None) else {plain(word): word for word in stated}
    labels |= shared or {}
    found = sorted({word for table in tables for word in words_of(table, HIGHEST + 2)})
    new = {plain(word): word for word in found if plain(word) not in labels}
    labels |= new
    if len(labels) > HIGHEST + 1:
        raise FormatError(f"more than {HIGHEST + 1} different labels", file=_where(tables))
    if new:
        numbered = [f"{word} = {number}" for number, word in enumerate(labels.values())]
        more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
        say(
            f"{_where(tables)}: labels without an order, as numbers: "
            f"{', '.join(numbered[:_SHOWN])}{more}; if they have one, --grades"
        )
    if shared is not None:
        shared.update(labels)
    return labels


def _without_order(tables: Sequence[Table]) -> bool:
    """Whether all grades are words, a few that recur, and none that is known to have an order."""
    import polars as pl

    columns = [_grades_of(table) for table in tables if len(table)]
    if not columns or any(column.dtype != pl.String for column in columns):
        return False
    filled = pl.concat([column.filter(~_has_none(column)).alias("") for column in columns])
    if not len(filled) or real_numbers(filled).is_not_null().any():
        return False
    words = {_spoken(word) for word in filled.unique()}
    odd = any(word[:1].isdigit() or word[:1] in "[{" or "relevant" in word for word in words)
    return not (odd or words & _ORDERED) and len(words) <= min(_MOST, max(_FEW, len(filled) // 2))


def _where(parts: Sequence[Table]) -> str:
    more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
    return parts[0].origin.name + more


# --- words ----------------------------------------------------------------------------------------


def plain(word: str) -> str:
    """A word as it is compared: in small letters, composed, without blanks at its ends."""
    return unicodedata.normalize("NFC", str(word)).strip().casefold()


def _spoken(word: str) -> str:
    """A word as `plain` writes it, with blanks for lines between its parts."""
    return plain(word).replace("_", " ").replace("-", " ")


def _grades_of(table: Table) -> pl.Series:
    return table.frame[table.columns["grade"]]


def meaning(words: Words) -> dict[str, int | None]:
    """What each word means, as `plain` writes it; None: its judgements are left out."""
    if words is None or words == NOMINAL or not isinstance(words, str | Mapping):
        return {}
    if isinstance(words, str):
        stated = [_parsed(part) for part in words.split(",") if part.strip()]
    else:
        stated = [(str(word), grade) for word, grade in words.items()]
    grades: dict[str, int | None] = {}
    for word, grade in stated:
        if grades.setdefault(plain(word), grade) != grade:
            raise UsageError(f"grades gives two meanings to {word.strip()!r}")
        if grade is not None and not LOWEST <= grade <= HIGHEST:
            raise UsageError(f"grades must lie between {LOWEST} and {HIGHEST}, got {word}={grade}")
    return grades


def _parsed(part: str) -> tuple[str, int | None]:
    word, equals, grade = part.strip().rpartition("=")
    if not equals or not (grade.strip() == _LEFT_OUT or grade.strip().lstrip("+-").isdigit()):
        raise UsageError(
            f"grades are stated as word=number (or word=_ to leave it out), got {part.strip()!r}"
        )
    return word, None if grade.strip() == _LEFT_OUT else int(grade)


def _of_buckets(table: Table) -> Table:
    """With grades where the table has buckets, the topics that sentences were put to: 1 or 0."""
    if "grade" in table or "bucket" not in table:
        return table
    if "topic" not in table:
        raise table.origin.error("a bucket is that of a topic, and there is no column for topics")
    name = f"grade of {table.columns['bucket']}"
    bucket = table.column("bucket", filled=False).cast(str)
    put = bucket == table.names("topic", keep=True)  # nothing where there is no bucket
    if not put.any():
        say(f"{table.origin.name}: no bucket is called as its topic: all grades are 0")
    frame = table.frame.with_columns(put.cast(int).alias(name))
    return replace(table, frame=frame, columns={**table.columns, "grade": name})


def _in_numbers(table: Table, words: Mapping[str, int | None]) -> Table:
    """With numbers for words, as far as these are known, and without the rows that are left out."""
    import polars as pl

    column = _grades_of(table)
    if not words or not len(table):
        return table
    text = column.cast(pl.String)
    distinct = text.unique().drop_nulls().to_list()
    meant = {word: words[plain(word)] for word in distinct if plain(word) in words}
    numbers = {word: str(grade) for word, grade in meant.items() if grade is not None}
    grades = text.replace(numbers) if numbers else text
    stays = ~text.is_in([word for word, grade in meant.items() if grade is None]).fill_null(False)
    if "" in words and column.null_count():  # a cell without quotes is null
        nothing = words[""]
        grades = grades.fill_null(str(nothing)) if nothing is not None else grades
        stays &= column.is_not_null() if nothing is None else True
    table = replace(table, frame=table.frame.with_columns(grades.alias(column.name)))
    return table if stays.all() else table.of_rows(stays.arg_true().to_numpy())


def words_of(table: Table, most: int = _SHOWN) -> list[str]:
    """The grades that are words, at most so many."""
    import polars as pl

    column = _grades_of(table)
    if column.dtype != pl.String:
        return []
    distinct = column.unique().drop_nulls()
    odd = distinct.filter(real_numbers(distinct).is_null()).to_list()
    return sorted(word for word in odd if plain(word) not in _NO_GRADE)[:most]


def _refuse_words(table: Table) -> None:
    words = [word for word in words_of(table) if word.lstrip()[:1] not in ("[", "{")]
    if not words:
        return
    column = _grades_of(table)
    row = column.is_in(words).arg_max() or 0
    raise table.origin.error(
        f"grade must be a whole number from {LOWEST} to {HIGHEST}, got {short(column[row])!r}; if "
        f"grades are words, say what they mean: --grades '{stated(words)}' (_ leaves one out), or "
        "--grades nominal if they have no order"
        f"{table.header_hint(row)}",
        row,
    )


def stated(words: Sequence[str]) -> str:
    """What --grades could say of these words; NUMBER where nobody can guess it."""
    without = [word for word in words if plain(word) in _NO_OPINION]
    known = scale_of([word for word in words if word not in without])
    rest = {word: "NUMBER" for word in words if word not in known and word not in without}
    meant = {**known, **rest, **dict.fromkeys(without, _LEFT_OUT)}
    return ",".join(f"{word.strip()}={grade}" for word, grade in meant.items())


def scale_of(words: Sequence[str]) -> dict[str, int]:
    """What these words mean, if they are all the words of a scale that leaves no doubt."""
    spoken = {word: _spoken(word) for word in words}
    for scale in _SCALES:
        grades = {
            word: grade
            for word, text in spoken.items()
            for grade, names in enumerate(scale)
            if text in names
        }
        if len(grades) == len(words) and set(grades.values()) == set(range(len(scale))):
            return dict(sorted(grades.items(), key=lambda each: each[1]))
    return {}


# --- no grade -------------------------------------------------------------------------------------


def _with_a_grade(parts: Sequence[Table], missing: str) -> list[Table]:
    """The rows that have a grade; how many have none is said."""
    kept, left_out = [], 0
    for table in parts:
        nothing = _has_none(_grades_of(table)).arg_true().to_numpy()
        if len(nothing) and missing == "error":
            raise table.origin.error("no grade; every row needs one", int(nothing[0]))
        left_out += len(nothing)
        rows = np.setdiff1d(np.arange(len(table)), nothing) if len(nothing) else None
        kept.append(table if rows is None else table.of_rows(rows))
    if parts and not any(len(table) for table in kept):
        raise FormatError("no row has a grade", file=parts[0].origin.name)
    if left_out:
        have, count = ("rows have", "count") if left_out > 1 else ("row has", "counts")
        say(f"{_where(parts)}: {left_out} {have} no grade and {count} for nothing")
    return kept


def _in_bytes(table: Table) -> Table:
    """With grades as small numbers, if all of a column of texts are: the usual case."""
    import polars as pl

    column = _grades_of(table)
    if column.dtype != pl.String:
        return table
    values = column.cast(pl.Int8, strict=False)
    if values.null_count():
        return table
    return replace(table, frame=table.frame.with_columns(values))


def _has_none(column: pl.Series) -> pl.Series:
    """Which rows have no grade."""
    import polars as pl

    if column.dtype == pl.String:
        empty = column.str.strip_chars().str.to_lowercase().is_in(_NO_GRADE)
        return (empty | column.is_null()).fill_null(True)
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()


# --- fractions ------------------------------------------------------------------------------------


def _real(table: Table) -> pl.Series:
    """Grades as they are, also fractions; an error names the line of what is no number."""
    import polars as pl

    column = _grades_of(table)
    values = real_numbers(column) if column.dtype == pl.String else column.cast(pl.Float64)
    bad = values.is_null() | ~values.is_finite()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise table.origin.error(f"grade must be a number, got {str(column[row])!r}", row)
    return values


def _cut(table: Table, cut: float) -> Table:
    import polars as pl

    grades = (_real(table) >= cut).cast(pl.Int8).alias(table.columns["grade"])
    return replace(table, frame=table.frame.with_columns(grades))


def _weighted(table: Table) -> Table:
    """Each fraction as two votes, for the grade below and the one above: .7 is .3 of a 0 and .7 of
    a 1. What has a weight already keeps it in proportion.
    """
    import polars as pl

    if "topic" in table and "assessor" not in table:
        raise UsageError("qrels have no weights: cut their fractions (--cut .5)")
    values = _real(table)
    below = values.floor()
    above = (values - below).to_numpy()
    split = np.flatnonzero(above > 0)
    weight = table.numbers("weight") if "weight" in table else np.ones(len(table))
    rows = np.concatenate([np.arange(len(table)), split])
    grades = np.concatenate([below.to_numpy(), below.to_numpy()[split] + 1])
    weights = np.concatenate([weight * (1 - above), (weight * above)[split]])
    if len(split):
        say(
            f"{table.origin.name}: {len(split)} grades are fractions and become two votes each, "
            "weighted (.7 is .7 of a 1 and .3 of a 0): merging weighs them; agreement and quality "
            "count both votes, so that such an assessor contradicts themself"
        )
    wider = table.of_rows(rows)
    frame = wider.frame.with_columns(
        pl.Series(table.columns["grade"], grades.astype(np.int16)),
        pl.Series("weight", weights),
    )
    return replace(wider, frame=frame, columns={**table.columns, "weight": "weight"})
