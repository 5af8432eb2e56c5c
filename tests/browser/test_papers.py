"""PDF documents as pictures with their text, and pictures with a description."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pypdfium2", reason="PDFium is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.papers import pdf, picture
from tests.browser.serving import serve_campaign
from tests.browser.walking import in_place, keep_picture, saved

from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.data.topics import Topic
from qrowd.web.tasks import draw_one, undrawn_documents

PLAN = """
[campaign]
name = "papers"
[sets]
size = 10
[hit]
sets = 1
gold = 0
[checks.seconds]
at_least = 0
"""
DRAWN = """name => [...(CSS.highlights.get(name) ?? [])]
  .map((one) => one.startContainer.data.slice(one.startOffset, one.endOffset))"""


def material() -> CampaignRows:
    """A PDF document of two pages, one that is none, a picture."""
    long = pdf([["What to do with turkey", "that is left over"], ["Turkeys fly badly"]])
    documents = [
        DocumentRow("a", long, "A paper", "", "application/pdf"),
        DocumentRow("b", b"%PDF-1.7 nothing", "No paper", "", "application/pdf"),
        DocumentRow("c", picture("png", 300, 200), "A turkey on a plate", "", "image/png"),
    ]
    return CampaignRows([Topic("t", "turkey")], documents, [("t", one.name) for one in documents])


def titled(page: Page, title: str) -> None:
    """Go on to the document of this title; the order is another one for each worker."""
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    for _ in range(3):
        if page.locator(".doc-title").inner_text() == title:
            break
        page.keyboard.press("ArrowRight")
    expect(page.locator(".doc-title")).to_have_text(title)
    expect(page.locator(".page")).not_to_have_attribute("aria-busy", "true")


def test_find_zoom_and_underlining_in_a_pdf_document(browser: Browser, tmp_path: Path) -> None:
    with serve_campaign(tmp_path, PLAN, material()) as site:
        undrawn = undrawn_documents(site.store, tmp_path)
        while draw_one(site.store, tmp_path, undrawn):
            pass
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.goto(site.link)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Start").click()
        titled(page, "A paper")
        leaf = page.locator(".leaf").first
        expect(page.locator(".leaf")).to_have_count(2)
        expect(page.get_by_role("figure", name="Page 1 of 2")).to_contain_text("left over")
        image = leaf.locator("img")
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("one => one.naturalWidth") == 1200
        page.wait_for_function("() => CSS.highlights.get('terms-reader')?.size")
        assert page.evaluate(DRAWN, "terms-reader") == ["turkey", "Turkeys"]
        page.get_by_label("Find in this document").fill("left")
        expect(page.locator(".hits")).to_have_text("1 of 1")
        assert page.evaluate(DRAWN, "here-reader") == ["left"]
        on_its_words(page)
        keep_picture(page, "pdf")
        before = leaf.bounding_box()
        page.get_by_role("button", name="Larger text").click()
        after = leaf.bounding_box()
        assert before
        assert after
        assert after["width"] > before["width"]
        on_its_words(page)
        titled(page, "No paper")
        expect(page.locator(".page")).to_contain_text("cannot be shown here")
        titled(page, "A turkey on a plate")
        expect(page.get_by_role("img", name="A turkey on a plate")).to_be_visible()
        keep_picture(page, "image")
        in_place(page)
        page.keyboard.press("1")
        page.close()


def test_what_a_lost_network_does_to_pictures(browser: Browser, tmp_path: Path) -> None:
    pages = [["What to do with turkey"], ["Turkeys fly badly"], ["The end"]]
    documents = [
        DocumentRow("a", pdf(pages), "A paper", "", "application/pdf"),
        DocumentRow("b", picture("png", 300, 200), "A turkey on a plate", "", "image/png"),
    ]
    pool = [("t", one.name) for one in documents]
    made = CampaignRows([Topic("t", "turkey")], documents, pool)
    with serve_campaign(tmp_path, PLAN, made) as site:
        undrawn = undrawn_documents(site.store, tmp_path)
        while draw_one(site.store, tmp_path, undrawn):
            pass
        context = browser.new_context(viewport={"width": 1200, "height": 600})
        page = context.new_page()
        whole, second_page = "**/original/*", "**/original/*/2"
        for address in (whole, second_page):
            page.route(address, lambda route: route.abort("internetdisconnected"))
        page.goto(site.link)
        for name in ("Continue", "Start"):
            page.get_by_role("button", name=name).click()
        titled(page, "A turkey on a plate")
        expect(page.locator(".page")).to_contain_text("cannot be loaded now")
        page.keyboard.press("b")  # it is not broken, and nobody says that it is
        expect(page.locator(".notes")).to_contain_text("not here yet")
        assert site.events() == []
        page.unroute(whole)
        page.get_by_role("button", name="Try again").click()
        in_place(page)
        titled(page, "A paper")
        in_place(page)
        second = page.locator(".leaf").nth(1)
        second.scroll_into_view_if_needed()
        expect(second).to_have_class("leaf lost")
        expect(page.get_by_text("The picture of this page cannot be loaded").first).to_be_visible()
        words = second.locator(".layer span").first
        assert words.evaluate("one => getComputedStyle(one).color") == "rgb(0, 0, 0)"
        page.unroute(second_page)
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(second).to_have_class("leaf")
        assert words.evaluate("one => getComputedStyle(one).color") == "rgba(0, 0, 0, 0)"
        page.keyboard.press("1")
        saved(page)
        assert len(site.events()) == 1
        context.close()


def on_its_words(page: Page) -> None:
    """The unseen text lies where the picture shows it: 30 of 400 units in, at its full width."""
    leaf, piece = page.locator(".leaf").first, page.locator(".layer span").first
    whole, part = leaf.bounding_box(), piece.bounding_box()
    assert whole
    assert part
    assert (part["x"] - whole["x"]) / whole["width"] == pytest.approx(30 / 400, abs=0.01)
    assert (part["y"] - whole["y"]) / whole["height"] == pytest.approx(37 / 500, abs=0.02)
    assert 0.4 < part["width"] / whole["width"] < 0.6
