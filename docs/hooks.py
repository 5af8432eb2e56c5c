"""How mkdocs builds these pages: their order, and equations as MathML, so that no script is loaded.

`pymdownx.arithmatex` marks what stands between dollars; here it becomes MathML, which browsers draw
by themselves, also offline.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import latex2mathml.converter

FIRST = ("index", "tutorial", "formats", "choosing", "measures", "comparing", "uncertainty")
LAST = ("benchmarks", "architecture")
REFERENCE = ("methods", "measures", "rules", "cli", "library")
_MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: Any) -> Any:
    """List all pages in reading order, those without a place by name."""
    folder = Path(config["docs_dir"])
    found = sorted(path.stem for path in folder.glob("*.md"))
    middle = [name for name in found if name not in (*FIRST, *LAST)]
    pages = [name for name in (*FIRST, *middle, *LAST) if name in found]
    there = [name for name in REFERENCE if (folder / "reference" / f"{name}.md").exists()]
    reference = {"Reference": [f"reference/{name}.md" for name in there]}
    config["nav"] = [*(f"{name}.md" for name in pages), *([reference] if there else [])]
    return config


def on_page_content(content: str, **_: Any) -> str:
    """Equations as MathML."""
    return _MARKED.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found[2] == "[" else "inline"
    return str(latex2mathml.converter.convert(html.unescape(found[3]).strip(), display=display))
