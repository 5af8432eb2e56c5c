"""axe on every screen, in both themes, at 320 px and wide; nothing wider than the window."""

from __future__ import annotations

from typing import Any, Literal

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import Site
from tests.browser.walking import judge_all

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def problems(page: Page) -> list[Any]:
    """What axe finds in both themes, and whether the page is wider than its window."""
    found: list[Any] = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        violations = Axe().run(page).response["violations"]
        found += [(theme, one["id"], one["nodes"][0]["html"]) for one in violations]
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return found + ["too wide"] * wide


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("site", ["ranked"], indirect=True)
def test_every_screen(browser: Browser, site: Site, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 700})
    page = context.new_page()
    page.goto(site.link)
    found = {}
    for name in ("Continue", "I agree", "Start"):
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_be_visible()
        found[name] = problems(page)
        button.click()
    expect(page.locator(".page .text")).to_be_visible()
    found["document"] = problems(page)
    page.keyboard.press("?")
    found["keys"] = problems(page)
    page.keyboard.press("Escape")
    for part in range(3):
        judge_all(page, 4, "2")
        found[f"board {part}"] = problems(page) if part == 0 else []
        page.get_by_role("button", name="Looks right").click()
    found["end"] = problems(page)
    page.get_by_role("button", name="Finish the batch").click()
    expect(page.locator(".missed").first).to_be_visible()
    found["review"] = problems(page)
    page.get_by_role("button", name="Hand in").click()
    page.get_by_role("link", name="My page").wait_for()
    found["outcome"] = problems(page)
    page.get_by_role("link", name="My page").click()
    page.get_by_role("table").wait_for()
    found["own"] = problems(page)
    assert {name: each for name, each in found.items() if each} == {}
    context.close()
