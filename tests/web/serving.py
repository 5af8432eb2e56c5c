"""A small campaign behind the application, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from tests.collection.making import PLAN, Site, make_site

from qrowd.collection.people import entry, workers
from qrowd.collection.plan.rows import CampaignRows
from qrowd.web.access import new_token
from qrowd.web.app import make_app
from qrowd.web.settings import Settings

API = "/api/campaigns/tiny"


@dataclass
class Server:
    """A server, its campaign, and ways to ask it as somebody."""

    site: Site
    settings: Settings
    client: TestClient

    def link(self, person: str, days: float = 1) -> str:
        """A worker's link."""
        return str(self.site.work(entry.make_link, person, days))

    def worker(self, person: str) -> dict[str, str]:
        """The headers of a worker who came in by a link."""
        reply = self.client.post(f"{API}/enter", json={"link": self.link(person)})
        self.client.cookies.clear()
        assert reply.status_code == 200, reply.text
        return {"Authorization": f"Bearer {reply.json()['token']}"}

    def token(self, role: str, **more: Any) -> dict[str, str]:
        """The headers of an organiser, an expert, or (campaign_id=None) an administrator."""
        with self.site.store.write("tiny") as work:
            if role == "expert":
                more.setdefault("worker_id", workers.expert(work, "eve"))
            more.setdefault("campaign_id", work.campaign)
            plain = new_token(work.db, work.now, role, **more)
        return {"Authorization": f"Bearer {plain}"}


@contextmanager
def make_server(
    folder: Path, url: str = "", plan: str = PLAN, made: CampaignRows | None = None
) -> Iterator[Server]:
    """The server, over a new database."""
    where = url or f"sqlite:///{folder / 'campaign.db'}"
    site = make_site(where, plan, made)
    settings = Settings.of_folder(folder, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        yield Server(site, settings, client)
