"""Versions of the schema, up and down, on both engines; and databases that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from qrowd.collection.database import opening
from qrowd.collection.database.opening import drive_of, open_store
from qrowd.collection.database.schema import metadata
from qrowd.collection.database.store import Store
from qrowd.collection.database.triggers import TRIGGERS
from qrowd.errors import StoreError


def test_up_and_down_and_up_again(url: str) -> None:
    store = open_store(url, new=True)
    assert opening.version(store) == opening.newest_version()
    with store.engine.connect() as db:
        assert compare_metadata(MigrationContext.configure(db), metadata) == []
        db.rollback()
    assert opening.downgrade(store, "base") == ""
    with store.snapshot() as db:
        assert inspect(db).get_table_names() == ["alembic_version"]
    assert opening.upgrade(store) == opening.newest_version()
    assert names_of_triggers(store) == {one.name for one in TRIGGERS}
    store.engine.dispose()


def names_of_triggers(store: Store) -> set[str]:
    """The rules in force."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    if not store.is_sqlite:
        sql = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    with store.snapshot() as db:
        return set(db.scalars(text(sql)))


def test_a_database_of_another_version_is_left_alone(url: str) -> None:
    store = open_store(url, new=True)
    with store.transaction() as db:
        db.execute(text("UPDATE alembic_version SET version_num = 'from the future'"))
    store.engine.dispose()
    with pytest.raises(StoreError, match="made by a newer qrowd"):
        open_store(url)


def test_a_database_on_a_network_drive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    assert drive_of(tmp_path / "c.db", mounts) == "nfs4"
    assert drive_of(Path("/c.db"), mounts) == "ext4"
    monkeypatch.setattr("qrowd.collection.database.opening.drive_of", lambda path: "nfs4")
    with pytest.raises(StoreError, match="network drive"):
        open_store(tmp_path / "c.db", new=True)


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    from tests.collection.making import make_site

    site = make_site(f"sqlite:///{tmp_path / 'c.db'}")
    with site.store.snapshot() as db:
        pages = db.exec_driver_sql("PRAGMA page_count").scalar()
    site.store.engine.dispose()

    def full(connection: object, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[attr-defined]

    from sqlalchemy import event

    event.listen(site.store.engine, "connect", full)

    def work_on() -> None:
        for number in range(500):
            site.next(site.worker(f"w{number}"))

    with pytest.raises(StoreError, match="full; nothing of this step was stored"):
        work_on()
    event.remove(site.store.engine, "connect", full)
    site.store.engine.dispose()
    from qrowd.collection.database.verification import broken

    with site.store.read("tiny") as work:
        assert broken(work) == []
    site.store.engine.dispose()


def test_several_may_open_a_new_database_at_once(url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_store(url, new=True), range(4)))
    assert {opening.version(one) for one in stores} == {opening.newest_version()}
    assert names_of_triggers(stores[0]) == {one.name for one in TRIGGERS}
    for one in stores:
        one.engine.dispose()


NEXT_VERSION = """
import sqlalchemy as sa
from alembic import op

from qrowd.collection.database.schema import metadata

revision, down_revision, branch_labels, depends_on = "9999", "{last}", None, None
NAMES = ("event", "place", "assignment")


def upgrade():
    how = "always" if op.get_bind().dialect.name == "sqlite" else "never"
    for name in NAMES:
        whole = metadata.tables[name]
        with op.batch_alter_table(name, recreate=how, copy_from=whole) as table:
            table.add_column(sa.Column("added", sa.Text()))


def downgrade():
    for name in NAMES:
        op.drop_column(name, "added")
"""


def test_versions_keep_the_data(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Back to the first version and on to one that rebuilds tables: the same export, same rules."""
    import shutil

    from tests.collection.making import make_site
    from tests.collection.test_files import files_of

    from qrowd.collection.database.verification import broken

    site = make_site(url)
    opening.downgrade(site.store, "0003")  # its plan gets the rules of before
    opening.upgrade(site.store)
    for name in ("ann", "bob"):
        site.whole(site.worker(name))
    before = files_of(site.store, "tiny", tmp_path / "before")
    shutil.copytree(opening.MIGRATIONS, tmp_path / "migrations")
    text = NEXT_VERSION.replace("{last}", opening.newest_version())
    (tmp_path / "migrations" / "versions" / "v9999_next.py").write_text(text)
    monkeypatch.setattr(opening, "MIGRATIONS", tmp_path / "migrations")
    for _ in range(2):
        for step in ("0001", "9999"):
            (opening.downgrade if step == "0001" else opening.upgrade)(site.store, step)
            assert opening.version(site.store) == step
            assert names_of_triggers(site.store) == {one.name for one in TRIGGERS}
        assert files_of(site.store, "tiny", tmp_path / "after") == before
        assert site.whole(site.worker("later")) is not None
        with site.store.read("tiny") as work:
            assert broken(work) == []
        before = files_of(site.store, "tiny", tmp_path / "again")
    site.store.engine.dispose()


def test_lists_keep_a_database_from_going_back(url: str) -> None:
    from tests.collection.making import make_site

    from qrowd.collection.people import entry

    site = make_site(url)
    site.work(entry.make_link, "ann")
    with pytest.raises(StoreError, match="there are people on lists"):
        opening.downgrade(site.store, "0003")
    assert opening.version(site.store) == opening.newest_version()
    site.store.engine.dispose()


def test_ratings_keep_a_database_from_going_back(url: str) -> None:
    from tests.collection.making import make_site

    site = make_site(url)
    shown = site.next(site.worker("ann")).sets[0]
    site.say(site.worker("ann"), shown.key, 1, 1)
    with site.store.transaction() as db:
        columns = "worker_id, place_id, position, kind, grade, value, at, key"
        values = "worker_id, place_id, position, 'rating', 1, 50, at, 'rated'"
        db.execute(text(f"INSERT INTO event ({columns}) SELECT {values} FROM event"))
    with pytest.raises(StoreError, match="there are ratings"):
        opening.downgrade(site.store, "0002")
    assert opening.version(site.store) == opening.newest_version()
    site.store.engine.dispose()
