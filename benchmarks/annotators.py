"""Many annotators at once, beside Label Studio and Potato: `python -m benchmarks.annotators`.

Everybody sends what the tool's page sends: save a grade, ask for the next document, think, again.
A share of the saves is sent a second time as it was, as a browser does that got no reply. "next" is
what somebody waits from a save that is done to the next document: in qrowd within a batch its text,
after the last one also the batch's end and the next batch (its page asks for a document while the
one before it is read; here all are asked for when they are wanted). Signing in and each one's
first vote are before the clock; then they begin one after another within a moment of thought.
After it, all save, and ask for the next document in the same moment.

Each tool runs on this machine as its own command starts it, with its own database, alone. The
peers come from environments of their own, which variables name; without, they are skipped:

    python -m venv peers/potato && peers/potato/bin/pip install 'potato-annotation==2.12.*'
    python -m venv peers/studio && peers/studio/bin/pip install 'label-studio==1.23.*'
    QROWD_POTATO=peers/potato QROWD_LABEL_STUDIO=peers/studio python -m benchmarks.annotators

That takes about ten minutes; Label Studio makes its tables first. Potato hands out items at random
(`assignment_strategy: random`): in its default order, everybody gets the first ones. Left out, in
the peers' favour: what their pages report of mouse and keys, drafts, and a second save that
Potato's page sends where half a second passes between a grade and "Next". Label Studio's page sends
with a save the number of the lock that came with the task, if one came; a repeated save with the
same number is refused.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import sqlite3
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from benchmarks._benchmark import Table, attempt, need, option, run
from benchmarks._campaign import launched, made_material
from benchmarks._server import Client, Program, Server, Worker
from qrowd.collection.database.schema import document, event, with_pairs
from qrowd.collection.people.entry import make_link

NAME = "annotators"
PLAN = """
[campaign]
name = "annotators"
[scale]
grades = [0, 1]
[sets]
size = {size}
target = {votes}
[hit]
sets = {sets}
gold = 0
[checks.seconds]
at_least = 0
"""
TOOLS = ("qrowd-30", "qrowd-1", "potato", "label-studio")
LOCAL = ("--internal-host", "127.0.0.1", "--port")
PATIENCE = 120.0  # seconds for a reply of a peer
PASSWORD = "not-a-secret-1234"


@dataclass(frozen=True)
class Options:
    annotators: int = 50
    seconds: float = 90.0
    documents: int = 2000
    votes: int = 3  # of each document
    thought: float = 1.0  # seconds before each save
    again: float = 0.1  # of saves are sent twice
    processes: int = 1  # of qrowd that answer requests
    tools: tuple[str, ...] = option(TOOLS, choices=TOOLS)


SHORT = Options(
    annotators=4, seconds=2.0, documents=90, thought=0.05, tools=("qrowd-30", "qrowd-1")
)


class Annotator(ABC):
    """Somebody who has signed in; what the page of a tool sends for them."""

    client: Client

    @abstractmethod
    def next(self) -> None:
        """Get the next document; an error if nothing is left, or it does not come."""

    @abstractmethod
    def save(self, grade: int) -> None:
        """Save a grade of the document that is open; the same content if called again."""


class Tool(ABC):
    """A tool to annotate with, and a task of so many documents in it."""

    title: str
    program: Program

    @abstractmethod
    def prepare(self) -> None:
        """Make the task, before the start that is measured."""

    @abstractmethod
    def annotator(self, number: int) -> Annotator:
        """Sign somebody in."""

    @abstractmethod
    def stored(self) -> Counter[tuple[Any, Any]]:
        """How many votes there are by document and annotator; as they are in its files."""


# --- qrowd ----------------------------------------------------------------------------------------


class QrowdPage(Annotator):
    """The judging page: `batch.js`, `outbox.js`, `reader.js`, `judge.js`."""

    def __init__(self, worker: Worker) -> None:
        self.client = self.worker = worker
        self.batch: dict[str, Any] | None = None
        self.left: Iterator[tuple[str, int]] = iter(())  # documents: a set's key, a position

    def next(self) -> None:
        shown = next(self.left, None)
        if shown is None:
            self.batch = self._next_batch()
            sets = self.batch["sets"]
            self.left = iter([(s["key"], d["position"]) for s in sets for d in s["documents"]])
            shown = next(self.left)
        key, position = shown
        text = self.client.ask("GET", f"/judge/{NAME}/documents/{key}/{position}").json()["html"]
        if "The text of" not in text:
            raise ValueError("no document")
        self.answer = {"key": os.urandom(16).hex(), "place": key, "position": position}

    def _next_batch(self) -> dict[str, Any]:
        """End the batch, if there is one, and get the next one."""
        if self.batch is not None:
            path = f"{self.worker.api}/judging/batches/{self.batch['key']}/end"
            self.batch = None
            ending: dict[str, Any] = self.client.ask("POST", path, {"go_on": True}).json()
            if ending["batch"]:
                return dict(ending["batch"])
        return self.worker.next_batch()

    def save(self, grade: int) -> None:
        body = {**self.answer, "kind": "grade", "grade": grade, "seconds": 1.0, "follows": 0}
        self.client.ask("POST", f"{self.worker.api}/judging/answers", body).json()


class Qrowd(Tool):
    """Batches of so many documents."""

    def __init__(self, folder: Path, options: Options, batch: int) -> None:
        size = min(5, batch)
        self.options = options
        self.plan = PLAN.format(size=size, sets=batch // size, votes=options.votes)
        self.title = f"qrowd, batches of {batch}"
        self.database = str(folder / "qrowd.db")
        self.program = Server(folder, self.database, options.processes)

    def prepare(self) -> None:
        material = replace(made_material(self.options.documents), gold=[])
        self.store = launched(self.database, self.plan, material)

    def annotator(self, number: int) -> Annotator:
        with self.store.write(NAME) as work:
            link = make_link(work, f"annotator {number}")
        worker = Worker(self.program.address, NAME)
        worker.enter(link)
        return QrowdPage(worker)

    def stored(self) -> Counter[tuple[Any, Any]]:
        query = select(document.c.name, event.c.worker_id).select_from(with_pairs(event))
        with self.store.read(NAME) as work:
            votes = Counter((row.name, row.worker_id) for row in work.db.execute(query))
        self.store.engine.dispose()
        return votes


# --- Potato ---------------------------------------------------------------------------------------


def peer(variable: str, package: str) -> tuple[Path, str]:
    """The folder of the environment that a variable names, and its version of a package."""
    folder, version = Path(os.environ.get(variable, "")).absolute(), ""
    if (python := folder / "bin" / "python").is_file():
        code = f"import importlib.metadata as m; print(m.version({package!r}))"
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
    need(version, f"no {package} ({variable} names the folder of an environment that has it)")
    return folder, version


@dataclass
class Command(Program):
    """A command of another environment, in its own folder; its port comes last."""

    words: tuple[str | Path, ...]

    def command(self) -> list[str]:
        return [*map(str, self.words), str(self.port)]


class PotatoPage(Annotator):
    """Potato's annotation.js: `saveAnnotations`, `navigateToNext`, `loadNavigatedPage`."""

    def __init__(self, client: Client) -> None:
        self.client = client
        client.headers["X-Potato-Navigation"] = "1"  # a short reply to "next"
        self.open = ""

    def next(self) -> None:
        if self.open:
            body = {"action": "next_instance", "instance_id": self.open}
            self.client.ask("POST", "/annotate", body).json()
        page = self.client.ask("GET", "/annotate").content.decode()
        found = re.search(r'id="instance_id"[^>]*value="([^"]*)"', page)
        if not found or found[1] == self.open or f"The text of {found[1]}." not in page:
            raise ValueError("no next document")
        self.open = found[1]

    def save(self, grade: int) -> None:
        body = {
            "instance_id": self.open,
            "annotations": {f"grade:{grade}": str(grade)},
            "cleared_schemas": [],
            "span_annotations": [],
            "client_timestamp": "2026-01-01T00:00:00.000Z",
            "response_time_seconds": 1.0,
        }
        reply = self.client.ask("POST", "/updateinstance", body).json()
        if reply["status"] != "success":
            raise ValueError(reply)


