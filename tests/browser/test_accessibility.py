"""Every screen on both engines: axe in both themes, at 320 px and wide; pictures to look at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import serve_campaign, serve_trial
from tests.browser.walking import PICTURES, THEMES, in_place, judge_all, start
from tests.collection.making import material

# Nobody reads a document for a minute here: the first batch does not count, the second is the last.
HASTY = """
[campaign]
name = "tiny"
language = "{language}"
[sets]
size = 2
[hit]
sets = 2
[pay]
hit = 0.50
screen_out = 0.20
budget = 100
[checks.seconds]
at_least = 60
"""
LONG_TITLES = ("A title that has no end " * 84, "n" * 2000)  # 2,000 characters


def problems(page: Page, picture: str = "") -> list[Any]:
    """What axe finds in both themes, and whether the page is wider than its window."""
    found: list[Any] = []
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        violations = Axe().run(page).response["violations"]
        found += [(theme, one["id"], one["nodes"][0]["html"]) for one in violations]
        if picture:
            page.screenshot(path=PICTURES / f"{picture}-{theme}.png")
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return found + ["too wide"] * wide


class Look:
    """Looks at screens, one after the other; remembers what is wrong with each."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name = page, name
        self.found: dict[str, list[Any]] = {}

    def __call__(self, screen: str) -> None:
        """Look at the screen, keep pictures of it."""
        picture = f"{self.name}-{len(self.found):02}-{screen}"
        self.found[screen] = problems(self.page, picture)
        for unwanted in ("undefined", "[object", "NaN"):
            assert unwanted not in self.page.locator("body").inner_text()


def main_button(page: Page) -> Any:
    """The one action that comes next."""
    button = page.locator("button.main")
    expect(button).to_have_count(1)
    return button


def asked_again(page: Page) -> Any:
    """The box of those who may be asked for other work."""
    return page.locator(".ask-again").get_by_role("checkbox")


@pytest.mark.parametrize(
    ("width", "language", "database"),
    [(320, "en", ""), (1280, "en", ""), (1280, "de", "postgresql"), (320, "de", "")],
    indirect=["database"],
)
def test_every_screen(
    browser: Browser, tmp_path: Path, width: int, language: str, database: str
) -> None:
    with serve_trial(tmp_path, "ranked", language, database) as site:
        context = browser.new_context(viewport={"width": width, "height": 700})
        page = context.new_page()
        look = Look(page, f"{language}-{width}")
        page.goto(site.link)
        for screen in ("preview", "terms", "instructions"):
            expect(main_button(page)).to_be_visible()
            if screen == "instructions":
                expect(asked_again(page)).not_to_be_checked()
                asked_again(page).check()
                expect(page.locator(".ask-again [role=status]")).not_to_be_empty()
            look(screen)
            main_button(page).click()
        walk_batch(page, look)
        walk_end(page, look)
        assert {name: each for name, each in look.found.items() if each} == {}
        context.close()


def walk_batch(page: Page, look: Look) -> None:
    """All documents and rank boards of a batch."""
    expect(page.locator(".page .text")).to_be_visible()
    look("document")
    page.keyboard.press("?")
    look("keys")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    for part in range(3):
        judge_all(page, 4, "2")
        if not part:
            look("board")
        page.locator(".board-page").wait_for()
        main_button(page).click()
    look("end")
    main_button(page).click()


def walk_end(page: Page, look: Look) -> None:
    """Review, outcome, own page, nothing left to do."""
    expect(page.locator(".missed").first).to_be_visible()
    page.locator(".missed .equal button").nth(1).click()
    look("review")
    page.locator("main > .actions button.main").click()
    page.locator("a.button[href$='/me']").wait_for()
    look("outcome")
    page.locator("a.button[href$='/me']").click()
    page.get_by_role("table").wait_for()
    expect(asked_again(page)).to_be_checked()
    look("own")
    page.locator("a.button.main").click()
    page.locator("a.button[href$='/me']").wait_for()
    look("nothing")


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_slider(browser: Browser, tmp_path: Path, width: int, language: str) -> None:
    with serve_trial(tmp_path, "slider", language) as site:
        context = browser.new_context(viewport={"width": width, "height": 700})
        page = context.new_page()
        look = Look(page, f"slider-{language}-{width}")
        page.goto(site.link)
        for _ in ("preview", "terms"):
            main_button(page).click()
        expect(page.locator(".scale")).to_be_visible()
        look("instructions")
        main_button(page).click()
        expect(page.locator(".page .text")).to_be_visible()
        look("unset")
        in_place(page)
        page.keyboard.press("6")
        look("chosen")
        page.keyboard.press("?")
        look("keys")
        assert {name: each for name, each in look.found.items() if each} == {}
        context.close()


