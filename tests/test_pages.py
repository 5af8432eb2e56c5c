"""The pages as readers get them: built strictly, without a broken link, found by search, short, and
with no measured figure that was typed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from benchmarks import _results

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MOST_WORDS = 25_000  # on pages that are neither made from the code nor evidence
MOST_BYTES = 5_000_000
# A number with a decimal point, a per cent sign or a unit of time or memory is taken for a measured
# one, on pages of these two kinds; settings are written as code, and 90, 95 and 99 % are levels.
FIGURE = re.compile(
    r"(?<![\w.])(?:[-+±]?\d*\.\d+|\d[\d,]* ?(?:%|per cent|ms\b|s\b|seconds\b|MB\b|GB\b))"
)
LEVELS = re.compile(r"\b9[059] ?%")
NOT_PROSE = re.compile(
    r"^ *```.*?^ *```|^    .*?$|`[^`]*`|\$\$.*?\$\$|\$[^$\n]+\$|\\\(.*?\\\)|\{\{.*?\}\}|\]\([^)]*\)"
    r"|\[table\]\S*",
    re.DOTALL | re.MULTILINE,
)
HOW_TO = (
    "label-studio",
    "labels-not-random",
    "ndcg-200-labels",
    "better-than-production",
    "who-not-paid",
    "invite-a-panel",
    "nginx",
    "from-trec-eval",
    "from-crowd-kit",
    "from-ir-measures",
    "publish-a-collection",
    "reproduce-a-paper",
    "run-on-a-cluster",
)


def written() -> Iterator[Path]:
    """Pages that are neither made from the code nor evidence."""
    for path in sorted(DOCS.rglob("*.md")):
        kind, *rest = path.relative_to(DOCS).parts
        if kind != "evidence" and not (kind == "reference" and len(rest) > 1):
            yield path


def words_of(text: str) -> int:
    """What a reader reads, code too; an inserted figure is one word, a line of a table is none."""
    shown = re.sub(r"\{\{ [^{}]*; [^{}]* \}\}", "figure", text)
    return sum(any(sign.isalnum() for sign in word) for word in shown.split())


def test_there_are_few_words_to_read() -> None:
    words = {path.name: words_of(path.read_text()) for path in written()}
    assert sum(words.values()) < MOST_WORDS, sorted(words.items(), key=lambda each: -each[1])


def test_each_question_has_a_page_of_at_most_500_words() -> None:
    for path in (DOCS / "how-to").glob("*.md"):
        assert words_of(path.read_text()) <= 500, path.name
    assert set(HOW_TO) <= {path.stem for path in (DOCS / "how-to").glob("*.md")}


@pytest.mark.parametrize("kind", ["how-to", "explanation"])
def test_measured_figures_are_inserted(kind: str) -> None:
    typed = {
        path.name: found
        for path in sorted((DOCS / kind).glob("*.md"))
        if (found := FIGURE.findall(LEVELS.sub("", NOT_PROSE.sub("", path.read_text()))))
    }
    assert typed == {}


def test_what_is_taken_for_a_measured_figure() -> None:
    text = "it was .82 of 63 runs, 12 % in 3 s; `.05`, 90 % and {{ a; b; c }} are none"
    assert FIGURE.findall(LEVELS.sub("", NOT_PROSE.sub("", text))) == [".82", "12 %", "3 s"]


def test_each_stored_table_stands_on_one_page() -> None:
    assert sorted(name for name, _ in _results.shown()) == sorted(_results.names())


# --- the built pages ------------------------------------------------------------------------------


def built(folder: Path) -> Path:
    """The pages, built strictly from copies of their sources."""
    for extra in ("mkdocs", "material", "latex2mathml", "fastapi"):
        pytest.importorskip(extra, reason="builds the documentation; not part of the core")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    for command in (["docs/generate.py"], ["-m", "mkdocs", "build", "--strict", "--quiet"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once for these tests."""
    return built(tmp_path_factory.mktemp("docs"))


class Links(HTMLParser):
    """What a page names: its anchors, links, and what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Of each tag what it names."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if "src" in given or (tag == "link" and given.get("rel") != "canonical"):
            self.loaded.append(given.get("src") or given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])


def test_no_link_and_no_picture_is_broken(site: Path) -> None:
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else set()
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                broken.append((path.relative_to(site).as_posix(), link))
    assert len(pages) > 100
    assert broken == []


def test_links_of_files_beside_the_pages() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md"):
        text = (ROOT / name).read_text()
        links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
        missing = [link for link in links if not ((ROOT / name).parent / link).exists()]
        assert missing == [], name


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = Links(path.read_text(encoding="utf-8")).loaded
        assert [link for link in loaded if urlsplit(link).netloc] == [], path.name


def test_the_site_is_small(site: Path) -> None:
    sizes = {path: path.stat().st_size for path in site.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < MOST_BYTES


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("label studio", "how-to/label-studio.html"),
        ("prolific", "reference/prolific.html"),
        ("kappa", "explanation/trust.html"),
        ("nDCG", "how-to/ndcg-200-labels.html"),
        ("gold", "glossary.html"),
    ],
)
def test_search_finds(site: Path, words: str, page: str) -> None:
    """Pages with all of these words, which is what the search on the pages looks for."""
    script = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("var __index = "))
    found = {
        entry["location"].partition("#")[0]
        for entry in index["docs"]
        if all(
            word.lower() in f"{entry['title']} {entry['text']}".lower() for word in words.split()
        )
    }
    assert page in found
