"""From an empty folder to a launched campaign, in a browser; every page of the wizard by axe."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import serve, settings_in
from tests.browser.test_accessibility import problems
from tests.collection.campaign_files import write_files
from tests.collection.conftest import postgresql, url

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.web import tasks
from qrowd.web.pages.drafts import wizard_pages
from qrowd.web.robots import rehearsal
from qrowd.web.settings import Settings, set_up_code

__all__ = ["postgresql", "url"]
MOST_ACTIONS = 28
PATIENCE = 60_000
WIDTHS = (320, 1280)


class Hands:
    """Somebody at a browser; every click, choice and filled field is counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.actions = page, 0
        page.set_default_timeout(PATIENCE)

    def fill(self, label: str, text: str) -> None:
        """Fill a field."""
        self.page.get_by_label(label, exact=True).fill(text)
        self.actions += 1

    def upload(self, label: str, *paths: Path) -> None:
        """Choose files."""
        self.page.get_by_label(label, exact=True).set_input_files(list(paths))
        self.actions += 1

    def choose(self, label: str) -> None:
        """Choose one of several."""
        self.page.get_by_label(label).check()
        self.actions += 1

    def press(self, name: str, role: Any = "button") -> None:
        """Press a button, or follow a link that looks like one."""
        self.page.get_by_role(role, name=name).first.click()
        self.actions += 1

    def on(self, heading: str) -> None:
        """Wait until a page is there."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading, timeout=PATIENCE)


@contextmanager
def working(store: Store, settings: Settings) -> Iterator[None]:
    """Jobs are done, as `qrowd serve` does in a process of its own."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.2):
            tasks.run_one(store, settings.folder)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE / 1000)


def sign_up(hands: Hands, settings: Settings) -> None:
    """By the link that `qrowd serve` prints."""
    hands.page.goto(f"{settings.address}/set-up?code={set_up_code(settings)}")
    hands.fill("Name to sign in with", "ann")
    hands.fill("Password", "a long password")
    hands.press("Make the account")


def answer_all(hands: Hands, paths: dict[str, Path]) -> None:
    """Every question that has no usual answer, from the list of campaigns to who would pass."""
    hands.press("New campaign")
    hands.fill("Title", "Which pages help?")
    hands.press("Continue")
    hands.upload("File of topics", paths["topics"])
    hands.press("Continue")
    hands.upload("Documents", paths["documents"])
    hands.press("Continue")
    hands.upload("Runs of the systems", paths["run"], paths["other"])
    hands.press("Continue")
    hands.choose("The first 5 of each run")
    side = hands.page.locator("#side")
    expect(side).to_contain_text("24 documents of 3 topics")
    hands.press("Continue")
    for _ in ("mode", "way", "grades", "sets"):
        hands.press("Continue")
    hands.choose("Five")
    expect(side).to_contain_text("120 was 72")
    hands.press("Continue")
    hands.upload("Graded documents", paths["gold"])
    hands.press("Take the suggestions for the rest")
    hands.on("Who would pass?")
    expect(hands.page.get_by_role("status").first).to_contain_text("gold.tsv was read")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two dry runs, of the whole campaign: of a part of it, their sum would be noise."""
    monkeypatch.setattr(rehearsal, "TIMES", 2)


@pytest.mark.usefixtures("quick")
def test_from_an_empty_folder_to_launched(browser: Browser, tmp_path: Path, url: str) -> None:
    paths = write_files(tmp_path / "mine")
    folder = settings_in(tmp_path / "server")
    settings = Settings.of_folder(folder.folder, url, folder.address)
    open_store(url, new=True).engine.dispose()
    errors: list[str] = []
    with serve(settings) as store, working(store, settings):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        hands = Hands(page)
        sign_up(hands, settings)
        answer_all(hands, paths)
        expect(page.locator("figure.picture svg")).to_be_visible()
        hands.press("Continue", "link")
        hands.press("Start the dry run")
        expect(page.get_by_text("until the last answer")).to_be_visible(timeout=5 * PATIENCE)
        assert problems(page) == []  # by axe
        hands.press("Continue", "link")
        expect(page.get_by_label("Licence of the judgements")).to_have_value("CC BY 4.0")
        hands.fill("Whom others can ask", "ann@example.org")
        hands.press("Launch")
        expect(page.get_by_text("This will cost about")).to_be_visible()
        assert problems(page) == []
        hands.press("Launch")
        expect(page.get_by_text("People can start now")).to_be_visible()
        with store.read("which-pages-help") as work:
            assert work.state == "running"
            assert work.plan.release.contact == "ann@example.org"
        assert errors == []
        assert hands.actions <= MOST_ACTIONS, hands.actions
        context.close()


def test_every_page_of_the_wizard(browser: Browser, tmp_path: Path) -> None:
    paths = write_files(tmp_path / "mine")
    settings = settings_in(tmp_path / "server")
    open_store(settings.database, new=True).engine.dispose()
    with serve(settings):
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        hands = Hands(page)
        sign_up(hands, settings)
        answer_all(hands, paths)
        address = page.url.rpartition("/")[0]
        steps = [f"{address}/{step}" for step in (*wizard_pages(), "gold/grade", "plan")]
        others = [f"{settings.address}/{name}" for name in ("campaigns", "accounts")]
        found = {}
        for where in (*steps, *others):
            page.goto(where)
            page.evaluate(
                "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
            )
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                found[where, width] = problems(page)
        assert {name: each for name, each in found.items() if each} == {}
        context.close()


def test_what_was_chosen_is_there_without_scripts(browser: Browser, tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "server")
    open_store(settings.database, new=True).engine.dispose()
    with serve(settings):
        context = browser.new_context(java_script_enabled=False)
        hands = Hands(context.new_page())
        sign_up(hands, settings)
        hands.press("New campaign")
        hands.fill("Title", "A title")
        hands.press("Continue")
        hands.on("Which topics?")
        hands.page.go_back()
        hands.page.reload()
        expect(hands.page.get_by_label("Title", exact=True)).to_have_value("A title")
        context.close()


def test_fields_without_effect_are_grey_and_say_why(browser: Browser, tmp_path: Path) -> None:
    paths = write_files(tmp_path / "mine")
    settings = settings_in(tmp_path / "server")
    open_store(settings.database, new=True).engine.dispose()
    with serve(settings):
        context = browser.new_context()
        page = context.new_page()
        hands = Hands(page)
        sign_up(hands, settings)
        answer_all(hands, paths)
        page.goto(f"{page.url.rpartition('/')[0]}/checks")
        after = page.get_by_label("The batch with which a person is out")
        why = page.get_by_text("Without effect: no check above screens out")
        seconds = page.locator("select[name='checks.seconds.action']")
        expect(after).to_be_enabled()
        expect(why).to_be_hidden()
        seconds.select_option("exclude")
        expect(after).to_be_disabled()
        expect(why).to_be_visible()
        checks = page.url
        hands.press("Continue")
        page.wait_for_url(lambda url: url != checks)
        page.goto(checks)  # as the server shows it
        expect(after).to_be_disabled()
        expect(why).to_be_visible()
        expect(after).to_have_value("2")  # kept, for when it matters again
        seconds.select_option("none")
        expect(page.get_by_label("Seconds for a document, at least")).to_be_disabled()
        assert problems(page) == []
        context.close()
