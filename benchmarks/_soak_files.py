"""Lines of the soak's table that need no server: picks, connections, backups, erasing, size."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import select

from benchmarks._soak_campaign import NAME, Line, Size, make_campaign
from benchmarks.campaign_size import PLAN, material, write_judgements
from qrowd.collection.books.progress import status
from qrowd.collection.database import transfer, verification
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import event
from qrowd.collection.database.store import Store, Work
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.offer import Offer
from qrowd.collection.judging.picks import passed_over, pick
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.office import erasure
from qrowd.collection.people import workers
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements
from qrowd.collection.record import audit


def picks(folder: Path, database: str, size: Size) -> list[Line]:
    """Each pick compared with all open sets, one by one, in the transaction that leases it."""
    store = make_campaign(
        database, NAME, pairs=max(100, size.requests // 50), target=3, lease_minutes=60
    )
    rows = [[f"t{at % 20}", f"d{at}", float(at % 3)] for at in range(0, 100, 7)]
    with store.write(NAME) as work:
        audit.perform(work, "soak", "prioritise", {"priorities": rows})
    wrong = done = 0
    for at in range(max(10, size.workers)):
        with store.write(NAME) as work:
            number = workers.enter(work, "own", f"w{at}").id
            picked = [row.id for row in pick(work, number, 3)]
            wrong += len(passed_over(work, number, picked))
            done += isinstance(queue.next_batch(work, number), Offer)
    store.engine.dispose()
    return [Line(f"sets passed over by {done} picks", "0", str(wrong))]


def connections(folder: Path, database: str, size: Size) -> list[Line]:
    """How carefully each of many connections writes."""
    store = open_store(database, new=True)
    asked = "PRAGMA synchronous" if store.is_sqlite else "SHOW synchronous_commit"
    good = (2,) if store.is_sqlite else ("on", "remote_apply")
    found = []
    for _ in range(50):
        with store.engine.connect() as db:
            found.append(db.exec_driver_sql(asked).scalar())
        store.engine.dispose()
    wrong = sum(one not in good for one in found)
    return [Line(f"of {len(found)} connections: {asked.split()[1]} not {good[0]}", "0", str(wrong))]


def backups(folder: Path, database: str, size: Size) -> list[Line]:
    """Backups while somebody writes: each holds exactly the first n commits, n being one of those
    that were the last during the backup.
    """
    store = make_campaign(database, NAME, pairs=200, target=3, lease_minutes=60)
    with store.write(NAME) as work:
        number = workers.enter(work, "own", "writer").id
        offer = queue.next_batch(work, number)
    assert isinstance(offer, Offer)
    stop, done = threading.Event(), [0]

    def write() -> None:
        while not stop.is_set():
            said = events.Said(
                key=f"k{done[0]}",
                place=offer.sets[0].key,
                kind="grade",
                position=1,
                grade=done[0] % 2,
            )
            with store.write(NAME) as work:
                events.save(work, number, said)
            done[0] += 1

    thread = threading.Thread(target=write)
    thread.start()
    results = [_one_backup(store, folder / f"b{at}.db", done) for at in range(5)]
    stop.set()
    thread.join()
    store.engine.dispose()
    what = f"of {len(results)} backups under load, restored: not one commit during it"
    return [Line(what, "0", str(results.count(False)))]


def _one_backup(store: Store, path: Path, done: list[int]) -> bool:
    before = done[0]
    transfer.backup(store, path)
    after = done[0] + 1
    target = open_store(path.with_suffix(".restored"), new=True)
    transfer.restore(path, target)
    with target.read(NAME) as work:
        keys = set(work.db.scalars(select(event.c.key)))
        whole = verification.broken(work) == []
    target.engine.dispose()
    n = len(keys)
    return whole and keys == {f"k{at}" for at in range(n)} and before <= n <= after


SECRETS = ("Wilhelmina Quist", "5f3e9a77c1d2", "quist@example.org", "my aunt told me so")


def erased(folder: Path, database: str, size: Size) -> list[Line]:
    """A person's name, platform id, address and free text, looked for in every file."""
    store = make_campaign(database, NAME, pairs=100, target=3, lease_minutes=60)
    name, number, address, reason = SECRETS
    with store.write(NAME) as work:
        ann = workers.enter(work, "own", number, name=name, address=address).id
        offer = queue.next_batch(work, ann)
        assert isinstance(offer, Offer)
        for shown in offer.sets:
            for document in shown.documents:
                said = events.Said(
                    key=f"{shown.key}{document.position}",
                    place=shown.key,
                    kind="grade",
                    position=document.position,
                    grade=1,
                    reason=reason,
                )
                events.save(work, ann, said)
        submission.finish(work, ann, offer.key)
        submission.submit(work, ann, offer.key)
        workers.write_message(work, ann, f"I am {name}", from_worker=True)
        audit.perform(work, "soak", "settle", sure=True)
    there = sum(_found(store, folder / "before").values())
    erasure.forget(store, NAME, 1, who="soak")
    left = _found(store, folder / "after")
    store.engine.dispose()
    where = "database, WAL" if store.is_sqlite else "tables and indexes (not pg_wal)"
    what = f"files with an erased person's data (before: {there}): {where}, backup, export"
    return [Line(what, "0", str(sum(left.values())))]


def _found(store: Store, folder: Path) -> dict[str, int]:
    folder.mkdir()
    transfer.backup(store, folder / "backup.db")
    with store.read(NAME) as work:
        export(work, folder / "out", parquet=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    if store.is_sqlite:
        place = Path(str(store.engine.url.database))
        files += place.parent.glob(place.name + "*")
    else:
        with store.engine.connect() as db:
            data = Path(str(db.exec_driver_sql("SHOW data_directory").scalar()))
        files += [path for path in (data / "base").rglob("*") if path.is_file()]
    return {one: sum(one.encode() in path.read_bytes() for path in files) for one in SECRETS}


def large(folder: Path, database: str, size: Size) -> list[Line]:
    """Import, status and export of very many events; seconds of this process's CPU."""
    store = open_store(database, new=True)
    create_campaign(store, parse_plan(PLAN), material())
    write_judgements(folder / "in.tsv", size.events)

    def timed(act: Callable[..., Any], *given: Any, writes: bool = False) -> str:
        opened = store.write if writes else store.read
        clock, began = time.perf_counter(), time.process_time()
        with opened("large") as work:
            act(work, *given)
        took = time.perf_counter() - clock
        return f"{took:.1f} s ({time.process_time() - began:.1f} s CPU)"

    def exported(work: Work) -> None:
        export(work, folder / "out")

    what = f"of {size.events:,} events"
    lines = [
        Line(f"import {what}", "<= 60 s", timed(import_judgements, folder / "in.tsv", writes=True)),
        Line(f"status {what}", "<= 1 s", timed(status)),
        Line(f"export {what}", "<= 10 s", timed(exported)),
    ]
    store.engine.dispose()
    return lines
