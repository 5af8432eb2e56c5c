"""Hostile documents as harmless HTML: for the reader, and for the frame that shows the original.

Nothing that is let through can run, load, link or be sent: only listed elements and attributes
stay. Browsers get the same promise a second time, by headers.
"""

from __future__ import annotations

import codecs
import html
import re
from functools import cache

import nh3

LARGEST = 4 * 2**20  # bytes of a document that are shown
_TEXT = """
abbr article aside b bdi bdo blockquote br caption center cite code col colgroup dd del dfn div dl
dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i ins kbd li main mark ol p pre q rp rt
ruby s samp section small span strong sub sup table tbody td tfoot th thead time tr tt u ul var wbr
"""
_GONE = "script style title noscript template iframe object embed svg math"
TEXT_TAGS, GONE = frozenset(_TEXT.split()), frozenset(_GONE.split())
READER_ATTRIBUTES = {
    "*": {"dir", "lang"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
    "ol": {"start"},
}
LOOKS = {"class", "style", "align", "valign", "width", "height", "bgcolor", "color"}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([a-zA-Z0-9_:-]{1,40})""", re.I)
_HEADING = re.compile(r"<(/?)h([1-6])(?=[ >])")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)


def text_of(content: bytes, *, marked_up: bool = False) -> str:
    """The bytes as text: by their byte order mark, by what HTML says, UTF-8, else Windows-1252."""
    cut = content[:LARGEST]
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if cut.startswith(mark):
            return _plain(cut.decode(name, "replace"))
    said = _CHARSET.search(cut[:4096]) if marked_up else None
    for name in ([said[1].decode("ascii")] if said else []) + ["utf-8"]:
        try:
            return _plain(cut.decode(name, "strict" if len(content) <= LARGEST else "replace"))
        except (LookupError, UnicodeError, ValueError):
            continue
    return _plain(cut.decode("cp1252", "replace"))


def _plain(text: str) -> str:
    return text.replace("\0", "")


def reader_of_text(text: str) -> str:
    """Plain text as paragraphs."""
    parts = re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "\n".join(f"<p>{html.escape(part.strip())}</p>" for part in parts if part.strip())


def reader_of_html(page: str) -> str:
    """What can be read of a web page: text and its structure, no links, pictures or colours.

    Its headings come below those of the page around it: the request (h1) and the title (h2).
    """
    return _HEADING.sub(_lower, _reader().clean(page))


def _lower(heading: re.Match[str]) -> str:
    return f"<{heading[1]}h{min(6, int(heading[2]) + 2)}"


def original_of_html(page: str) -> str:
    """A web page as it looks, as far as that needs nothing from anywhere and runs nothing."""
    title = _TITLE.search(page[:100_000])
    shown = html.escape(html.unescape(title[1]).strip()) if title else ""
    head = f'<!doctype html><html><head><meta charset="utf-8"><title>{shown}</title></head>'
    return f"{head}<body>{_original().clean(page)}</body></html>"


@cache
def _reader() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(TEXT_TAGS),
        clean_content_tags=set(GONE),
        attributes={tag: set(names) for tag, names in READER_ATTRIBUTES.items()},
        url_schemes=set(),
        link_rel=None,
    )


@cache
def _original() -> nh3.Cleaner:
    attributes = {**READER_ATTRIBUTES, "*": {"dir", "lang"} | LOOKS, "img": {"src", "alt"}}
    return nh3.Cleaner(
        tags=set(TEXT_TAGS) | {"font", "img", "style", "nav", "address"},
        clean_content_tags=set(GONE) - {"style"},
        attributes={tag: set(names) for tag, names in attributes.items()},
        url_schemes={"data"},
        link_rel=None,
    )
