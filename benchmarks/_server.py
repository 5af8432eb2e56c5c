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
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import psutil

from benchmarks import _results
from benchmarks._benchmark import need

IDLE = 3.0  # seconds; the server closes connections that nobody has used for five


@dataclass
class Program(ABC):
    """A web server in processes of its own, which can be killed and started again."""

    folder: Path
    environment: dict[str, str] | None = field(default=None, kw_only=True)
    home: Path | None = field(default=None, kw_only=True)  # where it runs, if not here
    log: Path | None = field(default=None, kw_only=True)  # what it says is thrown away otherwise

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """What starts it, at its port."""

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, patience: float = 60.0) -> None:
        """Start it, and wait until it answers; it may take so many seconds."""
        with (self.log or Path(os.devnull)).open("ab") as said:
            self.process = subprocess.Popen(
                self.command(),
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
                env=self.environment,
                cwd=self.home,
            )
        until = time.monotonic() + patience
        while time.monotonic() < until and self.process.poll() is None:
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
            with suppress(ProcessLookupError):  # it has ended already
                os.killpg(self.process.pid, how)
            self.process.wait()
            self.process = None

    def cpu(self) -> float:
        """CPU seconds so far of the process that answers requests, where that is one."""
        assert self.process is not None
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def whole_cpu(self) -> float:
        """CPU seconds so far of all its processes, those that have ended included."""
        times = [process.cpu_times() for process in self._processes()]
        return float(sum(t.user + t.system + t.children_user + t.children_system for t in times))

    def memory(self) -> float:
        """Megabytes of all its processes; what several share is counted once."""
        infos = [process.memory_full_info() for process in self._processes()]
        return float(sum(getattr(info, "pss", info.rss) for info in infos)) / 2**20

    def _processes(self) -> list[psutil.Process]:
        assert self.process is not None
        first = psutil.Process(self.process.pid)
        return [first, *first.children(recursive=True)]


@dataclass
class Server(Program):
    """`qrowd serve`."""

    database: str
    processes: int = 2
    options: tuple[str, ...] = ()

    def command(self) -> list[str]:
        _results.also_all("collection", "web")
        command = [sys.executable, "-m", "qrowd", "serve", str(self.folder)]
        command += ["--port", str(self.port), "--database", self.database]
        return [*command, "--processes", str(self.processes), *self.options]


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


class Client:
    """What a browser does: one connection that stays open, cookies that are kept."""

    def __init__(self, address: str, patience: float = 60.0) -> None:
        parts = urlsplit(address)
        host = parts.hostname or ""
        self.connection = http.client.HTTPConnection(host, parts.port, timeout=patience)
        self.headers: dict[str, str] = {}  # of every request
        self.cookies: dict[str, str] = {}
        self.used = time.monotonic()

    def ask(self, method: str, path: str, body: Any = None, *, form: bool = False) -> Reply:
        """One request; its body as JSON, or as a form sends it."""
        headers, text = dict(self.headers), None
        if self.cookies:
            headers["Cookie"] = "; ".join(map("=".join, self.cookies.items()))
        if body is not None:
            text = urlencode(body) if form else json.dumps(body)
            kind = "x-www-form-urlencoded" if form else "json"
            headers["Content-Type"] = f"application/{kind}"
        if time.monotonic() - self.used > IDLE:
            self.connection.close()  # the next request opens it again
        self.connection.request(method, path, text, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        self.used = time.monotonic()
        for cookie in reply.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return Reply(reply.status, content, dict(reply.getheaders()))

    def close(self) -> None:
        """Let the connection go."""
        self.connection.close()


class Worker(Client):
    """A worker's program, in one campaign."""

    def __init__(self, address: str, campaign: str) -> None:
        super().__init__(address)
        self.api = f"/api/campaigns/{campaign}"

    def enter(self, link: str) -> None:
        """Come in by a signed link."""
        token = self.ask("POST", f"{self.api}/enter", {"link": link}).json()["token"]
        self.headers["Authorization"] = f"Bearer {token}"

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
