"""The database of campaigns: opened safely, written in short serialised transactions.

    store = open_store("campaign.db")              # or a PostgreSQL URL
    with store.write("web-2026") as work: ...      # BEGIN IMMEDIATE, or an advisory lock
    with store.read("web-2026") as work: ...       # one consistent snapshot

SQLite runs in WAL mode with synchronous FULL; both are read back on every connection. A `Work` is
one transaction on one campaign: everything in this room takes it first. `now` and `random` come
from the store, so that tests can set them.
"""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from qrowd.collection.database import schema
from qrowd.collection.database.file import DatabaseFile
from qrowd.collection.database.schema import assignment, audit, campaign, judging_set, pair
from qrowd.collection.database.states import VALID
from qrowd.collection.plan.sections import Plan
from qrowd.collection.plan.toml import stored_plan
from qrowd.errors import MissingExtraError, RuleError, StoreError

R = TypeVar("R", bound=schema.TypedRow)

READ_ONLY = "qrowd_read_only"
UPGRADING, NUMBERING = -1, -2  # locks of PostgreSQL; those of campaigns are their numbers, from 1
BUSY_MS = 30_000
CHUNK = 5_000  # rows of one insert


def clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def new_id(result: Any) -> int:
    """The number that an insert gave its row."""
    return int(result.inserted_primary_key[0])


def analyze(db: sa.Connection, *tables: str) -> None:
    """Let PostgreSQL count tables that have just grown: by old counts it may join them row by row,
    for hours. Another one that counts the same tables waits until this transaction ends. SQLite
    needs no counts here.
    """
    if db.dialect.name == "postgresql":
        db.exec_driver_sql(f"ANALYZE {', '.join(tables)}")


