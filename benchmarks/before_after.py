"""The checkout here beside another one: CPU seconds, calls and SQL statements of what is done most.

    python -m benchmarks.before_after OTHER_CHECKOUT [--rounds 5]

Both run on the same data, made by this benchmark, in fresh processes on one thread, in turns; each
checkout is known by its command line and by HTTP only, so the other may be of any version that has
these. The short form compares this one with itself.
Seconds are the least of all rounds; the interval (95 %, t) is that of the mean ratio of rounds.
Calls are what Python's profiler counts in one further run; SQL statements are those that SQLite is
given, `BEGIN` and `COMMIT` too. A save and `next` are counted in the process of `qrowd serve`.
"""

from __future__ import annotations

import csv
import json
import os
import pstats
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from scipy import stats

from benchmarks._benchmark import Table, need, option, run
from benchmarks._data import made_judgements
from benchmarks._measure import ONE_THREAD, ROOT, command_spent
from benchmarks._server import Server, Worker

HELPS = ("", "merge", "merge ds", "evaluate", "campaign status")
NAME, TOPICS, SIZE, GOLD_SETS, SETS = "compared", 20, 5, 60, 4
PLAN = f"""
[campaign]
name = "{NAME}"
[scale]
grades = [0, 1]
[files]
topics = "topics.jsonl"
documents = "documents.jsonl"
pool = "pool.tsv"
gold = "gold.tsv"
[sets]
size = {SIZE}
target = 3
[hit]
sets = {SETS}
[pay]
hit = 0.10
budget = 1000000.00
[checks.seconds]
at_least = 0
"""
# Counts the SQL statements and the calls of every process that finds it on its path, and writes
# both to a file where that is asked for by a signal.
COUNTING = """
import itertools, os, signal, sqlite3, sys, threading

statements, calls = [0], [itertools.count(), 0]
connect = sqlite3.connect


def traced(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(count_statement)
    return connection


def count_statement(text):
    if not text.startswith("--"):  # what a trigger does is told as a comment
        statements[0] += 1


def count_call(frame, event, argument):
    if event in ("call", "c_call"):
        next(calls[0])


def tell(*_):
    calls[1] += 1  # asking takes one number itself
    counted = next(calls[0]) - calls[1] + 1
    path = os.path.join(os.environ["QROWD_COUNTED"], str(os.getpid()))
    with open(path + ".new", "w") as file:
        file.write(f"{statements[0]} {counted}")
    os.rename(path + ".new", path)


sqlite3.connect = sqlite3.dbapi2.connect = traced
signal.signal(signal.SIGUSR1, tell)
threading.setprofile(count_call)
sys.setprofile(count_call)
"""


@dataclass(frozen=True)
class Options:
    other: str = option("", positional=True)
    rounds: int = 5
    help_rounds: int = 15
    judgements: int = 1_000_000
    runs: int = 129
    topics: int = 50
    documents: int = 1000
    workers: int = 50  # who ask for a batch and save its answers, in each round


SHORT = Options(
    other=str(ROOT),
    rounds=1,
    help_rounds=2,
    judgements=2_000,
    runs=3,
    topics=2,
    documents=20,
    workers=8,
)


