"""The report's pictures on pages whose policy forbids `style` attributes."""

from __future__ import annotations

import re

from markupsafe import Markup

_STYLE = re.compile(r' style="([^"]*)"')
_FONT = re.compile(r"(?:(?P<weight>bold|\d+) )?(?P<size>[\d.]+px)")


def placed(svg: str) -> Markup:
    """A picture made by `reporting`, with attributes instead of styles, to be put into a page."""
    return Markup(_STYLE.sub(lambda found: _attributes(found[1]), svg))


def _attributes(style: str) -> str:
    pairs = (part.split(":", 1) for part in style.split(";") if ":" in part)
    return "".join(_attribute(name.strip(), value.strip()) for name, value in pairs)


def _attribute(name: str, value: str) -> str:
    if name == "font":  # the one that has no attribute of its own
        found = _FONT.search(value)
        weight = f' font-weight="{found["weight"]}"' if found and found["weight"] else ""
        return f' font-size="{found["size"]}"{weight}' if found else ""
    return f' {name}="{value}"'
