"""How a database of campaigns is opened: where it may stand, and which version it must have.

Versions of the schema are Alembic's, up and down, on both engines. Migrations change tables only:
the rules between them (`triggers`) are taken out of force before and put in force again after every
change of version, in the same transaction.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import event, func, inspect, select
from sqlalchemy.engine import make_url

from qrowd.collection.database.file import DatabaseFile, make_private
from qrowd.collection.database.store import UPGRADING, Store, clock, engine_of
from qrowd.collection.database.triggers import create_triggers, drop_triggers
from qrowd.errors import QrowdError, StoreError, UsageError

MIGRATIONS = Path(__file__).parent / "migrations"
NETWORK_DRIVES = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ncpfs", "glusterfs", "lustre")


def url_of(where: str | Path) -> str:
    """The URL of a database: a URL as it is, or a file's path."""
    scheme, mark, rest = str(where).partition("://")
    if not mark:
        return f"sqlite:///{where}"
    if scheme in ("postgresql", "postgres"):
        return f"postgresql+psycopg://{rest}"
    if scheme not in ("sqlite", "postgresql+psycopg"):
        raise UsageError(f"{scheme}:// is not supported: give a file, or postgresql://...")
    return str(where)


def open_store(
    where: str | Path,
    *,
    clock: Callable[[], int] = clock,
    seed: int | None = None,
    new: bool = False,
    check_version: bool = True,
) -> Store:
    """Open a database of campaigns; `new` allows a file that is not there yet.

    `seed` makes all random names repeatable; without it they come from the system's secure source.
    """
    url, file = url_of(where), None
    if url.startswith("sqlite"):
        path = Path(str(make_url(url).database))
        _refuse_unusable(path, new)
        make_private(path)
        file = DatabaseFile(path)
    chance = random.SystemRandom() if seed is None else random.Random(seed)
    engine = engine_of(url)
    if file:
        event.listen(engine, "engine_disposed", lambda _: file.forget())
    store = Store(engine, url, clock, chance, file=file)
    if check_version:
        try:
            refuse_other_version(store)
        except QrowdError:
            store.close()
            raise
    return store


def _refuse_unusable(path: Path, new: bool) -> None:
    if path.is_dir():
        raise StoreError("this is a folder; give a database file in it", file=str(path))
    if not new and not path.is_file():
        raise StoreError("no such database; `qrowd campaign new` makes one", file=str(path))
    if not path.resolve().parent.is_dir():
        raise StoreError("its folder does not exist; make it first", file=str(path))
    kind = drive_of(path.resolve())
    if kind.startswith(NETWORK_DRIVES):
        raise StoreError(
            f"SQLite cannot be shared safely on a network drive ({kind}); put it on a "
            "local disk, or use PostgreSQL (--database postgresql://...)",
            file=str(path),
        )


def drive_of(path: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kind of file system that holds a path; "" where that cannot be told."""
    if not mounts.exists():
        return ""
    deepest, kind = "", ""
    for line in mounts.read_text(errors="replace").splitlines():
        _, point, type_here, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(deepest):
            deepest, kind = point, type_here
    return kind


# --- versions -------------------------------------------------------------------------------------


def refuse_other_version(store: Store) -> None:
    """An error unless the schema is the one that this version of qrowd knows; a new one is made."""
    with store.snapshot() as db:
        tables = inspect(db).get_table_names()
    if "campaign" not in tables:
        if tables and not store.is_sqlite:
            message = "this database holds other tables; give an empty one"
            raise StoreError(message, file=store.shown)
        upgrade(store)
        return
    current = version(store)
    if current != newest_version():
        refuse_newer(store, current)
        message = f"made by an older qrowd (schema {current}); run `qrowd campaign upgrade` on it"
        raise StoreError(message, file=store.shown)


def refuse_newer(store: Store, current: str) -> None:
    """An error if this version of qrowd does not know the database's `current` version."""
    if current and current not in known_versions():
        message = f"made by a newer qrowd (schema {current}); update qrowd to open it"
        raise StoreError(message, file=store.shown)


def known_versions() -> list[str]:
    """The versions of the schema, the newest first."""
    from alembic.script import ScriptDirectory

    return [script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()]


def newest_version() -> str:
    """The version that this qrowd works with."""
    return known_versions()[0]


def version(store: Store) -> str:
    """The version of a database's schema; "" if it has none."""
    from alembic.migration import MigrationContext

    with store.snapshot() as db:
        return MigrationContext.configure(db).get_current_revision() or ""


def upgrade(store: Store, to: str = "head") -> str:
    """Bring the schema up to a version; all of it, or nothing."""
    return _migrate(store, "upgrade", to)


def downgrade(store: Store, to: str) -> str:
    """Bring the schema back to an older version; `base` removes everything."""
    return _migrate(store, "downgrade", to)


def _migrate(store: Store, direction: str, to: str) -> str:
    from alembic import command
    from alembic.config import Config

    with store.rebuild() as db:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = db
        if db.dialect.name == "postgresql":  # two servers may start at once
            db.execute(select(func.pg_advisory_xact_lock(UPGRADING)))
        if inspect(db).has_table("campaign"):
            drop_triggers(db)
        getattr(command, direction)(config, to)
        if to != "base":
            create_triggers(db)
    return version(store)
