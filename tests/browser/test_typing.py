"""Keys that come faster than the network: none is lost, and "Saved" is not said too early."""

from __future__ import annotations

from playwright.sync_api import Browser, expect
from tests.browser.serving import Site
from tests.browser.walking import saved, start, two_tabs

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
    for key in "012012012012":
        page.keyboard.press(key)
    expect(page.get_by_role("heading", level=1)).to_have_text("You have answered everything")
    saved(page)
    assert [one.grade for one in site.events()] == [0, 1, 2] * 4
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
    page.keyboard.press("1")
    assert page.locator(".saved").get_attribute("data-state") == "saving"
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
    one.keyboard.press("2")
    expect(one.locator(".saved")).to_have_attribute("data-state", "waiting")
    two.evaluate("dispatchEvent(new Event('online'))")
    expect(one.locator(".saved")).to_have_attribute("data-state", "saved")
    one.unroute("**/answers")
    one.keyboard.press("u")
    saved(one)
    assert [(said.kind, said.stale) for said in site.events()] == [("grade", 0), ("clear", 0)]
    one.context.close()
