"""Screens that are turned, enlarged, drawn in the system's colours, or kept still."""

from __future__ import annotations

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import Site
from tests.browser.test_accessibility import problems
from tests.browser.walking import in_place, judge_all, saved, start

BACKGROUND = "one => getComputedStyle(one).backgroundColor"


def fits(page: Page) -> None:
    """The document has room, the grades are in view, and nothing stands out at the side."""
    text, grades = page.locator(".page").bounding_box(), page.locator(".bar .grades")
    assert text
    assert text["height"] > 90
    expect(grades).to_be_in_viewport(ratio=0.95)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_a_batch_on_a_tablet_that_is_turned_twice(browser: Browser, site: Site) -> None:
    upright, lying = {"width": 768, "height": 1024}, {"width": 1024, "height": 768}
    page = browser.new_context(viewport=upright, has_touch=True).new_page()  # type: ignore[arg-type]
    start(page, site.link)
    for size in (lying, upright, lying):
        expect(page.locator(".topic-text")).to_be_in_viewport()
        fits(page)
        judge_all(page, 3)
        page.set_viewport_size(size)  # type: ignore[arg-type]
    expect(page.locator(".topic-text")).to_be_in_viewport()
    judge_all(page, 3)
    saved(page)
    events = site.events()
    assert len(events) == 12
    assert len({(one.place_id, one.position) for one in events}) == 12
    page.context.close()


@pytest.mark.parametrize(("width", "height"), [(640, 400), (640, 320), (320, 560)])
def test_twice_the_size_and_phones(browser: Browser, site: Site, width: int, height: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})  # 1,280 by 800 at 200 %
    start(page, site.link)
    in_place(page)
    fits(page)
    query = page.locator("summary .query")
    expect(query).to_be_in_viewport(ratio=0.95)
    page.locator(".page").evaluate("one => one.scrollTo(0, one.scrollHeight)")
    expect(query).to_be_in_viewport(ratio=0.95)  # it stays while the document scrolls
    assert problems(page) == []
    page.close()


def test_a_phone_without_a_network_says_so_above_all_else_in_one_line(
    browser: Browser, site: Site
) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 640})
    page = context.new_page()
    start(page, site.link)
    context.set_offline(True)
    judge_all(page, 1)
    expect(page.locator(".saved")).to_have_attribute("data-state", "waiting")
    line = [page.locator(f".top > {one}").bounding_box() for one in ("progress", "a", "button")]
    assert all(line)
    middles = [one["y"] + one["height"] / 2 for one in line if one]
    assert max(middles) - min(middles) < 2
    context.close()


def test_what_is_chosen_is_not_what_is_pointed_at(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    judge_all(page, 1, "1")
    page.keyboard.press("ArrowLeft")
    chosen, other = page.locator(".grade[aria-pressed=true]"), page.locator(".grade").last
    expect(chosen).to_have_text("1Relevant")
    plain = other.evaluate(BACKGROUND)
    other.hover()
    assert other.evaluate(BACKGROUND) == plain != chosen.evaluate(BACKGROUND)
    page.emulate_media(forced_colors="active")  # no background of ours is drawn
    assert chosen.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    assert other.evaluate("one => getComputedStyle(one).outlineStyle") == "none"
    assert problems(page) == []
    page.close()


def test_nothing_moves_where_less_motion_is_asked_for(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800}, reduced_motion="reduce")
    start(page, site.link)
    judge_all(page, 2)
    assert page.evaluate("document.getAnimations().length") == 0
    page.close()
