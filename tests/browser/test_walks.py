"""Walks through the judging page by the Tab key and by the accessibility tree, as in the docs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import Site, serve_trial
from tests.browser.walking import in_place, keep_picture, saved, start

NAME = """() => {
  const { activeElement: one } = document;
  return one.getAttribute("aria-label") ?? document.getElementById(one.getAttribute("aria-labelledby"))?.textContent ?? one.textContent.trim();
}"""  # noqa: E501
STOPS = """
Skip to the content | My page | Keys and help | turkey leftover recipes | Instructions | Examples |
Find in this document | Smaller text | Larger text | Original | Turkey and leek pie | Not relevant |
Relevant | Highly relevant | Cannot tell | Broken page | Undo | Previous | Next
"""
TREE = """
- main:
  - progressbar "Documents answered"
  - status: Saved ✓
  - link "My page"
  - button "Keys and help"
  - complementary "What is looked for":
    - group:
      - heading "turkey leftover recipes" [level=1]
      - paragraph: /I have cooked turkey/
  - region "Document":
    - heading "Turkey and leek pie" [level=2]
    - searchbox "Find in this document"
    - button "Smaller text"
    - button "Larger text"
    - button "Original"
    - article "Turkey and leek pie":
      - heading "Turkey and leek pie" [level=3]
      - heading "You need" [level=4]
  - region "Your answer":
    - group "How well does the document answer the request?":
      - button "Not relevant"
      - button "Relevant" [pressed]
      - button "Highly relevant"
    - button "Cannot tell"
    - button "Broken page"
    - button "Undo"
    - button "Previous"
    - button "Next"
"""


def to_the_pie(page: Page) -> None:
    """Go on to a certain HTML document, wherever it is in the batch; grade it and come back."""
    title, position = page.locator(".doc-title"), page.locator(".where")

    def turn(key: str, arrived: Callable[[], bool]) -> None:
        """Wait for each turn: a key pressed before the last one counted would be one too many."""
        for _ in range(12):
            if arrived():
                return
            before = position.inner_text()
            page.keyboard.press(key)
            expect(position).not_to_have_text(before)

    turn("ArrowRight", lambda: title.inner_text() == "Turkey and leek pie")
    expect(page.locator(".page h3")).to_have_text("Turkey and leek pie")
    where = position.inner_text()
    in_place(page)
    page.keyboard.press("1")
    expect(position).not_to_have_text(where)
    is_first = "Topic 1 of 3 · document 1 of" in position.inner_text()  # the pie was the last
    turn("ArrowRight" if is_first else "ArrowLeft", lambda: position.inner_text() == where)
    expect(position).to_have_text(where)
    saved(page)


def test_the_walk_by_tab_and_by_the_tree(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    to_the_pie(page)
    expect(page.locator("main")).to_match_aria_snapshot(TREE)
    stops = [" ".join(one.split()) for one in STOPS.split("|")]
    for turn in ("Previous", "Next"):  # there is none before the first, none after the last
        if page.get_by_role("button", name=turn, exact=True).is_disabled():
            stops.remove(turn)
    page.locator(".skip").focus()
    found = []
    for _ in stops:
        found.append(page.evaluate(NAME))
        page.keyboard.press("Tab")
    assert found == stops
    page.close()


def test_focus_inside_the_original_is_left_alone(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    to_the_pie(page)
    number = len(site.events())
    page.get_by_role("button", name="Original", exact=True).click()
    page.frame_locator(".page iframe").locator("body").click()
    in_place(page)
    page.keyboard.press("2")  # goes to the frame, not to the page
    keep_picture(page, "original")
    back = page.get_by_role("button", name="Back to the reader")
    expect(back).to_be_visible()
    back.press("Enter")
    expect(page.locator(".page .text")).to_be_visible()
    assert len(site.events()) == number
    page.close()


@pytest.mark.parametrize("way", ["preferences", "free-ranks"])
def test_the_trial_in_other_ways(browser: Browser, tmp_path: Path, way: str) -> None:
    with serve_trial(tmp_path, way) as site:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.goto(site.link)
        for name in ("Continue", "I agree", "Start"):
            page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".stage .text").first).to_be_visible()
        keep_picture(page, f"trial-{way}")
        in_place(page)
        page.keyboard.press("1")
        saved(page)
        assert len(site.events()) == 1
        page.close()
