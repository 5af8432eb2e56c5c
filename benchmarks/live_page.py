"""The live page at 1,000,000 judgements and 10,000 workers: seconds to be shown, the tab's memory.

python -m benchmarks.live_page [--workers 10000] [--judgements 1000000] [--folder KEPT]

Makes such a campaign (kept in `--folder`, if given; its rows are inserted, then rules are in
force), lets background jobs find what pages show, serves it by one process, and opens every page of
it in Chromium (playwright). CPU seconds are those of the server's process for one request; the
tab's memory is its process's share of what it uses.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, text
from sqlalchemy import Table as Relation

from benchmarks._benchmark import Table, run
from benchmarks._campaign import SIZE, launched, made_material
from benchmarks._measure import timed
from benchmarks._server import Server, browser, running
from qrowd.collection.books import ledger
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, entry, event, outcome, place, worker
from qrowd.collection.database.store import Store, Work
from qrowd.collection.database.triggers import create_triggers, drop_triggers
from qrowd.web import jobs, tasks
from qrowd.web.accounts import new_account
from qrowd.web.files import CampaignFiles

NAME, LOGIN, PASSWORD = "large", "benchmark", "a long password"
PLAN = """
[campaign]
name = "large"
title = "A large campaign"
[scale]
grades = [0, 1]
[sets]
target = {target}
[hit]
sets = 6
[pay]
hit = 0.50
budget = 40000.00
"""
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
TOPICS = 100
DAY = 86_400_000  # milliseconds
CHUNK = 20_000
RUNS, DEPTH = 10, 50
Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Options:
    workers: int = 10_000
    judgements: int = 1_000_000
    folder: str = ""
    method: str = "mv"
    times: int = 5  # each page is opened


SHORT = Options(workers=20, judgements=10_000, times=1)


def main(options: Options) -> None:
    """All of it, once."""
    with browser() as chromium, tempfile.TemporaryDirectory() as made:
        folder = Path(options.folder or made)
        database = str(folder / "qrowd.db")
        if (folder / "qrowd.db").is_file():
            store = open_store(database)
        else:
            store = made_campaign(folder, database, options)
        run_jobs(store, folder, options)
        store.engine.dispose()
        with running(folder, database, processes=1) as server:
            show(chromium, server, options)


def run_jobs(store: Store, folder: Path, options: Options) -> None:
    """Find the results that pages show, unless they are kept from before."""
    todo = []
    for kind in ("quality", "systems", "merge"):
        with store.write(NAME) as work:
            if jobs.latest(work, kind) is None:
                todo.append(kind)
    if not todo:
        return
    table = Table("job", "CPU s", title="Jobs")
    for kind in todo:
        with store.write(NAME) as work:
            jobs.ask(work, kind, {"method": options.method})
        done, spent = timed(lambda: tasks.run_one(store, folder))
        table.row(kind, f"{spent.cpu:.1f}" if done else "-")


def show(chromium: Any, server: Server, options: Options) -> None:
    """Open each page several times; print what it took."""
    page = chromium.new_page()
    page.goto(f"{server.address}/sign-in")
    page.fill("[name=login]", LOGIN)
    page.fill("[name=password]", PASSWORD)
    page.click("main button")
    table = Table("page", "KB", "server CPU", "shown", "tab", title="Pages")
    for end in PAGES:
        address = f"{server.address}/campaigns/{NAME}{end}"
        reply = page.goto(address)  # and warm
        if reply.status != 200:
            raise RuntimeError(f"{address}: {reply.status}")
        size = len(reply.body()) / 1024
        cpu, clock = server.cpu(), time.perf_counter()
        for _ in range(options.times):
            page.goto(address, wait_until="load")
        shown = (time.perf_counter() - clock) / options.times
        used = (server.cpu() - cpu) / options.times
        tab = max(map(memory_of, renderers(os.getpid())))
        table.row(
            end or "(live)",
            f"{size:.0f}",
            f"{used:.2f} s",
            f"{shown:.2f} s",
            f"{tab:.0f} MB",
        )


def memory_of(process: int) -> float:
    """Megabytes of a process, what it shares with others in shares."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def renderers(parent: int) -> list[int]:
    """Chromium's processes for tabs, below a process."""
    tabs, left = [], [parent]
    while left:
        process = left.pop()
        left += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
        if b"--type=renderer" in Path(f"/proc/{process}/cmdline").read_bytes():
            tabs.append(process)
    return tabs


# --- the campaign ---------------------------------------------------------------------------------


