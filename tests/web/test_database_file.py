"""The database's file goes, or is another one, under a running server: nothing is acknowledged."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import event as sql_event
from tests.collection.conftest import fresh_postgresql
from tests.collection.making import make_site
from tests.web.serving import API, Server, make_server

from qrowd.cli.main import main
from qrowd.collection.database import file as database_file
from qrowd.collection.database.opening import open_store
from qrowd.collection.database.transfer import backup
from qrowd.web import files
from qrowd.web import server as server_module
from qrowd.web.settings import Settings


def _removed(path: Path) -> None:
    path.unlink()


def _moved(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def _replaced(path: Path) -> None:
    shutil.copy(path.with_name("copy.db"), path.with_name("new.db"))
    path.with_name("new.db").replace(path)


def _overwritten_by_a_backup(path: Path) -> None:
    shutil.copyfile(path.with_name("copy.db"), path)  # the file stays, its content does not


def _overwritten_by_an_older_copy(path: Path) -> None:
    old = path.read_bytes()
    with sqlite3.connect(path) as db:  # so that the first page changes, and is in the file
        db.execute("PRAGMA user_version = 7")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    assert path.read_bytes()[:28] != old[:28]
    path.with_name("old.db").write_bytes(old)


def _emptied(path: Path) -> None:
    os.truncate(path, 0)


def _without_wal(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def _save(server: Server, headers: dict[str, str], place: str, key: str) -> int:
    answer = {"key": key, "place": place, "kind": "grade", "position": 1, "grade": 1}
    reply = server.client.post(f"{API}/judging/answers", json=answer, headers=headers)
    if reply.status_code != 200:
        assert reply.json()["error"]["code"] == "store"
        assert "/" not in reply.json()["error"]["message"]  # nothing about the server's folders
    return reply.status_code


@pytest.mark.parametrize(
    "harm",
    [_removed, _moved, _replaced, _overwritten_by_a_backup, _emptied, _without_wal],
)
def test_no_answer_is_acknowledged_into_nothing(
    tmp_path: Path, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "campaign.db"
    with make_server(tmp_path) as server:
        ann = server.worker("ann")
        batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
        place = batch["sets"][0]["key"]
        backup(server.site.store, tmp_path / "copy.db")
        assert _save(server, ann, place, "before") == 200
        harm(path)
        with caplog.at_level(logging.ERROR, "qrowd"):
            assert [_save(server, ann, place, f"k{at}") for at in range(20)] == [503] * 20
        told = [row for row in caplog.records if "another one" in row.message]
        assert len(told) == 1
        assert (
            server.client.post("/api/sign-in", json={"login": "a", "password": "b"}).status_code
            == 503
        )


def test_a_file_that_comes_back_is_used_again(server: Server, tmp_path: Path) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    place = batch["sets"][0]["key"]
    path = tmp_path / "campaign.db"
    _moved(path)
    assert _save(server, ann, place, "k1") == 503
    page = server.client.get(
        "/judge/tiny", headers={"Accept": "text/html", "Accept-Language": "de"}
    )
    assert (page.status_code, page.text.count("kann gerade nichts speichern")) == (503, 1)
    (tmp_path / "moved.db").rename(path)
    assert _save(server, ann, place, "k1") == 200


def test_an_older_copy_of_the_same_database_is_noticed(server: Server, tmp_path: Path) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    place = batch["sets"][0]["key"]
    path = tmp_path / "campaign.db"
    _overwritten_by_an_older_copy(path)
    assert _save(server, ann, place, "k1") == 200
    shutil.copyfile(tmp_path / "old.db", path)
    assert _save(server, ann, place, "k2") == 503


def test_a_commit_into_a_file_that_goes_meanwhile_is_not_acknowledged(
    server: Server, tmp_path: Path
) -> None:
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    once = iter([lambda: _moved(tmp_path / "campaign.db")])

    def while_writing(_db: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO event"):
            next(once)()

    sql_event.listen(server.site.store.engine, "before_cursor_execute", while_writing)
    assert _save(server, ann, batch["sets"][0]["key"], "k1") == 503


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_database_that_turns_read_only_says_so(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = ""
    if engine == "postgresql":
        url = fresh_postgresql(request.getfixturevalue("postgresql"))
    with make_server(tmp_path, url) as server:
        ann = server.worker("ann")
        batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
        place = batch["sets"][0]["key"]
        store = server.site.store
        order = "PRAGMA query_only = ON" if engine == "sqlite" else "SET TRANSACTION READ ONLY"
        sql_event.listen(store.engine, "begin", lambda db: db.exec_driver_sql(order))
        assert [_save(server, ann, place, f"k{at}") for at in range(5)] == [503] * 5
        assert server.client.get(f"{API}/about").status_code == 200


def test_the_descriptor_is_shared_and_closed_after_the_last_store(tmp_path: Path) -> None:
    """Closing one earlier would drop SQLite's locks of the whole process."""
    path = tmp_path / "campaign.db"
    site = make_site(f"sqlite:///{path}")
    identity = (path.stat().st_dev, path.stat().st_ino)
    with open_store(path) as other:
        assert other.campaigns() == ["tiny"]
        assert site.store.campaigns() == ["tiny"]
        assert database_file._users[identity] == 2
    assert identity in database_file._descriptors
    site.store.close()
    assert identity not in database_file._descriptors
    assert site.store.campaigns() == ["tiny"]  # connected again
    site.store.close()


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.is_file()}


def test_the_database_its_wal_and_backups_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    site = make_site(f"sqlite:///{folder / 'campaign.db'}")
    backup(site.store, folder / "copy.db")
    names = ["campaign.db", "campaign.db-shm", "campaign.db-wal", "copy.db"]
    assert _modes(folder) == dict.fromkeys(names, 0o600)
    site.store.close()


@pytest.mark.parametrize(("before", "after"), [(0o644, 0o600), (0o640, 0o600), (0o664, 0o660)])
def test_a_database_of_before_becomes_private(tmp_path: Path, before: int, after: int) -> None:
    path = tmp_path / "campaign.db"
    make_site(f"sqlite:///{path}").store.close()
    path.chmod(before)
    with open_store(path) as store:
        assert store.campaigns() == ["tiny"]
        assert set(_modes(tmp_path).values()) == {after}


def test_all_that_a_server_makes_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(settings: Settings, *_: object) -> None:
        files.drafts_in(settings.folder).mkdir()
        with (settings.folder / "drafts" / "upload").open("w") as file:
            file.write("a licensed text")

    monkeypatch.setattr(server_module, "serve", serve)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    before = os.umask(0o022)
    try:
        with contextlib.suppress(SystemExit):
            main(["serve", str(tmp_path / "made"), "--port", str(port)])
    finally:
        os.umask(before)
    made = [tmp_path / "made", *(tmp_path / "made").rglob("*")]
    assert {path.name for path in made} >= {"made", "qrowd.db", "secret.key", "upload"}
    assert {
        path.name: path.stat().st_mode & 0o077 for path in made if path.stat().st_mode & 0o077
    } == {}