@dataclass(frozen=True, eq=False)
class Work:
    """One transaction on one campaign."""

    db: sa.Connection
    campaign: int
    name: str
    state: str
    plan: Plan
    now: int
    random: random.Random

    def key(self) -> str:
        """A new random name, 32 hexadecimal digits."""
        return f"{self.random.getrandbits(128):032x}"

    def store_plan(self, text: str) -> None:
        """Another text of the campaign's plan, which `as_stored` has."""
        self.update(campaign, campaign.c.id == self.campaign, plan=text)

    def as_stored(self) -> Work:
        """The same transaction with the plan as it is stored now: an act may have changed it."""
        text = self.db.scalar(sa.select(campaign.c.plan).where(campaign.c.id == self.campaign))
        return replace(self, plan=stored_plan(str(text)))

    def own(self, table: sa.FromClause) -> sa.ColumnElement[bool]:
        """The condition that a row is this campaign's."""
        return table.c.campaign_id == self.campaign

    def pool_pairs(self) -> sa.ColumnElement[bool]:
        """The condition that a pair is of this campaign's pool."""
        return self.own(pair) & (pair.c.in_pool == 1)

    def pool_sets(self) -> sa.ColumnElement[bool]:
        """The condition that a set is of this campaign's pool."""
        return self.own(judging_set) & (judging_set.c.role == "pool")

    def valid_batches(self) -> sa.ColumnElement[bool]:
        """The condition that an assignment is this campaign's, and its answers are good."""
        return self.own(assignment) & assignment.c.state.in_(VALID)

    def standing_acts(self, act: str) -> sa.ColumnElement[bool]:
        """The condition that a row of the record is such an act of this campaign, not undone."""
        undone = sa.select(audit.c.undoes).where(self.own(audit), audit.c.undoes.is_not(None))
        return self.own(audit) & (audit.c.act == act) & audit.c.id.not_in(undone)

    def rows(self, query: sa.Executable, of: type[R], values: schema.Values = None) -> list[R]:
        """All rows of a query; `of` declares their columns."""
        return of.rows(self.db, query, values)

    def row(self, query: sa.Executable, of: type[R], values: schema.Values = None) -> R | None:
        """The only row of a query, or None."""
        return of.row(self.db, query, values)

    def existing(
        self, query: sa.Executable, missing: str, of: type[R], values: schema.Values = None
    ) -> R:
        """The only row of a query; where there is none, an error says what is `missing`."""
        row = self.row(query, of, values)
        if row is None:
            raise RuleError("not-found", missing)
        return row

    def number(self, query: sa.Executable, values: schema.Values = None) -> int:
        """The whole number that a query gives; 0 for nothing."""
        return int(self.db.scalar(query, values) or 0)

    def count(self, table: sa.FromClause, *conditions: sa.ColumnElement[bool]) -> int:
        """How many rows of a table, or of a join, meet the conditions."""
        return self.number(sa.select(sa.func.count()).select_from(table).where(*conditions))

    def insert(self, table: sa.Table, **columns: Any) -> int:
        """Add a row, of this campaign where the table says of which; its number."""
        if "campaign_id" in table.c:
            columns["campaign_id"] = self.campaign
        return new_id(self.db.execute(sa.insert(table), columns))

    def insert_all(self, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows like `insert`, a chunk at a time; none is fine too."""
        owned = "campaign_id" in table.c
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            if owned:
                chunk = [{**row, "campaign_id": self.campaign} for row in chunk]
            self.db.execute(sa.insert(table), chunk)

    def update(self, table: sa.Table, *conditions: sa.ColumnElement[bool], **columns: Any) -> None:
        """Set columns of the rows that meet the conditions."""
        self.db.execute(sa.update(table).where(*conditions).values(**columns))

    def update_all(self, table: sa.Table, column: str, values: Mapping[int, Any]) -> None:
        """Give rows, by their numbers, a value each: one statement for many rows of one value."""
        alike: dict[Any, list[int]] = defaultdict(list)
        for number, value in values.items():
            alike[value].append(number)
        for value, numbers in alike.items():
            for start in range(0, len(numbers), CHUNK):
                chosen = table.c.id.in_(numbers[start : start + CHUNK])
                self.update(table, chosen, **{column: value})

    def delete(self, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> None:
        """Take out the rows that meet the conditions."""
        self.db.execute(sa.delete(table).where(*conditions))


_CAMPAIGN = sa.select(campaign.c.id, campaign.c.name, campaign.c.state, campaign.c.plan)
_BY_ID = _CAMPAIGN.where(campaign.c.id == sa.bindparam("wanted"))
_BY_NAME = _CAMPAIGN.where(campaign.c.name == sa.bindparam("wanted"))


@dataclass(frozen=True, eq=False)
class Store:
    """A database of campaigns."""

    engine: sa.Engine
    url: str
    clock: Callable[[], int] = clock
    random: random.Random = field(default_factory=random.SystemRandom)
    turn: threading.Lock = field(default_factory=threading.Lock)
    file: DatabaseFile | None = None  # of SQLite

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        """Whether it is an SQLite file."""
        return self.engine.dialect.name == "sqlite"

    @property
    def shown(self) -> str:
        """Its address for messages: a file's path, or a URL without its passwords."""
        address = self.engine.url.difference_update_query(("password", "sslpassword"))
        return str(address.database or "") if self.is_sqlite else str(address)

    @contextmanager
    def write(self, name: str | int) -> Iterator[Work]:
        """A serialised transaction on the campaign of this name (or number)."""
        with self.transaction() as db:
            yield self._work(db, name, lock=True)

    @contextmanager
    def read(self, name: str | int) -> Iterator[Work]:
        """One consistent snapshot of the campaign of this name (or number)."""
        with self.snapshot() as db:
            yield self._work(db, name, lock=False)

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A transaction on the whole database; errors of the engine become one line."""
        with _plainly(self), self._in_turn(), self._connected() as db:
            with db.begin():
                yield db
            self._refuse_other_file()  # committed into a file that is gone is not stored

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        with self.engine.connect() as db:
            self._refuse_other_file()
            yield db

    def _refuse_other_file(self) -> None:
        if self.file is not None:
            self.file.refuse_other()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Threads that write to SQLite queue here rather than in `_begin_sqlite`."""
        if self.is_sqlite and not self.turn.acquire(timeout=BUSY_MS / 1000):
            raise _failed("database is locked", self)
        try:
            yield
        finally:
            if self.is_sqlite:
                self.turn.release()

    @contextmanager
    def rebuild(self) -> Iterator[sa.Connection]:
        """A transaction in which tables may be made anew: references are checked at its end."""
        if not self.is_sqlite:
            with self.transaction() as db:
                yield db
            return
        with _plainly(self), self._connected() as db:
            raw: Any = db.connection.driver_connection
            raw.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
            try:
                with db.begin():
                    yield db
                    if db.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                        raise StoreError("rows would point to nothing; nothing was changed")
            finally:
                raw.execute("PRAGMA foreign_keys = ON")

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """A consistent view of the whole database, without any lock that others wait for."""
        with _plainly(self), self._connected() as db:
            db = db.execution_options(**{READ_ONLY: True})
            if not self.is_sqlite:
                db = db.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            with db.begin():
                yield db

    def campaigns(self) -> list[str]:
        """The names of the campaigns in it."""
        with self.snapshot() as db:
            return list(db.scalars(sa.select(campaign.c.name).order_by(campaign.c.id)))

    def only(self, name: str | None = None) -> str:
        """The name of the one campaign, or `name` if it is there."""
        names = self.campaigns()
        if name is None and len(names) == 1:
            return names[0]
        if name in names:
            return str(name)
        listed = ", ".join(names) or "none"
        asked = f"no campaign {name!r}" if name else "which campaign? say --campaign NAME"
        raise RuleError("not-found", f"{asked}; in this database: {listed}")

    def _work(self, db: sa.Connection, name: str | int, lock: bool) -> Work:
        query = _BY_ID if isinstance(name, int) else _BY_NAME
        row = db.execute(query, {"wanted": name}).one_or_none()
        if row is None:
            raise RuleError("not-found", f"there is no campaign {name!r}")
        if lock and not self.is_sqlite:
            db.execute(sa.text("SELECT pg_advisory_xact_lock(:id)"), {"id": row[0]})
            row = db.execute(query, {"wanted": name}).one()  # as it is now that we hold the lock
        number, own_name, state, plan = row
        return Work(db, number, own_name, state, stored_plan(plan), self.clock(), self.random)


_ADVICE = {
    "disk is full": "nothing of this step was stored; make room and try again",
    "disk I/O error": "nothing of this step was stored; is the disk full or failing?",
    "No space left": "nothing of this step was stored; make room and try again",
    "locked": "somebody else is writing; nothing of this step was stored; try again",
    "readonly": "nothing of this step was stored; make the file and its folder writable",
    "read-only": "nothing of this step was stored; make the database writable",
    "not a database": "give a database made by `qrowd campaign new`",
    "malformed": "restore a backup: `qrowd campaign restore`",
    "connect": "is the server running, and is the URL right?",
    "no such table": "give a database made by `qrowd campaign new`",
    "does not exist": "give a database made by `qrowd campaign new`",
}


@contextmanager
def _plainly(store: Store) -> Iterator[None]:
    """Errors that are no rule's fault, in one line that says what to do."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise
    except sa.exc.DatabaseError as error:
        raise _failed(str(error.orig).splitlines()[0], store) from error


def _failed(reason: str, store: Store) -> StoreError:
    advice = next(
        (words for sign, words in _ADVICE.items() if sign in reason), "nothing was stored"
    )
    return StoreError(f"{reason}; {advice}", file=store.shown)


# --- connections ----------------------------------------------------------------------------------


def engine_of(url: str) -> sa.Engine:
    """A pool of connections that are set up for campaigns."""
    if url.startswith("sqlite"):
        wait = {"timeout": BUSY_MS / 1000, "check_same_thread": False}
        engine = sa.create_engine(
            url, connect_args=wait, poolclass=QueuePool, pool_size=5, hide_parameters=True
        )
        sa.event.listen(engine, "connect", _set_up_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    try:
        return sa.create_engine(url, pool_size=5, pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError:
        raise MissingExtraError.needed("PostgreSQL", "postgres") from None


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_sqlite` only
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    mode = cursor.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    for setting in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {setting}")
    synchronous = cursor.execute("PRAGMA synchronous").fetchone()[0]
    cursor.close()
    if mode != "wal" or synchronous != 2:
        raise StoreError(
            f"SQLite runs with journal_mode {mode}, synchronous {synchronous}, where WAL and FULL "
            "(2) are needed; keep the file on a local disk, or use PostgreSQL"
        )


def _begin_sqlite(db: sa.Connection) -> None:
    if db.get_execution_options().get(READ_ONLY, False):
        db.exec_driver_sql("BEGIN")
        return
    # SQLite's own waiting sleeps for longer and longer: whoever came first might come last
    until = time.monotonic() + BUSY_MS / 1000
    db.exec_driver_sql("PRAGMA busy_timeout = 1")
    try:
        while True:
            try:
                db.exec_driver_sql("BEGIN IMMEDIATE")
                return
            except sa.exc.OperationalError as error:
                if "locked" not in str(error.orig) or time.monotonic() > until:
                    raise
    finally:
        db.exec_driver_sql(f"PRAGMA busy_timeout = {BUSY_MS}")
