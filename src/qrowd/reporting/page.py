"""A report and its page: one HTML file with everything in it, which asks nothing of the network."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from qrowd.errors import MissingExtraError
from qrowd.reporting.parts import Fact, Section, Verdict, cell_text, sort_key

_BACKTICKS = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Report:
    """Words, tables and pictures about some data; `q.save(report, "report.html")` writes its page.

    `verdicts` answer the first questions, `facts` are the few numbers at the
    head; `made` says with what it was made.
    """

    title: str
    lead: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    made: str
    verdicts: tuple[Verdict, ...] = ()

    def __repr__(self) -> str:
        return f"Report({self.title}: {', '.join(section.title for section in self.sections)})"

    def _repr_html_(self) -> str:
        """The page inside a frame, for a notebook."""
        page = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def to_html(self) -> str:
        """The page."""
        css, js = _resource("report.css"), _resource("report.js")
        return str(_template().render(report=self, css=css, js=js))


def _resource(name: str) -> str:
    return (files("qrowd.reporting") / "templates" / name).read_text(encoding="utf-8")


def _template() -> Any:
    try:
        import jinja2
        from markupsafe import Markup, escape
    except ModuleNotFoundError:
        raise MissingExtraError.needed("a report", "report") from None

    def worded(text: str) -> Markup:
        return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))

    surroundings = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    surroundings.filters |= {"worded": worded, "sort_key": sort_key, "cell": cell_text}
    return surroundings.from_string(_resource("report.html.j2"))
