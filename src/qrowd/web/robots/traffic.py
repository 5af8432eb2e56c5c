"""Robots at work: in one process with a clock that jumps, or over HTTP in real time.

`rehearse` is the dry run: an event queue sends one request after another to the application and
sets its clock to each request's time, so that days pass in seconds and the same seed gives the
same result. `load` sends requests over the network from many threads; waiting times are divided by
`speed`.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np

from qrowd.http import asked_to_wait, pause
from qrowd.web.robots.robot import Call, Life, Reply, Robot, Wait

LONGEST_WAIT = 30.0  # seconds for one request


class Clock:
    """A clock that moves when it is told to, in milliseconds."""

    def __init__(self, start: int) -> None:
        self.now = start

    def __call__(self) -> int:
        """The time now."""
        return self.now


Send = Callable[[Call], Reply]


@contextmanager
def in_process(app: Any) -> Iterator[Send]:
    """Requests straight to an ASGI application, without a network.

    The application's event loop runs in a thread of its own, so that this also works where the
    caller's thread has one already (notebooks).
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="robots", daemon=True)
    thread.start()
    try:
        yield lambda call: asyncio.run_coroutine_threadsafe(_ask(app, call), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ask(app: Any, call: Call) -> Reply:
    body = b"" if call.body is None else json.dumps(call.body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if call.token:
        headers.append((b"authorization", f"Bearer {call.token}".encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": call.method,
        "path": call.path,
        "raw_path": call.path.encode(),
        "query_string": b"",
        "scheme": "http",
        "headers": headers,
        "server": ("robots", 80),
        "client": ("robots", 1),
        "root_path": "",
    }
    received = iter([{"type": "http.request", "body": body, "more_body": False}])
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(received, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Reply(sent[0]["status"], b"".join(message.get("body", b"") for message in sent))


def rehearse(
    send: Send,
    clock: Clock,
    robots: Sequence[Robot],
    arrivals: Sequence[float],
    progress: Callable[[int], None] = lambda _: None,
    closed: Callable[[], bool] = lambda: False,
) -> int:
    """Let robots work that arrive after so many seconds; how many requests that took.

    Whoever would come when it is `closed` stays away.
    """
    start, order = clock.now, itertools.count()
    queue: list[tuple[float, int, Life, Reply | None]] = [
        (arrival, next(order), robot.live(), None)
        for robot, arrival in zip(robots, arrivals, strict=True)
    ]
    heapq.heapify(queue)
    requests = 0
    while queue:
        at, number, life, reply = heapq.heappop(queue)
        if number < len(robots) and closed():
            continue
        try:
            step = life.send(reply)
        except StopIteration:
            continue
        if isinstance(step, Wait):
            heapq.heappush(queue, (at + step.seconds, next(order), life, None))
            continue
        clock.now = max(clock.now, start + round(at * 1000))
        answer = send(step)
        requests += 1
        progress(requests)
        heapq.heappush(queue, (at, next(order), life, answer))
    return requests


# --- over the network -----------------------------------------------------------------------------


@dataclass
class Timings:
    """How long requests took, by what they were, in seconds; and those without a proper reply.

    Many threads append at once, which is safe.
    """

    taken: dict[str, list[float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


class Connection:
    """A robot's own connection to a server, kept open; a lost one is made again."""

    def __init__(self, address: str, timings: Timings, trusted: ssl.SSLContext) -> None:
        self.http = httpx.Client(
            base_url=address, timeout=LONGEST_WAIT, verify=trusted, trust_env=False
        )
        self.timings = timings

    def send(self, call: Call) -> Reply:
        """One request, tried again where the connection broke or the server is busy."""
        # what it is, without names: next, answers, documents, finish, submit, ...
        parts = call.path.split("/")
        kind = "documents" if "documents" in parts else parts[-1]
        for attempt in range(6):
            began = time.perf_counter()
            try:
                response = self._once(call)
            except httpx.TransportError:  # the next request opens it again
                time.sleep(0.2 * 2**attempt)
                continue
            self.timings.taken.setdefault(kind, []).append(time.perf_counter() - began)
            status, wait = response.status_code, asked_to_wait(response.headers)
            if status == 429:
                time.sleep(min(LONGEST_WAIT, pause(attempt) if wait is None else wait))
                continue
            if status >= 500:
                self.timings.failed.append(f"{kind} {status}")
            return Reply(status, response.content)
        self.timings.failed.append(f"{kind} unreachable")
        return Reply(503, b'{"error": {"code": "unreachable", "message": "no reply"}}')

    def _once(self, call: Call) -> httpx.Response:
        headers = {"Content-Type": "application/json"}
        if call.token:
            headers["Authorization"] = f"Bearer {call.token}"
        body = None if call.body is None else json.dumps(call.body)
        return self.http.request(call.method, call.path, content=body, headers=headers)


def load(
    address: str,
    robots: Sequence[Robot],
    *,
    speed: float = 1.0,
    stop_after: float = 600.0,
    arrive_over: float = 0.0,
) -> Timings:
    """Let robots work against a server, a thread each; waiting is divided by `speed`.

    They come one after another over so many seconds, else all at once.
    """
    timings, until = Timings(), time.monotonic() + stop_after
    trusted = ssl.create_default_context()  # once: it reads all certificates
    threads = [
        threading.Thread(
            target=_work, args=(Connection(address, timings, trusted), robot, speed, until)
        )
        for robot in robots
    ]
    for thread in threads:
        thread.start()
        time.sleep(arrive_over / len(threads))
    for thread in threads:
        thread.join()
    return timings


def _work(connection: Connection, robot: Robot, speed: float, until: float) -> None:
    life, reply = robot.live(), None
    try:
        while time.monotonic() < until:
            step = life.send(reply)
            reply = None
            if isinstance(step, Wait):
                time.sleep(min(step.seconds / speed, max(0.0, until - time.monotonic())))
            else:
                reply = connection.send(step)
    except StopIteration:
        pass
    finally:
        connection.http.close()


def summary(timings: Timings) -> Mapping[str, tuple[int, float, float]]:
    """Of each kind of request: how many, the median and the 99th percentile in milliseconds."""
    lines = {}
    for kind, taken in sorted(timings.taken.items()):
        median, high = np.quantile(taken, (0.5, 0.99)) * 1000
        lines[kind] = (len(taken), float(median), float(high))
    return lines