class Potato(Tool):
    """Its users have names only; items are in a file, answers in files of each user."""

    def __init__(self, folder: Path, options: Options) -> None:
        home, version = peer("QROWD_POTATO", "potato-annotation")
        self.folder, self.options, self.title = folder, options, f"Potato {version}"
        words = (home / "bin" / "potato", "start", "config.yaml", "--host", "127.0.0.1", "--port")
        self.program = Command(folder, words, home=folder)

    def prepare(self) -> None:
        config = {
            "annotation_task_name": NAME,
            "task_dir": str(self.folder),
            "output_annotation_dir": str(self.folder / "output"),
            "data_files": ["items.jsonl"],
            "item_properties": {"id_key": "id", "text_key": "text"},
            "annotation_schemes": [
                {
                    "annotation_type": "radio",
                    "name": "grade",
                    "description": "Is it relevant?",
                    "labels": ["0", "1"],
                }
            ],
            "num_annotators_per_item": self.options.votes,
            "assignment_strategy": "random",
            "user_config": {"allow_all_users": True, "users": []},
            "require_password": False,
        }
        (self.folder / "config.yaml").write_text(json.dumps(config))  # which is YAML, too
        items = [json.dumps({"id": name, "text": text}) for name, text in texts(self.options)]
        (self.folder / "items.jsonl").write_text("\n".join(items) + "\n")

    def annotator(self, number: int) -> Annotator:
        client = Client(self.program.address, PATIENCE)
        client.ask("POST", "/auth", {"email": f"annotator{number}"}, form=True)
        return PotatoPage(client)

    def stored(self) -> Counter[tuple[Any, Any]]:
        votes: Counter[tuple[Any, Any]] = Counter()
        for path in (self.folder / "output").glob("*/user_state.json"):
            state = json.loads(path.read_text())
            for name, labels in state["instance_id_to_label_to_value"].items():
                votes[name, state["user_id"]] += len(labels)
        return votes


