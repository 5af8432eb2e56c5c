"""The judging page in a real browser: a whole batch by keyboard, lost networks, closed tabs."""

from __future__ import annotations

from collections import Counter

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.serving import Site
from tests.browser.walking import in_place, judge_all, saved, start, two_tabs


def test_a_batch_by_keyboard_alone(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    start(page, site.link)
    assert "link=" not in page.url
    in_place(page)
    page.keyboard.press("2")
    expect(page.locator(".notes")).to_contain_text("Highly relevant")
    page.keyboard.press("u")
    expect(page.locator(".where")).to_contain_text("document 1 of")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".where")).to_contain_text("document 2 of")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("/")
    page.keyboard.type("0")  # in a field, keys are only text
    expect(page.locator(".where")).to_contain_text("document 1 of")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    judge_all(page, 12, "2")
    saved(page)
    page.get_by_role("button", name="Finish the batch").press("Enter")
    first = page.locator(".missed").first
    expect(first).to_contain_text("The expert said")
    expect(first.locator(".topic-text p").first).to_be_visible()  # the topic's other texts
    expect(first.locator(".reader .text")).to_be_visible()  # and the document
    last = page.locator(".missed").last
    last.locator("summary").press("Enter")
    expect(last.locator(".reader .text")).to_be_visible()
    expect(page.locator("details.look[open]")).to_have_count(1)
    first.get_by_role("button", name="I disagree").press("Enter")
    page.keyboard.type("It helps me.")
    first.get_by_role("button", name="Send").press("Enter")
    expect(first).to_contain_text("You find the answer on your page")
    page.get_by_role("button", name="Hand in").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Handed in and paid")
    page.get_by_role("link", name="My page").press("Enter")
    expect(page.get_by_role("cell", name="paid, not counted")).to_be_visible()
    expect(page.get_by_text("It helps me.")).to_be_visible()
    said = Counter(one.kind for one in site.events())
    assert said == {"grade": 13, "clear": 1}
    assert problems == []
    page.close()


@pytest.mark.parametrize("site", ["ranked"], indirect=True)
def test_the_rank_board_by_keyboard(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    judge_all(page, 4)
    card = page.locator(".card").first
    title = card.locator(".name").inner_text()
    card.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".card").nth(1)).to_contain_text(title)
    page.get_by_role("button", name="Looks right").press("Enter")
    expect(page.locator(".where")).to_contain_text("Topic 2 of 3 · document 1 of 4")
    saved(page)
    kinds = [one.kind for one in site.events()]
    assert kinds == ["grade"] * 4 + ["ranking"]
    page.close()


def test_an_old_link_and_no_javascript_say_what_to_do(browser: Browser, site: Site) -> None:
    page = browser.new_page()
    page.goto(site.link[:-3])
    expect(page.get_by_text("copy all of it")).to_be_visible()
    page.close()
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(site.link)
    expect(page.get_by_text("needs JavaScript")).to_be_visible()
    plain.close()


def test_a_second_tab_replaces_nothing_it_has_not_seen(browser: Browser, site: Site) -> None:
    one, two = two_tabs(browser, site.link)
    judge_all(one, 1, "2")
    saved(one)
    in_place(two)
    two.keyboard.press("0")
    expect(two.locator(".notes")).to_contain_text("another tab")
    assert [(said.grade, said.stale) for said in site.events()] == [(2, 0), (0, 1)]
    one.context.close()
