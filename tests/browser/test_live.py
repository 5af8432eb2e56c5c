"""The pages of a running campaign in a browser: acts by hand, axe, nothing too wide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select
from tests.browser.serving import Site, serve, settings_in
from tests.browser.test_accessibility import problems
from tests.collection.making import EXCLUDING, PLAN, make_site, material, wrong
from tests.web.test_sample_of_people import DRAWN, TOPICS, made_files

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment
from qrowd.collection.record import audit
from qrowd.web import jobs, tasks
from qrowd.web.accounts import Guest, account_called, invite, make_reset_link, new_account
from qrowd.web.files import CampaignFiles
from qrowd.web.robots.crowd import Crowd
from qrowd.web.robots.rehearsal import judge
from qrowd.web.robots.traffic import Clock

PASSWORD = "a long password"
PAGES = (
    "",
    "/coverage",
    "/quality",
    "/systems",
    "/workers",
    "/people",
    "/workers/2",
    "/money",
    "/acts",
    "/appeals",
    "/batches",
    "/gold",
    "/disputed",
    "/extend",
)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A campaign with work, runs and results, served; its organiser has an account."""
    folder = tmp_path_factory.mktemp("live")
    settings = settings_in(folder)
    plan = EXCLUDING.replace("seed = 1", 'seed = 1\naccept = "by hand"')
    plan += '[next]\npick = "margin"\n'
    made = make_site(f"sqlite:///{settings.database}", plan, material(pool=9))
    for name, choose in (("ann", None), ("bob", wrong), ("cat", None), ("dan", None)):
        made.whole(made.worker(name), choose)
    with made.store.write("tiny") as work:
        new_account(work.db, work.now, "ann", PASSWORD, administrator=True)
        query = select(assignment.c.id).where(assignment.c.state == "submitted")
        for number in list(work.db.scalars(query))[1:]:
            audit.perform(work, "ann", "accept", {"assignment": number})
        for kind in ("quality", "systems", "next"):
            jobs.ask(work, kind, {"method": "mv"})
    _add_runs(CampaignFiles(made.store, folder, 1).runs)
    while tasks.run_one(made.store, folder):
        pass
    made.store.engine.dispose()
    with serve(settings) as store:
        yield Site(settings.address, f"{settings.address}/campaigns/tiny", store)


def _add_runs(folder: Path) -> None:
    for name in ("one", "two"):
        lines = [f"t{t} Q0 d{t}-{d} {d} {9 - d} {name}" for t in range(3) for d in range(5)]
        (folder / name).write_text("\n".join(lines) + "\n")


def signed_in(page: Page, site: Site) -> None:
    """Sign in as the organiser."""
    page.goto(f"{site.address}/sign-in")
    page.get_by_label("Name", exact=True).fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()


# fields that do not stand within their form
STRAY = """() => [...document.querySelectorAll("form .field")].filter((field) => {
  const box = field.getBoundingClientRect();
  const form = field.closest("form").getBoundingClientRect();
  return box.width > 0 && (box.top < form.top - 1 || box.left < form.left - 1);
}).map((field) => field.textContent.trim())"""