def texts(options: Options) -> list[tuple[str, str]]:
    """The documents' names and texts."""
    documents = replace(made_material(options.documents), gold=[]).documents
    rows = [(row.name, row.body.decode()) for row in documents]
    return rows[: options.documents]  # then gold's


# --- Label Studio ---------------------------------------------------------------------------------

CONFIG = (
    '<View><Text name="text" value="$text"/><Choices name="grade" toName="text">'
    '<Choice value="0"/><Choice value="1"/></Choices></View>'
)


class LabelStudioPage(Annotator):
    """Label Studio's label stream: `loadNextTask`, `submitCurrentAnnotation`, `prepareData`."""

    def __init__(self, client: Client, project: int) -> None:
        self.client, self.project = client, project

    def next(self) -> None:
        path = f"/api/dm/actions?id=next_task&project={self.project}"
        self.task = self.client.ask("POST", path, {}).json()
        if "The text of" not in self.task["data"]["text"]:
            raise ValueError("no document")

    def save(self, grade: int) -> None:
        choice = {"from_name": "grade", "to_name": "text", "type": "choices"}
        body = {
            "lead_time": 1.0,
            "result": [{"id": "answer", **choice, "value": {"choices": [str(grade)]}}],
            "draft_id": 0,
            "parent_prediction": None,
            "parent_annotation": None,
            "started_at": "2026-01-01T00:00:00.000Z",
        }
        if self.task["unique_lock_id"]:
            body["unique_id"] = self.task["unique_lock_id"]
        path = f"/api/tasks/{self.task['id']}/annotations?project={self.project}"
        reply = self.client.ask("POST", path, body)
        if reply.status != 409:  # it has been saved before
            reply.json()


