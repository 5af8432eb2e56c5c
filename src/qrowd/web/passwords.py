"""Accounts with passwords, and how often something may be tried."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import Connection, delete, insert, select, update

from qrowd.collection.schema import account, rate
from qrowd.errors import RuleError

LEAST_PASSWORD = 10
MINUTE = 60_000
_hasher = PasswordHasher()
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


def check_password(db: Connection, login: str, password: str) -> tuple[int, bool]:
    """The account's number and whether it is an administrator's; the same time if it is unknown."""
    row = db.execute(select(account).where(account.c.login == login)).one_or_none()
    try:
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
    since = now - now % round(minutes * MINUTE)
    mine = (rate.c.what == what) & (rate.c.since == since)
    db.execute(delete(rate).where(rate.c.what == what, rate.c.since < since))
    if not db.execute(update(rate).where(mine).values(times=rate.c.times + 1)).rowcount:
        db.execute(insert(rate).values(what=what, since=since, times=1))
    if int(db.scalar(select(rate.c.times).where(mine)) or 0) > times:
        raise RuleError("too-many", "too many tries; please wait a few minutes and try again")
