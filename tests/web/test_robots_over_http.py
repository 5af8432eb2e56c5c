"""Robots over the network: what they do where a server is busy, or a connection breaks."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

pytest.importorskip("httpx", reason="no client to call servers with")

from qrowd.web.robots.robot import Call
from qrowd.web.robots.traffic import Connection, Timings


@contextmanager
def answering(*statuses: int) -> Iterator[str]:
    """A server that gives these answers, one after another; 0: none. Its address."""
    left = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = left.pop(0)
            if not status:
                return
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("statuses", "status", "failed"),
    [((200,), 200, []), ((429, 0, 200), 200, []), ((500,), 500, ["next 500"])],
)
def test_a_robot_tries_again_where_nothing_was_done(
    statuses: tuple[int, ...], status: int, failed: list[str]
) -> None:
    timings = Timings()
    with answering(*statuses) as address:
        connection = Connection(address, timings, ssl.create_default_context())
        with closing(connection.http):
            reply = connection.send(Call("GET", "/api/campaigns/c/judging/next"))
    assert (reply.status, timings.failed) == (status, failed)
