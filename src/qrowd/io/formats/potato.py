"""Potato: annotations as CSV, TSV, Parquet, JSON lines; topics and documents are in its items
file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qrowd.io.formats.format import Row
from qrowd.io.formats.tool import ROW, Layout, Tool
from qrowd.io.paths import as_text
from qrowd.io.roles import recognised
from qrowd.io.source import Source

if TYPE_CHECKING:
    import polars as pl

_BUTTON = re.compile(r"(.+?)(?:\.|:::)(.+)")
_OWN = {"instance_id", "user_id", "user", "displayed_text"}
# controls whose answer is their value; of all others it is the label, beside which version 1 has
# the label's place on the page
_BY_VALUE = re.compile(r"text_box|slider|select-one|number|scale_\d+")


class Potato(Tool):
    """`instance_id`, `user_id`, and a column for each schema, or for each of its labels."""

    name = "potato"
    title = "Potato's annotations"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """An instance and a user (of version 1, `user`)."""
        return "instance_id" in record and bool(record.keys() & {"user_id", "user"})

    def beside(self, record: Mapping[str, Any]) -> bool:
        """The items."""
        return "item_id" in record and "instance_id" not in record

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """The schema that is called as grades are, or the only one."""
        schemas = list(_labels(record))
        named = recognised(schemas, ("grade",)).get("grade")
        schema = named or (schemas[0] if len(schemas) == 1 else None)
        if gold or schema is None:
            return []
        who = "user_id" if "user_id" in record else "user"
        columns = {"instance": "instance_id", "assessor": who}
        return [
            Layout({**columns, "grade": f"labels.{schema}{{key}}", "said": f"labels.{schema}{{}}"})
        ]

    def rows(self, source: Source, names: Sequence[str] = ()) -> Iterator[Row]:
        """The records, all with `labels`: {schema: {label: what was said}}."""
        for line, record in super().rows(source, names):
            yield line, {**record, "labels": _labels(record)}

    def settled(
        self, source: Source, frame: pl.DataFrame, gold: bool
    ) -> tuple[pl.DataFrame, list[str]]:
        """What was said, where that is the answer; nobody may have chosen two labels."""
        import polars as pl

        again = frame.filter(frame[ROW].is_duplicated())
        if again.height:
            both = " and ".join(again["grade"].head(2).to_list())
            raise source.error(
                f"somebody gave one item several labels ({both}): these are no grades"
            )
        label, said = pl.col("grade"), pl.col("said").cast(pl.String)
        by_value = label.str.contains(f"^({_BY_VALUE.pattern})$")
        frame = frame.with_columns(pl.when(by_value).then(said).otherwise(label).alias("grade"))
        lost = frame.filter(by_value & (pl.col("grade") == label))
        if lost.height:
            raise source.error(
                f"this export has lost what was said (it has {lost['grade'][0]} instead): export "
                "the project as csv or jsonl"
            )
        return frame.drop("said"), []


def _labels(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The labels of each schema and what was said by each: as they are, or from columns."""
    for key in ("labels", "label_annotations"):
        if isinstance(record.get(key), Mapping):
            return dict(record[key])
    labels: dict[str, dict[str, Any]] = {}
    for key, held in record.items():
        button = _BUTTON.fullmatch(key)
        if key in _OWN:
            continue
        schema = labels.setdefault(button[1] if button else key, {})
        if held is not None and as_text(held).strip().lower() not in ("", "false", "nan"):
            schema[button[2] if button else as_text(held)] = held
    return labels
