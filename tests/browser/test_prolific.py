"""The page of a study at Prolific: axe in both themes, at 320 px and wide."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="no client to call Prolific with")

from benchmarks._campaign import made_material
from benchmarks.prolific import (
    PLAN,
    Platform,
    come,
    serving,
    with_test,
)
from playwright.sync_api import Browser, expect
from tests.browser.serving import serve, settings_in
from tests.browser.test_accessibility import problems

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office.acts.prolific import (
    MakeStudy,
    PublishStudy,
    TellDecisions,
)
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.prolific import calls
from qrowd.collection.record import audit
from qrowd.web.access import OFFICE_COOKIE, new_token


def study(store: Store) -> None:
    """A study in the middle: some decided, some not, bonuses due, one call refused."""
    platform = Platform()
    with serving(platform), closing(calls.open_client()) as client:
        for act in (MakeStudy(address="https://judge.example.org"), PublishStudy()):
            with store.write("prolific") as work:
                audit.perform(work, "ann", act, sure=True)
            calls.send_all(store, "prolific", client)
        for at in range(16):
            come(store, platform, at)
        calls.listen(store, "prolific", client)
        with store.write("prolific") as work:
            audit.perform(work, "ann", TellDecisions())
        platform.planned = [("transition", "errs before")]
        platform.people[f"{2:024x}"].status = "RETURNED"
        calls.send_all(store, "prolific", client)
        for at in range(16, 20):
            come(store, platform, at)
        calls.listen(store, "prolific", client)


@pytest.mark.parametrize("width", [320, 1280])
def test_the_page_of_a_study(browser: Browser, tmp_path: Path, width: int) -> None:
    settings = settings_in(tmp_path)
    with closing(open_store(settings.database, new=True)) as store:
        create_campaign(store, parse_plan(PLAN), with_test(made_material(40, times=1)))
        with store.write("prolific") as work:
            audit.perform(work, "ann", "launch")
            token = new_token(work.db, work.now, "organiser", campaign_id=work.campaign)
    with serve(settings) as store:
        context = browser.new_context(viewport={"width": width, "height": 900})
        cookie = {"name": OFFICE_COOKIE, "value": token, "url": settings.address}
        context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        page.goto(f"{settings.address}/campaigns/prolific/prolific")
        expect(page.get_by_role("button", name="See what it costs")).to_be_visible()
        found = {"none": problems(page, f"prolific-{width}-none")}
        study(store)
        page.reload()
        expect(page.get_by_role("button", name="Tell Prolific")).to_be_visible()
        found["study"] = problems(page, f"prolific-{width}-study")
        page.get_by_role("button", name="Pay what is owed as bonuses").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("in bonuses?")
        found["asked"] = problems(page, f"prolific-{width}-asked")
        context.close()
    assert found == {"none": [], "study": [], "asked": []}
