"""The game: a round by keyboard with motion, without a network; by touch, without motion."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select
from tests.browser.serving import Site, serve_trial
from tests.browser.test_accessibility import Look
from tests.browser.walking import judge_all, saved

from qrowd.collection.database.schema import bucket, topic

QUERIES = ("fix a bicycle puncture", "tomato leaves turning yellow", "turkey leftover recipes")
EDGE = "one => getComputedStyle(one).borderInlineStartColor"
PACE = """() => {
  const sentence = document.querySelector(".sentence");
  const [fall] = sentence.getAnimations();
  const words = sentence.textContent.split(/\\s+/).length;
  return fall ? fall.effect.getTiming().duration / (3 + 0.35 * words) : 0;
}"""


def pace(page: Page) -> float:
    """Milliseconds by which a sentence comes down, whatever its length."""
    page.wait_for_function(f"({PACE})() > 0")
    return float(page.evaluate(PACE))


def put(site: Site) -> list[str | None]:
    """The topics that sentences were put to, in the order in which they came."""
    query = select(topic.c.query).select_from(bucket.outerjoin(topic)).order_by(bucket.c.event_id)
    with site.store.snapshot() as db:
        return list(db.scalars(query))


def test_a_round_by_keyboard_goes_on_without_a_network(browser: Browser, tmp_path: Path) -> None:
    with serve_trial(tmp_path, "game") as site:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        look = Look(page, "game-1280")
        page.goto(site.link)
        for name in ("Continue", "I agree", "Start"):
            page.get_by_role("button", name=name, exact=True).focus()
            page.keyboard.press("Enter")
        expect(page.locator(".sentence .keyword")).to_have_count(1)
        look("sentence")
        n = int(page.locator(".where").inner_text().split()[-1])  # sets have three or four
        first = pace(page)
        judge_all(page, 1, "1")
        faster = pace(page)
        assert faster < first  # in time
        page.evaluate("document.querySelector('.sentence').getAnimations()[0].finish()")
        expect(page.locator(".sentence.arrived")).to_be_visible()  # it waits there
        judge_all(page, 1, "4")
        assert pace(page) > faster
        page.keyboard.press("u")
        expect(page.locator(".where")).to_contain_text("Sentence 2 of")
        expect(page.locator("[data-act=bucket0]")).to_have_attribute("aria-pressed", "false")
        for key in ("ArrowRight", "ArrowRight", "ArrowDown"):  # to the second, the third, down
            page.keyboard.press(key)
        expect(page.locator(".where")).to_contain_text("Sentence 3 of")
        saved(page)
        assert put(site) == [QUERIES[0], None, QUERIES[2]]
        page.wait_for_load_state("networkidle")
        context.set_offline(True)
        judge_all(page, n - 2, "2")
        expect(page.locator(".saved")).to_contain_text("kept in this browser")
        context.set_offline(False)
        page.evaluate("dispatchEvent(new Event('online'))")
        saved(page)
        assert put(site)[3:] == [QUERIES[1]] * (n - 2)
        page.get_by_role("button", name="Finish the batch").press("Enter")
        expect(page.locator(".missed .keyword").first).to_be_visible()
        assert "points" not in page.locator("body").inner_text()
        look("review")
        page.get_by_role("button", name="Hand in").press("Enter")
        expect(page.locator(".points")).to_contain_text("points in this round")
        look("points")
        assert not any(look.found.values()), look.found
        context.close()


def test_a_round_by_touch_without_motion(browser: Browser, tmp_path: Path) -> None:
    with serve_trial(tmp_path, "game", "de") as site:
        context = browser.new_context(
            viewport={"width": 320, "height": 640},
            has_touch=True,
            is_mobile=True,
            reduced_motion="reduce",
        )
        page = context.new_page()
        look = Look(page, "game-320")
        page.goto(site.link)
        expect(page.locator(".facts")).to_contain_text("Sätze in einem Paket")
        for _ in ("preview", "terms", "instructions"):
            page.locator("button.main").tap()
        expect(page.locator(".sentences .keyword").last).to_be_visible()
        sentences = page.locator(".sentences li")
        n = sentences.count()
        look("list")
        page.emulate_media(forced_colors="active")  # no background of ours is drawn
        edges = sentences.evaluate_all(f"all => all.map({EDGE})")
        assert edges.count(edges[0]) == 1
        page.emulate_media(forced_colors="none")
        page.locator(".fold > summary").tap()
        expect(page.locator(".topic-text")).to_have_count(4)
        look("topics")
        page.locator(".fold > summary").tap()
        for at in range(n):
            expect(page.locator(".sentences li").nth(at)).to_have_attribute("aria-current", "step")
            page.locator(".bucket").nth(at % 4).tap()
        saved(page)
        assert put(site) == [(*QUERIES, None)[at % 4] for at in range(n)]
        page.locator(".end").get_by_role("button").nth(1).tap()  # back: all are there to be changed
        page.locator(".sentences li").nth(1).get_by_role("button").tap()
        expect(page.locator(".bucket[aria-pressed=true]")).to_contain_text(QUERIES[1])
        page.get_by_role("button", name="Ohne Bewegung").tap()  # by choice
        expect(page.locator(".sentence")).to_be_visible()
        look("sentence")
        assert not any(look.found.values()), look.found
        context.close()
