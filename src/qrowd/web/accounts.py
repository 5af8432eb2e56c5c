"""Accounts: passwords, signing in, invitations, and what an account is in which campaign.

An invitation is a signed address: whoever opens it chooses a password. It is good for a week and,
since it names the login, once.
"""

from __future__ import annotations

import hmac
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from threading import Semaphore

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from itsdangerous import BadSignature
from sqlalchemy import ColumnElement, Connection, insert, select, update

from qrowd.collection.database import schema
from qrowd.collection.database.schema import account, campaign, member_role, token
from qrowd.collection.database.store import Store, Work, new_id
from qrowd.collection.people import workers
from qrowd.collection.plan.platforms import is_plain
from qrowd.errors import RuleError
from qrowd.web.access import MEMBERS, Bearer, Membership, new_token, roles_of
from qrowd.web.limits import (
    WRONG_INVITATIONS,
    WRONG_PASSWORDS,
    WRONG_SET_UPS,
    WRONG_SIGN_INS,
    Caller,
)
from qrowd.web.settings import Settings, set_up_code

LEAST_PASSWORD = 10
INVITATION_DAYS = 7
ROLES = ("organiser", "expert")
LONGEST_NAME = 200  # of a login
_hasher = PasswordHasher()
_hashing, _waiting = Semaphore(2), Semaphore(10)
_NOBODY = _hasher.hash("nobody has this password")


@dataclass(frozen=True)
class Guest:
    """Somebody who may make an account: an administrator, or with a role in a campaign."""

    login: str
    administrator: bool = False
    campaign: str = ""
    role: str = ""


@dataclass(frozen=True)
class Account:
    """An account and its roles."""

    login: str
    administrator: bool
    made_at: int
    roles: list[Membership]


@dataclass(frozen=True)
class Session:
    """The token of somebody who has just come in."""

    token: str
    role: str


# --- coming in ------------------------------------------------------------------------------------


def set_up(caller: Caller, code: str, login: str, password: str) -> Session:
    """Make the first account, an administrator's; `code` is in the link that was printed."""
    store = caller.store
    with caller.wrong(WRONG_SET_UPS), store.transaction() as db:
        if not no_account_yet(db):
            raise RuleError("conflict", "this server has an account already; sign in with it")
        if not hmac.compare_digest(code.encode(), set_up_code(caller.settings).encode()):
            raise RuleError("no-access", "open the link that `qrowd serve` printed")
        number = new_account(db, store.clock(), login, password, administrator=True)
        return _session(db, store.clock(), number, administrator=True)


def sign_in(caller: Caller, login: str, password: str) -> Session:
    """Come in with a password; wrong ones are slowed down, by address and login."""
    store = caller.store
    with caller.wrong(WRONG_SIGN_INS), caller.wrong(WRONG_PASSWORDS, login):
        number, administrator = check_password(store, login, password)
    with store.transaction() as db:
        return _session(db, store.clock(), number, administrator=administrator)


def join(caller: Caller, invitation: str, password: str) -> Session:
    """Make the account that an invitation is for, and come in."""
    store = caller.store
    with caller.wrong(WRONG_INVITATIONS):
        guest = guest_of(caller.settings, invitation)
        with store.transaction() as db:
            number = new_account(
                db, store.clock(), guest.login, password, administrator=guest.administrator
            )
    if not guest.administrator:
        give_role(store, guest.login, guest.campaign, guest.role)
    with store.transaction() as db:
        return _session(db, store.clock(), number, administrator=guest.administrator)


def change_password(caller: Caller, bearer: Bearer, old: str, new: str) -> Session:
    """Another password; all sessions and tokens of the account end, and a new one begins.

    Whoever knew the old one may have made some of them.
    """
    store = caller.store
    if bearer.account is None:
        raise RuleError("bad-value", "this token has no account, and so no password")
    with caller.wrong(WRONG_SIGN_INS), caller.wrong(WRONG_PASSWORDS, bearer.name):
        number, administrator = check_password(store, bearer.name, old)
    _refuse_short(new)
    hashed = _hashed(new)
    with store.transaction() as db:
        db.execute(update(account).where(account.c.id == number).values(password=hashed))
        theirs = (token.c.account_id == number) & token.c.revoked_at.is_(None)
        db.execute(update(token).where(theirs).values(revoked_at=store.clock()))
        return _session(db, store.clock(), number, administrator=administrator)


def _session(db: Connection, now: int, number: int, *, administrator: bool) -> Session:
    roles = {row.role for row in roles_of(db, number)}
    if not administrator and not roles:
        raise RuleError("no-access", "this account has no campaign yet")
    role = "organiser" if administrator or "organiser" in roles else min(roles)
    return Session(new_token(db, now, role, account_id=number), role)


# --- accounts and passwords -----------------------------------------------------------------------


def new_account(
    db: Connection, now: int, login: str, password: str, *, administrator: bool = False
) -> int:
    """A new account; its number."""
    _refuse_odd_login(login)
    _refuse_short(password)
    if _number(db, login) is not None:
        raise RuleError("conflict", "this login is taken; choose another")
    row = insert(account).values(
        login=login, password=_hashed(password), made_at=now, administrator=int(administrator)
    )
    return new_id(db.execute(row))


