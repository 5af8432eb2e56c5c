"""A campaign with a million events: import, export, status, backup; CPU seconds and memory.

python -m benchmarks.campaign_size [--events 1000000] [--database URL]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._benchmark import Table, run
from benchmarks._measure import Spent, peak_memory, timed
from qrowd.collection.books.progress import status
from qrowd.collection.database import transfer
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.store import Store
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.plan.rows import CampaignRows, DocumentRow
from qrowd.collection.plan.toml import parse_plan
from qrowd.collection.publishing.export import export
from qrowd.collection.publishing.imports import import_judgements
from qrowd.data.topics import Topic

PLAN = '[campaign]\nname = "large"\n[hit]\ngold = 0\n'


@dataclass(frozen=True)
class Options:
    events: int = 1_000_000
    topics: int = 100
    pool: int = 1000  # documents of a topic
    database: str = ""


SHORT = Options(events=500, topics=2, pool=50)


def steps(store: Store, folder: Path, options: Options) -> Iterator[tuple[str, Spent]]:
    """Build the campaign, import judgements, and what else one does with it; each is timed."""

    def step(name: str, work: Callable[[], Any]) -> tuple[str, Spent]:
        return name, timed(work)[1]

    def reading(act: Callable[..., Any], *arguments: Any) -> Any:
        with store.read("large") as work:
            return act(work, *arguments)

    def imported() -> None:
        with store.write("large") as work:
            import_judgements(work, folder / "in.tsv")

    pairs = options.topics * options.pool
    built = partial(create_campaign, store, parse_plan(PLAN), material(options))
    yield step(f"{pairs:,} pairs built", built)
    write_judgements(folder / "in.tsv", options)
    yield step(f"import of {options.events:,} events", imported)
    yield step("status", partial(reading, status))
    yield step("status again", partial(reading, status))
    yield step("export", partial(reading, export, folder / "out"))
    yield step("backup", lambda: transfer.backup(store, folder / "backup.db"))


def material(options: Options) -> CampaignRows:
    """All pairs of some topics."""
    topics = [Topic(f"t{t}", f"query {t}") for t in range(options.topics)]
    pairs = [(f"t{t}", f"d{t}-{d}") for t in range(options.topics) for d in range(options.pool)]
    documents = (DocumentRow(name, name.encode()) for _, name in pairs)
    return CampaignRows(topics, documents, pairs)


def write_judgements(path: Path, options: Options) -> None:
    """So many judgements, each assessor judging every pair."""
    with path.open("w") as file:
        file.write("topic\tdoc\tassessor\tgrade\tseconds\ttime\n")
        for number in range(options.events):
            assessor, at = divmod(number, options.topics * options.pool)
            t, d = divmod(at, options.pool)
            row = f"t{t}\td{t}-{d}\tm{assessor}\t{number % 3}\t{number % 40}\t1800000000000\n"
            file.write(row)


def main(options: Options) -> None:
    """All of it, once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = open_store(options.database or folder / "large.db", new=True)
        table = Table("what", "s", "CPU s", "MB more")
        before = peak_memory()
        for what, spent in steps(store, folder, options):
            grown = peak_memory() - before
            table.row(what, f"{spent.seconds:.2f}", f"{spent.cpu:.2f}", f"{grown / 2**20:.0f}")
            before = peak_memory()
        store.engine.dispose()


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
