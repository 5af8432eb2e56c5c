"""Grades of others that are reviewed, and passages that are marked in a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import serve_campaign
from tests.browser.walking import in_place, judge_all, keep_picture, saved
from tests.collection.making import material

from qrowd.collection.database.store import Store
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow

PLAN = """
[campaign]
name = "tiny"
way = "{way}"
[sets]
size = 3
[hit]
sets = 1
gold = 0
[checks.seconds]
at_least = 0
[techniques]
{techniques}
"""
SELECT = """() => {
  const words = document.querySelector(".page .text p").firstChild;
  getSelection().setBaseAndExtent(words, 5, words, 14);
}"""


def begin(browser: Browser, link: str) -> Page:
    """From the link to the first document."""
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(link)
    for name in ("Continue", "Start"):
        page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".page .text")).to_be_visible()
    return page


def judge(store: Store, **opinion: Any) -> None:
    """Somebody else judges a batch, all documents alike."""
    with store.write("tiny") as work:
        other = workers.enter(work, "own", "other").id
        batch = queue.next_batch(work, other)
        assert isinstance(batch, Offer)
        for shown in batch.sets:
            for at in range(1, len(shown.documents) + 1):
                said = events.Said(key=f"k{at}", place=shown.key, position=at, **opinion)
                events.save(work, other, said)
        submission.finish(work, other, batch.key)
        submission.submit(work, other, batch.key)


def test_what_another_person_said_is_shown(browser: Browser, tmp_path: Path) -> None:
    plan = PLAN.format(way="grades", techniques="review_share = 1")
    with serve_campaign(tmp_path, plan, material(topics=1, pool=3, gold_sets=0)) as site:
        judge(site.store, kind="grade", grade=1)
        page = begin(browser, site.link)
        expect(page.locator(".earlier")).to_contain_text("Another person said: Relevant.")
        keep_picture(page, "review-earlier-grade")
        in_place(page)
        page.keyboard.press("1")
        judge_all(page, 2, "2")
        saved(page)
        page.get_by_role("button", name="Finish the batch").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        page.close()


def test_the_number_that_another_person_said_is_shown(browser: Browser, tmp_path: Path) -> None:
    plan = PLAN.format(way="slider", techniques="review_share = 1")
    with serve_campaign(tmp_path, plan, material(topics=1, pool=3, gold_sets=0)) as site:
        judge(site.store, kind="rating", value=62.5)
        page = begin(browser, site.link)
        expect(page.locator(".earlier")).to_contain_text("Another person said: 62.5 (Relevant).")
        expect(page.get_by_role("slider")).to_have_value("63")  # from there on
        expect(page.get_by_role("button", name="Move the slider")).to_be_disabled()
        keep_picture(page, "review-earlier-number")
        judge_all(page, 3, "6", "Enter")
        saved(page)
        page.get_by_role("button", name="Finish the batch").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        page.close()


def test_a_passage_is_marked_in_the_document(browser: Browser, tmp_path: Path) -> None:
    plan, made = (
        PLAN.format(way="grades", techniques="justification = 'passage'"),
        material(1, 3, 0),
    )
    longer = [
        DocumentRow(one.name, b"Some words that decide it.", one.title) for one in made.documents
    ]
    with serve_campaign(tmp_path, plan, CampaignRows(made.topics, longer, made.pool)) as site:
        page = begin(browser, site.link)
        page.evaluate(SELECT)
        page.get_by_role("button", name="Highly relevant").click()
        expect(page.get_by_label("Passage")).to_have_value("words tha")
        keep_picture(page, "passage-dialog")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".where")).to_contain_text("document 2 of")
        in_place(page)
        page.keyboard.press("1")
        expect(page.get_by_label("Passage")).to_have_value("")  # nothing is marked in this one
        page.get_by_role("button", name="Cancel").click()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".where")).to_contain_text("document 1 of")
        page.wait_for_function("() => CSS.highlights.get('passage-reader')?.size === 1")
        keep_picture(page, "passage-marked")
        saved(page)
        page.close()
