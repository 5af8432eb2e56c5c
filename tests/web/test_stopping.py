"""Stopping a server: requests and jobs under way are finished; and starts that are refused."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.collection.conftest import fresh_postgresql, running_postgresql
from tests.web.serving import Server

from qrowd.collection.database.opening import open_store
from qrowd.web import jobs, tasks
from qrowd.web.server import Ending, JobsProcess
from qrowd.web.settings import Settings


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(*options: str) -> Iterator[subprocess.Popen[str]]:
    """`qrowd serve`, whose log says when it can be asked."""
    command = [sys.executable, "-m", "qrowd", "serve", *options, "--log-level", "debug"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # nobody would end it
            raise


def connected(port: int) -> socket.socket:
    """A connection; a server listens only a moment after it has said that it is ready."""
    for _ in range(600):
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.05)
    raise AssertionError("nobody listens")


def wait_for(process: subprocess.Popen[str], *phrases: str) -> list[str]:
    """Read its log until it has said these."""
    assert process.stderr is not None
    seen, left = list[str](), set(phrases)
    for line in process.stderr:
        seen.append(line)
        left -= {phrase for phrase in left if phrase in line}
        if not left:
            break
    assert not left, seen
    return seen


LOST = """
import os, signal, sys, weakref
from contextlib import nullcontext
from pathlib import Path
import uvicorn
import qrowd.web.app
from qrowd.web import server
from qrowd.web.settings import Settings

class Thing: ...

def asked(_):
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1000): pass

def make_app(settings):
    thing = Thing()
    watch = weakref.ref(thing, asked)
    del thing
    print("started")

