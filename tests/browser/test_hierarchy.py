"""Mode hierarchy from a plan file to its end, by pages only: organiser, expert, two people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")
pytest.importorskip("sklearn", reason="reading documents needs the extra text")

from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import serve, settings_in
from tests.browser.test_accessibility import problems
from tests.browser.test_wizard import Hands, sign_up, working
from tests.browser.walking import PICTURES, THEMES, saved

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.verification import broken

PLAN = """
[campaign]
name = "phases"
title = "Which pages help?"
mode = "hierarchy"
[scale]
grades = [0, 1]
labels = ["Not relevant", "Relevant"]
[files]
topics = "topics.tsv"
documents = "documents.jsonl"
pool = "pool.tsv"
[sets]
size = 5
target = 2
[hierarchy]
training = 1
hours = 0
[hit]
sets = 1
gold = 0
[checks.seconds]
at_least = 0
[people]
entry = "open"
"""
WORDS = ("alpha beta gamma delta", "one two three four")
N = 20
WIDTHS = (320, 1280)


def write_files(folder: Path) -> list[Path]:
    """The plan and its files; documents say which of both kinds they are."""
    folder.mkdir()
    rows = [
        {"id": f"d{at:02}", "title": f"Page {at:02}", "text": f"{WORDS[at % 2]} number{at:02}"}
        for at in range(N)
    ]
    files = {
        "plan.toml": PLAN,
        "topics.tsv": "topic\tquery\nt0\ta query\n",
        "documents.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "pool.tsv": "topic\tdoc\n" + "".join(f"t0\td{at:02}\n" for at in range(N)),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return [folder / name for name in files]


def come(browser: Browser, address: str, name: str) -> Page:
    """Somebody new, up to the first document."""
    page = browser.new_context().new_page()
    page.goto(f"{address}/judge/phases?worker={name}")
    for button in ("Continue", "Start"):
        page.get_by_role("button", name=button, exact=True).click()
    return page


def judge(page: Page, answer: Callable[[str, bool], bool]) -> int:
    """A whole batch, as `answer` says of a document's text, and whether it is relevant."""
    page.locator(".page .text").wait_for()
    documents = int(page.locator(".where").inner_text().split()[-1])
    text = ""
    for _ in range(documents):
        expect(page.locator(".page .text")).not_to_have_text(text)  # each says something else
        text, before = page.locator(".page .text").inner_text(), page.locator(".where").inner_text()
        page.keyboard.press("1" if answer(text, WORDS[1] in text) else "0")
        expect(page.locator(".where")).not_to_have_text(before)
    saved(page)
    page.get_by_role("button", name="Finish the batch").click()
    return documents


def hand_in(page: Page) -> None:
    """What is shown before that is read; then the next batch."""
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("that went well")
    page.get_by_role("button", name="Next batch").click()


def right(_: str, relevant: bool) -> bool:
    return relevant


def errs_on_one() -> Callable[[str, bool], bool]:
    """Whoever calls the first document relevant that is not."""
    seen: list[str] = []

    def answer(text: str, relevant: bool) -> bool:
        if not relevant:
            seen.append(text)
        return relevant or len(seen) == 1

    return answer


def decide(page: Page, address: str) -> None:
    """An expert decides the first case as its text says."""
    page.goto(f"{address}/campaigns/phases/experts/next")
    text = page.locator(".page .text")
    text.wait_for()
    kind = "Relevant" if WORDS[1] in text.inner_text() else "Not relevant"
    page.get_by_label("Why, in a few words").fill("it counts")
    page.get_by_role("button", name=kind, exact=True).click()
    expect(page.get_by_role("heading", name="What judges said")).to_be_visible()
    page.get_by_role("button", name="Keep").or_(
        page.get_by_role("button", name="They were careless")
    ).click()
    expect(page.locator(".done")).to_contain_text(f"Decided: {kind}.")


def test_from_a_plan_to_the_end(browser: Browser, tmp_path: Path) -> None:
    paths = write_files(tmp_path / "mine")
    settings = settings_in(tmp_path / "server")
    open_store(settings.database, new=True).engine.dispose()
    with serve(settings) as store, working(store, settings):
        office = browser.new_context().new_page()
        hands, at = Hands(office), f"{settings.address}/campaigns/phases/hierarchy"
        sign_up(hands, settings)
        office.get_by_text("From a plan file").click()
        hands.upload("Plan file", *paths)
        hands.press("Read it")
        office.goto(f"{office.url.rpartition('/')[0]}/launch")
        for _ in range(2):
            hands.press("Launch")
        expect(office.get_by_text("People can start now")).to_be_visible()

        def shows(*words: str) -> None:
            office.goto(at)
            for each in words:
                expect(office.locator("main")).to_contain_text(each)

        shows("training", "2 judgements of whole sets of training", "not known yet")
        ann, bob = (come(browser, settings.address, name) for name in ("ann", "bob"))
        assert judge(ann, right) == 5
        hand_in(ann)
        expect(ann.locator("main")).to_contain_text("there will be more")
        taught: list[str] = []

        def errs_once(text: str, relevant: bool) -> bool:
            taught.append(text)
            return relevant != (len(taught) == 1)

        judge(bob, errs_once)
        hand_in(bob)
        shows("nobody has an account as an expert yet", "experts: one document")
        hands.press("Make an account for an expert", "link")
        hands.fill("Name to sign in with", "eve")
        hands.choose("Judge as an expert")
        hands.press("Invite")
        link = office.locator("pre").inner_text()
        expert = browser.new_context().new_page()
        expert.goto(link)
        expert.get_by_label("Choose a password").fill("a long password")
        expert.get_by_role("button").first.click()
        decide(expert, settings.address)
        shows("judging")
        for page in (ann, bob):
            page.get_by_role("button", name="Look again").click()
        for batch in range(3):
            judge(ann, right)
            hand_in(ann)
            judge(bob, right if batch else errs_on_one())
            if not batch:  # what the expert said of training
                expect(bob.locator("main")).to_contain_text("What experts say")
                expect(bob.locator("main")).to_contain_text("it counts")
                assert problems(bob) == []
                bob.get_by_role("button", name="Hand in").click()
            hand_in(bob)
        shows("has not been worked out")
        hands.press("Work out what the texts say now")
        for _ in range(40):
            office.goto(at)
            if "looks at again" in office.locator("main").inner_text():
                break
            office.wait_for_timeout(500)
        shows("revision", "one answer that its person looks at again", "1.00")
        bob.get_by_role("button", name="Look again").click()
        bob.locator(".page .text").wait_for()
        expect(bob.locator(".earlier")).to_contain_text("You said: Relevant.")
        assert problems(bob) == []
        bob.screenshot(path=PICTURES / "revision.png")
        judge(bob, lambda _text, _relevant: True)  # it is kept
        hand_in(bob)
        shows("experts: one document", "Looked at again")
        decide(expert, settings.address)
        shows("All topics are done.", "done")
        for width in WIDTHS:
            office.set_viewport_size({"width": width, "height": 900})
            for theme in THEMES:
                office.emulate_media(color_scheme=theme)
                office.screenshot(path=PICTURES / f"hierarchy-{width}-{theme}.png", full_page=True)
            assert problems(office) == []  # in both themes
        with store.read("phases") as work:
            assert broken(work) == []
        for page in (office, expert, ann, bob):
            page.context.close()
