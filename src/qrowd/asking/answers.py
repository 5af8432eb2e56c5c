"""What a server said, read strictly: a grade, a preference, or missing with a reason."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qrowd.asking.prompts import SIDES, Prompt

_THOUGHT = re.compile(r"(?s)^.*?</think(?:ing)?>")  # some servers keep the opening to themselves
_CODE = re.compile(r"(?s)^\s*```(?:json)?\s*(\{.*\})\s*```\s*$")
_SHOWN = 80  # letters of an answer in a reason
_DIGITS = 9  # of a grade, at most: a model may repeat one without end
_NO_CHANCE = -1000.0  # logarithm of a probability that is none
_MOST_TOKENS = 1 << 40  # nobody counts further


@dataclass(frozen=True)
class Answer:
    """What came of a question. Without a value it is missing, and `missing` says why."""

    value: int | str | None = None  # a grade, or A, B, tie
    missing: str = ""
    reason: str = ""  # in the judge's words
    raw: str = ""
    version: str = ""  # of the model, as the server says
    tokens_in: int | None = None
    tokens_out: int | None = None
    expected: float | None = None  # the mean grade by the probabilities of its token


def read_answer(body: Any, prompt: Prompt) -> Answer:
    """The answer in the body of a response; whatever the body is, this reads it."""
    if not isinstance(body, Mapping):
        return Answer(missing="unreadable: no JSON object")
    usage = body.get("usage")
    counts = {
        field: usage.get(name) if isinstance(usage, Mapping) else None
        for field, name in (("tokens_in", "prompt_tokens"), ("tokens_out", "completion_tokens"))
    }
    known: dict[str, Any] = {
        field: count if type(count) is int and 0 <= count <= _MOST_TOKENS else None
        for field, count in counts.items()
    }
    known["version"] = _whole(str(body.get("model") or ""))
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(message, Mapping):
        error = body.get("error")  # some gateways answer 200 all the same
        more = f", but {' '.join(str(error).split())[:_SHOWN]!r}" if error else ""
        return Answer(missing=f"unreadable: no message in it{more}", **known)
    content, ended = message.get("content"), first.get("finish_reason")
    if isinstance(content, list):  # parts, as some servers have it
        content = "".join(
            str(each.get("text", "")) for each in content if isinstance(each, Mapping)
        )
    known["raw"] = _whole(content) if isinstance(content, str) else ""
    if message.get("refusal") or ended == "content_filter":
        return Answer(missing="refused", **known)
    if ended == "length":
        return Answer(missing="cut: the answer was longer than its tokens", **known)
    said = _THOUGHT.sub("", known["raw"]).strip()  # what was thought is no answer
    if said.startswith("<think"):
        return Answer(missing="cut: nothing but thinking", **known)
    if not said:
        return Answer(missing="empty", **known)
    value, reason, missing = _by_keys(said, prompt) if prompt.answer else _by_pattern(said, prompt)
    expected = _expected(first.get("logprobs"), value, prompt) if type(value) is int else None
    return Answer(value, missing, reason, expected=expected, **known)


def _whole(text: str) -> str:
    """Without halves of characters, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


_Read = tuple[int | str | None, str, str]


def _unreadable(said: str) -> _Read:
    shown = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."
    return None, "", f"unreadable: {shown!r}"


def _by_pattern(said: str, prompt: Prompt) -> _Read:
    found = {match.group(1) for match in re.finditer(prompt.pattern, said)}
    if len(found) != 1:  # none, or two that differ
        return _unreadable(said)
    grade = found.pop()
    return _in_scale(int(grade), prompt) if _is_number(grade) else _unreadable(said)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _DIGITS


def _in_scale(grade: int, prompt: Prompt) -> _Read:
    if grade not in prompt.scale:
        return None, "", f"unreadable: {grade} is no grade of the scale"
    return grade, "", ""


def _by_keys(said: str, prompt: Prompt) -> _Read:
    fenced = _CODE.match(said)
    try:
        found = json.loads(fenced.group(1) if fenced else said)
    except (ValueError, RecursionError):
        return _unreadable(said)
    if not isinstance(found, dict) or not found.keys() >= set(prompt.answer) - {"reason"}:
        return _unreadable(said)
    reason = found.get("reason", "")
    reason = _whole(reason) if isinstance(reason, str) else ""
    if prompt.documents == 2:
        better = found["better"]
        sides = {side.lower(): side for side in SIDES}
        side = sides.get(better.strip().lower()) if isinstance(better, str) else None
        return (side, reason, "") if side else _unreadable(said)
    grades = {}
    for key in prompt.answer:
        if key == "reason":
            continue
        grade = found[key]
        if isinstance(grade, str) and _is_number(grade.strip()):
            grade = int(grade)
        if type(grade) is not int:
            return _unreadable(said)
        if grade not in prompt.scale:
            return _in_scale(grade, prompt)
        grades[key] = grade
    return _combined(grades, prompt), reason, ""


def _combined(grades: Mapping[str, int], prompt: Prompt) -> int:
    if not prompt.combine:
        return grades["grade"]
    lowest = prompt.scale[0]
    if prompt.needs and grades[prompt.needs] == lowest:
        return lowest
    if prompt.combine == "least":
        return min(grades.values())
    mean = sum(grades.values()) / len(grades)
    return max(grade for grade in prompt.scale if grade <= mean)


def _expected(logprobs: Any, grade: int, prompt: Prompt) -> float | None:
    """The mean grade by the probabilities of the token that is the grade; None if unknown."""
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(tokens, list) or prompt.combine:
        return None
    same = [
        token
        for token in tokens
        if isinstance(token, Mapping) and str(token.get("token", "")).strip(' "') == str(grade)
    ]
    if not same:
        return None
    keys = prompt.answer  # a reason may have numbers, too: before the grade, or after it
    is_first = keys[:1] == ("grade",)
    last = same[0 if is_first else -1]
    if not isinstance(last.get("top_logprobs"), list):
        return None
    weights: dict[int, float] = {}
    for each in last["top_logprobs"]:
        word = str(each.get("token", "")).strip(' "') if isinstance(each, Mapping) else ""
        chance = each.get("logprob") if _is_number(word) else None
        if isinstance(chance, int | float) and int(word) in prompt.scale:
            chance = max(_NO_CHANCE, min(chance, 0.0))
            weights[int(word)] = weights.get(int(word), 0.0) + math.exp(chance)
    total = sum(weights.values())
    return sum(each * weight for each, weight in weights.items()) / total if total else None
