"""What tests do on the judging page, as a person would."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect

PICTURES = Path(__file__).with_name("pictures")
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def start(page: Page, link: str) -> None:
    """From the link to the first document, by keyboard alone."""
    page.goto(link)
    for name in ("Continue", "I agree", "Start"):
        button = page.get_by_role("button", name=name, exact=True)
        button.focus()
        page.keyboard.press("Enter")
    expect(page.locator(".page .text").first).to_be_visible()


def two_tabs(browser: Browser, link: str) -> tuple[Page, Page]:
    """Two tabs of one person, both at the first document."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    one, two = context.new_page(), context.new_page()
    start(one, link)
    two.goto(link)
    expect(two.locator(".page .text")).to_be_visible()
    return one, two


def judge_all(page: Page, documents: int = 12, *keys: str) -> None:
    """Judge the documents by one key, or by several; wait for each to be shown."""
    for _ in range(documents):
        before = page.locator(".where").inner_text()
        in_place(page)
        for key in keys or ("0",):
            page.keyboard.press(key)
        expect(page.locator(".where")).not_to_have_text(before)


def in_place(page: Page) -> None:
    """Wait until the document is in its place: nothing can be said of it before."""
    expect(page.locator('.bar [aria-disabled="true"]')).to_have_count(0)


def saved(page: Page) -> None:
    """Wait until everything is saved."""
    expect(page.locator(".saved")).to_have_attribute("data-state", "saved")


def keep_picture(page: Page, name: str) -> None:
    """A picture of the screen in both themes, to be looked at."""
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=PICTURES / f"{name}-{theme}.png")
    page.emulate_media(color_scheme="light")
