"""What pages say, one file per language; a new language is a new file with the same names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
FALLBACK = "en"


@cache
def languages() -> tuple[str, ...]:
    """The languages that there are."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def language_of(*wanted: str) -> str:
    """The first language that there is; `de-AT` finds `de`."""
    for one in wanted:
        short = one.partition("-")[0].lower()
        if short in languages():
            return short
    return FALLBACK


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """The sentences of a language by name."""
    found: dict[str, str] = json.loads((FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    return found
