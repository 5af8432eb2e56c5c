"""Keys that come faster than the network: none is lost, "Saved" is not said too early, and nothing
is said of a document that is not there.
"""

from __future__ import annotations

from playwright.sync_api import Browser, Route, expect
from tests.browser.serving import Site
from tests.browser.walking import in_place, saved, start, two_tabs

# Locks are given back late, as browsers under load do.
LATE_LOCKS = """
const real = navigator.locks.request.bind(navigator.locks);
navigator.locks.request = async (name, act) => {
  const found = await real(name, act);
  await new Promise((done) => setTimeout(done, 400));
  return found;
};
"""


def test_a_whole_batch_typed_at_once(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    page.wait_for_load_state("networkidle")  # the whole batch is here
    page.route("**/documents/**", lambda route: route.abort())
    for key in "012012012012":
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("You have answered everything")
    saved(page)
    assert [one.grade for one in site.events()] == [0, 1, 2] * 4
    page.close()


def test_nothing_is_said_of_a_document_that_is_not_in_its_place(
    browser: Browser, site: Site
) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(site.link)
    page.route("**/documents/**", lambda _: None)  # held until there is no route
    for name in ("Continue", "I agree", "Start"):
        page.get_by_role("button", name=name, exact=True).press("Enter")
    where, notes = page.locator(".where"), page.locator(".notes")
    expect(where).to_contain_text("document 1 of")
    for key in "1xb":
        page.keyboard.press(key)
        expect(notes).to_contain_text("not here yet")
    expect(page.get_by_role("button", name="Highly relevant")).to_be_disabled()
    page.route("**/documents/**", lambda route: route.abort())  # the first one stays held
    page.keyboard.press("ArrowRight")  # this one cannot be fetched
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.keyboard.press("1")
    expect(notes).to_contain_text("not here yet")
    page.unroute("**/documents/**")
    page.evaluate("dispatchEvent(new Event('online'))")  # it comes by itself
    expect(page.locator(".page .text")).to_be_visible()
    assert site.events() == []
    in_place(page)
    page.keyboard.press("1")
    saved(page)
    assert [one.grade for one in site.events()] == [1]
    page.close()


def test_a_double_click_says_nothing_of_the_next_document(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    page.wait_for_load_state("networkidle")
    for at, name in enumerate(("Relevant", "Cannot tell", "Broken page"), 1):
        in_place(page)
        page.get_by_role("button", name=name, exact=True).dblclick()
        expect(page.locator(".where")).to_contain_text(f"document {at + 1} of")
    saved(page)
    assert [one.kind for one in site.events()] == ["grade", "cannot-tell", "broken"]
    page.close()


def test_one_that_cannot_be_shown_does_not_keep_the_others_away(
    browser: Browser, site: Site
) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    asked: list[str] = []

    def fail_third(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 3:
            route.fulfill(status=500, json={"error": {"code": "unforeseen", "message": ""}})
        else:
            route.continue_()

    page.route("**/documents/*/*", fail_third)
    start(page, site.link)
    page.wait_for_load_state("networkidle")
    assert len(asked) == 12  # the whole batch
    page.close()


def test_what_cannot_be_shown_can_only_be_broken(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    nothing = {"kind": "none", "title": "", "html": "", "original": "", "cut": False, "pages": []}
    page.route("**/documents/*/*", lambda route: route.fulfill(json=nothing))
    page.goto(site.link)
    for name in ("Continue", "I agree", "Start"):
        page.get_by_role("button", name=name, exact=True).press("Enter")
    expect(page.locator(".page")).to_contain_text("cannot be shown here")
    page.keyboard.press("2")
    expect(page.locator(".notes")).to_contain_text("What cannot be seen cannot be graded")
    page.locator(".page").get_by_role("button", name="Broken page").click()
    expect(page.locator(".where")).to_contain_text("document 2 of")
    saved(page)
    assert [one.kind for one in site.events()] == ["broken"]
    page.close()


def test_a_key_while_a_turn_of_sending_ends(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.add_init_script(LATE_LOCKS)
    start(page, site.link)
    for at, key in enumerate("012", 1):
        page.keyboard.press(key)
        saved(page)  # "Saved" is said before the lock is given back
        assert len(site.events()) == at
    page.close()


def test_saved_is_said_after_the_commit_only(browser: Browser, site: Site) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    start(page, site.link)
    page.route("**/answers", lambda _: None)  # held until there is no route
    saved(page)
    in_place(page)
    page.keyboard.press("1")
    assert page.locator(".saved").get_attribute("data-state") == "saving"
    in_place(page)
    page.keyboard.press("2")  # a key while a save is under way
    expect(page.locator(".where")).to_contain_text("document 3 of")
    assert site.events() == []
    page.unroute("**/answers")
    saved(page)
    assert [one.grade for one in site.events()] == [1, 2]
    page.close()


def test_one_tab_sends_what_another_could_not(browser: Browser, site: Site) -> None:
    one, two = two_tabs(browser, site.link)
    one.route("**/answers", lambda route: route.abort())
    in_place(one)
    one.keyboard.press("2")
    expect(one.locator(".saved")).to_have_attribute("data-state", "waiting")
    two.evaluate("dispatchEvent(new Event('online'))")
    expect(one.locator(".saved")).to_have_attribute("data-state", "saved")
    one.unroute("**/answers")
    one.keyboard.press("u")
    saved(one)
    assert [(said.kind, said.stale) for said in site.events()] == [("grade", 0), ("clear", 0)]
    one.context.close()
