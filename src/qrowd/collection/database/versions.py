"""Versions of the schema: Alembic, up and down, on both engines.

Migrations change tables only: the rules between them (`triggers`) are taken out of force before and
put in force again after every change of version, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, func, inspect, select

from qrowd.collection.database.store import UPGRADING, Store
from qrowd.collection.database.triggers import create_triggers, drop_triggers
from qrowd.errors import StoreError

if TYPE_CHECKING:
    from alembic.config import Config


FOLDER = Path(__file__).parent / "migrations"


def refuse_other_version(store: Store) -> None:
    """An error unless the schema is the one that this version of qrowd knows; a new one is made."""
    if not store.has_tables():
        if not store.is_sqlite and _tables(store):
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


def _tables(store: Store) -> list[str]:
    with store.snapshot() as db:
        return inspect(db).get_table_names()


def known_versions() -> list[str]:
    """The versions of the schema, the newest first."""
    from alembic.script import ScriptDirectory

    return [script.revision for script in ScriptDirectory(str(FOLDER)).walk_revisions()]


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
    from alembic import command

    with _configured(store) as config:
        command.upgrade(config, to)
        create_triggers(connection_of(config))
    return version(store)


def downgrade(store: Store, to: str) -> str:
    """Bring the schema back to an older version; `base` removes everything."""
    from alembic import command

    with _configured(store) as config:
        command.downgrade(config, to)
        if to != "base":
            create_triggers(connection_of(config))
    return version(store)


@contextmanager
def _configured(store: Store) -> Iterator[Config]:
    from alembic.config import Config

    with store.rebuild() as db:
        config = Config()
        config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
        config.attributes["connection"] = db
        if db.dialect.name == "postgresql":  # two servers may start at once
            db.execute(select(func.pg_advisory_xact_lock(UPGRADING)))
        if inspect(db).has_table("campaign"):
            drop_triggers(db)
        yield config


def connection_of(config: Any) -> Connection:
    """The connection that a migration runs on."""
    connection = config.attributes["connection"]
    assert isinstance(connection, Connection)
    return connection
