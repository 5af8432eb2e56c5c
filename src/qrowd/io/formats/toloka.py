"""Toloka: assignments as TSV (`INPUT:* OUTPUT:* GOLDEN:* ASSIGNMENT:*`) and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.roles import recognised

_WORKER, _STATUS = "ASSIGNMENT:worker_id", "ASSIGNMENT:status"


class Toloka(Tool):
    """Rejected, expired and skipped assignments are left out; known solutions are gold."""

    name = "toloka"
    title = "Toloka's assignments"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Inputs and outputs in columns, or tasks beside solutions."""
        flat = any(key.startswith("OUTPUT:") for key in record) and _WORKER in record
        return flat or record.keys() >= {"tasks", "solutions", "user_id"}

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Gold tasks were judged, too: their answers are judgements."""
        if "tasks" in record:
            return _nested(record, gold)
        columns = _roles(record, "INPUT:", ("topic", "doc"))
        columns.setdefault("doc", "ASSIGNMENT:task_id")
        if gold:
            golden = _grade(record, "GOLDEN:")
            return [Layout({**columns, **golden}, once=True)] if golden else []
        columns |= _grade(record, "OUTPUT:") | {"assessor": _WORKER}
        for time in ("ASSIGNMENT:submitted", "ASSIGNMENT:started"):
            if time in record:
                columns.setdefault("time", time)
        where = (f"{_STATUS}=APPROVED", f"{_STATUS}=ACCEPTED", f"{_STATUS}=SUBMITTED")
        return [Layout(columns, where if _STATUS in record else ())] if "grade" in columns else []


def _nested(record: Mapping[str, Any], gold: bool) -> list[Layout]:
    task, solution = (next(iter(record[key] or [{}])) for key in ("tasks", "solutions"))
    inputs = recognised(list(task.get("input_values", {})), ("topic", "doc"))
    columns = {role: f"tasks[].input_values.{name}" for role, name in inputs.items()}
    columns.setdefault("doc", "tasks[].id")
    outputs = list(solution.get("output_values", {}))
    answers = recognised(outputs, ("grade",)) or dict(zip(["grade"], outputs, strict=False))
    if not answers:
        return []
    if gold:
        known = f"tasks[].known_solutions[].output_values.{answers['grade']}"
        return [Layout({**columns, "grade": known}, once=True)]
    columns |= {"assessor": "user_id", "grade": f"solutions[].output_values.{answers['grade']}"}
    where = ("status=APPROVED", "status=ACCEPTED", "status=SUBMITTED") if "status" in record else ()
    return [Layout(columns, where)]


def _roles(record: Mapping[str, Any], prefix: str, wanted: tuple[str, ...]) -> dict[str, str]:
    names = [key.removeprefix(prefix) for key in record if key.startswith(prefix)]
    return {role: f"{prefix}{name}" for role, name in recognised(names, wanted).items()}


def _grade(record: Mapping[str, Any], prefix: str) -> dict[str, str]:
    """The column called as grades are, `result`, or the only one."""
    names = [key for key in record if key.startswith(prefix)]
    roles = _roles(record, prefix, ("grade",))
    if not roles and f"{prefix}result" in names:
        return {"grade": f"{prefix}result"}
    return roles or ({"grade": names[0]} if len(names) == 1 else {})
