"""Words for people by their ids, so that a language is one file: `web/texts/en.json`.

    Text("office.need.batches", n=3)          what somebody is told, without its words yet
    str(text), text.say("de")                 its words: in English, in another language

A text has `{name}` where a value stands; a value may be a text itself. Whole numbers get thousands.
`office.need.batches.one` is said instead where `n` is 1. A value that is HTML, such as a link,
stays so, and what stands around it is escaped. What begins with `office.` is for organisers and
experts, who read it in a language whose file has all of it; workers' pages have the rest.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from qrowd.rendering import thousands

FOLDER = Path(__file__).parent / "web" / "texts"  # a new language is a new file
FALLBACK = "en"
OFFICE = "office."


@dataclass(frozen=True, init=False)
class Text:
    """What is said to people: the id of its words, and the values in them."""

    id: str
    values: Mapping[str, Any]

    def __init__(self, id: str, /, **values: Any) -> None:
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "values", values)

    def __hash__(self) -> int:
        return hash((self.id, tuple(self.values.items())))

    def __str__(self) -> str:
        return self.say(FALLBACK)

    def say(self, language: str) -> str:
        """Its words in a language; in English where that has none for it."""
        words = catalogue(language)
        singular = f"{self.id}.one"
        name = singular if self.values.get("n") == 1 and singular in words else self.id
        values = {key: _shown(value, language) for key, value in self.values.items()}
        html = next((value for value in values.values() if hasattr(value, "__html__")), None)
        said: str = words[name] if html is None else html.escape(words[name])
        return said.format_map(values)


def template(id: str, language: str) -> str:
    """The words of a text as they stand in its file, with `{name}` for values."""
    return catalogue(language)[id]


def _shown(value: Any, language: str) -> Any:
    if isinstance(value, Text):
        return value.say(language)
    if hasattr(value, "__html__"):
        return value
    plain = isinstance(value, int) and not isinstance(value, bool)
    return thousands(value) if plain else str(value)


def listed(items: Sequence[Any]) -> Any:
    """Several things, one after the other, as a value of a text."""
    if len(items) < 2:
        return items[0] if items else ""
    return Text("office.word.list", first=items[0], rest=listed(items[1:]))


@cache
def languages() -> tuple[str, ...]:
    """The languages that there are."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def language_names() -> list[tuple[str, str]]:
    """The languages, and what each calls itself; English first."""
    names = sorted(languages(), key=lambda name: (name != FALLBACK, name))
    return [(name, catalogue(name)["language"]) for name in names]


def language_of(*wanted: str, among: Collection[str] | None = None) -> str:
    """The first language that there is; `de-AT` finds `de`."""
    there = languages() if among is None else among
    for name in wanted:
        short = name.partition("-")[0].lower()
        if short in there:
            return short
    return FALLBACK


@cache
def office_languages() -> frozenset[str]:
    """The languages that have words for all that organisers and experts read."""
    return frozenset(
        name for name in languages() if _own_words(name).keys() >= _own_words(FALLBACK).keys()
    )


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The words of a language by their ids; what it has no words for, in English."""
    return {**_own_words(FALLBACK), **_own_words(language)}


def _own_words(language: str) -> dict[str, str]:
    words: dict[str, str] = json.loads((FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return words


@cache
def worker_words(language: str) -> Mapping[str, str]:
    """The words of workers' pages."""
    others = (OFFICE, "letter.")
    return {id: text for id, text in catalogue(language).items() if not id.startswith(others)}
