"""How many SQL statements the two requests make that everybody waits for, sign-in included.

BEGIN, COMMIT and PRAGMA are left out; what triggers do is the database's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event
from starlette.testclient import TestClient
from tests.collection.conftest import ENGINES, fresh_postgresql
from tests.collection.making import PLAN, make_site, material
from tests.web.serving import API, Server

from qrowd.web.app import make_app
from qrowd.web.settings import Settings

MOST = {"sqlite": (9, 38), "postgresql": (11, 40)}  # of a save; of `next` with six sets
NOT_COUNTED = ("BEGIN", "COMMIT", "PRAGMA")


@contextmanager
def counting(engine: Engine) -> Iterator[list[str]]:
    """The statements that are sent meanwhile."""
    statements: list[str] = []

    def sent(_db: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(NOT_COUNTED):
            statements.append(statement)

    event.listen(engine, "before_cursor_execute", sent)
    yield statements
    event.remove(engine, "before_cursor_execute", sent)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_save_and_the_next_batch_take_no_more_statements(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path / 'campaign.db'}"
    if engine != "sqlite":
        url = fresh_postgresql(request.getfixturevalue("postgresql"))
    site = make_site(url, PLAN.replace("sets = 3", "sets = 6"), material(topics=6))
    settings = Settings.of_folder(tmp_path, url, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        server = Server(site, settings, client)
        ann = server.worker("ann")
        with counting(site.store.engine) as for_next:
            batch = client.post(f"{API}/judging/next", headers=ann).json()["batch"]
        assert len(batch["sets"]) == 6
        answer = {"key": "k", "place": batch["sets"][0]["key"], "kind": "grade", "position": 1}
        with counting(site.store.engine) as for_save:
            reply = client.post(f"{API}/judging/answers", json={**answer, "grade": 1}, headers=ann)
        assert reply.status_code == 200, reply.text
    most_of_save, most_of_next = MOST[engine]
    assert len(for_save) <= most_of_save, "\n".join(for_save)
    assert len(for_next) <= most_of_next, "\n".join(for_next)
