"""Argilla: datasets of version 2 (lists side by side, or objects by question) and 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.roles import recognised

_LIST = ".responses"


class Argilla(Tool):
    """Records with responses to questions; suggestions are judgements of machines.

    Responses that were discarded, or are drafts, are left out where their status is there.
    """

    name = "argilla"
    title = "Argilla's records"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Responses to questions, with who gave them."""
        return bool(_questions(record))

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """The question that is called as grades are, or the only one."""
        questions = _questions(record)
        names = list(questions)
        question = recognised(names, ("grade",)).get("grade") or names[0]
        if gold or (len(names) > 1 and not recognised(names, ("grade",))):
            return []
        form = questions[question]
        shared = _shared(record)
        return [
            Layout({**shared, **form["people"]}, (f"{form['status']}=submitted",) * form["known"]),
            *[
                Layout({**shared, **each}, always={"kind": "machine"})
                for each in [form["machines"]]
                if each
            ],
        ]


def _shared(record: Mapping[str, Any]) -> dict[str, str]:
    """The paths of topic and document: columns of their own, or in fields and metadata."""
    columns: dict[str, str] = {}
    for inside in ("", "metadata", "fields"):
        held = record.get(inside) if inside else record
        if isinstance(held, Mapping):
            for role, name in recognised(list(held), ("topic", "doc")).items():
                columns.setdefault(role, f"{inside}.{name}" if inside else name)
    columns.setdefault("doc", "id")
    return columns


def _questions(record: Mapping[str, Any]) -> dict[str, Any]:
    """The questions of a record, and the paths to their answers."""
    found: dict[str, Any] = {}
    for key in record:
        if key.endswith(_LIST) and f"{key}.users" in record:  # version 2: lists side by side
            name = key.removesuffix(_LIST)
            agent, said = f"{name}.suggestion.agent", f"{name}.suggestion"
            found[name] = {
                "people": {"assessor": f"{key}.users[]", "grade": f"{key}[]"},
                "status": f"{key}.status[]",
                "known": f"{key}.status" in record,
                "machines": {"assessor": agent, "grade": said} if agent in record else {},
            }
    responses = record.get("responses")
    if isinstance(responses, Mapping):  # version 2: objects, by question
        machines = record.get("suggestions") or {}
        for name, answers in responses.items():
            at, by = f"responses.{name}", f"suggestions.{name}"
            machine = {"assessor": f"{by}.agent", "grade": f"{by}.value"}
            found |= _answers(name, at, answers, machine if name in machines else {})
    for name, answers in record.items():  # version 1: a list of answers for each question
        found |= _answers(name, name, answers, {})
    return found


def _answers(name: str, at: str, answers: Any, machines: Mapping[str, str]) -> dict[str, Any]:
    """A question whose answers say who gave them."""
    first = answers[0] if isinstance(answers, list) and answers else None
    if not isinstance(first, Mapping) or not first.keys() >= {"user_id", "value"}:
        return {}
    return {
        name: {
            "people": {"assessor": f"{at}[].user_id", "grade": f"{at}[].value"},
            "status": f"{at}[].status",
            "known": "status" in first,
            "machines": machines,
        }
    }
