"""Batch files of Mechanical Turk: CSV with `WorkerId`, `Input.*` and `Answer.*`.

An assignment about several documents has numbered columns (`Input.docno1 Answer.relevance1
Input.docno2 ...`): a row for each number. An answer by buttons has a column for each button
(`Answer.relevance.0 Answer.relevance.1`), one of them true, or all of them in a cell of JSON
(`Answer.taskAnswers`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from qrowd.io.formats.tool import Layout, Tool
from qrowd.io.roles import recognised

_INPUT, _ANSWER, _TASKS = "Input.", "Answer.", "Answer.taskAnswers"
_NUMBERED = re.compile(r"(.*?)[ _.-]?(\d+)")
_TRUTH = ("true", "false", "on", "off")
_BESIDE = {"seconds": "WorkTimeInSeconds", "time": "SubmitTime"}


class MTurk(Tool):
    """A row for each document of each assignment."""

    name = "mturk"
    title = "Mechanical Turk's batch"

    def knows(self, record: Mapping[str, Any]) -> bool:
        """Workers and answers."""
        return "WorkerId" in record and any(name.startswith(_ANSWER) for name in record)

    def layouts(self, record: Mapping[str, Any], gold: bool) -> list[Layout]:
        """One for each number that inputs and answers have, or one for all."""
        inputs = {key.removeprefix(_INPUT): key for key in record if key.startswith(_INPUT)}
        answers = _answers(record)
        beside = {role: key for role, key in _BESIDE.items() if key in record}
        where = ("AssignmentStatus!=Rejected",) if "AssignmentStatus" in record else ()
        layouts = []
        for number in _numbers(inputs, answers):
            said = _of_number(answers, number)
            roles = recognised(list(said), ("grade", "rank"))
            grade = roles.get("grade") or (next(iter(said)) if len(said) == 1 else None)
            asked = _of_number(inputs, number)
            columns = {
                role: asked[name]
                for role, name in recognised(list(asked), ("topic", "doc")).items()
            }
            columns.setdefault("doc", "HITId")
            answered = {"grade": grade, "rank": roles.get("rank")}
            columns |= {role: said[name] for role, name in answered.items() if name}
            columns["assessor"] = "WorkerId"
            layouts.append(Layout({**columns, **beside}, where))
        return [] if gold else layouts


def _answers(record: Mapping[str, Any]) -> dict[str, str]:
    """The answers by name, and the paths to them: one path for all buttons of one answer."""
    answers: dict[str, str] = {}
    held = {
        key.removeprefix(_ANSWER): (key, record[key]) for key in record if key.startswith(_ANSWER)
    }
    tasks = held.pop("taskAnswers", ("", None))[1]
    inside = tasks[0] if isinstance(tasks, list) and tasks else tasks
    if isinstance(inside, Mapping):
        start = f"{_TASKS}[0]." if isinstance(tasks, list) else f"{_TASKS}."
        for name, value in inside.items():
            buttons = isinstance(value, Mapping) and all(map(_is_button, value.values()))
            label = ".*" if buttons else ".label" if isinstance(value, Mapping) else ""
            answers[name] = f"{start}{name}{label}"
    for name, (key, value) in held.items():
        group, dot, _ = name.rpartition(".")
        if dot and _is_button(value):
            answers.setdefault(group, f"{_ANSWER}{group}.*")
        elif dot and name.endswith(".label"):
            answers.setdefault(group, key)
        else:
            answers[name] = key
    return answers


def _is_button(value: Any) -> bool:
    return str(value).lower() in _TRUTH


def _numbers(inputs: Mapping[str, str], answers: Mapping[str, str]) -> list[str]:
    """The numbers that both have, if there are several; else none of them means anything."""
    found = [
        {match[2] for name in names if (match := _NUMBERED.fullmatch(name))}
        for names in (inputs, answers)
    ]
    both = sorted(found[0] & found[1], key=int)
    return both if len(both) > 1 else [""]


def _of_number(paths: Mapping[str, str], number: str) -> dict[str, str]:
    """What has this number, under its name without it, and what has none."""
    if not number:
        return dict(paths)
    chosen = {}
    for name, path in paths.items():
        match = _NUMBERED.fullmatch(name)
        if not match or match[2] == number:
            chosen[match[1] if match else name] = path
    return chosen
