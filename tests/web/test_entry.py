"""Who is let in: by a signed link, by a list, by a platform, or anybody; the same by every door."""

from __future__ import annotations

from typing import Any

from tests.web.serving import API, Server

MADE_UP = 150


def enter(server: Server, **body: Any) -> Any:
    """Somebody at the door."""
    reply = server.client.post(f"{API}/enter", json=body)
    server.client.cookies.clear()
    return reply


def by_id(server: Server, person: str) -> Any:
    """Somebody who says no more than who it is."""
    return enter(server, parameters={"worker": person})


def test_nobody_comes_in_without_a_link(server: Server) -> None:
    reply = by_id(server, "mallory")
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "needs-link")
    page = server.client.get("/judge/tiny?worker=x")
    assert page.status_code == 401
    assert "ask for your link" in page.text
    assert "tiny" not in page.text
    assert sum(by_id(server, f"m{n}").status_code == 200 for n in range(MADE_UP)) == 0
    assert enter(server, link=server.link("ann")).status_code == 200
