"""From a launched campaign to fifty people who are invited, in a browser; somebody says no."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Locator, Page, expect
from tests.browser.serving import Site, serve, settings_in
from tests.browser.test_accessibility import problems
from tests.browser.test_live import PASSWORD, signed_in
from tests.collection.making import PLAN, make_site

from qrowd.collection.people import letters
from qrowd.collection.record import audit
from qrowd.web.accounts import new_account

N = 50
PEOPLE = "person\temail\tname\tlanguage\n" + "".join(
    f"p{at}\tperson{at}@example.org\tPerson {at}\t{'de' if at % 5 == 4 else 'en'}\n"
    for at in range(N)
)


@contextmanager
def launched(folder: Path, mail: str) -> Iterator[Site]:
    """A campaign that was launched a moment ago, on a server without or with mail."""
    settings = replace(settings_in(folder), mail=mail)
    made = make_site(f"sqlite:///{settings.database}", PLAN)
    with made.store.write("tiny") as work:
        new_account(work.db, work.now, "ann", PASSWORD, administrator=True)
    made.store.engine.dispose()
    with serve(settings) as store:
        yield Site(settings.address, f"{settings.address}/campaigns/tiny", store)


class Hand:
    """Counts what an organiser does: a press of a button or a link, a field that is filled."""

    def __init__(self) -> None:
        self.actions = 0

    def press(self, target: Locator) -> None:
        """One action."""
        self.actions += 1
        target.click()

    def fill(self, target: Locator, text: str) -> None:
        """One action, however much is pasted."""
        self.actions += 1
        target.fill(text)


def test_fifty_people_are_invited_in_six_actions_and_one_declines(
    browser: Browser, tmp_path: Path
) -> None:
    found = {}
    with launched(tmp_path, "") as site:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page, hand = context.new_page(), Hand()
        signed_in(page, site)
        page.goto(site.link)
        hand.press(page.get_by_role("link", name="Invite people"))
        found["before"] = looked_at(page, "people-0-before")
        hand.fill(page.get_by_label("Whom"), PEOPLE)
        sender = page.get_by_role("textbox", name="Address that letters")
        hand.fill(sender, "lab@example.org")
        hand.press(page.get_by_role("button", name="See the letter"))
        expect(page.get_by_role("heading", name=f"Invite {N} people?")).to_be_visible()
        expect(page.locator(".letter").first).to_contain_text("Hello Person 0,")
        found["letter"] = looked_at(page, "people-1-letter")
        hand.press(page.get_by_role("button", name=f"Invite {N} people"))
        expect(page.get_by_role("heading", name=f"{N} letters wait to be sent")).to_be_visible()
        hand.press(page.get_by_role("button", name="Copy all"))
        expect(page.get_by_text(f"{N} rows are copied.")).to_be_visible()
        assert hand.actions <= 6
        copied = page.evaluate("navigator.clipboard.readText()").strip().splitlines()
        assert len(copied) == 1 + N
        assert copied[1].split("\t")[:3] == ["p0", "person0@example.org", "Person 0"]
        page.get_by_role("button", name="I have sent them").click()
        expect(page.get_by_text("They count as sent.")).to_be_visible()
        found["decline"], found["declined"] = declines(browser, site)
        page.reload()
        expect(page.get_by_role("row", name="not interested 1")).to_be_visible()
        context.close()
    assert {name: each for name, each in found.items() if each} == {}


def test_a_server_with_mail_sends_them_by_one_more_press(browser: Browser, tmp_path: Path) -> None:
    with launched(tmp_path, "smtp://localhost") as site:
        with site.store.write("tiny") as work:
            audit.perform(work, "ann", "change mail", {"contact": "lab@example.org"})
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page, hand = context.new_page(), Hand()
        signed_in(page, site)
        page.goto(site.link)
        hand.press(page.get_by_role("link", name="Invite people"))
        hand.fill(page.get_by_label("Whom"), PEOPLE)
        hand.press(page.get_by_role("button", name="See the letter"))
        hand.press(page.get_by_role("button", name=f"Invite {N} people"))
        send = page.get_by_role("button", name=f"Send {N} letters")
        expect(send).to_be_visible()
        waiting = looked_at(page, "people-2-waiting")
        hand.press(send)
        expect(page.get_by_text(f"{N} letters are going out")).to_be_visible()
        assert hand.actions <= 6
        assert [*waiting, *looked_at(page, "people-3-going")] == []
        context.close()


def declines(browser: Browser, site: Site) -> tuple[list[object], list[object]]:
    """A person who reads German opens the letter's link, in a browser of their own, and says no."""
    with site.store.read("tiny") as work:
        row = next(row for row in letters.invited(work) if row.platform_id == "p4")
        address = letters.words_of(work, row, 0, site.address).decline
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    expect(page.get_by_role("heading", name="Kein Interesse?")).to_be_visible()
    before = looked_at(page, "decline-0")
    page.get_by_role("button").click()
    expect(page.get_by_role("heading", name="Ihnen schreibt niemand mehr")).to_be_visible()
    after = looked_at(page, "decline-1")
    context.close()
    return before, after


def looked_at(page: Page, picture: str) -> list[object]:
    """What is wrong with a page at 320 px and wide, in both themes."""
    found: list[object] = []
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        found += [(width, each) for each in problems(page, f"{picture}-{width}")]
    return found