def made_campaign(folder: Path, database: str, options: Options) -> Store:
    """A new campaign over some days in which so many judgements are held, its runs, an account."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = options.judgements // 10
    plan = PLAN.format(target=-(-options.judgements // pool) + 2)
    store = launched(database, plan, made_material(pool, TOPICS, times=1))
    with store.write(NAME) as work:
        drop_triggers(work.db)
        Filling(work, options).fill()
        create_triggers(work.db)
        new_account(work.db, work.now, LOGIN, PASSWORD, administrator=True)
    with store.engine.connect() as db:
        db.exec_driver_sql("ANALYZE")
    for number in range(RUNS):
        lines = [run_line(t, d, number, pool) for t in range(TOPICS) for d in range(DEPTH)]
        (CampaignFiles(store, folder, 1).runs / f"s{number}.run").write_text(
            "\n".join(lines) + "\n"
        )
    return store


def run_line(topic: int, rank: int, number: int, pool: int) -> str:
    """A line of a run, which ranks the pool's documents in an order of its own."""
    document = topic + TOPICS * (rank * (number + 3) % (pool // TOPICS))
    return f"t{topic} Q0 d{document} {rank + 1} {DEPTH - rank} s{number}"


class Filling:
    """Every worker does the same number of batches of five sets and one gold set, all accepted."""

    def __init__(self, work: Work, options: Options, seed: int = 1) -> None:
        self.work, self.workers = work, options.workers
        self.batches = options.judgements // (5 * SIZE)
        self.start = work.now - 6 * DAY
        self.chance = random.Random(seed)
        query = text("SELECT id FROM judging_set WHERE role = :role ORDER BY id")
        self.sets: list[int] = list(work.db.scalars(query, {"role": "pool"}))
        self.gold: list[int] = list(work.db.scalars(query, {"role": "gold"}))

    def fill(self) -> None:
        """All tables, and what is counted of them elsewhere."""
        db = self.work.db
        put(db, worker, self.people())
        put(db, assignment, map(self.assignment, range(self.batches)))
        put(db, place, self.places())
        put(db, event, self.events())
        put(db, outcome, self.outcomes())
        put(db, entry, self.entries())
        db.execute(
            text(
                "INSERT INTO answer (place_id, position, event_id) "
                "SELECT place_id, position, id FROM event"
            )
        )
        db.execute(
            text(
                "UPDATE judging_set SET held = (SELECT count(*) FROM place "
                "WHERE set_id = judging_set.id AND held = 1)"
            )
        )
        db.execute(
            text("UPDATE campaign SET free = free - :n, owed = owed + :n WHERE id = :id"),
            {"n": 50 * self.batches, "id": self.work.campaign},
        )
        assert ledger.balance(self.work).owed == 50 * self.batches

    def time_of(self, batch: int) -> int:
        return self.start + 6 * DAY * batch // self.batches

    def worker_of(self, batch: int) -> int:
        return batch % self.workers + 1

    def gold_of(self, batch: int) -> int:
        return self.gold[(batch // self.workers) % len(self.gold)]

    def sets_of(self, batch: int) -> list[int]:
        """Five sets, others for each batch of a worker, and one of gold."""
        shift = batch // self.workers * (len(self.sets) // 8 + 3)
        counted = [self.sets[(batch * 5 + at + shift) % len(self.sets)] for at in range(5)]
        return [*counted, self.gold_of(batch)]

    def people(self) -> Rows:
        for number in range(self.workers):
            yield {
                "id": number + 1,
                "campaign_id": self.work.campaign,
                "key": f"w{number}",
                "number": number + 1,
                "state": "qualified",
                "made_at": self.start,
            }

    def assignment(self, batch: int) -> dict[str, Any]:
        at = self.time_of(batch)
        return {
            "id": batch + 1,
            "campaign_id": self.work.campaign,
            "worker_id": self.worker_of(batch),
            "key": f"a{batch}",
            "kind": "judge",
            "state": "accepted",
            "pay": 50,
            "earned": 50,
            "leased_at": at,
            "expires_at": at + 1,
            "latest_end": at + 1,
            "finished_at": at + 1,
            "ended_at": at + 1,
        }

    def places(self) -> Rows:
        number = 0
        for batch in range(self.batches):
            for ordinal, shown in enumerate(self.sets_of(batch), 1):
                number += 1
                counted = ordinal <= 5
                yield {
                    "id": number,
                    "assignment_id": batch + 1,
                    "worker_id": self.worker_of(batch),
                    "set_id": shown,
                    "kind": "count" if counted else "gold",
                    "ordinal": ordinal,
                    "key": f"p{number}",
                    "shown": "1 2 3 4 5",
                    "held": int(counted),
                }

    def events(self) -> Rows:
        """Nine tenths of the workers are right nine times of ten, the others nearly by chance."""
        truth = {shown: self.chance.random() < 0.3 for shown in self.sets}
        skill = [0.55 if self.chance.random() < 0.1 else 0.9 for _ in range(self.workers)]
        number = place_number = 0
        for batch in range(self.batches):
            person = self.worker_of(batch)
            for shown in self.sets_of(batch):
                place_number += 1
                for position in range(1, SIZE + 1):
                    number += 1
                    relevant = truth.get(shown, (position - 1) % 2 == 1)
                    right = self.chance.random() < skill[person - 1]
                    yield {
                        "id": number,
                        "worker_id": person,
                        "place_id": place_number,
                        "position": position,
                        "kind": "grade",
                        "grade": int(relevant == right),
                        "at": self.time_of(batch) + position,
                        "milliseconds": 1000 * self.chance.randint(4, 40),
                        "key": f"e{number}",
                    }

    def outcomes(self) -> Rows:
        for batch in range(self.batches):
            yield {
                "assignment_id": batch + 1,
                "set_id": self.gold_of(batch),
                "check": "binary",
                "value": 0.9,
                "at_least": 0.85,
                "passed": int(batch % 7 > 0),
                "action": "exclude",
            }

    def entries(self) -> Rows:
        for batch in range(self.batches):
            yield {
                "campaign_id": self.work.campaign,
                "worker_id": self.worker_of(batch),
                "assignment_id": batch + 1,
                "at": self.time_of(batch),
                "why": "earned",
                "source": "free",
                "target": "owed",
                "amount": 50,
            }


def put(db: Connection, relation: Relation, rows: Rows) -> None:
    """Insert many rows, a chunk at a time."""
    while chunk := list(islice(rows, CHUNK)):
        db.execute(insert(relation), chunk)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
