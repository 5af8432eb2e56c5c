"""An expert's and an organiser's way in a real browser; axe in both themes, narrow and wide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.adjudicating import serve_disputed, sign_in
from tests.browser.serving import Site, serve_campaign
from tests.browser.test_accessibility import problems
from tests.browser.walking import in_place, start

from qrowd.collection.adjudication import cases
from qrowd.web import tasks
from qrowd.web.trial import plan_text, trial_rows


@pytest.fixture
def disputed(tmp_path: Path) -> Iterator[Site]:
    """The trial campaign after three disagreed."""
    with serve_disputed(tmp_path) as site:
        yield site


EDGE = "one => getComputedStyle(one).borderBottomColor"


def run_jobs(site: Site, folder: Path) -> None:
    """What the process for jobs would do."""
    while tasks.run_one(site.store, folder):
        pass


def test_blind_then_decided_then_answered(browser: Browser, disputed: Site) -> None:
    page = browser.new_context().new_page()
    sign_in(page, disputed.address, "eve")
    page.get_by_role("link", name="Which pages help?").first.click()
    page.get_by_role("link", name="Start").click()
    expect(page.get_by_text("What others said is shown after that.")).to_be_visible()
    assert "would not know what to do" not in page.content()
    page.get_by_label("Why, in a few words").fill("it is a recipe")
    page.get_by_role("button", name="Highly relevant").click()
    expect(page.get_by_role("heading", name="What judges said")).to_be_visible()
    expect(page.get_by_text("I would not know what to do with it.")).to_be_visible()
    page.get_by_text("Add to the topic's instructions").first.click()
    page.get_by_label("Add to the topic's instructions").fill("A list of links is not advice.")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator(".done")).to_contain_text("Decided: Highly relevant.")
    page.goto(f"{disputed.address}/campaigns/try/experts")
    page.locator(".decisions a").first.click()
    page.get_by_role("button", name="Not relevant").click()
    expect(page.get_by_text("The page says how to water them.")).to_be_visible()
    page.get_by_label("It stays in use.").check()
    page.get_by_label("What you write to the worker").fill("It does, but not why they are yellow.")
    page.get_by_role("button", name="Send the answer").click()
    expect(page.locator(".done")).to_contain_text("The answer was sent.")


def test_a_mornings_cases_by_keys_alone_and_taken_back_one_by_one(
    browser: Browser, disputed: Site
) -> None:
    page = browser.new_context(viewport={"width": 1200, "height": 800}).new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    sign_in(page, disputed.address, "eve")
    page.goto(f"{disputed.address}/campaigns/try/experts")
    page.get_by_role("link", name="Start").click()
    page.evaluate("window.isTheSamePage = true")
    title, told = page.locator("h1"), page.locator(".done")
    titles: list[str] = []
    for _ in range(3):
        expect(page.locator(".page .text")).to_be_visible()
        expect(page.locator(".page")).not_to_have_attribute("aria-busy", "true")
        titles.append(title.inner_text())
        page.keyboard.press("/")
        page.keyboard.type("2")  # in a field, keys are only text
        page.keyboard.press("Escape")
        expect(title).to_have_text(titles[-1])
        page.keyboard.press("0")
        page.wait_for_function(
            "before => document.querySelector('.tally')"
            " || document.querySelector('h1').textContent !== before",
            arg=titles[-1],
        )
        if page.locator(".tally").count():  # somebody said something else
            expect(page.get_by_text("mentions the thing").first).to_be_visible()
            expect(page.locator("#alike h2")).to_be_visible()
            page.keyboard.press("c" if page.locator(".codes").count() else "Enter")
        expect(title).not_to_have_text(titles[-1])
        expect(told).to_contain_text("Decided: Not relevant.")
    for last in reversed(titles):
        expect(page.locator(".page")).not_to_have_attribute("aria-busy", "true")
        page.keyboard.press("u")
        expect(title).to_have_text(last)
        expect(page.get_by_text("What others said is shown after that.")).to_be_visible()
    expect(page.get_by_role("button", name="Take back")).to_have_count(0)
    assert page.evaluate("window.isTheSamePage")  # one case takes the place of the other
    with disputed.store.read("try") as work:
        assert cases.decisions(work) == []
    assert problems == []
    page.context.close()


def test_no_case_is_decided_before_its_document_is_in_its_place(
    browser: Browser, disputed: Site
) -> None:
    page = browser.new_context().new_page()
    sign_in(page, disputed.address, "eve")
    # both from the beginning: a request could pass while the browser begins to hold them
    documents, decisions = "**/experts/reading?*", "**/experts/pair"
    page.route(documents, lambda route: route.abort())
    page.route(decisions, lambda route: route.fulfill(status=503, body="away"))
    page.goto(f"{disputed.address}/campaigns/try/experts/next")
    expect(page.locator(".page")).to_contain_text("cannot be loaded now")
    page.keyboard.press("2")
    expect(page.get_by_text("It can be judged when it is in its place.")).to_be_visible()
    page.unroute(documents)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator('.case-bar [aria-disabled="true"]')).to_have_count(0)
    expect(page.locator("#unsent")).to_be_hidden()
    assert not page.locator(".tally").count()
    page.keyboard.press("2")
    expect(page.get_by_text("nothing was sent. Try again.")).to_be_visible()
    page.unroute(decisions)
    page.keyboard.press("2")
    expect(page.locator(".tally")).to_be_visible()
    expect(page.locator('.case-bar [aria-disabled="true"]')).to_have_count(0)
    title = page.locator("h1").inner_text()
    # the second click of a double one on the blind grade
    second = page.evaluate_handle("({bubbles: true, cancelable: true, detail: 2})")
    click = "(one, second) => one.dispatchEvent(new MouseEvent('click', second))"
    page.locator(".case-bar button").last.evaluate(click, second)
    page.wait_for_load_state("networkidle")
    expect(page.locator("h1")).to_have_text(title)
    expect(page.locator(".tally")).to_be_visible()
    page.context.close()


def visit(page: Page, site: Site, path: str) -> list[object]:
    """What axe finds on a page."""
    page.goto(f"{site.address}/campaigns/try{path}")
    page.locator("h1").wait_for()
    return problems(page)


@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_of_experts(
    browser: Browser, disputed: Site, tmp_path: Path, width: int
) -> None:
    found = {}
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    sign_in(page, disputed.address, "eve")
    for name, path in (
        ("home", "/experts"),
        ("blind", "/experts/next"),
        ("topic", "/experts/topic?topic=leftovers"),
        ("missing", "/experts/topic?topic=nothing"),
    ):
        found[name] = visit(page, disputed, path)
    visit(page, disputed, "/experts/next")
    page.route("**/alike?*", lambda route: route.abort())  # it brings what can have the focus
    page.get_by_role("button", name="Highly relevant").click()
    page.get_by_role("heading", name="What judges said").wait_for()
    found["decide"] = problems(page)
    page.get_by_text("Add to the topic's instructions").first.click()
    page.get_by_label("Add to the topic's instructions").fill("Only what can be eaten.")
    page.get_by_role("button", name="Keep").click()
    page.locator(".done").wait_for()
    visit(page, disputed, "/experts")
    page.locator(".decisions a").first.click()
    page.get_by_role("button", name="Not relevant").click()
    page.get_by_role("button", name="Send the answer").wait_for()
    found["objection"] = problems(page)
    context.clear_cookies()
    sign_in(page, disputed.address, "ada")
    found["experts, before"] = visit(page, disputed, "/decisions")
    page.get_by_role("button", name="Work it out").click()
    visit(page, disputed, "/releases")
    page.get_by_role("button", name="Make a release").click()
    page.get_by_label("I am sure").wait_for()
    found["question"] = problems(page)
    page.get_by_label("I am sure").check()
    page.get_by_role("button", name="Make the release").click()
    page.get_by_text("A release is being made.").wait_for()
    run_jobs(disputed, tmp_path)
    found["experts"] = visit(page, disputed, "/decisions")
    expect(page.get_by_role("rowheader", name="bm25")).to_be_visible()
    found["datasheet"] = visit(page, disputed, "/releases/1/datasheet")
    expect(page.locator("article code").first).to_have_text("auto")
    found["releases"] = visit(page, disputed, "/releases")
    with page.expect_download() as loading:
        page.get_by_role("link", name="Release 1 as zip").click()
    assert loading.value.suggested_filename == "try-release-1.zip"
    assert {name: each for name, each in found.items() if each} == {}
    context.close()


def test_an_owner_of_a_topic_sees_earlier_grades(browser: Browser, tmp_path: Path) -> None:
    plan = plan_text().replace('title = "', 'mode = "owner"\ntitle = "')
    plan = plan.replace("target = 1000", "target = 1").replace("at_least = 2", "at_least = 0")
    with serve_campaign(tmp_path, plan, replace(trial_rows(), gold=[])) as site:
        page = browser.new_context().new_page()
        start(page, site.link)
        expect(page.get_by_text("Your earlier grades (0)")).to_be_visible()
        first = page.locator(".doc-title").inner_text()
        in_place(page)
        page.keyboard.press("2")
        expect(page.get_by_text("Your earlier grades (1)")).to_be_visible()
        expect(page.locator(".earlier li")).to_have_text(f"{first}: Highly relevant")


def test_times_are_in_the_readers_zone_and_paper_has_no_buttons(
    browser: Browser, disputed: Site
) -> None:
    page = browser.new_context(timezone_id="Asia/Tokyo").new_page()
    sign_in(page, disputed.address, "ada")
    page.goto(f"{disputed.address}/campaigns/try/acts")
    expect(page.locator("time").first).to_contain_text("GMT+9")
    page.emulate_media(media="print")
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.locator(".tabs")).to_be_hidden()
    expect(page.locator("button").first).to_be_hidden()
    page.emulate_media(media="screen", forced_colors="active")  # only one tab is underlined
    edges = page.locator(".tabs a").evaluate_all(f"all => all.map({EDGE})")
    assert edges.count(edges[-1]) == 1
    page.context.close()