@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_is_accessible(browser: Browser, office: Site, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    signed_in(page, office)
    found = {}
    for end in PAGES:
        reply = page.goto(office.link + end)
        assert reply is not None
        assert reply.status == 200, end
        found[end] = problems(page)
        assert page.evaluate(STRAY) == [], end
    page.goto(office.link)
    page.get_by_role("button", name="Pause").click()
    found["question"] = problems(page)
    context.close()
    assert {end: each for end, each in found.items() if each} == {}


def test_corrected_scores_are_accessible(browser: Browser, tmp_path: Path) -> None:
    """People judge a sample of what a machine judged: files by the page, then the scores."""
    settings, files = settings_in(tmp_path), made_files()
    made = make_site(f"sqlite:///{settings.database}", PLAN, material(TOPICS, DRAWN))
    store = made.store
    made.whole(made.worker("bob"))
    with store.write("tiny") as work:
        new_account(work.db, work.now, "ann", PASSWORD, administrator=True)
    (tmp_path / "robots").mkdir()
    judge(store, Clock(store.clock()), tmp_path / "robots", "tiny", Crowd(robots=12))
    for name, text in files.items():
        (tmp_path / f"{name}.tsv").write_text(text)
    with serve(settings) as served:
        site = Site(settings.address, f"{settings.address}/campaigns/tiny", served)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        signed_in(page, site)
        page.goto(f"{site.link}/systems")
        runs = [tmp_path / f"{name}.tsv" for name in ("one", "two")]
        page.get_by_label("Add runs").set_input_files(runs)
        page.get_by_role("button", name="Add", exact=True).first.click()
        expect(page.get_by_text("2 runs were taken in")).to_be_visible()
        page.get_by_label("The sample", exact=True).set_input_files(tmp_path / "sample.tsv")
        page.get_by_label("What machines say").set_input_files(tmp_path / "machine.tsv")
        page.get_by_role("button", name="Add", exact=True).last.click()
        expect(page.get_by_text("2 files were taken in")).to_be_visible()
        page.get_by_label("Measures").fill("P@10 AP")
        page.get_by_role("button", name="Work it out").click()
        expect(page.get_by_text("It is being worked out in the background.")).to_be_visible()
        while tasks.run_one(served, settings.folder):
            pass
        found = {}
        for end, shown in (("systems", "corrected by what people said"), ("", "leads by P@10")):
            page.goto(f"{site.link}/{end}")
            expect(page.get_by_text(shown)).to_be_visible()
            for width in (320, 1280):
                page.set_viewport_size({"width": width, "height": 1000})
                found[end, width] = problems(page, f"corrected-{end or 'overview'}-{width}")
        page.close()
    assert {where: each for where, each in found.items() if each} == {}


def test_the_doors_are_accessible_and_a_password_is_changed_by_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path)
    guest = Guest("bob", administrator=True)
    with open_store(settings.database, new=True) as store:
        with store.transaction() as db:
            new_account(db, store.clock(), "ann", PASSWORD, administrator=True)
        invitation = invite(store, settings, guest, who="ann")
        reset = make_reset_link(store, settings, "ann", who="ann")
        number = account_called(store, "ann").id
    with serve(settings) as store:
        site = Site(settings.address, settings.address, store)
        page, elsewhere = browser.new_page(), browser.new_page()
        signed_in(elsewhere, site)
        found = {}

        def look(where: str) -> None:
            for width in (320, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                found[where, width] = problems(page, f"door-{where}-{width}")

        for where, address in (
            ("sign-in", f"{site.address}/sign-in"),
            ("join", invitation),
            ("reset", reset),
        ):
            page.goto(address)
            look(where)
        signed_in(page, site)
        for where in ("accounts", f"accounts/{number}", "password"):
            page.goto(f"{site.address}/{where}")
            look(where.replace("/", "-"))
        for old in ("not the password", PASSWORD):
            page.get_by_label("Password so far").focus()
            page.keyboard.type(old)
            page.keyboard.press("Tab")
            page.keyboard.type("another long password")
            page.keyboard.press("Enter")
            if old != PASSWORD:
                expect(page.get_by_role("alert")).to_be_visible()
                look("wrong")
        expect(page.get_by_role("status")).to_be_visible()
        expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()
        elsewhere.goto(f"{site.address}/campaigns")
        assert "/sign-in" in elsewhere.url
        for each in (page, elsewhere):
            each.close()
    assert {where: each for where, each in found.items() if each} == {}


def test_pause_by_keyboard_and_undo(browser: Browser, office: Site) -> None:
    page = browser.new_page()
    signed_in(page, office)
    page.goto(office.link)
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Pause this campaign?")).to_be_visible()
    expect(page.get_by_text("This costs nothing.")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status")).to_contain_text("Paused: nobody gets a new batch.")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Paused")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Taken back: pause.")
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("Paused")
    page.close()


def test_a_result_says_when_it_is_there(browser: Browser, office: Site) -> None:
    page = browser.new_page()
    signed_in(page, office)
    page.goto(f"{office.link}/quality")
    page.get_by_label("Method").select_option("ds")
    page.get_by_role("button", name="Merge", exact=True).click()
    expect(page.get_by_text("It is being worked out in the background.")).to_be_visible()
    folder = Path(str(office.store.engine.url.database)).parent
    assert tasks.run_one(office.store, folder)
    expect(page.get_by_text("It is ready.")).to_be_visible()
    page.get_by_role("link", name="Show it").click()
    expect(page.get_by_text("by ds.")).to_be_visible()
    page.close()


def test_two_people_at_once(browser: Browser, office: Site) -> None:
    first, second = browser.new_page(), browser.new_page()
    for page in (first, second):
        signed_in(page, office)
        page.goto(f"{office.link}/workers/1")
        page.get_by_label("How much").fill("2.50")
        page.get_by_role("button", name="See what it costs").click()
        expect(page.get_by_text("This costs 2.50 EUR")).to_be_visible()
    for page in (first, second):
        page.get_by_role("button", name="Give 2.50 EUR").click()
    expect(first.get_by_role("status")).to_contain_text("The bonus is owed.")
    expect(second.get_by_text("Meanwhile ann did this: bonus")).to_be_visible()
    first.close()
    second.close()
