"""The documentation in a browser: axe on a page of each kind, and what its search finds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")
pytest.importorskip("material", reason="mkdocs is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.test_accessibility import problems
from tests.test_pages import built

PAGES = (
    "",
    "tutorials/ranking/",
    "how-to/ndcg-200-labels/",
    "explanation/scores/",
    "reference/methods/ds/",
    "reference/commands/campaign/",
    "evidence/auto/",
    "glossary/",
)
SEARCHES = {
    "label studio": "how-to/label-studio/",
    "prolific": "reference/prolific/",
    "kappa": "evidence/comparing/",
    "nDCG": "how-to/ndcg-200-labels/",
    "gold": "explanation/gold/",
}


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing of requests."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the built pages are served."""
    site = built(tmp_path_factory.mktemp("docs"))
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


def test_search_finds_pages(address: str, page: Page) -> None:
    for words, place in SEARCHES.items():
        page.goto(address)
        # the page asks at each key that is let go, once the index is there
        expect(page.locator(".md-search-result__meta")).to_have_text("Type to start searching")
        page.locator(".md-search__input").press_sequentially(words)
        expect(page.locator(f'.md-search-result__link[href*="{place}"]').first).to_be_attached()