class Checkout:
    """One side: the source of one checkout, with caches of its own."""

    def __init__(self, name: str, root: Path, folder: Path) -> None:
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.source = root.resolve() / "src"
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self.environment = {
            **inherited,
            **ONE_THREAD,
            "PYTHONPATH": str(self.source),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
            "PYTHONHASHSEED": "0",
            "NUMBA_CACHE_DIR": str(self.folder / "kernels"),
        }
        where = self.output([sys.executable, "-c", "import qrowd; print(qrowd.__file__)"])
        if not Path(where.strip()).is_relative_to(self.source):
            raise SystemExit(f"{root} has no src/qrowd: {where.strip()} was imported instead")

    def output(self, command: list[str]) -> str:
        """What a command prints."""
        done = subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def qrowd(self, *arguments: str) -> str:
        """What a command of ours prints."""
        return self.output([sys.executable, "-m", "qrowd", *arguments])

    def cpu(self, *arguments: str) -> float:
        """CPU seconds of a command of ours, its start and all."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [sys.executable, "-m", "qrowd", *arguments]
        return command_spent(command, env=self.environment, cwd=self.folder, **quiet).cpu

    def calls(self, *arguments: str) -> int:
        """How many calls a command of ours makes."""
        file = self.folder / "profile"
        profile = ["-m", "cProfile", "-o", str(file), "-m", "qrowd"]
        self.output([sys.executable, *profile, *arguments])
        return int(pstats.Stats(str(file)).total_calls)  # type: ignore[attr-defined]


Sides = tuple[Checkout, Checkout]


@dataclass(frozen=True)
class Counts:
    """What is the same in every run."""

    calls: float
    statements: float | None = None


class Comparison(Table):
    """One row for each thing that is done."""

    def __init__(self) -> None:
        super().__init__(
            "what",
            "CPU before",
            "CPU after",
            "after / before",
            "interval",
            "calls before",
            "calls after",
            "after / before, calls",
            "SQL before",
            "SQL after",
            optional=("interval", "SQL before", "SQL after"),
        )

    def add(self, what: str, cpu: np.ndarray, before: Counts, after: Counts) -> None:
        """CPU seconds [side, round], and what was counted of each side."""
        least = cpu.min(axis=1)
        ratios = np.log(cpu[1] / cpu[0])
        interval = ""
        if len(ratios) > 1:
            width = stats.t.ppf(0.975, len(ratios) - 1) * stats.sem(ratios)
            low, high = np.exp([ratios.mean() - width, ratios.mean() + width])
            interval = f"{low:.3f} to {high:.3f}"
        sql = ["" if x.statements is None else f"{x.statements:.1f}" for x in (before, after)]
        self.row(
            what,
            *(
                f"{seconds:.3f} s" if seconds > 0.05 else f"{seconds * 1e3:.2f} ms"
                for seconds in least
            ),
            f"{least[1] / least[0]:.3f}",
            interval,
            f"{before.calls:,.0f}",
            f"{after.calls:,.0f}",
            f"{after.calls / before.calls:.4f}",
            *sql,
        )


def in_turns(sides: Sides, rounds: int, work: Callable[[Checkout], Sequence[float]]) -> np.ndarray:
    """What each side takes [figure, side, round]; they take turns in being first."""
    taken: list[list[Sequence[float]]] = [[], []]
    for number in range(rounds):
        for at in (0, 1) if number % 2 == 0 else (1, 0):
            taken[at].append(work(sides[at]))
    return np.moveaxis(np.array(taken), 2, 0)


# --- commands -------------------------------------------------------------------------------------


def commands(folder: Path, sides: Sides, options: Options) -> dict[str, list[str]]:
    """What is run, by its name; the data are made once."""
    listed = {}
    for grades in (2, 5):
        path = str(made_judgements(folder, options.judgements, grades))
        for method in ("mv", "ds"):
            name = f"merge {method}, {options.judgements:,} judgements, {grades} grades"
            listed[name] = ["merge", method, path, "-o", "merged.qrels"]
    made = folder / "simulated"
    sizes = {
        "--topics": options.topics,
        "--documents": options.documents,
        "--runs": options.runs,
        "--depth": options.documents,
        "--votes": 1,
    }
    words = [str(word) for item in sizes.items() for word in item]
    sides[0].qrowd("simulate", "-o", str(made), *words)
    name = f"evaluate, {options.runs} runs, {options.topics} topics"
    listed[name] = ["evaluate", "--runs", str(made / "runs"), "--qrels", str(made / "gold.qrels")]
    for verb in HELPS:
        listed[f"qrowd {verb} --help".replace("  ", " ")] = [*verb.split(), "--help"]
    return listed


def compare_commands(table: Comparison, folder: Path, sides: Sides, options: Options) -> None:
    for name, arguments in commands(folder, sides, options).items():
        for side in sides:
            side.cpu(*arguments)  # compiles, and fills caches
        rounds = options.help_rounds if arguments[-1] == "--help" else options.rounds
        cpu = in_turns(sides, rounds, lambda side: [side.cpu(*arguments)])  # noqa: B023
        before, after = (Counts(side.calls(*arguments)) for side in sides)
        table.add(name, cpu[0], before, after)


# --- requests -------------------------------------------------------------------------------------


class Campaign:
    """A campaign of one checkout, large enough for all workers, and links for them."""

    def __init__(self, side: Checkout, options: Options) -> None:
        self.side = side
        self.database = str(side.folder / "campaign.db")
        self.workers = options.workers
        visits = options.workers * (options.rounds + 2)
        self._write_plan(-(-visits * SETS // 3) * SIZE + TOPICS * SIZE)
        side.qrowd("campaign", "new", "plan.toml", "-o", self.database, "--launch")
        people = [f"worker {number}" for number in range(visits)]
        links = side.folder / "links.tsv"
        side.qrowd("campaign", "links", self.database, *people, "-o", str(links))
        with links.open() as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        self.links = iter([parse_qs(urlsplit(row["link"]).query)["link"][0] for row in rows])

    def _write_plan(self, pairs: int) -> None:
        pool = [(f"t{at % TOPICS}", f"d{at}") for at in range(pairs)]
        gold = [
            (f"t{number % TOPICS}", f"g{number}-{at}", str(at % 2), "because", f"s{number}")
            for number in range(GOLD_SETS)
            for at in range(SIZE)
        ]
        topics = [{"topic": f"t{at}", "query": f"query {at}"} for at in range(TOPICS)]
        documents = [
            {"doc": row[1], "title": f"Page {row[1]}", "text": f"The text of {row[1]}. " * 20}
            for row in (*pool, *gold)
        ]
        folder = self.side.folder
        (folder / "plan.toml").write_text(PLAN)
        for name, objects in (("topics", topics), ("documents", documents)):
            lines = [json.dumps(each) + "\n" for each in objects]
            (folder / f"{name}.jsonl").write_text("".join(lines))
        for name, head, rows in (
            ("pool", ("topic", "doc"), pool),
            ("gold", ("topic", "doc", "grade", "reason", "set"), gold),
        ):
            text = ["\t".join(row) + "\n" for row in (head, *rows)]
            (folder / f"{name}.tsv").write_text("".join(text))

    @contextmanager
    def serving(self, **environment: str) -> Iterator[Server]:
        """Its server, while it is needed."""
        surroundings = self.side.environment | environment
        server = Server(self.side.folder, self.database, 1, environment=surroundings)
        server.start()
        try:
            yield server
        finally:
            server.kill()

    def visit(self, address: str, spent: Callable[[], Any]) -> tuple[int, Any, Any, Any]:
        """Each worker of a round asks for a batch, then saves all its answers.

        How many answers there were, and what was spent before, between and after.
        """
        workers = [Worker(address, NAME) for _ in range(self.workers)]
        for worker in workers:
            worker.enter(next(self.links))
        before = spent()
        batches = [worker.next_batch() for worker in workers]
        between = spent()
        saved = 0
        for worker, batch in zip(workers, batches, strict=True):
            for shown in batch["sets"]:
                for document in shown["documents"]:
                    position = document["position"]
                    worker.save(f"{shown['key']}-{position}", shown["key"], position, 1)
                    saved += 1
        after = spent()
        for worker in workers:
            worker.close()
        return saved, before, between, after


def compare_requests(table: Comparison, sides: Sides, options: Options) -> None:
    campaigns = {side.name: Campaign(side, options) for side in sides}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(campaign.serving()) for name, campaign in campaigns.items()
        }

        def cpu_of(side: Checkout) -> tuple[float, float]:
            server = servers[side.name]
            saved, before, between, after = campaigns[side.name].visit(server.address, server.cpu)
            return (between - before) / options.workers, (after - between) / saved

        for side in sides:
            cpu_of(side)  # fills caches
        cpu = in_turns(sides, options.rounds, cpu_of)
    counted = [counts_of(campaigns[side.name], options) for side in sides]
    for at, what in enumerate(("next", "a save")):
        table.add(what, cpu[at], counted[0][at], counted[1][at])


def counts_of(campaign: Campaign, options: Options) -> tuple[Counts, Counts]:
    """The calls and SQL statements of `next` and of a save, by a server that counts them."""
    folder = campaign.side.folder / "counting"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(COUNTING)
    path = f"{folder}:{campaign.side.source}"
    with campaign.serving(PYTHONPATH=path, QROWD_COUNTED=str(folder)) as server:
        assert server.process is not None
        process = server.process.pid

        def counted() -> np.ndarray:
            time.sleep(0.2)  # what follows a reply has its turn
            file = folder / str(process)
            file.unlink(missing_ok=True)
            os.kill(process, signal.SIGUSR1)
            while not file.exists():
                time.sleep(0.01)
            return np.array([float(word) for word in file.read_text().split()])

        saved, before, between, after = campaign.visit(server.address, counted)
    first, second = (between - before) / options.workers, (after - between) / saved
    return Counts(first[1], first[0]), Counts(second[1], second[0])


def main(options: Options) -> None:
    need(options.other, "no other checkout is named")
    with tempfile.TemporaryDirectory(prefix="qrowd-compared-") as name:
        folder = Path(name)
        sides = Checkout("before", Path(options.other), folder), Checkout("after", ROOT, folder)
        table = Comparison()
        compare_commands(table, folder, sides, options)
        compare_requests(table, sides, options)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
