"""A campaign with a million events: import, export, status, backup; CPU seconds and memory.

python -m benchmarks.campaign_size [--events 1000000] [--database URL]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qrowd.collection.books.progress import status
from qrowd.collection.database import transfer
from qrowd.collection.database.opening import open_store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.rows import CampaignRows, DocumentRow, TopicRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements

PLAN = '[campaign]\nname = "large"\n[hit]\ngold = 0\n'
TOPICS, POOL = 100, 1000


def material() -> CampaignRows:
    """100,000 pairs of 100 topics."""
    topics = [TopicRow(f"t{t}", f"query {t}") for t in range(TOPICS)]
    names = [(f"t{t}", f"d{t}-{d}") for t in range(TOPICS) for d in range(POOL)]
    documents = (DocumentRow(name, name.encode()) for _, name in names)
    return CampaignRows(topics, documents, names)


def write_judgements(path: Path, events: int) -> None:
    """So many judgements, each assessor judging every pair."""
    with path.open("w") as file:
        file.write("topic\tdoc\tassessor\tgrade\tseconds\ttime\n")
        for number in range(events):
            who, at = divmod(number, TOPICS * POOL)
            t, d = divmod(at, POOL)
            file.write(f"t{t}\td{t}-{d}\tm{who}\t{number % 3}\t{number % 40}\t1800000000000\n")


def timed(what: str, act: Callable[[], Any]) -> Any:
    """Run something; print its clock time, CPU time and how far memory grew."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    clock, cpu = time.perf_counter(), time.process_time()
    result = act()
    took, used = time.perf_counter() - clock, time.process_time() - cpu
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before.ru_maxrss
    print(f"{what:28}{took:9.2f} s{used:9.2f} s CPU{grown / 1024:9.0f} MB more", flush=True)
    return result


def main() -> None:
    """All of it, once."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--database", default="")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        store = open_store(given.database or here / "large.db", new=True)
        timed("100,000 pairs built", lambda: create_campaign(store, parse_plan(PLAN), material()))
        write_judgements(here / "in.tsv", given.events)

        def within(act: Callable[..., Any], *arguments: Any, writes: bool = False) -> Any:
            opened = store.write if writes else store.read
            with opened("large") as work:
                return act(work, *arguments)

        print(
            timed(
                f"import of {given.events:,}",
                lambda: within(import_judgements, here / "in.tsv", writes=True),
            )
        )
        timed("status", lambda: within(status))
        timed("status again", lambda: within(status))
        timed("export", lambda: within(export, here / "out"))
        timed("backup", lambda: transfer.backup(store, here / "backup.db"))
        store.engine.dispose()


if __name__ == "__main__":
    main()
