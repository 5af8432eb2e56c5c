"""doccano: a file for each member, who is known by its name; labels are lists of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qrowd.io.formats.text import Csv
from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.roles import recognised
from qrowd.io.source import Source, stem

if TYPE_CHECKING:
    import polars as pl


class Doccano(Tool):
    """`{"id", "text", ..., "label": ["Relevant"], "Comments": []}`, or the same as CSV."""

    name = "doccano"
    title = "doccano's export"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Its own columns, in its own spelling."""
        return record.keys() >= {"id", "label", "Comments"} and (
            "text" in record or "filename" in record
        )

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Who it was, the file's name says."""
        columns = recognised([key for key in record if key != "label"], ("topic", "doc"))
        columns.setdefault("doc", "id")
        return [] if gold else [Layout({**columns, "grade": "label"})]

    def settled(
        self, source: Source, frame: pl.DataFrame, gold: bool
    ) -> tuple[pl.DataFrame, list[str]]:
        """Several labels of one text are those of several people, of whom nobody is named."""
        joined = r"^\[|#" if isinstance(self.base(source), Csv) else r"^\["
        several = frame["grade"].cast(str).str.contains(joined).fill_null(False)
        if several.any():
            one = frame["grade"].filter(several)[0]
            raise source.error(
                f"this export has merged the labels of all members into one list ({one}) and names "
                "nobody: export the project so that each member has a file of their own"
            )
        if stem(source.name) == "all":  # what doccano calls the file of a shared project
            return frame, ["members share their labels, and nobody is named: one assessor"]
        return frame, []
