"""How soon the next document stands after a grade, for documents of 1 MB: in the browser's timing.

`python -m benchmarks.next_document [--documents 12]` needs playwright and Chromium. From the key's
own time stamp to the mark that the page sets when the document is in its place, and to the second
frame after it, when it has been painted. The server is a process of its own on this machine. The
last column is the CPU time of the page's thread, which other work on the machine changes little.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks._benchmark import Table, run
from benchmarks._server import Server, browser
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.data.topics import Topic
from qrowd.web.settings import Settings
from qrowd.web.trial import launch_campaign

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
Rows: TypeAlias = list[list[float]]


@dataclass(frozen=True)
class Options:
    documents: int = 24
    size: int = 2**20  # bytes of a document


SHORT = Options(documents=4, size=2**14)


def text(chance: random.Random, size: int) -> str:
    """Made words, in paragraphs."""
    words = ["".join(chance.choices("aeioulnrst", k=chance.randint(2, 9))) for _ in range(2000)]
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(" ".join(chance.choices(words, k=80)))
        length += len(lines[-1]) + 2
    return "\n\n".join(lines)[:size]


def material(options: Options, media: str) -> CampaignRows:
    """One topic whose documents are of that size."""
    chance, rows = random.Random(2), []
    for at in range(options.documents):
        body = text(chance, options.size)
        if media == "text/html":
            parts = "".join(f"<p>{part} <b>bold</b></p>" for part in body.split("\n\n"))
            body = f"<!doctype html><title>long</title><div class=a>{parts}</div>"
        rows.append(DocumentRow(f"d{at}", body.encode(), f"Document {at}", "", media))
    return CampaignRows([Topic("t", "reason")], rows, [("t", row.name) for row in rows])


def measure(page: Page, documents: int, allow: Callable[[int], None]) -> tuple[Rows, Rows]:
    """Milliseconds (shown, painted) of documents that were fetched before, and of others."""
    ahead, not_ahead, cpu = [], [], cpu_of(page)
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))

    def until_refused(number: int) -> None:
        """The page fetches ahead until it is refused one: then it is at rest."""
        while not any(address.endswith(f"/{number}") for address in failed):
            page.wait_for_timeout(20)
        failed.clear()

    for at in range(1, documents - 2, 2):  # the next one is allowed, the one after it is not
        wait_for(page, f"document {at} of")
        until_refused(at + 2)
        ahead.append(after_a_grade(page, cpu))
        until_refused(at + 2)
        allow(at + 3)
        not_ahead.append(after_a_grade(page, cpu))
    return ahead, not_ahead


def gate(page: Page, documents: int) -> Callable[[int], None]:
    """What lets the page fetch so many documents, and none of the others."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")

    def allow(number: int) -> None:
        others = [f"*/documents/*/{at}" for at in range(number + 1, documents + 1)]
        session.send("Network.setBlockedURLs", {"urls": others})

    return allow


def after_a_grade(page: Page, cpu: Callable[[], float]) -> list[float]:
    """Press a key; milliseconds until the next document is shown, is painted, and of the CPU."""
    page.evaluate("window.found = null")
    before = cpu()
    page.keyboard.press("1")
    page.wait_for_function("() => window.found !== null", timeout=60_000)
    times: list[float] = page.evaluate("window.found")
    return [*times, cpu() - before]


def cpu_of(page: Page) -> Callable[[], float]:
    """Milliseconds of CPU that the page's own thread has used: the same on a busy machine."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        values = {metric["name"]: metric["value"] for metric in metrics}
        return 1000 * float(values["TaskDuration"])

    return spent


def wait_for(page: Page, words: str) -> None:
    """Until the page says so and its document is there."""
    page.wait_for_function(
        "words => document.querySelector('.where')?.textContent.includes(words)"
        " && !document.querySelector('.page').hasAttribute('aria-busy')",
        arg=words,
        timeout=60_000,
    )


def timings(media: str, options: Options) -> tuple[Rows, Rows]:
    """A campaign, a server, a browser."""
    with browser() as chromium, tempfile.TemporaryDirectory(prefix="qrowd-next-") as name:
        server = Server(Path(name), str(Path(name) / "qrowd.db"), processes=1)
        settings = Settings.of_folder(server.folder, server.database, server.address)
        plan = parse_plan(PLAN.format(size=options.documents))
        link = launch_campaign(settings, plan, material(options, media))
        server.start()
        try:
            page = chromium.new_page(viewport={"width": 1280, "height": 900})
            page.add_init_script(WATCH)
            allow = gate(page, options.documents)
            allow(2)
            page.goto(link)
            for button in ("Continue", "Start"):
                page.get_by_role("button", name=button, exact=True).click()
            return measure(page, options.documents, allow)
        finally:
            server.kill()


def main(options: Options) -> None:
    """Print the table."""
    size = f"{options.size / 2**20:.3g} MB"
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    table: Table | None = None
    for media in ("text/plain", "text/html"):
        several = timings(media, options)
        table = table or Table(
            f"of {size}",
            "fetched before",
            "documents",
            "in its place, median",
            "painted, median",
            "painted, worst",
            "CPU",
        )
        for fetched, rows in zip(("yes", "no"), several, strict=True):
            shown, painted, cpu = np.array(rows).T
            figures = [np.median(shown), np.median(painted), painted.max(), np.median(cpu)]
            table.row(media, fetched, len(rows), *(f"{figure:.0f} ms" for figure in figures))


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
