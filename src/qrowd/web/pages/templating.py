"""The pages' templates, in which every text is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

from qrowd.web.pages.saying import FILTERS

FOLDER = Path(__file__).parents[1]


@cache
def templates() -> jinja2.Environment:
    """The templates of all pages; a name that is missing is an error."""
    loader = jinja2.FileSystemLoader(FOLDER / "templates")
    found = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= FILTERS
    return found
