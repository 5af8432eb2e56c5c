"""Accounts: passwords, signing in, invitations, what an account is in which campaign, and how it
ends.

An invitation is a signed address: whoever opens it chooses a password. So is the link to another
password, for who forgot it. All that is done to accounts is written down (`account_act`), by whom
it was done; a link names the act that made it, and is good until another act of its kind on the
same login: it was used, withdrawn, or made again.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from threading import Semaphore

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from itsdangerous import BadSignature
from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    AccountAct,
    Token,
    account,
    account_act,
    campaign,
    member_role,
    token,
)
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
INVITATION_DAYS, RESET_DAYS = 7, 1
ROLES = ("organiser", "expert")
ADMINISTRATOR = "administrator"  # a role of the server, not of a campaign
# acts on accounts, as they are stored: permanent. A link is good until the next act of its kind
INVITE, RESET_LINK = "invite", "make reset link"
OF_INVITATIONS = (INVITE, "withdraw invitation", "set up", "join", "remove account")
OF_PASSWORDS = (
    RESET_LINK,
    "withdraw reset link",
    "change password",
    "reset password",
    "set password",
    "remove account",
)
LONGEST_NAME = 200  # of a login
DAY = 86_400_000
NOT_GOOD = "this link is not good any more, or not copied whole; ask for another"
_log = logging.getLogger(__name__)
_hasher = PasswordHasher()
_hashing, _waiting = Semaphore(2), Semaphore(10)
# as slow to check as others; made beforehand: each process would start by 0.14 CPU seconds for it
_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4"
    "$mgvK3Wlf5V3p7VpKiTAbuQ$DUb/RUevmrVSenroBXV31n6wRTrl9WFN3dyQwWfVlhU"
)


@dataclass(frozen=True)
class Guest:
    """Somebody who may make an account: an administrator, or with a role in a campaign."""

    login: str
    administrator: bool = False
    campaign: str = ""
    role: str = ""

    @classmethod
    def of_role(cls, login: str, role: str, campaign: str) -> Guest:
        """With a role in a campaign; an administrator needs none."""
        if role == ADMINISTRATOR:
            return cls(login, administrator=True)
        return cls(login, campaign=campaign, role=role)


@dataclass(frozen=True)
class Account:
    """An account and its roles."""

    number: int
    login: str
    administrator: bool
    made_at: int
    roles: list[Membership]


@dataclass(frozen=True)
class Session:
    """The token of somebody who has just come in."""

    token: str
    role: str


class AccountToken(Token):
    """A token of an account: of a browser, or of a program in one campaign."""

    campaign: str | None


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
        record(db, store.clock(), login, "set up", login)
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
        guest = guest_of(store, caller.settings, invitation)
        with store.transaction() as db:
            number = new_account(
                db, store.clock(), guest.login, password, administrator=guest.administrator
            )
            record(db, store.clock(), guest.login, "join", guest.login)
    if not guest.administrator:
        give_role(store, guest.login, guest.campaign, guest.role, who=guest.login)
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
    _set_password(store, number, new, bearer.name, "change password")
    with store.transaction() as db:
        return _session(db, store.clock(), number, administrator=administrator)


def reset_password(caller: Caller, link: str, new: str) -> Session:
    """Another password by a link that an administrator handed over, which is used up; come in."""
    store = caller.store
    with caller.wrong(WRONG_INVITATIONS):
        act = reset_of(store, caller.settings, link)
        row = account_called(store, act.login)
        _set_password(store, row.id, new, row.login, "reset password", link=act)
    with store.transaction() as db:
        return _session(db, store.clock(), row.id, administrator=bool(row.administrator))


def set_password(store: Store, login: str, new: str, *, who: str) -> None:
    """Another password, without the one of before: for whoever has the server itself."""
    _set_password(store, account_called(store, login).id, new, who, "set password")


def _set_password(
    store: Store, number: int, new: str, who: str, act: str, link: AccountAct | None = None
) -> None:
    """Another password; all sessions and tokens end. No transaction waits for the hash."""
    _refuse_short(new)
    hashed = _hashed(new)
    with store.transaction() as db:
        row = _locked(db, number)
        if link is not None and _newest(db, row.login, OF_PASSWORDS) != link.id:
            raise RuleError("no-access", NOT_GOOD)  # somebody else was quicker
        db.execute(update(account).where(account.c.id == number).values(password=hashed))
        _end_tokens(db, store.clock(), token.c.account_id == number)
        record(db, store.clock(), who, act, row.login)


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
    if _account(db, login) is not None:
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
        row = _account(db, login)
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
    return [
        Account(row.id, row.login, bool(row.administrator), row.made_at, roles[row.id])
        for row in rows
    ]


def account_called(store: Store, login: str) -> schema.Account:
    """The account of a login."""
    with store.snapshot() as db:
        return _known_account(db, login)


def account_numbered(store: Store, number: int) -> schema.Account:
    """An account by its number."""
    with store.snapshot() as db:
        return _existing(db, select(account).where(account.c.id == number))


def remove_account(store: Store, number: int, *, who: str) -> None:
    """Take somebody off the server: roles and tokens end at once. What was done stays, under the
    login; experts' answers stay, too.
    """
    with store.transaction() as db:
        row = _locked(db, number)
        if row.administrator:
            _refuse_last(db)
        db.execute(delete(token).where(token.c.account_id == number))
        db.execute(delete(member_role).where(member_role.c.account_id == number))
        db.execute(delete(account).where(account.c.id == number))
        record(db, store.clock(), who, "remove account", row.login)


def _locked(db: Connection, number: int) -> schema.Account:
    """An account that nobody else changes until this transaction ends."""
    return _existing(db, select(account).where(account.c.id == number).with_for_update())


def _existing(db: Connection, query: Executable) -> schema.Account:
    row = schema.Account.row(db, query)
    if row is None:
        raise RuleError("not-found", "there is no such account")
    return row


def _refuse_last(db: Connection) -> None:
    """An error if there is only one administrator: nobody could make another."""
    rows = select(account.c.id).where(account.c.administrator == 1).with_for_update()
    if len(db.scalars(rows).all()) < 2:
        message = "this is the only administrator; make somebody else one first"
        raise RuleError("conflict", message)


# --- the record -----------------------------------------------------------------------------------


def record(db: Connection, now: int, who: str, act: str, login: str, **details: str) -> int:
    """Write down what was done to an account; its number."""
    number = new_id(
        db.execute(
            insert(account_act).values(
                at=now, who=who[:LONGEST_NAME], act=act, login=login, details=json.dumps(details)
            )
        )
    )
    _log.info("account act", extra={"act": act, "number": number})
    return number


def account_acts(db: Connection, limit: int = 100, login: str = "") -> list[AccountAct]:
    """What was done to accounts, or to one, the newest first."""
    query = select(account_act).order_by(account_act.c.id.desc()).limit(limit)
    return AccountAct.rows(db, query.where(account_act.c.login == login) if login else query)


def _newest(db: Connection, login: str, acts: Collection[str]) -> int:
    """The number of the last of these acts on a login; 0 for none."""
    mine = (account_act.c.login == login) & account_act.c.act.in_(acts)
    return int(db.scalar(select(func.max(account_act.c.id)).where(mine)) or 0)


def open_links(db: Connection, now: int) -> list[AccountAct]:
    """The acts that made the links which are still good: invitations, and those to a password."""
    made = []
    for kinds, days in ((OF_INVITATIONS, INVITATION_DAYS), (OF_PASSWORDS, RESET_DAYS)):
        last = select(func.max(account_act.c.id)).where(account_act.c.act.in_(kinds))
        rows = select(account_act).where(
            account_act.c.id.in_(last.group_by(account_act.c.login)),
            account_act.c.act == kinds[0],
            account_act.c.at > now - days * DAY,
        )
        made += AccountAct.rows(db, rows.order_by(account_act.c.id))
    return made


def withdraw_links(store: Store, login: str, *, who: str) -> int:
    """Make all links of a login useless that are still good; how many there were."""
    with store.transaction() as db:
        mine = [row for row in open_links(db, store.clock()) if row.login == login]
        for row in mine:
            act = "withdraw invitation" if row.act == INVITE else "withdraw reset link"
            record(db, store.clock(), who, act, login)
    return len(mine)


# --- tokens ---------------------------------------------------------------------------------------


def tokens_of(db: Connection, number: int, now: int) -> list[AccountToken]:
    """What an account is signed in with: browsers, and programs of a campaign."""
    named = select(token, campaign.c.name.label("campaign")).select_from(token.outerjoin(campaign))
    good = or_(token.c.expires_at.is_(None), token.c.expires_at > now)
    mine = (token.c.account_id == number) & token.c.revoked_at.is_(None) & good
    return AccountToken.rows(db, named.where(mine).order_by(token.c.id.desc()))


def end_token(store: Store, number: int, token_number: int, *, who: str) -> None:
    """Make one token of an account useless."""
    with store.transaction() as db:
        row = _locked(db, number)
        ended = (token.c.account_id == number) & (token.c.id == token_number)
        if not _end_tokens(db, store.clock(), ended):
            raise RuleError("not-found", f"{row.login} has no token {token_number}")
        record(db, store.clock(), who, "revoke token", row.login, token=str(token_number))


def sign_out_everywhere(store: Store, number: int, *, who: str) -> int:
    """Make all tokens of an account useless; how many there were."""
    with store.transaction() as db:
        row = _locked(db, number)
        ended = _end_tokens(db, store.clock(), token.c.account_id == number)
        record(db, store.clock(), who, "sign out everywhere", row.login)
    return ended


def _end_tokens(db: Connection, now: int, condition: ColumnElement[bool]) -> int:
    good = condition & token.c.revoked_at.is_(None)
    return db.execute(update(token).where(good).values(revoked_at=now)).rowcount


# --- invitations and roles ------------------------------------------------------------------------


def invite(store: Store, settings: Settings, guest: Guest, *, who: str) -> str:
    """The address to send to somebody; what is wrong with the invitation is told now."""
    _refuse_odd(guest)
    with store.transaction() as db:
        if _account(db, guest.login) is not None:
            raise RuleError("conflict", f"{guest.login} has an account already: give it a role")
        named = select(campaign.c.id).where(campaign.c.name == guest.campaign)
        if guest.campaign and db.scalar(named) is None:
            raise RuleError("not-found", f"there is no campaign {guest.campaign!r}")
        role = ADMINISTRATOR if guest.administrator else guest.role
        details = {"role": role, "campaign": guest.campaign}
        number = record(db, store.clock(), who, INVITE, guest.login, **details)
    invitation = settings.signer("invitation").dumps([*astuple(guest), number])
    return f"{settings.address}/join?invitation={invitation}"


def guest_of(store: Store, settings: Settings, invitation: str) -> Guest:
    """Whom an invitation is for."""
    try:
        fields = settings.signer("invitation").loads(invitation, max_age=INVITATION_DAYS * 86_400)
    except BadSignature:
        raise RuleError("no-access", NOT_GOOD) from None
    # one of before acts were written down has no number: it is good while there is no act
    guest, number = Guest(*fields[:4]), sum(fields[4:])
    with store.snapshot() as db:
        if _newest(db, guest.login, OF_INVITATIONS) != number:
            raise RuleError("no-access", NOT_GOOD)
    return guest


def make_reset_link(store: Store, settings: Settings, login: str, *, who: str) -> str:
    """The address with which somebody chooses another password; the one of before is useless."""
    account_called(store, login)
    with store.transaction() as db:
        number = record(db, store.clock(), who, RESET_LINK, login)
    return f"{settings.address}/reset?link={settings.signer('reset').dumps([number, login])}"


def reset_of(store: Store, settings: Settings, link: str) -> AccountAct:
    """The act that made a link to another password; its login is whose."""
    try:
        number, login = settings.signer("reset").loads(link, max_age=RESET_DAYS * 86_400)
    except (BadSignature, TypeError):
        raise RuleError("no-access", NOT_GOOD) from None
    with store.snapshot() as db:
        act = AccountAct.row(db, select(account_act).where(account_act.c.id == number))
        # after a backup was restored, the number may be that of another act
        same = act is not None and (act.act, act.login) == (RESET_LINK, login)
        if act is None or not same or _newest(db, login, OF_PASSWORDS) != number:
            raise RuleError("no-access", NOT_GOOD)
    return act


def make_administrator(store: Store, login: str, *, who: str) -> None:
    """Open all campaigns to an account; once more changes nothing."""
    with store.transaction() as db:
        row = _locked(db, _known_account(db, login).id)
        if not row.administrator:
            db.execute(update(account).where(account.c.id == row.id).values(administrator=1))
            record(db, store.clock(), who, "give role", login, role=ADMINISTRATOR)


def no_administrator(store: Store, login: str, *, who: str) -> None:
    """Leave an account the roles that it has in campaigns; its tokens end."""
    with store.transaction() as db:
        row = _locked(db, _known_account(db, login).id)
        if not row.administrator:
            raise RuleError("conflict", f"{login} is no administrator")
        _refuse_last(db)
        db.execute(update(account).where(account.c.id == row.id).values(administrator=0))
        _end_tokens(db, store.clock(), token.c.account_id == row.id)
        record(db, store.clock(), who, "take role", login, role=ADMINISTRATOR)


def give_role(store: Store, login: str, name: str, role: str, *, who: str) -> None:
    """Let an account be something in a campaign; once more changes nothing."""
    _refuse_odd(Guest(login, campaign=name, role=role))
    with store.write(name) as work:
        number = _known_account(work.db, login).id
        mine = _roles_in(work, number) & (member_role.c.role == role)
        if work.db.scalar(select(member_role.c.role).where(mine)):
            return
        work.insert(
            member_role,
            account_id=number,
            role=role,
            worker_id=workers.expert(work, login) if role == "expert" else None,
        )
        record(work.db, work.now, who, "give role", login, role=role, campaign=name)


def take_role(store: Store, login: str, name: str, role: str, *, who: str) -> None:
    """Let an account be that no longer; its tokens of the campaign are useless from now on.

    Also those of another role that it has not: an organiser can make an expert's.
    """
    _refuse_odd(Guest(login, campaign=name, role=role))
    with store.write(name) as work:
        number = _known_account(work.db, login).id
        mine = _roles_in(work, number)
        work.delete(member_role, mine, member_role.c.role == role)
        kept = token.c.role.in_(select(member_role.c.role).where(mine))
        theirs = work.own(token) & (token.c.account_id == number) & ~kept
        _end_tokens(work.db, work.now, theirs)
        record(work.db, work.now, who, "take role", login, role=role, campaign=name)


def _refuse_odd_login(login: str) -> None:
    # pages leave blanks around it away: nobody could sign in with one that has them
    if not login or login != login.strip() or not is_plain(login, LONGEST_NAME):
        message = f"a login has 1 to {LONGEST_NAME} characters, no blanks around it, in one line"
        raise RuleError("bad-value", message)


def _refuse_odd(guest: Guest) -> None:
    _refuse_odd_login(guest.login)
    if not guest.administrator and guest.role not in ROLES:
        raise RuleError("bad-value", f"a role is one of {', '.join(ROLES)}, in a campaign")
    if not guest.administrator and not guest.campaign:
        raise RuleError("bad-value", "say in which campaign")


def _account(db: Connection, login: str) -> schema.Account | None:
    return schema.Account.row(db, select(account).where(account.c.login == login))


def _known_account(db: Connection, login: str) -> schema.Account:
    row = _account(db, login)
    if row is None:
        raise RuleError("not-found", f"nobody has the account {login!r}; invite them")
    return row


def _roles_in(work: Work, number: int) -> ColumnElement[bool]:
    return work.own(member_role) & (member_role.c.account_id == number)
