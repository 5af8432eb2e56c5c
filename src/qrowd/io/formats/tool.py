"""What the format of a tool is: how its files are recognised, and which paths lead to what."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from qrowd.errors import FormatError
from qrowd.io.formats.format import Format, Read, Row
from qrowd.io.formats.json import NOT_JSON, JsonArray, JsonLines
from qrowd.io.formats.parquet import Parquet
from qrowd.io.formats.text import Csv, Text, Tsv
from qrowd.io.origin import Origin
from qrowd.io.paths import EACH, inside, leaves
from qrowd.io.roles import SYNONYMS
from qrowd.io.source import Source
from qrowd.io.where import Condition, chosen, conditions, overridden

if TYPE_CHECKING:
    import polars as pl

_BASES = (Parquet(), JsonArray(), JsonLines(), Tsv(), Csv())
_MANY = 50  # records, by which a file is known
ROW = "record"  # the column that says from which record a row comes


class Answer(NamedTuple):
    """A grade on its way back into a tool."""

    said: str
    by: str
    chance: float | None
    seconds: float | None


@dataclass(frozen=True)
class Layout:
    """Where a tool's columns are: paths as those of --columns, conditions as those of --where."""

    columns: Mapping[str, str]
    where: tuple[str, ...] = ()
    always: Mapping[str, str] = field(default_factory=dict)
    """Columns that say the same in all rows."""
    once: bool = False
    """Rows that are alike are one."""

    def has(self, condition: Condition) -> bool:
        """Whether a condition is about these rows, and not about another list of the records."""
        name, in_list, _ = condition.column.partition(EACH)
        return not in_list or any(path.startswith(name + EACH) for path in self.columns.values())


class Tool(Format):
    """The files of one tool, over a plain format: `layouts` says where its columns are."""

    title: str
    before = "parquet"
    names_people = True
    """Whether it says who judged: else its files are qrels."""

    def base(self, source: Source) -> Format | None:
        """The plain format that a file is written in, as far as tools use one."""
        return next((form for form in _BASES if form.matches(source)), None)

    def matches(self, source: Source) -> bool:
        """Whether the first record has the tool's keys."""
        return self.knows(first_record(source, self.base(source)))

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Whether this is a record of the tool; {} where a file has none."""
        raise NotImplementedError

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Where judgements are, or gold; by the first record. None: there are none in it."""
        raise NotImplementedError

    def beside(self, record: Mapping[str, Any]) -> bool:
        """Whether this is a record of a file that lies beside judgements, and holds none."""
        return False

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """The records as they are."""
        base = self.base(source)
        assert base is not None
        return base.rows(source, names)

    def read(self, source: Source, names: Sequence[str] = ()) -> Read:
        """The judgements."""
        return self.laid_out(source)

    def usual(self, source: Source, stated: Mapping[str, str]) -> list[Condition]:
        """Which rows count, where it was stated which columns are what."""
        layouts = self.layouts(first_record(source, self.base(source)), False)
        where = layouts[0].where if layouts else ()
        return list(filter(Layout(stated).has, conditions(where)))

    def laid_out(
        self,
        source: Source,
        gold: bool = False,
        where: Sequence[Condition] = (),
        stated: Mapping[str, str] | None = None,
    ) -> Read:
        """The judgements, or the gold, under our names; some columns may be `stated`."""
        import polars as pl

        record = first_record(source, self.base(source))
        layouts = self.layouts(record, gold)
        if stated:
            layouts = [replace(each, columns={**each.columns, **stated}) for each in layouts[:1]]
        if not layouts or "grade" not in layouts[0].columns:
            if gold:
                raise source.error(f"{self.title}: no gold in it")
            taken = "" if layouts else "topic=PATH,doc=PATH,"
            columns = layouts[0].columns if layouts else {}
            rest = [path for path in leaves(record) if path not in columns.values()]
            raise source.error(
                f"{self.title}: nothing in it is called as grades are; say which it is: --columns "
                f"'{taken}grade=PATH'; there are: {' '.join(rest[:12])}"
            )
        rows = list(self.rows(source))
        frames, notes = [], []
        for layout in layouts:
            wanted = overridden(layout.where, list(filter(layout.has, where)))
            kept, frame, note = chosen(source, rows, layout.columns, wanted)
            frame = frame.with_columns(
                pl.lit(text).alias(name) for name, text in layout.always.items()
            )
            frame = frame.with_columns(pl.Series(ROW, kept))
            frames.append(
                frame.unique(pl.exclude(ROW), keep="first", maintain_order=True)
                if layout.once
                else frame
            )
            notes += note
        frame, settled = self.settled(source, pl.concat(frames, how="diagonal_relaxed"), gold)
        lines = bool(rows) and rows[0][0] > 0
        roles = {role: path for role, path in layouts[0].columns.items() if role in SYNONYMS}
        origin = Origin(
            source.name,
            frame.height,
            1 if lines else 0,
            kept=frame[ROW].to_numpy(),
            source=source,
            about={"file of": self.title, **roles},
            notes=tuple(f"{source.name}: {self.title}: {note}" for note in (*notes, *settled)),
        )
        return origin, frame.drop(ROW)

    def settled(
        self, source: Source, frame: pl.DataFrame, gold: bool
    ) -> tuple[pl.DataFrame, list[str]]:
        """The rows that count, `ROW` being the number of the record; what to say of others."""
        return frame, []


