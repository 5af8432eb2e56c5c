"""TREC's SGML and XML: elements by name, leniently, with the line of what is wrong.

TREC's files are not SGML that a parser accepts: tags are not closed, entities not declared, case
differs. Only the elements that matter are looked for; all others are passed over, or dropped from a
text. What is written here is well-formed XML, and is read back identically.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from qrowd.io.source import Source

_TAG = re.compile(r"<[!?/]?[A-Za-z-][^<>]*>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)""")
_BLANKS = " \t\n\r"
_NOT_SEEN = {" ": "&#32;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


@dataclass(frozen=True)
class Element:
    """One element: the line of its opening tag, its attributes (in lower case), its inside."""

    line: int
    attributes: dict[str, str]
    inside: str


def elements(text: str, tag: str, source: Source) -> Iterator[Element]:
    """All elements of this name, none inside another; an error where one is not closed."""
    tags = re.compile(rf"<(/?){tag}(\s[^<>]*)?>", re.IGNORECASE)
    # tags in comments are none
    visible = _COMMENT.sub(lambda comment: " " * len(comment[0]), text) if "<!--" in text else text
    opened: re.Match[str] | None = None
    for match in tags.finditer(visible):
        closes = bool(match[1])
        if opened is None and closes:
            message = f"{match[0]} closes nothing; add <{tag}> before it, or remove it"
            raise source.error(message, _line(text, match))
        if opened is None:
            opened = match
            continue
        if not closes:
            break
        inside = text[opened.end() : match.start()]
        attributes = _attributes(opened[2] or "")
        yield Element(_line(text, opened), attributes, _COMMENT.sub("", inside))
        opened = None
    if opened:
        message = f"{opened[0]} is not closed; add </{tag}> at its end"
        raise source.error(message, _line(text, opened))


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def _attributes(text: str) -> dict[str, str]:
    return {
        name.lower(): html.unescape(value[1:-1] if value[0] in "\"'" else value)
        for name, value in _ATTRIBUTE.findall(text)
    }


def children(element: Element) -> Iterator[tuple[str, str]]:
    """Names (in lower case) and insides of an element's own elements that are closed."""
    pattern = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?(?:/>|>(.*?)</\1\s*>)", re.DOTALL | re.I)
    yield from ((child[1].lower(), child[2] or "") for child in pattern.finditer(element.inside))


def open_fields(element: Element) -> Iterator[tuple[str, str]]:
    """The same where closing tags may be missing: a field ends where the next tag starts."""
    parts = re.split(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>", element.inside)
    for name, inside in zip(parts[1::2], parts[2::2], strict=True):
        yield name.lower(), re.sub(r"</[^<>]*>.*", "", inside, flags=re.DOTALL)


def plain(inside: str) -> str:
    """The text of an element: without tags, entities replaced, no blanks around it."""
    return html.unescape(_TAG.sub(" ", inside).strip(_BLANKS))


def refuse_unclosed(element: Element, tags: tuple[str, ...], source: Source) -> None:
    """An error about the first of these tags that is opened and not closed."""
    for tag in tags:
        opened = re.search(rf"<{tag}(\s[^<>]*)?>", element.inside, re.IGNORECASE)
        if not opened or opened[0].endswith("/>"):
            continue
        if not re.search(rf"</{tag}\s*>", element.inside, re.IGNORECASE):
            message = f"{opened[0]} is not closed; add </{opened[0][1:-1].split()[0]}> at its end"
            raise source.error(message, element.line + _line(element.inside, opened) - 1)


def escaped(text: str) -> str:
    """A text as the inside of an element; blanks around it are kept as entities."""
    inner = text.strip(_BLANKS)
    before = text[: len(text) - len(text.lstrip(_BLANKS))]
    after = text[len(before) + len(inner) :]
    around = ["".join(_NOT_SEEN[letter] for letter in part) for part in (before, after)]
    body = html.escape(inner, quote=False).replace("\r", "&#13;")
    return f"{around[0]}{body}{around[1]}"
