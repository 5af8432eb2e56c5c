"""The trial campaign on a free port, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from sqlalchemy import select

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import event
from qrowd.collection.database.store import Store
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.plan.toml import parse_plan
from qrowd.web.app import make_app
from qrowd.web.settings import Settings
from qrowd.web.trial import launch_campaign, make_trial


@dataclass
class Site:
    """Where the server is, a worker's link, and its database."""

    address: str
    link: str
    store: Store

    def events(self) -> list[Any]:
        """What was said, in the order in which it came."""
        with self.store.snapshot() as db:
            return list(db.execute(select(event).order_by(event.c.id)))


def settings_in(folder: Path, database: str = "") -> Settings:
    """The settings of a server on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return Settings.of_folder(folder, database, f"http://127.0.0.1:{free.getsockname()[1]}")


@contextmanager
def serve_trial(
    folder: Path, way: str = "grades", language: str = "en", database: str = ""
) -> Iterator[Site]:
    """The campaign of `qrowd serve --try`."""
    settings = settings_in(folder, database)
    link = make_trial(settings, way, language)
    with serve(settings) as store:
        yield Site(settings.address, link, store)


@contextmanager
def serve_campaign(folder: Path, plan: str, material: CampaignRows) -> Iterator[Site]:
    """A campaign of one's own."""
    settings = settings_in(folder)
    link = launch_campaign(settings, parse_plan(plan), material)
    with serve(settings) as store:
        yield Site(settings.address, link, store)


@contextmanager
def serve(settings: Settings) -> Iterator[Store]:
    """A server in a thread, over its database."""
    port, store = int(settings.address.rpartition(":")[2]), open_store(settings.database)
    config = uvicorn.Config(make_app(settings, store), "127.0.0.1", port, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield store
    finally:
        server.should_exit = True
        thread.join(10)
