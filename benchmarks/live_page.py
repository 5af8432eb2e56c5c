"""The live page at 1,000,000 judgements and 10,000 workers: seconds to be shown, the tab's memory.

python -m benchmarks.live_page [--workers 10000] [--judgements 1000000] [--folder KEPT]

Makes such a campaign (kept in `--folder`, if given), lets background jobs find what pages show,
serves it by one process, and opens every page of it in Chromium (playwright). CPU seconds are those
of the server's process for one request; the tab's memory is its process's share of what it uses.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._live_campaign import make_campaign
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.web import jobs, tasks
from qrowd.web.accounts import new_account
from qrowd.web.files import CampaignFiles
from qrowd.web.settings import Settings

LOGIN, PASSWORD = "benchmark", "a long password"
PAGES = (
    "",
    "/coverage",
    "/quality",
    "/workers",
    "/workers?order=suspicion",
    "/workers/7",
    "/money",
    "/systems",
    "/gold",
    "/disputed",
    "/acts",
    "/appeals",
    "/batches",
)
RUNS, DEPTH = 10, 50
TIMES = 5


def main() -> None:
    """All of it, once."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workers", type=int, default=10_000)
    options.add_argument("--judgements", type=int, default=1_000_000)
    options.add_argument("--folder", default="")
    options.add_argument("--method", default="mv")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(given.folder or made)
        database = str(folder / "qrowd.db")
        prepare(folder, database, given)
        with served(folder, database) as (settings, process):
            show(settings, process)


def prepare(folder: Path, database: str, given: Any) -> None:
    """The campaign, an account, runs, and the results that pages show."""
    if (folder / "qrowd.db").is_file():
        store = open_store(database)
    else:
        store = made_campaign(folder, database, given)
    for kind in ("quality", "systems", "merge"):
        with store.write("large") as work:
            found = jobs.latest(work, kind)
            if found is None:
                jobs.ask(work, kind, {"method": given.method})
        cpu = time.process_time()
        if found is None and tasks.run_one(store, folder):
            print(f"{'job ' + kind:34}{time.process_time() - cpu:9.1f} s CPU", flush=True)
    store.engine.dispose()


def made_campaign(folder: Path, database: str, given: Any) -> Store:
    """A new campaign, and its organiser's account."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = given.judgements // 10
    store = make_campaign(database, workers=given.workers, judgements=given.judgements, pool=pool)
    with store.write("large") as work:
        new_account(work.db, work.now, LOGIN, PASSWORD, administrator=True)
    place = CampaignFiles(store, folder, 1)
    for number in range(RUNS):
        lines = [run_line(t, d, number, pool) for t in range(100) for d in range(DEPTH)]
        (place.runs / f"s{number}.run").write_text("\n".join(lines) + "\n")
    return store


def run_line(topic: int, rank: int, number: int, pool: int) -> str:
    """A line of a run, which ranks the pool's documents in an order of its own."""
    document = topic + 100 * (rank * (number + 3) % (pool // 100))
    return f"t{topic} Q0 d{document} {rank + 1} {DEPTH - rank} s{number}"


@contextmanager
def served(folder: Path, database: str) -> Iterator[tuple[Settings, Any]]:
    """A server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    settings = Settings.of_folder(folder, database, address)
    code = (
        "import sys, uvicorn; from pathlib import Path;"
        "from qrowd.web.app import make_app; from qrowd.web.settings import Settings;"
        "s = Settings.of_folder(Path(sys.argv[1]), sys.argv[2], sys.argv[3]);"
        "uvicorn.run(make_app(s), port=int(sys.argv[3].rpartition(':')[2]), log_level='warning')"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(folder), database, address])
    try:
        wait_for(address)
        yield settings, process
    finally:
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    """Until the server answers."""
    port = int(address.rpartition(":")[2])
    while True:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


def cpu_of(process: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def memory_of(process: int) -> float:
    """Megabytes of a process, what it shares with others in shares."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def renderers(parent: int) -> list[int]:
    """Chromium's processes for tabs, below a process."""
    found, left = [], [parent]
    while left:
        one = left.pop()
        left += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
        if b"--type=renderer" in Path(f"/proc/{one}/cmdline").read_bytes():
            found.append(one)
    return found


def show(settings: Settings, process: Any) -> None:
    """Open each page several times; print what it took."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        _signed_in(page, settings.address)
        print(f"{'page':34}{'KB':>8}{'server CPU':>12}{'shown':>9}{'tab':>9}")
        for end in PAGES:
            address = f"{settings.address}/campaigns/large{end}"
            reply = page.goto(address)  # and warm
            size = len(reply.body()) if reply else 0
            cpu, clock = cpu_of(process.pid), time.perf_counter()
            for _ in range(TIMES):
                page.goto(address, wait_until="load")
            took, used = (time.perf_counter() - clock) / TIMES, cpu_of(process.pid) - cpu
            tab = max(map(memory_of, renderers(os.getpid())), default=0.0)
            print(
                f"{end or '(live)':34}{size / 1024:8.0f}{used / TIMES:10.2f} s{took:7.2f} s"
                f"{tab:6.0f} MB",
                flush=True,
            )
        browser.close()


def _signed_in(page: Any, address: str) -> None:
    page.goto(f"{address}/sign-in")
    page.fill("[name=login]", LOGIN)
    page.fill("[name=password]", PASSWORD)
    page.click("main button")


if __name__ == "__main__":
    main()