def _refuse_short(password: str) -> None:
    if len(password) < LEAST_PASSWORD:
        raise RuleError("bad-value", f"a password needs at least {LEAST_PASSWORD} characters")


def _hashed(password: str) -> str:
    with _one_of_few():
        return _hasher.hash(password)


@contextmanager
def _one_of_few() -> Iterator[None]:
    """Hashing takes long and much memory: two at a time, and few wait, each with a thread."""
    if not _waiting.acquire(blocking=False):
        raise RuleError("too-many", "many people sign in right now; please try again")
    try:
        with _hashing:
            yield
    finally:
        _waiting.release()


def check_password(store: Store, login: str, password: str) -> tuple[int, bool]:
    """The account's number and whether it is an administrator's; the same time if it is unknown.

    No transaction waits for it.
    """
    with store.snapshot() as db:
        row = schema.Account.row(db, select(account).where(account.c.login == login))
    try:
        with _one_of_few():
            _hasher.verify(row.password if row else _NOBODY, password)
    except VerifyMismatchError:
        row = None
    if row is None:
        raise RuleError("no-sign-in", "login and password do not fit together")
    return row.id, bool(row.administrator)


def no_account_yet(db: Connection) -> bool:
    """Whether nobody has an account so far."""
    return db.scalar(select(account.c.id).limit(1)) is None


def accounts(db: Connection) -> list[Account]:
    """All accounts by login, with their roles."""
    roles: dict[int, list[Membership]] = defaultdict(list)
    for role in Membership.rows(db, MEMBERS.order_by(campaign.c.name, member_role.c.role)):
        roles[role.account_id].append(role)
    rows = schema.Account.rows(db, select(account).order_by(account.c.login))
    return [Account(row.login, bool(row.administrator), row.made_at, roles[row.id]) for row in rows]


# --- invitations and roles ------------------------------------------------------------------------


def invite(store: Store, settings: Settings, guest: Guest) -> str:
    """The address to send to somebody; what is wrong with the invitation is told now."""
    _refuse_odd(guest)
    with store.snapshot() as db:
        if _number(db, guest.login) is not None:
            raise RuleError("conflict", f"{guest.login} has an account already: give it a role")
        named = select(campaign.c.id).where(campaign.c.name == guest.campaign)
        if guest.campaign and db.scalar(named) is None:
            raise RuleError("not-found", f"there is no campaign {guest.campaign!r}")
    return (
        f"{settings.address}/join?invitation={settings.signer('invitation').dumps(astuple(guest))}"
    )


def guest_of(settings: Settings, invitation: str) -> Guest:
    """Whom an invitation is for."""
    try:
        fields = settings.signer("invitation").loads(invitation, max_age=INVITATION_DAYS * 86_400)
    except BadSignature:
        message = "this invitation is not good any more, or not copied whole; ask for another"
        raise RuleError("no-access", message) from None
    return Guest(*fields)


def give_role(store: Store, login: str, name: str, role: str) -> None:
    """Let an account be something in a campaign; once more changes nothing."""
    _refuse_odd(Guest(login, campaign=name, role=role))
    with store.write(name) as work:
        number = _known_number(work.db, login)
        mine = _roles_in(work, number) & (member_role.c.role == role)
        if work.db.scalar(select(member_role.c.role).where(mine)):
            return
        work.insert(
            member_role,
            account_id=number,
            role=role,
            worker_id=workers.expert(work, login) if role == "expert" else None,
        )


def take_role(store: Store, login: str, name: str, role: str) -> None:
    """Let an account be that no longer; its tokens of the campaign are useless from now on.

    Also those of another role that it has not: an organiser can make an expert's.
    """
    _refuse_odd(Guest(login, campaign=name, role=role))
    with store.write(name) as work:
        number = _known_number(work.db, login)
        mine = _roles_in(work, number)
        work.delete(member_role, mine, member_role.c.role == role)
        kept = token.c.role.in_(select(member_role.c.role).where(mine))
        theirs = work.own(token) & (token.c.account_id == number) & ~kept
        work.update(token, theirs & token.c.revoked_at.is_(None), revoked_at=work.now)


def _refuse_odd_login(login: str) -> None:
    if not login.strip() or not is_plain(login, LONGEST_NAME):
        message = f"a login has 1 to {LONGEST_NAME} characters, and no control characters"
        raise RuleError("bad-value", message)


def _refuse_odd(guest: Guest) -> None:
    _refuse_odd_login(guest.login)
    if not guest.administrator and guest.role not in ROLES:
        raise RuleError("bad-value", f"a role is one of {', '.join(ROLES)}, in a campaign")
    if not guest.administrator and not guest.campaign:
        raise RuleError("bad-value", "say in which campaign")


def _number(db: Connection, login: str) -> int | None:
    return db.scalar(select(account.c.id).where(account.c.login == login))


def _known_number(db: Connection, login: str) -> int:
    number = _number(db, login)
    if number is None:
        raise RuleError("not-found", f"nobody has the account {login!r}; invite them")
    return number


def _roles_in(work: Work, number: int) -> ColumnElement[bool]:
    return work.own(member_role) & (member_role.c.account_id == number)
