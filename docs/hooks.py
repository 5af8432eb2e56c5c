"""How mkdocs builds these pages: their order, figures from stored results, equations as MathML.

`pymdownx.arithmatex` marks what stands between dollars; here it becomes MathML, which browsers draw
by themselves, also offline.

On a page, `{{ table NAME }}` is a stored table, and `{{ NAME; ROW; COLUMN }}` one cell of it, with
a link to the table: `benchmarks/_results.py` has the names.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

import latex2mathml.converter
from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks import _results  # noqa: E402

KINDS = {
    "tutorials": "Tutorials",
    "how-to": "How to",
    "explanation": "Explanation",
    "reference": "Reference",
    "evidence": "Evidence",
}
FIRST = {
    "tutorials": ("ranking", "campaign", "language-model"),
    "explanation": ("methods", "scores", "uncertainty"),
    "reference": (
        "methods/index",
        "measures/index",
        "rules/index",
        "commands/index",
        "formats",
        "columns/index",
        "plan/index",
        "campaigns",
        "organiser",
        "judging",
        "http/index",
        "server",
        "python/index",
    ),
    "evidence": ("index",),
}
# of Material's files: maps for debugging, and searching in other languages than these pages are in
UNUSED = ("assets/**/*.map", "assets/javascripts/lunr/**/*.js")
_MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
#: of a table, what HTML does not ask for
_ENDS = re.compile(r"</t[dhr]>|(?<=>)\n(?=<)")
#: the same on all pages: the script that remembers the colours; one for tabs, which no page has
_COLOURS = re.compile(r"<script>(var palette=.*?)</script>", re.DOTALL)
_TABS = re.compile(r"<script>var target=.*?</script>", re.DOTALL)
_GENERATOR = re.compile(r'<meta name="generator"[^>]*>')
#: where the theme's script chooses between a script and a request for the index of the search
_INDEX = re.compile(r'location\.protocol==="file:"(\?\w+\(`\$\{new URL\("search/search_index\.js")')
#: pages that answer a question come before those that prove the answer
_FIRST_FOUND = {"evidence": 0.2, "reference": 0.3, "glossary.md": 4, "how-to": 2, "tutorials": 2}
_INSERTED = re.compile(r"\{\{ (?:table (?P<table>\S+)|(?P<cell>[^{}]+;[^{}]+;[^{}]+)) \}\}")


def on_config(config: Any) -> Any:
    """The kinds of pages one after the other; within a kind those of FIRST, then by name."""
    folder = Path(config["docs_dir"])
    nav: list[Any] = ["index.md"]
    for kind, title in KINDS.items():
        names = [path.stem for path in sorted((folder / kind).glob("*.md"))]
        names += [
            f"{path.parent.name}/index" for path in sorted((folder / kind).glob("*/index.md"))
        ]
        first = [name for name in FIRST.get(kind, ()) if name in names]
        names = [*first, *(name for name in names if name not in first)]
        if names:
            nav.append({title: [f"{kind}/{name}.md" for name in names]})
    others = [path.name for path in sorted(folder.glob("*.md")) if path.stem != "index"]
    config["nav"] = [*nav, *others]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Tables and figures from stored results; how soon the search names the page."""
    kind = page.file.src_uri.partition("/")[0]
    page.meta["search"] = {"boost": _FIRST_FOUND.get(kind, 1)}
    return _INSERTED.sub(lambda match: inserted(match, page.file.src_uri), markdown)


def inserted(match: re.Match[str], page: str) -> str:
    """What stands for a mark on this page."""
    if match["table"]:
        return _results.markdown(match["table"])
    name, row, column = (part.strip() for part in match["cell"].split(";"))
    target = _results.page_of(name)
    link = posixpath.relpath(f"evidence/{target}.md", posixpath.dirname(page) or ".")
    return f"[{_results.cell(name, row, column)}]({link}#{_results.anchor(name)})"


def on_page_content(content: str, page: Any = None, **_: Any) -> str:
    """Equations as MathML; tables that scroll by keys, too, where they are wide, and are left out
    of the search where they are figures.
    """
    evidence = page is not None and page.file.src_uri.startswith("evidence/")
    wide = '<div class="wide" tabindex="0"' + " data-search-exclude" * evidence + "><table>"
    content = content.replace("<table>", wide)
    return _MARKED.sub(_mathml, content.replace("</table>", "</table></div>"))


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found[2] == "[" else "inline"
    made = str(latex2mathml.converter.convert(html.unescape(found[3]).strip(), display=display))
    made = html.unescape(made.replace("&#x0003C;", "&lt;").replace("&#x00026;", "&amp;"))
    made = re.sub(r' xmlns="[^"]*"| display="inline"', "", made)
    made = re.sub(r"<mrow>(<(m[ino])>[^<]*</\2>)</mrow>", r"\1", made)
    return made.replace('display="block"', 'display="block" tabindex="0"', 1)


def on_post_page(output: str, page: Any, config: Any, **_: Any) -> str:
    """Without the blanks and marks that templates leave, and that nobody sees; a name for the
    search.
    """
    parts = re.split(r"(<pre.*?</pre>)", output, flags=re.DOTALL)
    parts[::2] = [
        re.sub(r"\s*\n\s*", "\n", part).replace(' xmlns="http://www.w3.org/2000/svg"', "")
        for part in parts[::2]
    ]
    # the theme gives this dialog no name
    whole = "".join(parts).replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
    begin, end = whole.find("<article"), whole.find("</article>")
    if begin < 0:
        return whole
    before, after = (re.sub(r"(?<=>)\n|\n(?=<)", "", part) for part in (whole[:begin], whole[end:]))
    colours = Path(config["site_dir"]) / "scripts" / "colours.js"
    address = posixpath.relpath("scripts/colours.js", posixpath.dirname(page.url) or ".")

    def in_a_file(script: re.Match[str]) -> str:
        colours.parent.mkdir(parents=True, exist_ok=True)
        colours.write_text(script[1], encoding="utf-8")
        return f'<script src="{address}"></script>'

    before = _GENERATOR.sub("", _COLOURS.sub(in_a_file, before, count=1))
    article = _TABLE.sub(lambda table: _ENDS.sub("", table[0]), whole[begin:end])
    return before + article + _TABS.sub("", after)


def on_post_build(config: Any) -> None:
    """Leave out files that no page loads; the search as a script, without markup."""
    site = Path(config["site_dir"])
    index = site / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))
    for entry in found["docs"]:
        entry["text"] = re.sub(r"(</?(code|p|li|ul|ol|pre)>|\s)+", " ", entry["text"]).strip()
    # a page that is opened as a file may load scripts and nothing else: the search is one, always
    (script,) = (site / "assets/javascripts").glob("bundle.*.js")
    bundle, changed = _INDEX.subn(r"true\1", script.read_text(encoding="utf-8"))
    if changed != 1:
        raise PluginError("the theme loads its search in another way: see _INDEX in docs/hooks.py")
    script.write_text(bundle, encoding="utf-8")
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    index.with_suffix(".js").write_text(f"var __index = {text}\n", encoding="utf-8")
    index.unlink()
    for pattern in UNUSED:
        for path in site.glob(pattern):
            path.unlink()
