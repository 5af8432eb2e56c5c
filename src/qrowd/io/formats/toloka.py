"""Toloka: assignments as TSV (`INPUT:* OUTPUT:* GOLDEN:* ASSIGNMENT:*`) and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.roles import recognised

_ITEMS = "items"  # of what the service answers, page by page


class Toloka(Tool):
    """Rejected, expired and skipped assignments are left out; known solutions are gold."""

    name = "toloka"
    title = "Toloka's assignments"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Inputs and outputs in columns, or tasks beside solutions."""
        flat = any(key.startswith("OUTPUT:") for key in record)
        nested = _assignment(record).keys() >= {"tasks", "solutions", "user_id"}
        return nested or (flat and "ASSIGNMENT:worker_id" in record)

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """Gold tasks were judged, too: their answers are judgements."""
        one = _assignment(record)
        if "tasks" in one:
            at = f"{_ITEMS}[]." if _ITEMS in record else ""
            task, solution = _first(one["tasks"]), _first(one["solutions"])
            inputs = _at(f"{at}tasks[].input_values.", _keys(task.get("input_values")))
            outputs = _at(f"{at}solutions[].output_values.", _keys(solution.get("output_values")))
            known = _keys(_first(task.get("known_solutions")).get("output_values"))
            golden = _at(f"{at}tasks[].known_solutions[].output_values.", known)
            own = _at(at, list(one)) | {"worker_id": f"{at}user_id", "task_id": f"{at}tasks[].id"}
        else:
            inputs, outputs, golden, own = (
                _at(start, [key.removeprefix(start) for key in record if key.startswith(start)])
                for start in ("INPUT:", "OUTPUT:", "GOLDEN:", "ASSIGNMENT:")
            )
        roles = recognised(list(inputs), ("topic", "doc"))
        columns = {role: inputs[name] for role, name in roles.items()}
        columns.setdefault("doc", own.get("task_id", "task_id"))
        if gold:
            return [Layout({**columns, **_grade(golden)}, once=True)] if golden else []
        columns |= {**_grade(outputs), "assessor": own["worker_id"]}
        time = own.get("submitted", own.get("started"))
        columns |= {"time": time} if time else {}
        states = ("APPROVED", "ACCEPTED", "SUBMITTED") if "status" in own else ()
        return [Layout(columns, tuple(f"{own['status']}={state}" for state in states))]


def _assignment(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return _first(record[_ITEMS]) if record.keys() >= {_ITEMS, "has_more"} else record


def _first(items: Any) -> Mapping[str, Any]:
    first = items[0] if isinstance(items, list) and items else {}
    return first if isinstance(first, Mapping) else {}


def _keys(held: Any) -> list[str]:
    return list(held) if isinstance(held, Mapping) else []


def _at(start: str, names: Sequence[str]) -> dict[str, str]:
    return {name: f"{start}{name}" for name in names}


def _grade(paths: Mapping[str, str]) -> dict[str, str]:
    """What is called as grades are, `result`, or the only one."""
    name = recognised(list(paths), ("grade",)).get("grade")
    if name is None and (len(paths) == 1 or "result" in paths):
        name = "result" if "result" in paths else next(iter(paths))
    return {"grade": paths[name]} if name else {}
