"""How soon the next document stands after a grade, for documents of 1 MB: in the browser's timing.

`python -m benchmarks.next_document [--documents 12]` needs playwright and Chromium. From the key's
own time stamp to the mark that the page sets when the document is in its place, and to the second
frame after it, when it has been painted. The server is a process of its own on this machine. The
last column is the CPU time of the page's thread, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.soak import Server, free_port
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, TopicRow
from qrowd.collection.plan.toml import parse_plan

if TYPE_CHECKING:
    from playwright.sync_api import Page

PLAN = """
[campaign]
name = "long"
[sets]
size = {size}
target = 1
[hit]
sets = 1
gold = 0
[checks.seconds]
at_least = 0
"""
WATCH = """
addEventListener("keydown", (event) => { window.pressed = event.timeStamp; }, true);
new PerformanceObserver((list) => {
  const shown = list.getEntries().at(-1).startTime;
  requestAnimationFrame(() => requestAnimationFrame(() => {
    window.found = [shown - window.pressed, performance.now() - window.pressed];
  }));
}).observe({ type: "mark" });
"""
SIZE = 2**20


def text(chance: random.Random) -> str:
    """A megabyte of made words, in paragraphs."""
    words = ["".join(chance.choices("aeioulnrst", k=chance.randint(2, 9))) for _ in range(2000)]
    lines: list[str] = []
    length = 0
    while length < SIZE:
        lines.append(" ".join(chance.choices(words, k=80)))
        length += len(lines[-1]) + 2
    return "\n\n".join(lines)[:SIZE]


def material(documents: int, media: str) -> CampaignRows:
    """One topic whose documents have a megabyte each."""
    chance, rows = random.Random(2), []
    for at in range(documents):
        body = text(chance)
        if media == "text/html":
            parts = "".join(f"<p>{part} <b>bold</b></p>" for part in body.split("\n\n"))
            body = f"<!doctype html><title>long</title><div class=a>{parts}</div>"
        rows.append(DocumentRow(f"d{at}", body.encode(), f"Document {at}", "", media))
    return CampaignRows([TopicRow("t", "reason")], rows, [("t", row.name) for row in rows])


def measure(page: Page, documents: int) -> tuple[list[list[float]], list[list[float]]]:
    """Milliseconds (shown, painted) of documents that were fetched before, and of others."""
    ahead, not_ahead, cpu = [], [], cpu_of(page)
    for at in range(1, documents - 2, 2):
        wait_for(page, f"document {at} of")
        page.wait_for_load_state("networkidle")  # the next one is here
        page.route("**/documents/**", lambda route: route.abort())
        with page.expect_event("requestfailed", timeout=60_000):  # the one after it is not
            ahead.append(after_a_grade(page, cpu))
        page.unroute("**/documents/**")
        not_ahead.append(after_a_grade(page, cpu))
    return ahead, not_ahead


def after_a_grade(page: Page, cpu: Callable[[], float]) -> list[float]:
    """Press a key; milliseconds until the next document is shown, is painted, and of the CPU."""
    page.evaluate("window.found = null")
    before = cpu()
    page.keyboard.press("1")
    page.wait_for_function("() => window.found !== null", timeout=60_000)
    found: list[float] = page.evaluate("window.found")
    return [*found, cpu() - before]


def cpu_of(page: Page) -> Callable[[], float]:
    """Milliseconds of CPU that the page's own thread has used: the same on a busy machine."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        return 1000 * float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

    return spent


def wait_for(page: Page, words: str) -> None:
    """Until the page says so and its document is there."""
    page.wait_for_function(
        "words => document.querySelector('.where')?.textContent.includes(words)"
        " && !document.querySelector('.page').hasAttribute('aria-busy')",
        arg=words,
        timeout=60_000,
    )


def run(media: str, documents: int) -> tuple[list[list[float]], list[list[float]]]:
    """A campaign, a server, a browser."""
    from playwright.sync_api import sync_playwright

    from qrowd.web.settings import Settings
    from qrowd.web.trial import launch_campaign

    path = os.environ.get("QROWD_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory(prefix="qrowd-next-") as name:
        server = Server(Path(name), str(Path(name) / "qrowd.db"), free_port(), processes=1)
        settings = Settings.of_folder(server.folder, server.database, server.address)
        plan = parse_plan(PLAN.format(size=documents))
        link = launch_campaign(settings, plan, material(documents, media))
        server.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.add_init_script(WATCH)
                page.goto(link)
                for button in ("Continue", "Start"):
                    page.get_by_role("button", name=button, exact=True).click()
                return measure(page, documents)
        finally:
            server.kill()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=24)
    given, _ = parser.parse_known_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| 1 MB | fetched before | shown, median | painted, median | painted, worst | CPU |")
    print("|---|---|---|---|---|---|")
    for media in ("text/plain", "text/html"):
        for name, rows in zip(("yes", "no"), run(media, given.documents), strict=True):
            shown, painted, cpu = np.array(rows).T
            ms = [np.median(shown), np.median(painted), painted.max(), np.median(cpu)]
            print(f"| {media} | {name} | {' | '.join(f'{one:.0f} ms' for one in ms)} |", flush=True)


if __name__ == "__main__":
    main()
