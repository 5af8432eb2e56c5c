"""An hour at the judging page, and a morning at experts' cases, by keyboard in a real browser.

`python -m benchmarks.judging_page [--documents 300] [--pace 1] [--cases 40]` needs playwright and
Chromium. A robot presses keys at a person's pace. First table: seconds from the key's own time
stamp to the mark that the page sets when the next document is in its place, and to the second frame
after it, when it has been painted; the CPU time of the page's thread for a document; and, at the
end of each third, the page's memory after its rubbish was collected, its nodes and its listeners.
Second table: what an expert does for a case, and how soon the next one stands. Clock times mean
little on a busy machine, whose load is printed; CPU, memory and actions mean the same.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import insert

from benchmarks._benchmark import Table, run
from benchmarks._server import Server, browser
from benchmarks.next_document import WATCH, cpu_of, text, wait_for
from qrowd.collection.adjudication import expert_sample
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import member_role
from qrowd.collection.database.store import Store
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.events import Said
from qrowd.collection.judging.offer import Offer
from qrowd.collection.people import workers
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.data.topics import Topic
from qrowd.web.accounts import new_account
from qrowd.web.settings import Settings
from qrowd.web.trial import launch_campaign

if TYPE_CHECKING:
    from playwright.sync_api import Page

PLAN = """
[campaign]
name = "hour"
[scale]
grades = [0, 1, 2]
[sets]
size = {size}
target = {target}
[hit]
sets = {sets}
gold = 0
[checks.seconds]
at_least = 0
"""
PASSWORD = "a long password"
JUDGES = 3
DISPUTED = 4  # one case in so many


@dataclass(frozen=True)
class Options:
    documents: int = 300
    pace: float = 1.0  # seconds that a person takes for a document
    size: int = 4096  # bytes of a document
    cases: int = 40


SHORT = Options(documents=6, pace=0.05, cases=4)


def material(documents: int, size: int) -> CampaignRows:
    """Topics of about thirty documents."""
    chance, topics = random.Random(3), topics_of(documents)
    rows = [
        DocumentRow(f"d{at}", text(chance, size).encode(), f"Document {at}", "", "text/plain")
        for at in range(documents)
    ]
    pool = [(f"t{at % topics}", row.name) for at, row in enumerate(rows)]
    return CampaignRows([Topic(f"t{at}", f"reason {at}") for at in range(topics)], rows, pool)


def topics_of(documents: int) -> int:
    """How many topics there are."""
    return max(1, documents // 30)


# --- a worker's hour ------------------------------------------------------------------------------


def judge(page: Page, options: Options) -> None:
    """Press keys, and print what the page says of itself."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    spent, times, weights = cpu_of(page), [], []
    thirds = np.array_split(np.arange(options.documents - 1), 3)
    ends = {part[-1] for part in thirds}
    for at in range(options.documents - 1):
        page.wait_for_timeout(1000 * options.pace)
        if at in ends:
            session.send("HeapProfiler.collectGarbage")
            metrics = session.send("Performance.getMetrics")["metrics"]
            weights.append({metric["name"]: metric["value"] for metric in metrics})
        page.evaluate("window.found = null")
        before = spent()
        page.keyboard.press(str(at % 3))
        page.wait_for_function("() => window.found !== null", timeout=60_000)
        times.append([*page.evaluate("window.found"), spent() - before])
    print(f"\n{options.documents} documents by keyboard, {load()}:")
    table = Table(
        "documents",
        "in its place: median, p95, worst",
        "painted: median, p95, worst",
        "CPU of the page's thread",
        "memory",
        "nodes",
        "listeners",
        title="Documents",
    )
    for part, values in zip(thirds, weights, strict=True):
        shown, painted, cpu = np.array(times)[part].T
        table.row(
            f"{part[0] + 1} to {part[-1] + 1}",
            *(
                ", ".join(f"{q:.0f}" for q in np.quantile(each, (0.5, 0.95, 1))) + " ms"
                for each in (shown, painted)
            ),
            f"{cpu.mean():.0f} ms",
            f"{values['JSHeapUsedSize'] / 2**20:.1f} MB",
            f"{values['Nodes']:.0f}",
            f"{values['JSEventListeners']:.0f}",
        )


