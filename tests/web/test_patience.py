"""Requests that never come whole: they are closed, and nobody else waits for them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
from tests.web.serving import Server, make_server

from qrowd.web import limits
from qrowd.web import server as server_module
from qrowd.web.server import PatientProtocol

SOON = 0.2  # seconds
LATE = 60.0  # far beyond: a connection that is still open then was not closed


@contextlib.contextmanager
def served(server: Server) -> Iterator[tuple[str, int]]:
    """The application behind uvicorn, as `qrowd serve` runs it."""
    quiet = {"log_config": None, "access_log": False, "ws": "none", "lifespan": "off"}
    config = uvicorn.Config(server.client.app, port=0, http=PatientProtocol, **quiet)  # type: ignore[arg-type]
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield running.servers[0].sockets[0].getsockname()
    finally:
        running.should_exit = True
        thread.join()


def everything(connection: socket.socket) -> bytes:
    """What is received until the other side closes."""
    connection.settimeout(LATE)
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def head(path: str, length: int) -> bytes:
    """The head of a request with a body."""
    kind = "application/json" if path.startswith("/api") else "application/x-www-form-urlencoded"
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Type: {kind}"]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    monkeypatch.setattr(limits, "BODY_SECONDS", SOON)
    monkeypatch.setattr(server_module, "HEADER_SECONDS", SOON)
    with make_server(tmp_path) as server, served(server) as at:
        yield at


@pytest.mark.parametrize(
    "path", ["/api/sign-in", "/sign-in", "/api/campaigns/tiny/judging/answers"]
)
def test_a_body_that_does_not_come_is_not_waited_for(address: tuple[str, int], path: str) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(head(path, 1000) + b'{"login": ')
        reply = everything(connection)
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in reply.lower()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_headers_that_do_not_come_are_not_waited_for(address: tuple[str, int], sent: bytes) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(sent)
        assert everything(connection) == b""


def test_a_second_request_that_does_not_come_whole_either(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.recv(100)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        everything(connection)


def test_a_body_that_nobody_reads_keeps_no_connection(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(head("/api/nowhere", 1000))
        assert everything(connection).startswith(b"HTTP/1.1 404 ")


def test_a_large_body_has_the_time_that_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0)
    monkeypatch.setattr(limits, "BODY_SPEED", 0.1)  # 30 bytes may take 300 seconds
    body = b'{"login": "a", "password":"b"}'
    with (
        make_server(tmp_path) as server,
        served(server) as address,
        socket.create_connection(address) as connection,
    ):
        connection.sendall(head("/api/sign-in", len(body)) + body[:10])
        time.sleep(SOON)
        connection.sendall(body[10:])
        assert connection.recv(12) == b"HTTP/1.1 401"