@pytest.mark.parametrize("width", [320, 1280])
def test_pairs(browser: Browser, tmp_path: Path, width: int) -> None:
    with serve_trial(tmp_path, "preferences") as site:
        page = browser.new_page(viewport={"width": width, "height": 700})
        look = Look(page, f"pairs-{width}")
        start(page, site.link)
        in_place(page)
        expect(page.get_by_role("region", name="Second document")).to_be_visible()
        look("pair")
        assert look.found == {"pair": []}
        page.close()


@pytest.mark.parametrize(("width", "language"), [(320, "en"), (1280, "en"), (320, "de")])
def test_who_is_warned_and_then_out(
    browser: Browser, tmp_path: Path, width: int, language: str
) -> None:
    rows = material(topics=1, pool=8, gold_sets=4, size=2)
    with serve_campaign(tmp_path, HASTY.format(language=language), rows) as site:
        context = browser.new_context(viewport={"width": width, "height": 700})
        page = context.new_page()
        look = Look(page, f"out-{language}-{width}")
        page.goto(site.link)
        for _ in ("preview", "instructions"):
            main_button(page).click()
        for outcome in ("warned", "last"):
            expect(page.locator(".page .text")).to_be_visible()
            judge_all(page, 3)
            in_place(page)
            page.keyboard.press("0")
            page.locator(".end button.main").click()
            own = page.locator("a.button[href$='/me']")
            page.locator(".missed").first.or_(own).wait_for()
            if not own.count():  # what was missed comes first
                page.locator("main > .actions button.main").click()
            own.wait_for()
            look(outcome)
            expect(page.locator("p.note")).to_have_count(int(outcome == "warned"))
            page.locator("main > .actions .main").click()
        page.get_by_role("table").wait_for()
        look("out")
        main_button(page).click()  # the way to object
        page.get_by_role("dialog").wait_for()
        look("appeal")
        assert {name: each for name, each in look.found.items() if each} == {}
        context.close()


@pytest.mark.parametrize("width", [320, 1280])
def test_a_title_of_2000_characters_is_read_and_nothing_is_in_its_way(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    rows = material(topics=1, pool=2, gold_sets=0, size=2)
    documents = [
        replace(row, title=title[:2000], body=title[:2000].encode())
        for row, title in zip(rows.documents, LONG_TITLES, strict=True)
    ]
    plan = HASTY.format(language="en").replace("sets = 2", "sets = 1\ngold = 0")
    with serve_campaign(tmp_path, plan, replace(rows, documents=documents)) as site:
        context = browser.new_context(viewport={"width": width, "height": 700})
        page = context.new_page()
        look = Look(page, f"title-{width}")
        page.goto(site.link)
        for _ in ("preview", "instructions"):
            main_button(page).click()
        for at in range(2):
            text, grade = page.locator(".page .text"), page.locator(".bar button").first
            expect(text).to_be_visible()
            look(f"title-{at}")
            expect(grade).to_be_in_viewport()
            more = page.get_by_role("button", name="Whole title")
            more.click()
            expect(more).to_have_attribute("aria-expanded", "true")
            title = page.locator(".doc-title")
            title.evaluate("one => one.scrollTo(0, one.scrollHeight)")
            look(f"whole-{at}")
            expect(grade).to_be_in_viewport()
            more.click()
            text.scroll_into_view_if_needed()
            expect(text).to_be_in_viewport()
            in_place(page)
            page.keyboard.press("0")
        assert {name: each for name, each in look.found.items() if each} == {}
        context.close()
