"""The trial campaign, judged by three who disagree, with an organiser, an expert and runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page
from sqlalchemy import insert
from tests.browser.serving import Site, serve, settings_in

from qrowd.collection.adjudication import appeals, expert_sample
from qrowd.collection.database.schema import member_role
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.events import Said
from qrowd.collection.judging.offer import Offer
from qrowd.collection.people import workers
from qrowd.web.accounts import new_account
from qrowd.web.files import CampaignFiles
from qrowd.web.trial import launch_campaign, plan_text, trial_rows

PASSWORD = "a long password"
WORDS = {
    "ann": "It can be followed as it stands.",
    "bob": "I would not know what to do with it.",
    "cat": "It mentions the thing, but only on the way.",
}


def _plan() -> str:
    plan = plan_text().replace("at_least = 2", "at_least = 0")
    labels = '\nlabels = ["Not relevant", "Relevant", "Highly relevant"]'
    return plan.replace("grades = [0, 1, 2]", f"grades = [0, 1, 2]{labels}").replace(
        "target = 1000", "target = 3"
    )


@contextmanager
def serve_disputed(folder: Path) -> Iterator[Site]:
    """The site; `ada` organises, `eve` is an expert."""
    from qrowd.collection.plan.toml import parse_plan

    settings, made = settings_in(folder), trial_rows()
    link = launch_campaign(settings, parse_plan(_plan()), made)
    with serve(settings) as store:
        truth = {row.title: at % 3 for at, row in enumerate(made.documents)}
        gold = {row.document: row.grade or 0 for row in made.gold}
        right = {row.title: gold[row.name] for row in made.documents if row.name in gold}
        for at, name in enumerate(WORDS):
            _judge(store, name, at, truth, right)
        with store.write("try") as work:
            _accounts(work)
            expert_sample.draw_sample(work, 4)
            runs = CampaignFiles(store, settings.folder, work.campaign).runs
        for name, step in (("bm25", 1), ("dense", -1)):
            rows = [
                f"{topic} Q0 {doc} {at} {99 - at} {name}\n"
                for at, (topic, doc) in enumerate(made.pool[::step])
            ]
            (runs / f"{name}.run").write_text("".join(rows))
        yield Site(settings.address, link, store)


def _accounts(work: Work) -> None:
    for login, role in (("ada", "organiser"), ("eve", "expert")):
        number = new_account(work.db, work.now, login, PASSWORD)
        values = {"account_id": number, "campaign_id": work.campaign, "role": role}
        work.db.execute(insert(member_role).values(**values))


def _judge(
    store: Store, name: str, shift: int, truth: dict[str, int], right: dict[str, int]
) -> None:
    """A whole batch, with reasons; the first also disagrees with a check question."""
    with store.write("try") as work:
        worker = workers.enter(work, "own", name).id
        workers.give_consent(work, worker, "1")
        offer = queue.next_batch(work, worker)
        assert isinstance(offer, Offer)
        for shown in offer.sets:
            for one in shown.documents:
                known = right.get(one.title)
                grade = known if known is not None else (truth[one.title] + shift) % 3
                said = Said(
                    key=f"{shown.key}-{one.position}",
                    place=shown.key,
                    kind="grade",
                    position=one.position,
                    grade=grade,
                    reason=WORDS[name],
                    passage="torn into pieces",
                )
                events.save(work, worker, said)
        submission.finish(work, worker, offer.key)
        submission.submit(work, worker, offer.key)
        if not shift:
            asked = next(one for one in offer.sets if one.documents[0].title in right)
            appeals.disagree(work, worker, asked.key, 1, "The page says how to water them.")


def sign_in(page: Page, address: str, login: str) -> None:
    """Sign in by the form."""
    page.goto(f"{address}/sign-in")
    page.get_by_label("Name").fill(login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/campaigns")
