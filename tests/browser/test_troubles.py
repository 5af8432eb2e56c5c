"""What goes wrong while somebody judges: it is said kindly, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select, update
from tests.browser.serving import Site, serve_campaign
from tests.browser.walking import in_place, judge_all, keep_picture, saved, start
from tests.collection.making import material

from qrowd.collection.database.schema import assignment
from qrowd.collection.judging import queue
from qrowd.collection.judging.offer import Offer
from qrowd.collection.people import entry, workers
from qrowd.collection.record import audit

PLAN = """
[campaign]
name = "tiny"
accept = "{accept}"
[sets]
size = 3
target = 1
[hit]
sets = 1
gold = 0
lease_minutes = 60
warn_minutes = {warn}
[checks.seconds]
at_least = 0
[pay]
hit = 1.00
budget = 100.00
"""
WIDE = {"width": 1200, "height": 800}


@contextmanager
def judging(
    browser: Browser, folder: Path, *, pool: int = 3, accept: str = "automatic", warn: float = 5
) -> Iterator[tuple[Page, Site]]:
    """A batch of three documents, open in a browser."""
    made = material(topics=1, pool=pool, gold_sets=0)
    with serve_campaign(folder, PLAN.format(accept=accept, warn=warn), made) as site:
        page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]
        page.goto(site.link)
        for name in ("Continue", "Start"):
            page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator(".page .text")).to_be_visible()
        yield page, site
        page.close()


def test_a_late_answer_is_told_kindly_that_it_is_surplus(browser: Browser, tmp_path: Path) -> None:
    with judging(browser, tmp_path) as (page, site):
        judge_all(page, 1, "1")
        saved(page)
        with site.store.write("tiny") as work:
            work.db.execute(update(assignment).values(expires_at=work.now - 1))
        with site.store.write("tiny") as work:  # somebody else takes the place
            other = workers.enter(work, "own", "other").id
            assert isinstance(queue.next_batch(work, other), Offer)
        in_place(page)
        page.keyboard.press("1")
        expect(page.locator(".notes")).to_contain_text("kept and paid all the same")
        keep_picture(page, "trouble-surplus")
        in_place(page)
        page.keyboard.press("1")
        saved(page)
        page.get_by_role("button", name="Finish the batch").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("that went well")
        assert len(site.events()) == 3


def test_a_warning_before_the_batch_ends(browser: Browser, tmp_path: Path) -> None:
    with judging(browser, tmp_path, warn=59.99) as (page, site):
        with page.expect_response("**/answers"):
            in_place(page)
            page.keyboard.press("1")
        expect(page.locator(".notes")).to_contain_text("reserved for you for 60 more minutes")
        assert len(site.events()) == 1


def test_a_clock_that_is_ten_hours_off(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, PLAN.format(accept="automatic", warn=5), made) as site:
        for hours in (10, -10):
            context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
            page = context.new_page()
            page.clock.install(time=time.time() + hours * 3600)
            page.goto(site.link)
            if hours > 0:
                for name in ("Continue", "Start"):
                    page.get_by_role("button", name=name, exact=True).click()
            expect(page.locator(".page .text")).to_be_visible()
            page.clock.run_for(20_000)
            judge_all(page, 1, "1")
            page.clock.run_for(20_000)
            saved(page)
            expect(page.locator(".notes")).not_to_contain_text("reserved")
            context.close()
        now = time.time() * 1000
        assert all(abs(one.at - now) < 600_000 for one in site.events())
        assert len(site.events()) == 2


def test_a_refused_batch_can_be_appealed(browser: Browser, tmp_path: Path) -> None:
    with judging(browser, tmp_path, accept="by hand") as (page, site):
        judge_all(page, 3, "1")
        page.get_by_role("button", name="Finish the batch").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("it is handed in")
        with site.store.write("tiny") as work:
            number = work.db.scalar(select(assignment.c.id))
            audit.perform(work, "organiser", "refuse", {"assignment": number})
        page.get_by_role("link", name="My page").click()
        page.get_by_role("button", name="Appeal").click()
        page.get_by_role("textbox").fill("I read all of them.")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("not answered yet")).to_be_visible()
        expect(page.get_by_text("I read all of them.")).to_be_visible()
        expect(page.get_by_role("button", name="Appeal")).to_have_count(0)
        keep_picture(page, "trouble-appeal")


def test_a_link_that_has_ended_and_one_that_is_not_whole(browser: Browser, tmp_path: Path) -> None:
    made = material(topics=1, pool=3, gold_sets=0)
    with serve_campaign(tmp_path, PLAN.format(accept="automatic", warn=5), made) as site:
        with site.store.write("tiny") as work:
            ended = entry.make_link(work, "ann", days=-1)
        page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]
        for link in (f"{site.address}/judge/tiny?link={ended}", site.link[:-4]):
            page.goto(link)
            expect(page.get_by_role("heading", level=1)).to_contain_text("Something is not right")
            expect(page.get_by_text("ask for a new one")).to_be_visible()
        keep_picture(page, "trouble-link")
        page.close()


def test_a_link_that_somebody_else_has_used(browser: Browser, tmp_path: Path) -> None:
    with judging(browser, tmp_path) as (page, site):
        page.reload()  # the same browser: nothing is said
        expect(page.locator(".page .text")).to_be_visible()
        expect(page.locator(".notes")).to_have_text("")
        context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
        other = context.new_page()
        other.goto(site.link)
        expect(other.locator(".notes")).to_contain_text("for a link of your own")
        context.close()


def test_a_worker_who_is_screened_out_while_a_batch_is_open(
    browser: Browser, tmp_path: Path
) -> None:
    with judging(browser, tmp_path) as (page, site):
        judge_all(page, 1, "1")
        saved(page)
        with site.store.write("tiny") as work:
            audit.perform(work, "organiser", "screen out", {"worker": 1})
        in_place(page)
        page.keyboard.press("1")
        expect(page.get_by_role("heading", level=1)).to_contain_text("This batch is closed")
        keep_picture(page, "trouble-closed")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Nothing to do just now")
        assert len(site.events()) == 1


def test_minutes_without_a_network_a_closed_tab_and_another_device(
    browser: Browser, site: Site
) -> None:
    first = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = first.new_page()
    page.clock.install()
    start(page, site.link)
    judge_all(page, 2)
    saved(page)
    first.set_offline(True)
    judge_all(page, 1, "1")  # this document was fetched before
    for _ in range(5):
        page.clock.fast_forward("01:00")  # it is tried again and again
        expect(page.locator(".saved")).to_contain_text("kept in this browser")
    keep_picture(page, "trouble-no-network")
    assert len(site.events()) == 2
    page.evaluate(  # when a page closes, its network comes back before its last words are said
        "addEventListener('visibilitychange', (event) => event.stopImmediatePropagation(), true)"
    )
    page.close()

    other = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    device = other.new_page()
    device.goto(site.link)
    expect(device.locator(".where")).to_contain_text("document 3 of")
    judge_all(device, 2, "2")
    saved(device)

    first.set_offline(False)
    again = first.new_page()
    again.goto(site.link)
    expect(again.locator(".where")).to_contain_text("Topic 2 of 3 · document 1 of")
    saved(again)
    found = [(one.grade, one.stale) for one in site.events()]
    assert found == [(0, 0), (0, 0), (2, 0), (2, 0), (1, 1)]  # kept, and it replaces nothing
    assert len({one.key for one in site.events()}) == 5
    judge_all(device, 1, "1")
    saved(device)
    other.close()
    first.close()
