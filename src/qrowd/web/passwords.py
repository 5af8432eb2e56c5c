"""Accounts with passwords, and how often something may be tried."""

from __future__ import annotations

from threading import Semaphore

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import Connection, delete, insert, select, update

from qrowd.collection.database.schema import account, rate
from qrowd.collection.database.store import Store
from qrowd.errors import RuleError

LEAST_PASSWORD = 10
LONGEST_NAME = 200  # of what is counted
MINUTE = 60_000
DAY = 86_400_000  # no period that is counted is longer
_hasher = PasswordHasher()
_hashing = Semaphore(2)
_NOBODY = _hasher.hash("nobody has this password")


def new_account(
    db: Connection, now: int, login: str, password: str, *, administrator: bool = False
) -> int:
    """A new account; its number."""
    if not login.strip() or "\0" in login:
        raise RuleError("bad-value", "a login needs at least one character")
    if len(password) < LEAST_PASSWORD:
        raise RuleError("bad-value", f"a password needs at least {LEAST_PASSWORD} characters")
    if db.scalar(select(account.c.id).where(account.c.login == login)) is not None:
        raise RuleError("conflict", "this login is taken; choose another")
    values = {"login": login, "password": _hasher.hash(password), "made_at": now}
    made = db.execute(insert(account).values(**values, administrator=int(administrator)))
    key = made.inserted_primary_key
    assert key is not None
    return int(key[0])


def check_password(store: Store, login: str, password: str) -> tuple[int, bool]:
    """The account's number and whether it is an administrator's; the same time if it is unknown.

    Hashing takes long and much memory: no transaction waits for it, and few are made at a time.
    """
    with store.snapshot() as db:
        row = db.execute(select(account).where(account.c.login == login)).one_or_none()
    try:
        with _hashing:
            _hasher.verify(row.password if row else _NOBODY, password)
    except VerifyMismatchError:
        row = None
    if row is None:
        raise RuleError("no-sign-in", "login and password do not fit together")
    return int(row.id), bool(row.administrator)


def no_account_yet(db: Connection) -> bool:
    """Whether nobody has an account so far."""
    return db.scalar(select(account.c.id).limit(1)) is None


def limit(db: Connection, now: int, what: str, times: int, minutes: float = 1) -> None:
    """Count a try of `what`; an error where there were more than `times` in this period."""
    what = what[:LONGEST_NAME]
    since = now - now % round(minutes * MINUTE)
    mine = (rate.c.what == what) & (rate.c.since == since)
    old = ((rate.c.what == what) & (rate.c.since < since)) | (rate.c.since < now - DAY)
    db.execute(delete(rate).where(old))
    if not db.execute(update(rate).where(mine).values(times=rate.c.times + 1)).rowcount:
        db.execute(insert(rate).values(what=what, since=since, times=1))
    if int(db.scalar(select(rate.c.times).where(mine)) or 0) > times:
        raise RuleError("too-many", "too many tries; please wait a few minutes and try again")
