"""Hostile documents as harmless HTML: for the reader, and for the frame that shows the original.

Nothing that is let through can run, load, link or be sent: only listed elements and attributes
stay. Browsers get the same promise a second time, by headers.
"""

from __future__ import annotations

import codecs
import html
import io
import re
import warnings
from functools import cache

import nh3

from qrowd.io.markup import first_inside

LARGEST = 4 * 2**20  # bytes of a document that are shown
DEEPEST = 500  # elements inside of one another, as in browsers
LONGEST_TAG = 20_000  # characters of an element's attributes, without their quoted values
MOST_PIXELS = 100_000_000  # of a picture, over all its frames
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
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)([^>]*)>?")
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_ENDLESS = "p li dt dd td th tr tbody thead tfoot option colgroup rt rp"
_LONE = "br hr img input meta link col wbr area base source embed param track"
ENDLESS, LONE = frozenset(_ENDLESS.split()), frozenset(_LONE.split())
_STILL = (
    "@layer qrowd{*,*::before,*::after{animation:none!important;transition:none!important;"
    "filter:none!important;backdrop-filter:none!important}}"
)
_STYLES = """
background background-color border border-collapse border-radius border-spacing border-color
border-style border-width border-top border-right border-bottom border-left box-sizing clear color
columns column-count column-gap display direction flex flex-direction flex-wrap float font
font-family font-size font-style font-variant font-weight gap grid height letter-spacing line-height
list-style list-style-type margin margin-top margin-right margin-bottom margin-left max-height
max-width min-height min-width opacity overflow padding padding-top padding-right padding-bottom
padding-left position left right top bottom text-align text-decoration text-indent text-transform
unicode-bidi vertical-align visibility white-space width word-break word-spacing writing-mode
"""
_SVG = re.compile(rb"\s*(<\?xml|<!--|<!doctype|<svg)", re.I)
_REPEATS = re.compile(rb"<!ENTITY|<([\w.-]+:)?(use|pattern|filter|image|feImage)\b", re.I)
_LINK = re.compile(rb"<(/?(?:[\w.-]+:)?)(?:a|area)(?=[\s/>])")
_HEADING = re.compile(r"<(/?)h([1-6])(?=[ >])")


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
    stated = _CHARSET.search(cut[:4096]) if marked_up else None
    for name in ([stated[1].decode("ascii")] if stated else []) + ["utf-8"]:
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
    clean = _reader().clean(flatter(page))
    return _HEADING.sub(lambda tag: f"<{tag[1]}h{min(6, int(tag[2]) + 2)}", clean)


def original_of_html(page: str) -> str:
    """A web page as it looks, as far as that needs nothing from anywhere and runs nothing."""
    shown = html.escape(html.unescape(first_inside(page[:100_000], "title")).strip())
    head = f'<!doctype html><html><head><meta charset="utf-8"><title>{shown}</title>'
    head += f"<style>{_STILL}</style></head>"
    return f"{head}<body>{_original().clean(flatter(page))}</body></html>"


def flatter(page: str) -> str:
    """A page without elements that are nested too deep or have too many attributes.

    Parsing those takes time with the square of their number, here and in browsers.
    """
    if page.count("<") <= DEEPEST and len(page) <= LONGEST_TAG:
        return page
    depth = 0

    def keep(tag: re.Match[str]) -> str:
        nonlocal depth
        name = tag[2].lower()
        if len(tag[3]) > LONGEST_TAG and len(_QUOTED.sub("", tag[3])) > LONGEST_TAG:
            return ""
        if name in ENDLESS or name in LONE:
            return tag[0] if depth < DEEPEST or name in LONE else ""
        depth = max(0, depth + (-1 if tag[1] else 1))
        return tag[0] if depth <= DEEPEST else ""

    return _TAG.sub(keep, page)


def can_be_shown(image: bytes) -> bool:
    """Whether a browser can show a picture without running out of memory or time.

    A vector picture must not repeat parts of itself (a few lines can draw millions of shapes).
    """
    from PIL import Image, UnidentifiedImageError

    if _SVG.match(image[:1000]):
        return len(image) <= LARGEST and not _REPEATS.search(image)
    try:
        with warnings.catch_warnings(), Image.open(io.BytesIO(image)) as picture:
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            return picture.width * picture.height * getattr(picture, "n_frames", 1) <= MOST_PIXELS
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError):
        return False


def without_links(svg: bytes) -> bytes:
    """A vector picture whose links are groups: opened by itself, they would lead outside."""
    return _LINK.sub(rb"<\1g", svg)


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
        filter_style_properties=set(_STYLES.split()),
    )
