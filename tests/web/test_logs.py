"""The log: what it says of requests, jobs and acts, and what it never says; unforeseen errors."""

from __future__ import annotations

import ast
import io
import json
import logging
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.responses import StreamingResponse
from starlette.testclient import TestClient
from tests.web.office import desk, words
from tests.web.serving import API, Server

import qrowd
from qrowd.errors import DataWarning, RuleError
from qrowd.texts import catalogue
from qrowd.web import jobs, logs, tasks
from qrowd.web.app import HEADERS

NAME = "Zwetschgenbaum-Nowak"
REASON = "because the quaggas graze there"
MESSAGE = "dear quokka, come back"
SECRET = "hush-3141592653589793"
Log = Callable[[], str]


@pytest.fixture(params=["text", "json"])
def log(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """What was logged at level debug so far."""
    root, names = logging.getLogger(), ("", "qrowd", "uvicorn")
    handlers, levels = root.handlers[:], [logging.getLogger(name).level for name in names]
    root.handlers.clear()  # pytest's own, which `set_up` would close
    with monkeypatch.context() as patch, io.StringIO() as stream:
        patch.setattr(sys, "stderr", stream)
        logs.set_up("debug", request.param)
        patch.undo()
        logging.raiseExceptions = True
        yield stream.getvalue
    root.handlers[:] = handlers
    for name, level in zip(names, levels, strict=True):
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def patient(server: Server) -> TestClient:
    """A client of a server with routes that fail, who gets the answer and not the error."""
    app: Any = server.client.app

    def fail(name: str) -> str:
        person, link = NAME, SECRET
        raise ValueError(f"{person} {link} {name}") from KeyError(REASON)

    def fail_late(name: str) -> StreamingResponse:
        def parts() -> Iterator[bytes]:
            yield b"begun"
            raise ValueError(SECRET)

        return StreamingResponse(parts())

    def ask_database(name: str) -> str:
        with server.site.store.engine.connect() as db:
            db.execute(sa.text("SELECT * FROM nothing WHERE a = :a"), {"a": SECRET})
        return ""

    for path, route in (("fail", fail), ("late", fail_late), ("database", ask_database)):
        for before in ("", "/judge", "/api"):
            app.get(f"{before}/{{name}}/{path}")(route)
    return TestClient(app, raise_server_exceptions=False)


def events(text: str) -> list[dict[str, str]]:
    """The events of a log in either form: event, level, logger and values, as text."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            found.append({name: str(value) for name, value in json.loads(line).items()})
        elif not line.startswith(" "):
            moment, level, logger, rest = line.split(" ", 3)
            event = rest.split("=")[0].rpartition(" ")[0] if "=" in rest else rest
            values = dict(part.split("=", 1) for part in rest.split() if "=" in part)
            found.append(
                {"time": moment, "level": level, "logger": logger, "event": event} | values
            )
    return found


def of(text: str, event: str) -> list[dict[str, str]]:
    """The events of a name."""
    return [each for each in events(text) if each["event"] == event]


@pytest.mark.filterwarnings("default::qrowd.errors.DataWarning")
def test_nothing_that_people_said_or_are_called_is_logged(
    server: Server, patient: TestClient, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = server.link(NAME)
    token = patient.post(f"{API}/enter", json={"link": link}).json()["token"]
    patient.cookies.clear()
    ann = {"Authorization": f"Bearer {token}"}
    assert patient.get(f"/judge/tiny?link={link}").status_code == 200
    batch = patient.post(f"{API}/judging/next", headers=ann).json()["batch"]
    place = batch["sets"][0]["key"]
    answer = {"key": "k", "place": place, "kind": "grade", "position": 1, "grade": 1}
    for more in ({"reason": REASON}, {"grade": 2, "reason": SECRET}):
        patient.post(f"{API}/judging/answers", json={**answer, **more}, headers=ann)
    patient.get(f"/judge/tiny/documents/{place}/1", headers=ann)
    patient.get(f"/judge/tiny/original/{SECRET}")
    patient.post(f"{API}/judging/messages", json={"text": MESSAGE}, headers=ann)
    organiser = server.token("organiser")
    details = {"worker": 1, "text": MESSAGE}
    wanted = {"act": "message", "details": details, "sure": True}
    assert patient.post(f"{API}/messages", json=wanted, headers=organiser).status_code == 201
    patient.post(f"{API}/acts", json={"act": SECRET}, headers=organiser)
    patient.post("/sign-in", data={"login": NAME, "password": SECRET})
    for path in ("fail", "late", "database"):
        patient.get(f"/{SECRET}/{path}?token={SECRET}", headers=ann)
    patient.get(f"/nowhere/{SECRET}")

    def broken(*_: object) -> Any:
        """An error with a cause, and with errors inside of it."""
        grade = NAME
        try:
            raise RuleError("not-found", f"there is no person {grade!r}, {REASON!r}")
        except RuleError as error:
            error.add_note(MESSAGE)
            raise ExceptionGroup(SECRET, [OSError(28, SECRET), error]) from error

    monkeypatch.setitem(tasks.TASKS, "merge", broken)
    with server.site.store.write("tiny") as work:
        jobs.ask(work, "merge", {"method": SECRET})
    assert tasks.run_one(server.site.store, server.settings.folder)
    stop = threading.Event()

    def sweep(*_: object) -> int:
        stop.set()
        return int(broken())

    monkeypatch.setattr(tasks, "sweep_all", sweep)
    tasks.work_forever(server.settings, stop)
    logging.getLogger("asyncio").error(f"Task failed\nfuture: {SECRET}")
    logging.getLogger("PIL.Image").warning("no picture: %s", SECRET)
    logging.getLogger("python_multipart").debug("data %s", SECRET)
    monkeypatch.setattr(warnings, "showwarning", logs.show_warning)  # pytest has its own
    warnings.warn(SECRET, DataWarning, stacklevel=1)

    text = log()
    hidden = {
        "a name": NAME,
        "a reason": REASON,
        "a message": MESSAGE,
        "an error's message": SECRET,
        "a link": link,
        "a token": token,
        "a cookie's token": organiser["Authorization"].removeprefix("Bearer "),
        "a set": place,
        "a batch": batch["key"],
    }
    assert [what for what, words in hidden.items() if words in text] == []
    named = {each["event"] for each in events(text)}
    assert named >= {"request", "act", "job start", "job failed", "jobs loop failed"}
    assert named >= {"unforeseen error", "python warning"}
    assert "ENOSPC" in text
    assert "raise RuleError(" in text


def test_a_request_is_one_line(server: Server, log: Log) -> None:
    organiser = desk(server, "organiser")
    replies = [
        server.client.get("/judge/tiny?lang=de"),
        organiser.get("/campaigns/tiny/workers"),
        server.client.get("/static/icon.svg"),
        server.client.get("/nowhere"),
        server.client.post(f"{API}/enter", json={}),
        server.client.post(f"{API}/enter", headers={"Content-Length": str(2**40)}),
    ]
    requests = of(log(), "request")
    assert [(each["method"], each["route"], each["status"]) for each in requests] == [
        ("GET", "/judge/{name}", "200"),
        ("GET", "/campaigns/{name}/workers", "200"),
        ("GET", "/static", "200"),
        ("GET", "none", "404"),
        ("POST", "/api/campaigns/{name}/enter", "401"),
        ("POST", "none", "413"),
    ]
    ids = [reply.headers["X-Request-Id"] for reply in replies]
    assert [each["id"] for each in requests] == ids
    assert len(set(ids)) == len(ids)
    assert all(int(each["ms"]) >= 0 for each in requests)


def test_jobs_acts_and_sweeps_are_logged(server: Server, log: Log) -> None:
    organiser = server.token("organiser")
    for act in ("pause", "resume"):
        server.client.post(f"{API}/acts", json={"act": act}, headers=organiser)
    made = server.client.post(f"{API}/results/export", json={}, headers=organiser).json()
    stop = threading.Timer(0.2, lambda: ended.set())
    ended = threading.Event()
    stop.start()
    tasks.work_forever(server.settings, ended)
    assert [(each["act"], each["campaign"]) for each in of(log(), "act")] == [
        ("pause", "1"),
        ("resume", "1"),
    ]
    started, done = of(log(), "job start") + of(log(), "job done")
    for each in (started, done):
        assert (each["kind"], each["number"], each["campaign"]) == (
            "export",
            str(made["number"]),
            "1",
        )
    assert float(done["seconds"]) >= 0
    assert of(log(), "sweep")[0]["level"] == "DEBUG"


def test_robots_of_a_dry_run_are_not_logged(
    server: Server, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(*_: object, **__: object) -> Any:
        server.client.get("/judge/tiny")
        logging.getLogger("qrowd.web.tasks").warning("a warning")
        raise RuleError("no-judgements", "there are no judgements")

    for name in ("open_draft", "plan_of", "parse_plan", "read_plan_files"):
        monkeypatch.setattr(tasks, name, lambda *_: SimpleNamespace(plan=None, plan_path=None))
    monkeypatch.setattr("qrowd.web.robots.rehearsal.try_out", judged)
    store = server.site.store
    with store.transaction() as db:
        parameters = {"version": 1, "crowd": "mixed", "per_hour": 1}
        jobs.ask_for_draft(db, store.clock(), SECRET, parameters)
    assert tasks.run_one(store, server.settings.folder)
    server.client.get("/judge/tiny")
    named = [each["event"] for each in events(log())]
    assert named == ["job start", "a warning", "job failed", "request"]
    assert [each["kind"] for each in of(log(), "job failed")] == ["rehearsal"]


def test_the_process_for_jobs_is_missed(
    server: Server, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qrowd.web import server as serving

    monkeypatch.setattr(serving, "AGAIN_AFTER", 0.01)
    kept = serving.JobsProcess(server.settings)
    starts = iter([OSError(12, SECRET), None])
    alive = iter([False, False, True])
    kept.process = SimpleNamespace(is_alive=lambda: next(alive), exitcode=-9)  # type: ignore[assignment]

    def start() -> None:
        error = next(starts)
        if error:
            raise error
        kept.over.set()

    monkeypatch.setattr(kept, "_start", start)
    kept._keep()
    said = [(each["level"], each["event"]) for each in events(log())]
    ended, again = ("WARNING", "jobs process ended"), ("WARNING", "jobs process started again")
    assert said == [ended, ("WARNING", "jobs process did not start"), ended, again]
    assert of(log(), "jobs process ended")[0]["exit"] == "-9"
    assert SECRET not in log()


@pytest.mark.parametrize("path", ["/tiny/fail", "/judge/tiny/fail", "/api/tiny/fail"])
def test_an_unforeseen_error_is_answered(patient: TestClient, log: Log, path: str) -> None:
    reply = patient.get(path)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (500, "unforeseen")
    assert error["id"] == reply.headers["X-Request-Id"]
    assert error["id"] in error["message"]
    page = patient.get(path, headers={"Accept": "text/html", "Accept-Language": "de"})
    assert page.status_code == 500
    assert page.headers["Content-Type"].startswith("text/html")
    language = "de" if path.startswith("/judge") else "en"
    number = page.headers["X-Request-Id"]
    assert catalogue(language)["problem.unforeseen"].format(id=number) in words(page)
    for each in (reply, page):
        assert all(name in each.headers for name in HEADERS)
        assert "default-src 'none'" in each.headers["Content-Security-Policy"]
    failures = of(log(), "unforeseen error")
    assert [(each["level"], each["id"]) for each in failures] == [
        ("ERROR", error["id"]),
        ("ERROR", number),
    ]


def test_a_page_that_cannot_be_made_is_told_as_json(
    patient: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise TypeError("no templates")

    monkeypatch.setattr("qrowd.web.pages.frame.templates", broken)
    reply = patient.get("/tiny/fail", headers={"Accept": "text/html"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "unforeseen")


def test_a_response_that_has_begun_is_cut_off(
    server: Server, patient: TestClient, log: Log
) -> None:
    with pytest.raises(ValueError, match=SECRET):
        server.client.get("/tiny/late")
    assert [each["route"] for each in of(log(), "unforeseen error")] == ["/{name}/late"]
    assert SECRET not in log()


def test_nothing_is_stored_by_a_step_that_failed(
    server: Server, patient: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qrowd.collection.record import audit

    with server.site.store.read("tiny") as work:
        before = audit.last_act(work)

    def record(*_: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(audit, "record", record)
    organiser = server.token("organiser")
    reply = patient.post(f"{API}/acts", json={"act": "pause"}, headers=organiser)
    assert reply.status_code == 500
    with server.site.store.read("tiny") as work:
        assert (work.state, audit.last_act(work)) == ("running", before)


def test_a_method_that_is_not_allowed_says_which_are(server: Server) -> None:
    reply = server.client.delete("/judge/tiny")
    assert (reply.status_code, reply.headers["Allow"]) == (405, "GET")


def test_events_are_fixed_phrases() -> None:
    """No value stands in the phrase itself: all of them are beside it, where one sees them."""
    seen = set()
    for path in Path(qrowd.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not ast.unparse(node.func).startswith("_log."):
                continue
            name = ast.unparse(node.func).removeprefix("_log.")
            if name == "isEnabledFor":
                continue
            arguments = node.args[1:] if name == "log" else node.args
            assert len(arguments) == 1, (path, node.lineno)
            assert isinstance(arguments[0], ast.Constant), (path, node.lineno)
            seen.add(arguments[0].value)
    assert {"request", "act", "job done", "sweep"} <= seen


def test_all_processes_log_alike(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "qrowd", "serve", str(tmp_path), "--port", str(port)]
    command += ["--processes", "2", "--log-level", "debug", "--log-format", "json"]
    socket_wanted = "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n"
    socket_wanted += "Sec-WebSocket-Key: YWJjZGVmZ2hpamtsbW5vcA==\r\n"
    seen = list[dict[str, Any]]()

    def ask(headers: str) -> None:
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    request = f"GET /sign-in?next={SECRET} HTTP/1.1\r\nHost: a\r\n{headers}\r\n"
                    connection.sendall(request.encode())
                    assert connection.recv(12).startswith(b"HTTP/1.1 ")
                    return
            except ConnectionRefusedError:
                time.sleep(0.05)

    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            assert SECRET not in line
            if line.startswith("qrowd: "):  # where to go
                continue
            seen.append(json.loads(line))
            events = [each["event"] for each in seen]
            if events[-1] == "Application startup complete.":
                ask(socket_wanted)
                ask("no header\r\n")
            if "sweep" in events and events.count("request") == 2:
                process.terminate()
    assert all({"time", "level", "logger", "event"} <= each.keys() for each in seen)
    assert "Invalid HTTP request received." in events
    assert process.returncode == 0