def first_record(source: Source, base: Format | None) -> dict[str, Any]:
    """What the first records of a file look like together, {} if it has none.

    A key that only some of them have is there, since the first may be one that nobody answered.
    """
    if base is None:
        return {}
    from polars.exceptions import PolarsError

    kept: dict[str, Any] | None = vars(source).get("_first_record")
    if kept is None:
        try:
            shape = _together(list(itertools.islice(_records(source, base), _MANY)))
            kept = shape if isinstance(shape, dict) else {}
        except (FormatError, PolarsError, *NOT_JSON):  # whoever reads the file says what is wrong
            kept = {}
        vars(source)["_first_record"] = kept
    return kept


def _together(values: Sequence[Any]) -> Any:
    """Objects as one that has all their keys, lists as a list of one such item; of other values
    the first that is something.
    """
    values = [inside(value) for value in values]
    filled = [value for value in values if value not in (None, "", [], {})]
    if filled and all(isinstance(value, Mapping) for value in filled):
        keys = dict.fromkeys(key for value in filled for key in value)
        return {key: _together([value.get(key) for value in filled]) for key in keys}
    if filled and all(isinstance(value, list) for value in filled):
        return [_together([item for value in filled for item in value])]
    return next(iter(filled or [value for value in values if value is not None]), None)


def _records(source: Source, base: Format) -> Iterator[dict[str, Any]]:
    """The records at the start of a file: of a JSON object all of it, else rows."""
    if isinstance(base, Text):
        lines = base.lines(source, source.start.decode("utf-8", "replace"))
        rows = (fields for _, fields in lines if any(fields))
        header = next(rows, [])
        for fields in rows:
            yield dict(itertools.zip_longest(header, fields[: len(header)]))
        if header:
            yield dict.fromkeys(header)
        return
    if isinstance(base, Parquet):
        yield from base.read(source)[1].lazy().head(_MANY).collect().to_dicts()
        return
    text = source.start.decode("utf-8", "ignore").lstrip("[ \r\n\t")
    decoder = json.JSONDecoder()
    read = 0
    with contextlib.suppress(*NOT_JSON):  # the last may be longer than the start
        while text:
            record, end = decoder.raw_decode(text)
            text = text[end:].lstrip(", \r\n\t]")
            read += 1
            yield record
    if not read:
        yield next(iter(base.rows(source)), (0, {}))[1]