class LabelStudio(Tool):
    """One process, SQLite; whoever signs up is in the first organisation."""

    def __init__(self, folder: Path, options: Options) -> None:
        home, version = peer("QROWD_LABEL_STUDIO", "label-studio")
        self.folder, self.options, self.title = folder, options, f"Label Studio {version}"
        quiet = {"LATEST_VERSION_CHECK": "0", "COLLECT_ANALYTICS": "0", "SENTRY_DSN": ""}
        command = home / "bin" / "label-studio"
        words = (command, "start", "--data-dir", folder, "--no-browser", *LOCAL)
        self.program = Command(folder, words, home=folder, environment={**os.environ, **quiet})

    def prepare(self) -> None:
        self.program.start(patience=600)  # it makes its tables
        self.people = [self._signed_up(number) for number in range(self.options.annotators + 1)]
        organiser = self.people.pop()
        task = {"title": NAME, "label_config": CONFIG, "maximum_annotations": self.options.votes}
        self.project = organiser.ask("POST", "/api/projects", task).json()["id"]
        tasks = [{"data": {"text": text}} for _, text in texts(self.options)]
        organiser.ask("POST", f"/api/projects/{self.project}/import", tasks).json()
        for client in self.people:
            client.close()
        self.program.kill()

    def _signed_up(self, number: int) -> Client:
        client = Client(self.program.address, PATIENCE)
        client.ask("GET", "/user/signup/")
        person = {"email": f"annotator{number}@example.org", "password": PASSWORD}
        forgery = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        client.ask("POST", "/user/signup/", person | forgery, form=True)
        return client

    def annotator(self, number: int) -> Annotator:
        return LabelStudioPage(self.people[number], self.project)  # cookies outlive the server

    def stored(self) -> Counter[tuple[Any, Any]]:
        query = "SELECT task_id, completed_by_id FROM task_completion"
        with sqlite3.connect(self.folder / "label_studio.sqlite3", timeout=60) as db:
            return Counter(db.execute(query).fetchall())


# --- the load -------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What annotators saw; many threads append at once, which is safe."""

    next: list[float] = field(default_factory=list)  # seconds
    at_once: list[float] = field(default_factory=list)  # seconds of "next", asked for by all
    save: list[float] = field(default_factory=list)  # seconds
    saved: list[float] = field(default_factory=list)  # when
    again: list[float] = field(default_factory=list)  # when
    failed: list[str] = field(default_factory=list)


def timed(times: list[float], work: Callable[[], None]) -> None:
    """Do it; how long it took, whether or not it went well."""
    began = time.perf_counter()
    try:
        work()
    finally:
        times.append(time.perf_counter() - began)


def annotate(
    annotator: Annotator, chance: random.Random, begin: float, options: Options, seen: Seen
) -> None:
    """Save, get the next document, think, again, until the time is over."""
    time.sleep(max(0.0, begin + chance.random() * options.thought - time.monotonic()))
    is_open = True
    while time.monotonic() < begin + options.seconds:
        try:
            if is_open:
                save = partial(annotator.save, chance.randrange(2))
                timed(seen.save, save)
                is_open = False
                seen.saved.append(time.monotonic())
                if chance.random() < options.again:
                    timed(seen.save, save)
                    seen.again.append(time.monotonic())
            timed(seen.next, annotator.next)
            is_open = True
        except (OSError, http.client.HTTPException, ValueError) as problem:
            seen.failed.append(str(problem))
            annotator.client.close()
        time.sleep(options.thought)


def at_once(annotators: list[Annotator], seen: Seen) -> None:
    """Everybody saves; then all ask for the next document in the same moment."""
    ready = threading.Barrier(len(annotators))

    def one(annotator: Annotator) -> None:
        try:
            annotator.save(0)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            seen.failed.append(str(problem))
        ready.wait()
        try:
            timed(seen.at_once, annotator.next)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            seen.failed.append(str(problem))

    threads = [threading.Thread(target=one, args=(annotator,)) for annotator in annotators]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@dataclass(frozen=True)
class Measured:
    """One tool."""

    seen: Seen
    seconds: float
    saved: int  # within the seconds
    server_cpu: float  # within the seconds
    client_cpu: float  # within the seconds
    start_cpu: float
    memory: float  # megabytes after the start
    memory_after: float  # after the load
    stored: Counter[tuple[Any, Any]]

    def crowded(self, votes: int) -> tuple[int, int]:
        """Documents that more annotators judged than were wanted, and all that were judged."""
        annotators = Counter(name for name, _ in self.stored)
        return sum(number > votes for number in annotators.values()), len(annotators)

    @property
    def twice(self) -> int:
        """Votes that were stored although the annotator's vote on the document was there."""
        return self.stored.total() - len(self.stored)


