"""A whole database to another one, of either engine: move, backup and restore are one thing.

Rows are copied in the order of their tables, a chunk at a time, from one snapshot into one
transaction; the rules are put in force again afterwards and recomputed. A backup of SQLite is its
own online backup in one step, which is one snapshot too.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Table, func, insert, select

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import metadata
from qrowd.collection.database.store import Store
from qrowd.collection.database.triggers import create_triggers, drop_triggers
from qrowd.collection.database.verification import broken
from qrowd.errors import StoreError
from qrowd.io.atomic import written

CHUNK = 10_000


def move(source: Store, target: Store) -> dict[str, int]:
    """Copy everything into an empty database; the number of rows of each table."""
    with source.snapshot() as old, target.transaction() as new:
        for table in metadata.sorted_tables:
            if new.execute(select(table).limit(1)).first() is not None:
                message = "this database is not empty; give a new one"
                raise StoreError(message, file=target.shown)
        drop_triggers(new)
        if target.is_sqlite:  # rows may point to later ones: an act that undoes another
            new.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        rows = {table.name: _copy(old, new, table) for table in metadata.sorted_tables}
        create_triggers(new)
        if not target.is_sqlite:  # rows came with their numbers, not from the sequences
            for table in metadata.sorted_tables:
                if table.autoincrement_column is not None:
                    last = func.coalesce(func.max(table.c.id), 1)
                    sequence = func.pg_get_serial_sequence(table.name, "id")
                    new.execute(select(func.setval(sequence, last)).select_from(table))
    for name in target.campaigns():
        with target.read(name) as work:
            if problems := broken(work):
                raise StoreError(f"campaign {name}: {problems[0]}; the copy is not to be used")
    return rows


def _copy(old: Connection, new: Connection, table: Table) -> int:
    keys = list(table.primary_key.columns)
    rows = old.execution_options(yield_per=CHUNK).execute(select(table).order_by(*keys))
    copied = 0
    for chunk in rows.mappings().partitions(CHUNK):
        new.execute(insert(table), [dict(row) for row in chunk])
        copied += len(chunk)
    return copied


def backup(store: Store, path: str | Path) -> Path:
    """A copy of the database as one SQLite file: one commit, while others go on working."""
    target = Path(path)
    if target.exists():
        raise StoreError("there is a file already; give another name", file=str(target))
    with written(target, private=True) as beside:  # it has people, too
        if store.is_sqlite:
            _backup_sqlite(Path(str(store.engine.url.database)), beside)
        else:
            with open_store(beside, new=True) as copy:
                move(store, copy)
            with contextlib.closing(sqlite3.connect(beside)) as db:  # no files beside it
                db.execute("PRAGMA journal_mode = DELETE")
    return target


def _backup_sqlite(source: Path, target: Path) -> None:
    old, new = sqlite3.connect(source), sqlite3.connect(target)
    try:
        with contextlib.closing(old), contextlib.closing(new):
            old.backup(new, pages=-1)
            new.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        message = f"the copy failed: {error}; nothing is left of it; make room and try again"
        raise StoreError(message, file=str(source)) from None


def restore(path: str | Path, target: Store) -> dict[str, int]:
    """A backup into an empty database of either engine."""
    with open_store(path) as source:
        return move(source, target)