qrowd.web.app.make_app = make_app
server.JobsProcess = lambda settings: nullcontext()
uvicorn.run = lambda *_, **__: print("serves")
server.serve(Settings.of_folder(Path(sys.argv[1])), "127.0.0.1", 0)
"""


def test_who_is_asked_to_end_while_starting_ends(tmp_path: Path) -> None:
    """Python loses an exit that is raised in a callback of a weak reference."""
    command = [sys.executable, "-c", LOST, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "started\n"
    assert "Exception ignored" in done.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_request_under_way_is_answered(tmp_path: Path, processes: str) -> None:
    port = free_port()
    with started(str(tmp_path), "--port", str(port), "--processes", processes) as process:
        wait_for(process, "Application startup complete.")
        body = b"login=ann&password=wrong"
        head = f"POST /sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
        head += "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        with connected(port) as connection:
            connection.sendall(head.encode() + body[:5])
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health").read()  # it has the first one
            process.send_signal(signal.SIGTERM)
            wait_for(process, "Shutting down")
            connection.sendall(body[5:])
            assert connection.recv(12) == b"HTTP/1.1 401"
        assert process.stderr is not None
        process.stderr.read()
    assert process.returncode == 0


def test_a_job_under_way_is_finished(server: Server, tmp_path: Path) -> None:
    store = server.site.store
    server.site.whole(server.site.worker("ann"))
    with store.write("tiny") as work:
        number = jobs.ask(work, "merge", {"method": "hier-bayes"})  # takes a while

    def state() -> str:
        with store.read("tiny") as work:
            return jobs.state_of(work, number).state

    with JobsProcess(server.settings):
        while state() == "waiting":
            time.sleep(0.02)
    assert state() == "done"


def test_a_job_that_cannot_be_waited_for_is_given_back(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ending = server.site.store, Ending()
    with store.write("tiny") as work:
        number = jobs.ask(work, "export", {})
    ending.ask()

    def asked_again(*_: object) -> dict[str, Any]:
        ending.ask()
        return {}

    monkeypatch.setitem(tasks.TASKS, "export", asked_again)
    with pytest.raises(SystemExit):
        tasks.run_one(store, server.settings.folder)
    with store.read("tiny") as work:
        row = jobs.state_of(work, number)
    assert (row.state, row.attempts, row.leased_until) == ("waiting", 0, None)
    monkeypatch.setitem(tasks.TASKS, "export", lambda *_: {})
    assert tasks.run_one(store, server.settings.folder)  # at once, by whoever comes


def test_ctrl_c_ends_all_of_it_without_a_traceback(tmp_path: Path) -> None:
    with started(str(tmp_path), "--port", str(free_port())) as process:
        said = wait_for(process, "Application startup complete.", "sweep")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process
        assert process.stderr is not None
        said += process.stderr.readlines()
    assert not any("Traceback" in line or "Error" in line for line in said), said
    assert process.returncode in (0, 130)


# --- starts that are refused ----------------------------------------------------------------------


def refused(*options: str, **environment: str) -> str:
    """The one line that a server says which does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "qrowd", "serve", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    assert done.returncode in (1, 2), done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_what_is_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no database")
    port = str(free_port())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = str(taken.getsockname()[1])
        assert "is in use; choose another with --port" in refused(str(tmp_path), "--port", busy)
    at = ("--port", port)
    assert "not a database" in refused(str(tmp_path / "file"), *at)
    assert "cannot be made or written to" in refused(str(tmp_path / "file" / "folder"), *at)
    assert "at least 16" in refused(str(tmp_path / "a"), *at, QROWD_MONITORING_TOKEN="short")
    nowhere = "postgresql://nobody:sesam@127.0.0.1:1/nothing?password=sesam"
    away = refused(str(tmp_path / "b"), *at, "--database", nowhere)
    assert ("is the server running" in away, "sesam" in away) == (True, False)
    wrong = refused(str(tmp_path / "c"), *at, "--proxy", "nginx")
    assert "an address or a network" in wrong
    for address in ("judge.example.org", "https://", "ftp://a.example", "https://a.example/qrowd"):
        wrong = refused(str(tmp_path / "c"), *at, "--address", address)
        assert "--address is like https://" in wrong
    with open_store(tmp_path / "newer.db", new=True) as store, store.transaction() as db:
        db.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    assert "update qrowd to open it" in refused(str(tmp_path / "newer.db"), *at)


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (["--host", "0.0.0.0"], "0.0.0.0 is open to the whole network without TLS"),
        (["--address", "https://a.example"], "without --proxy everybody seems to have the address"),
        (["--address", "HTTPS://A.example/", "--proxy", "127.0.0.1"], ""),
        ([], ""),
    ],
)
def test_what_is_doubtful_is_told(
    tmp_path: Path,
    options: list[str],
    warned: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from qrowd.cli.main import main

    served = list[Any]()
    monkeypatch.setattr("qrowd.web.server.serve", lambda *given: served.append(given))
    mask = os.umask(0o077)
    main(["serve", str(tmp_path), "--port", str(free_port()), *options])
    os.umask(mask)
    said = capsys.readouterr().err
    assert ("warning" in said) == bool(warned)
    assert warned in said
    settings, *_, proxies = served[0]
    assert isinstance(settings, Settings)
    assert proxies == (("127.0.0.1",) if "--proxy" in options else ())
    assert "0.0.0.0:" not in settings.address
    if "--address" in options:
        assert (settings.address, settings.secure_cookies) == ("https://a.example", True)


def test_postgresql_goes_away_and_comes_back(tmp_path: Path) -> None:
    def status(path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code

    port = free_port()
    with running_postgresql() as database:
        url = fresh_postgresql(database)
        options = (str(tmp_path), "--port", str(port), "--database", url)
        with started(*options) as process:
            said = wait_for(process, "Application startup complete.", "sweep")
            connected(port).close()
            assert (status("/sign-in"), status("/health")) == (200, 200)
            os.kill(database.get_pid(), signal.SIGINT)  # its way of ending at once
            database.get_postmaster_info().process.wait(60)
            assert (status("/sign-in"), status("/health")) == (503, 503)
            assert status("/api/me?no-token") == 401  # what needs no database goes on
            said += wait_for(process, "tasks database cannot be used")
            database.ensure_postgres_running()
            assert (status("/sign-in"), status("/health")) == (200, 200)
            said += wait_for(process, "sweep")  # jobs go on, too
            process.terminate()
            assert process.stderr is not None
            said += process.stderr.readlines()
    assert not any("Traceback" in line for line in said), said
    assert not any(line.startswith(" ") for line in said), said
    assert any("cause=psycopg.OperationalError" in line for line in said)
