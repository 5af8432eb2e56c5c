"""A test taken elsewhere and a payout file, by hand in a browser: down, up, axe on the way."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python", reason="axe is not installed")

from playwright.sync_api import Browser, Page, expect
from tests.browser.serving import Site, serve, settings_in
from tests.browser.test_accessibility import problems
from tests.browser.test_live import PASSWORD, STRAY, signed_in
from tests.collection.making import PLAN, make_site, material

from qrowd.collection.books import ledger
from qrowd.web.accounts import new_account


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A campaign with a qualification, in which two people are owed something."""
    settings = settings_in(tmp_path_factory.mktemp("people"))
    plan = f"{PLAN}[qualification]\nsets = 2\n"
    made = make_site(f"sqlite:///{settings.database}", plan, material(qualification=4))
    for name, amount in (("ann", 250), ("bob", 100)):
        made.work(ledger.bonus, made.worker(name), amount)
    with made.store.write("tiny") as work:
        new_account(work.db, work.now, "ann", PASSWORD, administrator=True)
    made.store.engine.dispose()
    with serve(settings) as store:
        yield Site(settings.address, f"{settings.address}/campaigns/tiny", store)


def saved(page: Page, button: str, file: Path) -> Path:
    """A file that a button gives."""
    with page.expect_download() as download:
        page.get_by_role("link", name=button).click()
    download.value.save_as(file)
    return file


def fine(page: Page) -> None:
    assert problems(page) == []
    assert page.evaluate(STRAY) == []


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(browser: Browser, office: Site, width: int, scheme: str) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page = context.new_page()
    signed_in(page, office)
    for end in ("/qualification", "/money"):
        page.goto(office.link + end)
        fine(page)
    context.close()


def test_a_test_taken_elsewhere_by_hand(browser: Browser, office: Site, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    signed_in(page, office)
    page.goto(f"{office.link}/people")
    page.get_by_role("link", name="The qualification can be taken elsewhere").click()
    task = saved(page, "A row for each document (CSV)", tmp_path / "task.csv")
    rows = list(csv.DictReader(task.read_text().splitlines()))
    lines = [
        f"5f{at},{row['topic']},{row['doc']},{row['doc'][-1]}" for at in (1, 2) for row in rows
    ]
    lines += [f"5f3,{row['topic']},{row['doc']},0" for row in rows[:4]]
    results = tmp_path / "results.csv"
    results.write_text("\n".join(["PROLIFIC_PID,topic,doc,grade", *lines]))
    page.get_by_label("Results").set_input_files(results)
    page.get_by_role("button", name="See who passes").click()
    expect(page.get_by_text("2 of 3 passed.")).to_be_visible()
    fine(page)
    page.get_by_role("button", name="Put them on the list").click()
    expect(page.get_by_role("row", name="5f1")).to_be_visible()
    page.goto(f"{office.link}/qualification")
    fine(page)
    assert saved(page, "Ids, one a line", tmp_path / "ids").read_text() == "5f1\n5f2\n"
    context.close()


def test_pay_by_a_file_by_hand(browser: Browser, office: Site, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    signed_in(page, office)
    page.goto(f"{office.link}/money")
    payout = saved(page, "Payout file (CSV)", tmp_path / "payout.csv")
    page.get_by_label("The payout file").set_input_files(payout)
    page.get_by_role("button", name="See what it marks").click()
    expect(page.get_by_text("2 workers are marked as paid: 3.50 EUR in all")).to_be_visible()
    fine(page)
    page.get_by_label("I am sure").check()
    page.get_by_role("button", name="Mark as paid").click()
    expect(page.get_by_text("Nobody.", exact=True)).to_be_visible()
    context.close()
