"""How often strangers may try something, and how much they may send: the one list of it.

A limit slows down and never locks: after so many times in a period the next ones are let through
one at a time, with a pause between them. Only wrong tries of a password are counted, by address
and login, so that nobody keeps the right one out from elsewhere. Counts are in the database, under
keyed hashes, for a day at most: every process of a server has the same, and no address is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import Request
from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from qrowd.collection.database.schema import rate
from qrowd.collection.database.store import Store
from qrowd.errors import RuleError
from qrowd.web.access import settings_of, store_of
from qrowd.web.settings import Settings

DAY = 86_400_000  # no period that is counted is longer


@dataclass(frozen=True)
class Limit:
    """So many `times` in `seconds`; then one in each `pause` (seconds)."""

    name: str
    times: int
    seconds: int
    pause: float


# Sixty people who share one address (a lab behind one router) stay far below these.
WRONG_PASSWORDS = Limit("password", 10, 60, 5)  # of one login, from one address
WRONG_SIGN_INS = Limit("sign-in", 100, 60, 1)  # from one address, whatever the login
WRONG_SET_UPS = Limit("set-up", 20, 60, 5)  # from one address
WRONG_INVITATIONS = Limit("join", 60, 60, 1)  # from one address
WRONG_LINKS = Limit("link", 300, 60, 1)  # from one address
ENTRIES = Limit("enter", 1200, 60, 0.1)  # from one address
MESSAGES = Limit("message", 30, 3600, 60)  # of one worker
APPEALS = Limit("appeal", 200, 3600, 10)  # of one worker, objections to check questions included

SMALL_BODY = 2**18  # bytes: an answer with a reason and a passage, a form
LIST_BODY = 8 * 2**20  # of organisers: names of 10,000 people, priorities of a pool
LARGEST_BODY = 64 * 2**20  # of organisers: runs, samples, files that extend a campaign
LARGEST_UPLOAD = 2**30  # of administrators: a draft's files
BODIES = (
    (re.compile(r"/drafts(/.*)?"), LARGEST_UPLOAD),
    (re.compile(r"/api/campaigns(/[^/]+/(extensions|runs))?"), LARGEST_BODY),
    (re.compile(r"/campaigns/[^/]+/(extend|runs|sample)"), LARGEST_BODY),
    (re.compile(r"(/api)?/campaigns/[^/]+/(links|acts?|money|messages|people)"), LIST_BODY),
)
BODY_SECONDS = 30  # in which a body must be there,
BODY_SPEED = 10_000  # and as many more as it takes at so many bytes a second


def most_bytes(path: str) -> int:
    """The largest body that anybody may send to an address."""
    return next((most for pattern, most in BODIES if pattern.fullmatch(path)), SMALL_BODY)


def address_of(request: Request) -> str:
    """Where a request comes from; of an IPv6 address the part that a household has."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 6 and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(getattr(address, "ipv4_mapped", None) or address)


@dataclass(frozen=True)
class Caller:
    """Somebody whose tries are counted: an address, a worker, ..."""

    store: Store
    settings: Settings
    who: str

    @classmethod
    def of(cls, request: Request) -> Caller:
        """Whoever has the address that a request comes from."""
        return cls(store_of(request), settings_of(request), address_of(request))

    def count(self, limit: Limit, more: str = "") -> None:
        """Count one more, or refuse it."""
        self._refuse(limit, more)
        self._count_one(limit, more)

    @contextmanager
    def wrong(self, limit: Limit, more: str = "") -> Iterator[None]:
        """Count what is refused inside; refuse to try at all where there were too many."""
        self._refuse(limit, more)
        try:
            yield
        except RuleError as error:
            if error.code != "too-many":
                self._count_one(limit, more)
            raise

    def _count_one(self, limit: Limit, more: str) -> None:
        with self.store.transaction() as db:
            _add(db, self._name(limit, more), self.store.clock(), limit.seconds)

    def _refuse(self, limit: Limit, more: str) -> None:
        """An error where there were too many, and this pause has let somebody through already."""
        name, now = self._name(limit, more), self.store.clock()
        with self.store.snapshot() as db:
            if _times(db, name, now, limit.seconds) < limit.times:
                return
            passed = _times(db, f"{name} slow", now, limit.pause)
        if not passed:
            with self.store.transaction() as db:
                passed = _add(db, f"{name} slow", now, limit.pause) - 1
        if passed:
            raise RuleError("too-many", "too many tries; please wait a few seconds and try again")

    def _name(self, limit: Limit, more: str) -> str:
        key, text = self.settings.secret.encode(), f"{limit.name}\0{self.who}\0{more}"
        return f"{limit.name} {hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]}"


def _since(now: int, seconds: float) -> int:
    return now - now % round(seconds * 1000)


def _times(db: Connection, name: str, now: int, seconds: float) -> int:
    mine = (rate.c.what == name) & (rate.c.since == _since(now, seconds))
    return int(db.scalar(select(rate.c.times).where(mine)) or 0)


def _add(db: Connection, name: str, now: int, seconds: float) -> int:
    """One more in this period; how many there are."""
    since = _since(now, seconds)
    old = ((rate.c.what == name) & (rate.c.since < since)) | (rate.c.since < now - DAY)
    db.execute(delete(rate).where(old))
    new = sqlite.insert if db.dialect.name == "sqlite" else postgresql.insert
    row = new(rate).values(what=name, since=since, times=1)
    same = [rate.c.what, rate.c.since]  # another process may be adding, too
    db.execute(row.on_conflict_do_update(index_elements=same, set_={"times": rate.c.times + 1}))
    return _times(db, name, now, seconds)


def entering(request: Request) -> Iterator[None]:
    """A dependency of the address by which workers come in."""
    caller = Caller.of(request)
    caller.count(ENTRIES)
    with caller.wrong(WRONG_LINKS):
        yield
