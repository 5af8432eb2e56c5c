"""What a machine judge is asked: a file with front matter and a template.

    +++
    version = 1
    scale = [0, 1, 2, 3]          # the grades
    relevant_from = 2
    answer = ["reason", "grade"]  # the keys of the JSON object that is answered
    tokens = 300                  # of an answer, at most
    +++
    Is this an answer to {{ topic.query }}?  {{ document.text }}

The template is Jinja's, in its sandbox: `topic` and `document` have the texts of a topic and a
document, with `documents = 2` there are `left` and `right`; `mark` is a line that no document has.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from qrowd.data.documents import Document
from qrowd.data.scale import HIGHEST, LOWEST
from qrowd.data.topics import TOPIC_TEXTS, Topic
from qrowd.errors import InputError, MissingExtraError, UnknownNameError

_FOLDER = Path(__file__).parent / "prompts"
OWN = tuple(sorted(path.stem for path in _FOLDER.glob("*.md")))
SIDES = ("A", "B", "tie")
_FENCE = "+++"
_SAMPLE = "qrowd-sample-text"  # stands for a document where a template is tried


@dataclass(frozen=True)
class Prompt:
    """A template and how its answer is read; `name` is that of the file without its suffix."""

    name: str
    template: str
    version: str = ""
    about: str = ""
    system: str = ""
    scale: tuple[int, ...] = ()
    relevant_from: int = 1
    documents: int = 1
    answer: tuple[str, ...] = ()  # keys of a JSON object; without any, `pattern` finds the grade
    pattern: str = ""
    combine: str = ""  # of aspects, which are the keys then: mean (rounded down) or least
    needs: str = ""  # the aspect without which the grade is the lowest
    tokens: int = 300

    @cached_property
    def hash(self) -> str:
        """Of all that a judge is told and of how it is read."""
        own = repr([getattr(self, field.name) for field in fields(self)])
        return hashlib.sha256(own.encode()).hexdigest()[:16]

    def messages(self, topic: Topic, documents: Sequence[Document]) -> list[dict[str, str]]:
        """What is sent."""
        names = ("left", "right") if self.documents == 2 else ("document",)
        texts = {
            name: {"title": each.title, "url": each.url, **each.others, "text": each.text}
            for name, each in zip(names, documents, strict=True)
        }
        said = "".join(text for each in texts.values() for text in each.values())
        mark = "=" * 12
        while mark in said:  # nobody who writes a document can end it early
            mark += "="
        wanted = {name: getattr(topic, name) for name in TOPIC_TEXTS}
        text = self._rendered(topic=wanted, mark=mark, **texts)
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": text}]

    def schema(self) -> dict[str, Any] | None:
        """What a server that can is told of the form of an answer, as JSON Schema."""
        if not self.answer:
            return None
        grade = {"type": "integer", "enum": list(self.scale)}
        kinds = {"reason": {"type": "string"}, "better": {"type": "string", "enum": list(SIDES)}}
        return {
            "type": "object",
            "properties": {key: kinds.get(key, grade) for key in self.answer},
            "required": list(self.answer),
            "additionalProperties": False,
        }

    @cached_property
    def _compiled(self) -> Any:
        try:
            from jinja2 import StrictUndefined, TemplateError
            from jinja2.sandbox import ImmutableSandboxedEnvironment
        except ImportError:
            raise MissingExtraError.needed("a prompt for machine judges", "ask") from None
        try:
            return ImmutableSandboxedEnvironment(
                undefined=StrictUndefined, keep_trailing_newline=False
            ).from_string(self.template)
        except TemplateError as error:
            raise InputError(f"the template cannot be read: {error}", file=self.name) from None

    def _rendered(self, **texts: Any) -> str:
        from jinja2 import TemplateError

        try:
            text = str(self._compiled.render(texts))
        except (TemplateError, ArithmeticError, TypeError, ValueError) as error:
            known = "topic, left, right, mark" if self.documents == 2 else "topic, document, mark"
            message = f"the template asks for what there is not: {error}; there are {known}"
            raise InputError(message, file=self.name) from None
        return text.encode("utf-8", "replace").decode()  # half a character cannot be sent

    def refuse_unusable(self, further: Sequence[str] = ()) -> None:
        """An error that says what is wrong, before anybody is asked.

        `further` are names of further texts that documents have.
        """
        sides = [f"{_SAMPLE}-{side}" for side in range(self.documents)]
        others = dict.fromkeys(further, "a further text")
        shown = [Document("d", text, "a title", "", "", "", others) for text in sides]
        topic = Topic("t", *(f"sample {name}" for name in TOPIC_TEXTS))
        text = self.messages(topic, shown)[-1]["content"]
        if not all(side in text for side in sides):
            named = (
                "{{ left.text }} and {{ right.text }}" if len(sides) == 2 else "{{ document.text }}"
            )
            raise InputError(f"the template does not show {named}", file=self.name)


def read_prompt(source: str, further: Sequence[str] = ()) -> Prompt:
    """One of our own by its name, else a file; documents have these `further` texts."""
    path = _FOLDER / f"{source}.md" if source in OWN else Path(source)
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if "/" not in source and "." not in source:
            raise UnknownNameError.among("prompt", source, OWN) from None
        raise InputError("no such prompt file", file=source) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the prompt cannot be read: {error}", file=source) from None
    head, template = _parted(content, source)
    prompt = _made(path.stem, head, template, source)
    prompt.refuse_unusable(further)
    return prompt


def _parted(content: str, source: str) -> tuple[Mapping[str, Any], str]:
    lines = content.splitlines(keepends=True)
    ends = [at for at, line in enumerate(lines) if line.strip() == _FENCE]
    if not ends or ends[0] != 0 or len(ends) < 2:
        message = (
            f"a prompt begins with front matter between two lines {_FENCE}: scale, answer, ..."
        )
        raise InputError(message, file=source, line=1)
    try:
        head = tomllib.loads("".join(lines[1 : ends[1]]))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the front matter is no TOML: {error}", file=source) from None
    return head, "".join(lines[ends[1] + 1 :])


def _made(name: str, head: Mapping[str, Any], template: str, source: str) -> Prompt:
    known = {
        field.name: field for field in fields(Prompt) if field.name not in ("name", "template")
    }

    def wrong(message: str) -> InputError:
        return InputError(f"front matter: {message}", file=source)

    for key, value in head.items():
        if key not in known:
            raise wrong(str(UnknownNameError.among("key", key, tuple(known))))
        kind = {"scale": list, "answer": list, "version": (int, str)}.get(key)
        kind = kind or (int if known[key].type == "int" else str)
        if not isinstance(value, kind) or isinstance(value, bool):  # type: ignore[arg-type]
            raise wrong(f"{key} = {value!r} is of another kind than it must be")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in head.items()
    }
    values["version"] = str(values.get("version", ""))
    prompt = Prompt(name, template, **values)
    if prompt.tokens < 1:
        raise wrong("tokens, of an answer at most, is 1 or more")
    if prompt.documents not in (1, 2):
        raise wrong("documents is 1, or 2 for a preference")
    if bool(prompt.answer) == bool(prompt.pattern):
        raise wrong(
            "an answer is read by `answer` (keys of JSON) or by `pattern`; give one of them"
        )
    if prompt.pattern:
        try:
            groups = re.compile(prompt.pattern).groups
        except re.error as error:
            raise wrong(f"pattern: {error}") from None
        if groups != 1:
            raise wrong("pattern needs one group in brackets, which finds the grade")
    if prompt.documents == 2:
        if prompt.answer not in (("better",), ("reason", "better")):
            raise wrong('with documents = 2 the answer is ["better"] or ["reason", "better"]')
        return prompt
    grades = prompt.scale
    if len(grades) < 2 or not all(type(each) is int for each in grades):
        raise wrong("scale lists the grades, two at least: scale = [0, 1]")
    if sorted(set(grades)) != list(grades):
        raise wrong("the grades of scale go up")
    if grades[0] < LOWEST or grades[-1] > HIGHEST:
        raise wrong(f"grades lie between {LOWEST} and {HIGHEST}")
    if not grades[0] < prompt.relevant_from <= grades[-1]:
        raise wrong(f"relevant_from is one of {', '.join(map(str, grades[1:]))}")
    aspects = [key for key in prompt.answer if key != "reason"]
    if prompt.combine not in ("", "mean", "least"):
        raise wrong("combine is mean or least")
    if prompt.answer and not prompt.combine and aspects != ["grade"]:
        raise wrong('answer has "grade"; several aspects need combine = "mean" or "least"')
    if prompt.needs and prompt.needs not in aspects:
        raise wrong(f"needs is one of {', '.join(aspects)}")
    return prompt
