"""The page inside a platform's page, where browsers send no cookies; keys that are changed."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Route, expect
from sqlalchemy import select
from tests.browser.serving import Site, serve_campaign
from tests.browser.walking import in_place, saved, start
from tests.collection.making import material

from qrowd.collection.database.schema import assignment
from qrowd.collection.judging import submission

PLAN = """
[campaign]
name = "tiny"
[sets]
size = 2
[hit]
sets = 1
gold = 0
[checks.seconds]
at_least = 0
[platform]
preset = "mturk"
places = 3
"""
# as long as the platform's own: others are refused
ASSIGNMENT, HIT, WORKER = "3" * 30, "4" * 30, "A1B2C3D4E5F6G7"
HOST = "https://www.mturk.com"


def test_a_batch_in_a_frame_without_cookies(browser: Browser, tmp_path: Path) -> None:
    with serve_campaign(tmp_path, PLAN, material(topics=1, pool=2, gold_sets=0)) as site:
        context = browser.new_context(viewport={"width": 1000, "height": 800})
        page = context.new_page()

        def host(route: Route) -> None:
            ids = {"assignmentId": ASSIGNMENT, "hitId": HIT, "workerId": WORKER}
            given = {**ids, "turkSubmitTo": HOST}
            inside = f"{site.address}/judge/tiny?{urlencode(given)}"
            body = f"<iframe src='{inside}' width=900 height=700></iframe>"
            route.fulfill(body=body, content_type="text/html")

        page.route(f"{HOST}/**", host)
        page.goto(f"{HOST}/work")
        frame = page.frame_locator("iframe")
        for name in ("Continue", "Start"):
            frame.get_by_role("button", name=name, exact=True).click()
        for _ in range(2):
            frame.get_by_role("button", name="Relevant", exact=True).click()
        frame.get_by_role("button", name="Finish the batch").click()
        expect(frame.get_by_role("heading", level=1)).to_contain_text("that went well")
        assert len(site.events()) == 2
        with page.expect_request(f"{HOST}/mturk/externalSubmit") as sent:
            frame.get_by_role("button", name="Finish for today").click()
        assert f"assignmentId={ASSIGNMENT}" in (sent.value.post_data or "")
        context.close()


def test_keys_can_be_changed_and_switched_off(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    page.keyboard.press("?")
    page.get_by_role("textbox", name="Broken page").press("k")
    page.get_by_role("textbox", name="Undo").press("k")
    expect(page.get_by_role("alert")).to_contain_text("used for")
    page.get_by_role("button", name="Close").press("Enter")
    in_place(page)
    page.keyboard.press("b")
    page.keyboard.press("k")
    expect(page.locator(".where")).to_contain_text("document 2 of")
    page.get_by_role("button", name="Keys and help").click()
    page.get_by_label("Use keys").uncheck()
    page.get_by_role("button", name="Close").click()
    in_place(page)
    page.keyboard.press("1")
    page.get_by_role("button", name="Cannot tell").click()
    expect(page.locator(".where")).to_contain_text("document 3 of")
    saved(page)
    assert [one.kind for one in site.events()] == ["broken", "cannot-tell"]
    page.close()


def test_a_key_right_after_a_dialog_is_closed(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    page.keyboard.press("?")
    page.get_by_role("button", name="Close").focus()
    page.evaluate("""() => {  // before the browser draws again
      document.activeElement.click();
      const pressed = new KeyboardEvent("keydown", { key: "b", bubbles: true });
      document.activeElement.dispatchEvent(pressed);
    }""")
    expect(page.locator(".where")).to_contain_text("document 2 of")
    saved(page)
    assert [one.kind for one in site.events()] == ["broken"]
    page.close()


def test_a_batch_that_ends_while_it_is_open(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    with site.store.write("try") as work:
        row = work.db.execute(select(assignment)).one()
        submission.give_back(work, row.worker_id, row.key)
    in_place(page)
    page.keyboard.press("1")
    expect(page.get_by_role("heading", level=1)).to_contain_text("This batch is closed")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Nothing to do just now")
    page.close()