def load() -> str:
    """How busy the machine is."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def an_hour(options: Options) -> None:
    """A campaign of one batch, a server, a browser."""
    with browser() as chromium, tempfile.TemporaryDirectory(prefix="qrowd-hour-") as name:
        server = Server(Path(name), f"sqlite:///{Path(name) / 'qrowd.db'}", processes=1)
        settings = Settings.of_folder(server.folder, server.database, server.address)
        sets = topics_of(options.documents)
        plan = PLAN.format(size=-(-options.documents // sets), target=1, sets=sets)
        link = launch_campaign(
            settings, parse_plan(plan), material(options.documents, options.size)
        )
        server.start()
        try:
            page = chromium.new_page(viewport={"width": 1280, "height": 900})
            page.add_init_script(WATCH)
            page.goto(link)
            for button in ("Continue", "Start"):
                page.get_by_role("button", name=button, exact=True).click()
            wait_for(page, "document 1 of")
            judge(page, options)
        finally:
            server.kill()


# --- an expert's morning --------------------------------------------------------------------------


def disagree(store: Store, cases: int) -> None:
    """Judges agree on most documents; on one of `DISPUTED`, one of them says something else."""
    for judge in range(JUDGES):
        with store.write("hour") as work:
            worker = workers.enter(work, "own", f"judge{judge}").id
            offer = queue.next_batch(work, worker)
            assert isinstance(offer, Offer)
            for shown in offer.sets:
                for each in shown.documents:
                    number = int(each.title.split()[-1])
                    differs = number % DISPUTED == 0 and judge == number // DISPUTED % JUDGES
                    grade = (grade_of(number) + differs) % 3
                    key = f"{judge}-{number}"
                    said = Said(
                        key=key, place=shown.key, kind="grade", position=each.position, grade=grade
                    )
                    events.save(work, worker, said)
            submission.finish(work, worker, offer.key)
            submission.submit(work, worker, offer.key)
    with store.write("hour") as work:
        expert_sample.draw_sample(work, JUDGES * cases)
        number = new_account(work.db, work.now, "eve", PASSWORD)
        role = {"account_id": number, "campaign_id": work.campaign, "role": "expert"}
        work.db.execute(insert(member_role).values(**role))


def grade_of(number: int) -> int:
    """What is right for a document."""
    return number % 3


def decide(page: Page, cases: int) -> None:
    """Decide all cases by keyboard; print how many keys each took, and how soon the next stood."""
    keys: dict[str, list[int]] = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for at in range(cases):
        page.wait_for_function(
            "() => document.querySelector('.page') && performance.getEntriesByName('qrowd-shown')"
            ".length && !document.querySelector('.page').hasAttribute('aria-busy')"
        )
        page.wait_for_load_state("networkidle")
        number = int(page.locator("h1").inner_text().split()[-1])
        pressed, kind = 0, "all agree"
        for key in (str(grade_of(number)), "Enter"):
            page.evaluate("window.found = null")
            page.keyboard.press(key)
            pressed += 1
            if at == cases - 1:
                break
            page.wait_for_function("() => window.found !== null", timeout=60_000)
            if not page.locator(".tally").count():
                times[kind].append(page.evaluate("window.found[0]"))
                break
            kind = "somebody differs"
        keys[kind].append(pressed)
    print(f"\n{cases} cases of an expert by keyboard, {load()}:")
    columns = ("case", "cases", "keys for each", "next case: median, p95")
    table = Table(*columns, title="Cases")
    for kind, counts in sorted(keys.items()):
        figures = ", ".join(f"{q:.0f}" for q in np.quantile(times[kind] or [0], (0.5, 0.95)))
        table.row(kind, len(counts), f"{np.mean(counts):.1f}", f"{figures} ms")


def a_morning(options: Options) -> None:
    """A judged campaign, a server, a browser."""
    with browser() as chromium, tempfile.TemporaryDirectory(prefix="qrowd-cases-") as name:
        server = Server(Path(name), f"sqlite:///{Path(name) / 'qrowd.db'}", processes=1)
        settings = Settings.of_folder(server.folder, server.database, server.address)
        plan = PLAN.format(size=1, target=JUDGES, sets=options.cases)
        launch_campaign(settings, parse_plan(plan), material(options.cases, options.size))
        with open_store(settings.database) as store:
            disagree(store, options.cases)
        server.start()
        try:
            page: Any = chromium.new_page(viewport={"width": 1280, "height": 900})
            page.add_init_script(WATCH)
            page.goto(f"{server.address}/sign-in")
            page.get_by_label("Name").fill("eve")
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url("**/campaigns")
            page.goto(f"{server.address}/campaigns/hour/experts/next")
            decide(page, options.cases)
        finally:
            server.kill()


def main(options: Options) -> None:
    """Print the tables."""
    an_hour(options)
    a_morning(options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
