"""Other ways to judge, by touch on a phone: preferences, free ranks, reasons, questions, a test."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import serve_campaign, serve_trial
from tests.browser.walking import keep_picture, saved
from tests.collection.making import material

from qrowd.collection.plan.rows import CampaignRows, QuestionRow

PLAN = """
[campaign]
name = "tiny"
way = "{way}"
[sets]
size = {size}
target = 2
couples = 2
[hit]
sets = 2
gold = 0
[checks.seconds]
at_least = 0
{more}
"""


def phone(browser: Browser) -> Page:
    """A page on a phone, used by touch."""
    size = {"width": 320, "height": 640}
    return browser.new_context(viewport=size, has_touch=True, is_mobile=True).new_page()  # type: ignore[arg-type]


def begin(page: Page, link: str) -> None:
    """From the link to the batch, by touch."""
    page.goto(link)
    page.get_by_role("button", name="Continue").tap()
    page.get_by_role("button", name="Start").tap()


def plan(way: str, more: str = "") -> str:
    """A small plan."""
    return PLAN.format(way=way, more=more, size=2 if way == "preferences" else 3)


def test_two_documents_side_by_side(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, plan("preferences"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        expect(page.locator(".sides .text")).to_have_count(2)
        keep_picture(page, "pair-phone")
        page.get_by_role("button", name="The first is better").tap()
        expect(page.locator(".where")).to_contain_text("Pair 2 of")
        page.keyboard.press("0")
        saved(page)
        assert {one.ranking for one in site.events()} & {"1 2", "2 1"}
        assert "1 1" in {one.ranking for one in site.events()}
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        page.context.close()


def test_plain_grades_by_touch_alone(browser: Browser, tmp_path: Path) -> None:
    with serve_trial(tmp_path) as site:
        page = phone(browser)
        page.goto(site.link)
        for name in ("Continue", "I agree", "Start"):
            page.get_by_role("button", name=name, exact=True).tap()
        page.locator(".fold > summary").tap()  # the whole topic, and one line again
        expect(page.locator(".topic-text")).to_be_visible()
        page.locator(".fold > summary").tap()
        page.get_by_role("button", name="Cannot tell").tap()
        page.get_by_role("button", name="Undo").tap()
        for at in range(12):
            expect(page.locator(".where")).to_contain_text(
                f"Topic {at // 4 + 1} of 3 · document {at % 4 + 1} of 4"
            )
            page.get_by_role("button", name="Relevant", exact=True).tap()
        page.get_by_role("button", name="Finish the batch").tap()
        page.get_by_role("button", name="I see").first.tap()
        page.get_by_role("button", name="Hand in").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Handed in and paid")
        kinds = [one.kind for one in site.events()]
        assert kinds == ["cannot-tell", "clear"] + ["grade"] * 12
        page.context.close()


def test_free_ranks_must_fit_the_grades(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, plan("free-ranks"), made) as site:
        page = phone(browser)
        begin(page, site.link)
        for name in ("Not relevant", "Relevant", "Highly relevant"):
            page.get_by_role("button", name=name, exact=True).tap()
        page.locator(".card").nth(2).get_by_role("button", name="Move up").tap()
        expect(page.get_by_role("alert")).to_contain_text("found relevant stands below")
        page.get_by_role("button", name="Looks right").tap()
        assert "ranking" not in [one.kind for one in site.events()]
        page.locator(".card").nth(2).get_by_role("button", name="Move up").tap()
        page.get_by_role("button", name="Looks right").tap()
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        assert [one.kind for one in site.events()][-1] == "ranking"
        page.context.close()


def test_a_test_with_questions_and_reasons(browser: Browser, tmp_path: Path) -> None:
    more = "[qualification]\nsets = 1\n[techniques]\njustification = 'reason'\nexpertise_share = 1"
    base = material(topics=1, pool=3, gold_sets=0, qualification=2)
    asked = [QuestionRow("t0", "How many legs has a turkey?", ("two", "four"), 0)]
    made = CampaignRows(base.topics, base.documents, base.pool, (), base.qualification, asked)
    with serve_campaign(tmp_path, plan("grades", more), made) as site:
        page = phone(browser)
        begin(page, site.link)
        expect(page.get_by_label("two")).to_be_visible()
        keep_picture(page, "questions-phone")
        page.get_by_label("two").tap()
        page.get_by_role("button", name="Continue").tap()
        for at in range(1, 4):
            expect(page.locator(".where")).to_contain_text(f"document {at} of 3")
            page.get_by_role("button", name="Not relevant", exact=True).tap()
            expect(page.get_by_role("button", name="Save")).to_be_disabled()
            page.get_by_label("Reason").fill("it says so")
            page.get_by_role("button", name="Save").tap()
        page.get_by_role("button", name="Finish the batch").tap()
        expect(page.locator(".missed")).to_have_count(2)
        page.get_by_role("button", name="Hand in").tap()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Not passed this time")
        page.context.close()
