"""Pages of organisers and experts, visited without a browser: a cookie, and forms sent back."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

from tests.web.serving import Server

from qrowd.web.access import OFFICE_COOKIE, forgery_token

_SCRIPT = re.compile(r"<script.*?</script>|<style.*?</style>|<[^>]+>", re.S)


@dataclass
class Desk:
    """Somebody with an account's cookie."""

    server: Server
    token: str

    def get(self, path: str) -> Any:
        """A page; redirections are not followed."""
        return self._ask("GET", path)

    def post(self, path: str, **fields: Any) -> Any:
        """A form of ours."""
        sent = {"forgery": forgery_token(self.server.settings, self.token), **fields}
        return self._ask("POST", path, data=sent)

    def _ask(self, method: str, path: str, **more: Any) -> Any:
        self.server.client.cookies.clear()
        headers = {"Cookie": f"{OFFICE_COOKIE}={self.token}"} if self.token else {}
        return self.server.client.request(
            method, path, headers=headers, follow_redirects=False, **more
        )


def desk(server: Server, role: str, **more: Any) -> Desk:
    """An organiser, an expert, a worker, an administrator (campaign_id=None), or nobody."""
    if role == "nobody":
        return Desk(server, "")
    headers = server.worker("ann") if role == "worker" else server.token(role, **more)
    return Desk(server, headers["Authorization"].removeprefix("Bearer "))


def words(page: Any) -> str:
    """What a page says, without its marks."""
    return " ".join(html.unescape(_SCRIPT.sub(" ", page.text)).split())
