"""Servers as users run them, in processes of their own, and a worker's program that asks them."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from benchmarks._benchmark import need

IDLE = 3.0  # seconds; the server closes connections that nobody has used for five


@dataclass
class Server:
    """`qrowd serve`, which can be killed and started again."""

    folder: Path
    database: str
    processes: int = 2
    environment: dict[str, str] | None = None
    options: tuple[str, ...] = ()
    log: Path | None = None  # what it says is thrown away otherwise

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "qrowd", "serve", str(self.folder)]
        command += ["--port", str(self.port), "--database", self.database]
        command += ["--processes", str(self.processes), *self.options]
        with (self.log or Path(os.devnull)).open("ab") as said:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
                env=self.environment,
            )
        for _ in range(600):
            try:
                urllib.request.urlopen(self.address, timeout=5).read()
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
            else:
                return
        self.kill()
        raise RuntimeError("the server did not start")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End all its processes."""
        if self.process is not None:
            os.killpg(self.process.pid, how)
            self.process.wait()
            self.process = None

    def cpu(self) -> float:
        """CPU seconds so far of the process that answers requests, where that is one."""
        assert self.process is not None
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


@contextmanager
def running(folder: Path, database: str, processes: int = 2) -> Iterator[Server]:
    """A server while it is needed."""
    server = Server(folder, database, processes)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, by playwright; what needs it is skipped where one of them is absent."""
    need(find_spec("playwright"), "no playwright")
    from playwright.sync_api import Error, sync_playwright

    path = os.environ.get("QROWD_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error:
            need(path, "no Chromium (QROWD_CHROMIUM names the program)")
            raise
        yield chromium
        chromium.close()


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    content: bytes
    headers: dict[str, str]

    def json(self) -> Any:
        """Its content; a reply that refuses is an error."""
        if self.status >= 400:
            raise ValueError(f"{self.status} {self.content[:200]!r}")
        return json.loads(self.content) if self.content else None


class Worker:
    """A worker's program: one connection that stays open, one campaign."""

    def __init__(self, address: str, campaign: str) -> None:
        parts = urlsplit(address)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self.api = f"/api/campaigns/{campaign}"
        self.token = ""
        self.used = time.monotonic()

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """One request."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        text = None if body is None else json.dumps(body)
        if time.monotonic() - self.used > IDLE:
            self.connection.close()  # the next request opens it again
        self.connection.request(method, path, text, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        self.used = time.monotonic()
        return Reply(reply.status, content, dict(reply.getheaders()))

    def enter(self, link: str) -> None:
        """Come in by a signed link."""
        self.token = self.ask("POST", f"{self.api}/enter", {"link": link}).json()["token"]

    def next_batch(self) -> dict[str, Any]:
        """The next batch."""
        batch: dict[str, Any] | None
        batch = self.ask("POST", f"{self.api}/judging/next").json()["batch"]
        if batch is None:
            raise ValueError("nothing is left to judge: the campaign is too small for its load")
        return batch

    def save(self, key: str, place: str, position: int, grade: int) -> dict[str, Any]:
        """One answer."""
        body = {"key": key, "place": place, "kind": "grade", "position": position, "grade": grade}
        saved: dict[str, Any] = self.ask("POST", f"{self.api}/judging/answers", body).json()
        return saved

    def close(self) -> None:
        """Let the connection go."""
        self.connection.close()
