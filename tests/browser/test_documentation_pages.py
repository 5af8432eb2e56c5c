"""The documentation in a browser: axe on a page of each kind, and what its search finds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")
pytest.importorskip("material", reason="mkdocs is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.test_accessibility import problems
from tests.test_pages import built

PAGES = (
    "index.html",
    "tutorials/ranking.html",
    "how-to/ndcg-200-labels.html",
    "explanation/scores.html",
    "reference/methods/ds.html",
    "reference/measures/index.html",
    "reference/commands/campaign.html",
    "evidence/auto.html",
    "glossary.html",
)
SEARCHES = {  # what must be among the first three
    "label studio": "how-to/label-studio.html",
    "prolific": "reference/prolific.html",
    "kappa": "explanation/trust.html",
    "nDCG": "how-to/ndcg-200-labels.html",
    "gold": "explanation/gold.html",
}


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of requests."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages."""
    return built(tmp_path_factory.mktemp("docs"))


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the built pages are served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A window that tells of every request to another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


def test_axe_finds_nothing(address: str, page: Page) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    found = {}
    for place in PAGES:
        page.goto(address + place)
        found[place] = problems(page)
    assert found == {place: [] for place in PAGES}
    assert [url for url in requests if not url.startswith(address)] == []


@pytest.mark.parametrize("opened", ["served", "as files"])
def test_search_finds_pages(opened: str, address: str, site: Path, page: Page) -> None:
    for words, place in SEARCHES.items():
        page.goto(address if opened == "served" else (site / "index.html").as_uri())
        page.wait_for_load_state("networkidle")
        page.locator(".md-search__input").click()
        page.locator(".md-search__input").press_sequentially(words, delay=40)  # as people type
        among_the_first = f'.md-search-result__item:nth-child(-n+3) a[href*="{place}"]'
        expect(page.locator(among_the_first).first).to_be_attached()


def test_links_work_where_pages_are_opened_as_files(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="From files to a ranking").first.click()
    expect(page.locator("h1")).to_contain_text("From files to a ranking")
