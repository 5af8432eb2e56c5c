"""Potato: annotations as CSV, Parquet, JSON lines; topics and documents are in its items file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.roles import recognised

_BUTTON = re.compile(r"(.+?)(\.|:::)(.+)")


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
        who = "user_id" if "user_id" in record else "user"
        rest = [key for key in record if key not in ("instance_id", who)]
        grades: dict[str, str] = {}
        for key in rest:
            button = _BUTTON.fullmatch(key)
            if button:  # one column for each label that was used
                grades[button[1]] = f"{button[1]}{button[2]}*"
            elif key == "labels" and isinstance(record[key], Mapping):
                grades |= {schema: f"labels.{schema}{{}}" for schema in record[key]}
            else:
                grades.setdefault(key, key)
        schema = recognised(list(grades), ("grade",)).get("grade")
        if schema is None and len(grades) == 1:
            schema = next(iter(grades))
        if gold or schema is None:
            return []
        return [Layout({"instance": "instance_id", "assessor": who, "grade": grades[schema]})]