def measure(tool: Tool, options: Options) -> Measured:
    """Prepare, start, load."""
    tool.prepare()
    with started(tool.program):
        start_cpu, memory = tool.program.whole_cpu(), tool.program.memory()
        annotators = [tool.annotator(number) for number in range(options.annotators)]
        for annotator in annotators:  # what a server does once is done before the clock
            annotator.next()
            annotator.save(0)
            annotator.next()
        quiet(tool.program)
        seen, begin = Seen(), time.monotonic()
        threads = [
            threading.Thread(
                target=annotate, args=(annotator, random.Random(number), begin, options, seen)
            )
            for number, annotator in enumerate(annotators)
        ]
        server_cpu, client_cpu = tool.program.whole_cpu(), time.process_time()
        for thread in threads:
            thread.start()
        time.sleep(max(0.0, begin + options.seconds - time.monotonic()))
        seconds, saved = time.monotonic() - begin, len(seen.saved)
        server_cpu = tool.program.whole_cpu() - server_cpu
        client_cpu = time.process_time() - client_cpu
        for thread in threads:
            thread.join()
        at_once(annotators, seen)
        after = tool.program.memory()
        for annotator in annotators:
            annotator.client.close()
        figures = (seconds, saved, server_cpu, client_cpu, start_cpu, memory, after)
        return Measured(seen, *figures, stored=tool.stored())


@contextmanager
def started(program: Program) -> Iterator[None]:
    """A server that has started, and is quiet."""
    program.start(patience=600)
    try:
        quiet(program)
        yield
    finally:
        program.kill()


def quiet(program: Program, patience: float = 60.0) -> None:
    """Wait until it has nothing more to do of its own."""
    until, before = time.monotonic() + patience, -1.0
    while time.monotonic() < until and program.whole_cpu() - before > 0.05:
        before = program.whole_cpu()
        time.sleep(1.0)


MAKERS: dict[str, Callable[[Path, Options], Tool]] = {
    "qrowd-30": partial(Qrowd, batch=30),
    "qrowd-1": partial(Qrowd, batch=1),
    "potato": Potato,
    "label-studio": LabelStudio,
}


def main(options: Options) -> None:
    """Print the table."""
    table = Table(
        "tool",
        "next p50/p99",
        "save p50/p99",
        "next, all in one moment, p50/most",
        "saves a second",
        "CPU a save",
        f"documents above {options.votes} votes",
        "repeated saves stored twice",
        "requests without success",
        "memory, after the load",
        "CPU of starting",
        "CPU of the client",
        title=f"{options.annotators} annotators, {options.thought:g} s of thought, "
        f"{options.seconds:g} s, {options.documents:,} documents, {options.votes} votes each; "
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}",
    )
    problems: list[str] = []
    for name in options.tools:
        attempt(partial(print_row, table, name, options, problems))
    print("", *problems, sep="\n")


def print_row(table: Table, name: str, options: Options, problems: list[str]) -> None:
    """Of one tool; its commonest problems are kept for the end."""
    with tempfile.TemporaryDirectory(prefix="qrowd-annotators-") as folder:
        tool = MAKERS[name](Path(folder), options)
        got = measure(tool, options)
    crowded, judged = got.crowded(options.votes)
    table.row(
        tool.title,
        quantiles(got.seen.next),
        quantiles(got.seen.save),
        quantiles(got.seen.at_once, 1.0),
        f"{got.saved / got.seconds:.1f}",
        f"{1000 * got.server_cpu / max(1, got.saved):.0f} ms",
        f"{crowded} of {judged}",
        f"{got.twice} of {len(got.seen.again)}",
        len(got.seen.failed),
        f"{got.memory:.0f} MB, {got.memory_after:.0f} MB",
        f"{got.start_cpu:.1f} s",
        f"{got.client_cpu / got.seconds:.0%} of a core",
    )
    failed = Counter(got.seen.failed).most_common(3)
    problems += [f"{tool.title}: {times} times {problem[:70]}" for problem, times in failed]


def quantiles(seconds: list[float], last: float = 0.99) -> str:
    """The median and a high percentile, in milliseconds."""
    return "/".join(f"{1000 * q:,.0f}" for q in np.quantile(seconds, (0.5, last))) + " ms"


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
