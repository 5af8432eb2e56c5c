"""Matplotlib figures as SVG whose text is text and whose colours are the page's.

A figure is drawn with the colours of `INK`; each becomes a CSS variable (`var(--c-ink)`), so that
one picture reads well on white, on black and on paper.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from qrowd.errors import MissingExtraError

INK = {
    "ink": "#010101",
    "muted": "#020202",
    "grid": "#030303",
    "page": "#fefefe",
    "one": "#11aa01",
    "two": "#11aa02",
    "three": "#11aa03",
    "four": "#11aa04",
    "five": "#11aa05",
    "six": "#11aa06",
}
SERIES = ("one", "two", "three", "four", "five", "six")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHED: dict[str, Any] = {"color": INK["muted"], "linestyle": (0, (4, 3)), "linewidth": 1}
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": INK["ink"],
    "axes.edgecolor": INK["muted"],
    "axes.labelcolor": INK["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK["muted"],
    "ytick.color": INK["muted"],
    "xtick.labelcolor": INK["ink"],
    "ytick.labelcolor": INK["ink"],
    "grid.color": INK["grid"],
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "lines.linewidth": 1.6,
}
_UNWANTED = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"<metadata>.*?</metadata>",
        r"<!--.*?-->",
        r"<style[^>]*>.*?</style>",  # would hold for the whole page
        r"font-family: [^;\"]*; ?",
        r' transform="rotate\(-0 [^"]*"',
    )
]
_DIGITS = re.compile(r">[^<]*<|(\d\.\d\d)\d+")  # of coordinates; what is read stays as it is
_LINES = re.compile(r"([ML] \S+ \S+)((?:\s+L \S+ \S+)+)")  # what follows a line is a line, unsaid
_ALIKE = re.compile(
    r'<use xlink:href="#[^"]*" x="[^"]*" y="[^"]*" style="(?P<style>[^"]*)"/>'
    r'(?:\s*<use xlink:href="#[^"]*" x="[^"]*" y="[^"]*" style="(?P=style)"/>)+'
)


def drawn(name: str, width: float, height: float, draw: Callable[[Any], None]) -> str:
    """The SVG of a figure that `draw(figure)` fills; sizes in inches. `name` keeps ids apart."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError.needed("a report", "report") from None
    file = io.StringIO()
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with mpl.rc_context(style):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format")))
    return themed(file.getvalue(), name)


def colour_of(series: int) -> str:
    """The colour of a picture's nth series; they come round again."""
    return INK[SERIES[series % len(SERIES)]]


def panel_grid(figure: Any, n: int, columns: int, sharex: bool = True, sharey: bool = False) -> Any:
    """A grid of n panels; what is left over in its last row stays blank."""
    shape = (-(-n // columns), columns)
    grid = figure.subplots(*shape, sharex=sharex, sharey=sharey, squeeze=False)
    for axes in grid.flat[n:]:
        axes.set_visible(False)
    return grid


def themed(svg: str, name: str) -> str:
    """The picture alone, with the page's colours and typeface, and few ids, all its own."""
    svg = svg[svg.index("<svg") :]
    for unwanted in _UNWANTED:
        svg = unwanted.sub("", svg)
    for word, colour in INK.items():
        svg = svg.replace(colour, f"var(--c-{word})")
    used = dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    short = {long: f"{name}-{n}" for n, long in enumerate(used)}
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{short[m[1]]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(href="#|url\(#)([^")]+)', lambda m: m[1] + short[m[2]], svg)
    svg = _DIGITS.sub(lambda match: match[1] or match[0], svg)
    svg = _LINES.sub(lambda match: match[1] + match[2].replace("L ", ""), svg)
    svg = _ALIKE.sub(_styled_once, svg)
    svg = svg.replace("<svg", f'<svg data-name="{name}"', 1)
    return re.sub(r"\s*\n\s*", "\n", svg).strip()


def _styled_once(alike: re.Match[str]) -> str:
    """Marks that look alike: their style once, around them."""
    marks = alike[0].replace(f' style="{alike["style"]}"', "")
    return f'<g style="{alike["style"]}">{marks}</g>'
