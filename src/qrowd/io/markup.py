"""TREC's SGML and XML: elements by name, leniently, with the line of what is wrong.

TREC's files are not SGML that a parser accepts: tags are not closed, entities not declared, case
differs. Only the elements that matter are looked for; all others are passed over, or dropped from a
text. What is written here is well-formed XML, and is read back identically.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from qrowd.io.source import Source

_TAG = re.compile(r"<[!?/]?[A-Za-z-][^<>]*>")
_OPENED = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*?)?(/?)>")
_CLOSED = re.compile(r"</([A-Za-z][\w.-]*)\s*>")
_COMMENT, _COMMENT_END = re.compile("(<!--)"), {"<!--": re.compile("-->")}
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
    visible = without_comments(text, blank=True)  # tags in comments are none
    opened: re.Match[str] | None = None
    line, counted = 1, 0  # of the element that is open, and the place up to which lines are counted
    for match in tags.finditer(visible):
        closes = bool(match[1])
        if opened is None and closes:
            message = f"{match[0]} closes nothing; add <{tag}> before it, or remove it"
            raise source.error(message, _line(text, match))
        if opened is None:
            opened = match
            line, counted = line + text.count("\n", counted, match.start()), match.start()
            continue
        if not closes:
            break
        inside = text[opened.end() : match.start()]
        attributes = _attributes(opened[2] or "")
        yield Element(line, attributes, without_comments(inside))
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
    inside, at = element.inside, 0
    ends: dict[str, list[re.Match[str]]] = defaultdict(list)
    for end in _CLOSED.finditer(inside):
        ends[end[1].lower()].append(end)
    for opened in _OPENED.finditer(inside):
        name = opened[1].lower()
        if opened.start() < at:
            continue
        if opened[2]:
            yield name, ""
            continue
        closing = ends[name]
        first = bisect_left(closing, opened.end(), key=lambda end: end.start())
        if first < len(closing):
            yield name, inside[opened.end() : closing[first].start()]
            at = closing[first].end()


def first_inside(text: str, tag: str) -> str:
    """What the first element of a name holds; nothing where there is none."""
    opened = re.search(rf"<{tag}(\s[^<>]*)?>", text, re.IGNORECASE)
    closed = re.compile(rf"</{tag}\s*>", re.I).search(text, opened.end()) if opened else None
    return text[opened.end() : closed.start()] if opened and closed else ""


def without(text: str, *tags: str) -> str:
    """A text with a blank for every element of these names."""
    opening = re.compile(rf"<({'|'.join(tags)})(?=[\s/>])", re.IGNORECASE)
    closing = {tag: re.compile(rf"</{tag}\s*>", re.IGNORECASE) for tag in tags}
    return _cut(text, opening, closing, lambda _: " ")


def without_comments(text: str, *, blank: bool = False) -> str:
    """A text without its comments, or with as many blanks."""
    return _cut(text, _COMMENT, _COMMENT_END, lambda part: " " * len(part) if blank else "")


def _cut(
    text: str,
    opening: re.Pattern[str],
    closing: Mapping[str, re.Pattern[str]],
    by: Callable[[str], str],
) -> str:
    """What stands between an opening and the next closing of its kind, replaced.

    One expression for both would look for a closing that never comes from every opening: a text
    of some hundred kilobytes would take hours.
    """
    parts, at, start = list[str](), 0, 0
    endless: set[str] = set()
    while opened := opening.search(text, start):
        kind, start = opened[1].lower(), opened.end()
        closed = None if kind in endless else closing[kind].search(text, start)
        if closed is None:
            endless.add(kind)
            continue
        parts += text[at : opened.start()], by(text[opened.start() : closed.end()])
        at = start = closed.end()
    return "".join(parts) + text[at:]


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
