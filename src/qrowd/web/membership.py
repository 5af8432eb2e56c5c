"""Who has an account, and what it is in which campaign; accounts are made by invitation.

An invitation is a signed address: whoever opens it chooses a password. It is good for a week and,
since it names the login, once.
"""

from __future__ import annotations

from dataclasses import dataclass

from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import Connection, delete, insert, select

from qrowd.collection.database.schema import account, campaign, member_role, token
from qrowd.collection.database.store import Store
from qrowd.collection.people import workers
from qrowd.errors import RuleError
from qrowd.web import passwords
from qrowd.web.settings import Settings

DAYS = 7
ROLES = ("organiser", "expert")


@dataclass(frozen=True)
class Invited:
    """Somebody who may make an account: an administrator, or with a role in a campaign."""

    login: str
    administrator: bool = False
    campaign: str = ""
    role: str = ""


@dataclass(frozen=True)
class Account:
    """An account and its roles: campaign, role."""

    login: str
    administrator: bool
    made_at: int
    roles: tuple[tuple[str, str], ...]


def _signer(settings: Settings) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(settings.secret, salt="invitation")


def invite(store: Store, settings: Settings, who: Invited) -> str:
    """The address to send to somebody; what is wrong with the invitation is told now."""
    _refuse_odd(who)
    with store.snapshot() as db:
        if _number(db, who.login) is not None:
            raise RuleError("conflict", f"{who.login} has an account already: give it a role")
        if who.campaign:
            _campaign(db, who.campaign)
    held = [who.login, who.administrator, who.campaign, who.role]
    return f"{settings.address}/join?invitation={_signer(settings).dumps(held)}"


def _refuse_odd(who: Invited) -> None:
    if not who.login.strip() or len(who.login) > 200 or "\0" in who.login:
        raise RuleError("bad-value", "an invitation needs a name to sign in with")
    if not who.administrator and who.role not in ROLES:
        raise RuleError("bad-value", f"a role is one of {', '.join(ROLES)}, in a campaign")
    if not who.administrator and not who.campaign:
        raise RuleError("bad-value", "say in which campaign")


def invited(settings: Settings, invitation: str) -> Invited:
    """Whom an invitation is for."""
    try:
        held = _signer(settings).loads(invitation, max_age=DAYS * 86_400)
    except BadSignature:
        message = "this invitation is not good any more, or not copied whole; ask for another"
        raise RuleError("no-access", message) from None
    return Invited(*held)


def join(store: Store, settings: Settings, invitation: str, password: str) -> int:
    """Make the account that an invitation is for; its number."""
    who = invited(settings, invitation)
    with store.transaction() as db:
        number = passwords.new_account(
            db, store.clock(), who.login, password, administrator=who.administrator
        )
    if not who.administrator:
        give_role(store, who.login, who.campaign, who.role)
    return number


def accounts(db: Connection) -> list[Account]:
    """All accounts by login, with their roles."""
    joined = member_role.join(campaign, campaign.c.id == member_role.c.campaign_id)
    query = select(member_role.c.account_id, campaign.c.name, member_role.c.role)
    roles: dict[int, list[tuple[str, str]]] = {}
    for row in db.execute(query.select_from(joined).order_by(campaign.c.name, member_role.c.role)):
        roles.setdefault(row.account_id, []).append((row.name, row.role))
    rows = db.execute(select(account).order_by(account.c.login))
    return [
        Account(row.login, bool(row.administrator), row.made_at, tuple(roles.get(row.id, ())))
        for row in rows
    ]


def give_role(store: Store, login: str, name: str, role: str) -> None:
    """Let an account be something in a campaign; once more changes nothing."""
    _refuse_odd(Invited(login, campaign=name, role=role))
    with store.write(name) as work:
        number = _known(work.db, login)
        mine = (member_role.c.account_id == number) & (member_role.c.campaign_id == work.campaign)
        if work.db.scalar(select(member_role.c.role).where(mine, member_role.c.role == role)):
            return
        worker = workers.expert(work, login) if role == "expert" else None
        values = {"account_id": number, "campaign_id": work.campaign, "role": role}
        work.db.execute(insert(member_role).values(**values, worker_id=worker))


def take_role(store: Store, login: str, name: str, role: str) -> None:
    """Let an account be that no longer; its tokens of the campaign are useless from now on.

    Also those of another role that it has not: an organiser can make an expert's.
    """
    _refuse_odd(Invited(login, campaign=name, role=role))
    with store.write(name) as work:
        number = _known(work.db, login)
        mine = (member_role.c.account_id == number) & (member_role.c.campaign_id == work.campaign)
        work.db.execute(delete(member_role).where(mine, member_role.c.role == role))
        theirs = (token.c.account_id == number) & (token.c.campaign_id == work.campaign)
        kept = token.c.role.in_(select(member_role.c.role).where(mine))
        gone = theirs & ~kept & token.c.revoked_at.is_(None)
        work.db.execute(token.update().where(gone).values(revoked_at=work.now))


def _number(db: Connection, login: str) -> int | None:
    found = db.scalar(select(account.c.id).where(account.c.login == login))
    return None if found is None else int(found)


def _known(db: Connection, login: str) -> int:
    number = _number(db, login)
    if number is None:
        raise RuleError("not-found", f"nobody has the account {login!r}; invite them")
    return number


def _campaign(db: Connection, name: str) -> None:
    if db.scalar(select(campaign.c.id).where(campaign.c.name == name)) is None:
        raise RuleError("not-found", f"there is no campaign {name!r}")
