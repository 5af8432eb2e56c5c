"""Who asks: tokens in the Authorization header or in a cookie, roles, scopes, forgery checks.

A token is a random string; the database keeps its hash only. Browsers carry it in a cookie that
scripts cannot read, and must then send the matching forgery token (`X-Qrowd-Token`) with every
request that changes something (pages' forms send it as a field, see `pages.organiser`); programs
and framed pages send `Authorization: Bearer TOKEN`.

An administrator's token opens all campaigns; an account's, those in which it has a role, with the
rights of that role there; any other token belongs to one campaign.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import Connection, bindparam, insert, select, update

from qrowd.collection.database.schema import account, campaign, member_role, token
from qrowd.collection.database.store import Store
from qrowd.errors import RuleError
from qrowd.web.settings import Settings

COOKIE = "qrowd"  # a worker's; one browser may hold both, to try what one has planned
OFFICE_COOKIE = "qrowd-office"  # an organiser's or expert's
FORGERY_HEADER = "X-Qrowd-Token"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SCOPES = {
    "organiser": ("read", "manage", "pay", "people", "export"),
    "expert": ("judge",),
    "worker": ("work",),
}
DAY = 86_400_000


@dataclass(frozen=True)
class Who:
    """The bearer of a token. An administrator's token has no campaign: it opens all of them."""

    token: str
    role: str
    scopes: frozenset[str]
    campaign: int | None = None
    worker: int | None = None
    account: int | None = None
    name: str = ""
    plain_account: bool = False

    @property
    def administrator(self) -> bool:
        """Whether all campaigns are open to this one."""
        return self.role == "organiser" and self.campaign is None and not self.plain_account


def hashed(plain: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(plain.encode()).hexdigest()


def forgery_token(settings: Settings, plain: str) -> str:
    """What a browser must send back to show that the request came from our own page."""
    return hmac.new(settings.secret.encode(), plain.encode(), hashlib.sha256).hexdigest()


def new_token(
    db: Connection,
    now: int,
    role: str,
    *,
    campaign_id: int | None = None,
    worker_id: int | None = None,
    account_id: int | None = None,
    scopes: Iterable[str] = (),
    days: float | None = 30,
) -> str:
    """A new token; this is the only time that it can be seen."""
    allowed = SCOPES[role]
    chosen = tuple(scopes) or allowed
    unknown = [scope for scope in chosen if scope not in allowed]
    if unknown:
        raise RuleError("bad-value", f"scopes of {role} are {', '.join(allowed)}; not {unknown[0]}")
    plain = secrets.token_urlsafe(32)
    expires = None if days is None else now + round(days * DAY)
    values = {"role": role, "campaign_id": campaign_id, "worker_id": worker_id}
    more = {"account_id": account_id, "scopes": " ".join(chosen), "expires_at": expires}
    db.execute(insert(token).values(hash=hashed(plain), made_at=now, **values, **more))
    return plain


def revoke(db: Connection, now: int, plain: str) -> None:
    """Make a token useless."""
    mine = token.c.hash == hashed(plain)
    db.execute(update(token).where(mine).values(revoked_at=now))


_TOKEN = (
    select(
        token.c.role,
        token.c.scopes,
        token.c.campaign_id,
        token.c.worker_id,
        token.c.account_id,
        token.c.expires_at,
        token.c.revoked_at,
        account.c.login,
        account.c.administrator,
    )
    .select_from(token.outerjoin(account, account.c.id == token.c.account_id))
    .where(token.c.hash == bindparam("hash"))
)
_CAMPAIGN = select(campaign.c.id).where(campaign.c.name == bindparam("name"))


def find(store: Store, plain: str) -> Who:
    """Who has this token; an error where nobody has, or it is no longer good."""
    with store.snapshot() as db:
        row = db.execute(_TOKEN, {"hash": hashed(plain)}).one_or_none()
    gone = row is None or row.revoked_at is not None
    if row is None or gone or (row.expires_at is not None and row.expires_at <= store.clock()):
        raise RuleError("no-sign-in", "this sign-in is not valid any more; please sign in again")
    ids = (row.campaign_id, row.worker_id, row.account_id)
    own = row.campaign_id is None and row.account_id is not None and not row.administrator
    return Who(plain, row.role, frozenset(row.scopes.split()), *ids, row.login or row.role, own)


def as_member(store: Store, who: Who, number: int, role: str) -> Who:
    """Who asks, with the role that the account has in this campaign, if it has one there."""
    if not who.plain_account:
        return who
    mine = (member_role.c.account_id == who.account) & (member_role.c.campaign_id == number)
    with store.snapshot() as db:
        rows = {row.role: row for row in db.execute(select(member_role).where(mine))}
    if not rows:
        return who
    row = rows.get(role) or next(iter(rows.values()))
    held = {"role": row.role, "campaign": number, "worker": row.worker_id}
    return replace(who, **held, scopes=frozenset(SCOPES[row.role]), plain_account=False)


# --- what routes ask for --------------------------------------------------------------------------


def store_of(request: Request) -> Store:
    """The server's database."""
    store: Store = request.app.state.store
    return store


def settings_of(request: Request) -> Settings:
    """The server's settings."""
    settings: Settings = request.app.state.settings
    return settings


def signed_in(request: Request) -> Who:
    """Who asks; an error where nobody is signed in, or the request may be forged."""
    header = request.headers.get("Authorization", "")
    if header.startswith("Bearer "):
        return find(store_of(request), header.removeprefix("Bearer ").strip())
    plain = cookie_of(request)
    if not plain:
        raise RuleError("no-sign-in", "please sign in, or open your link again")
    if request.method not in SAFE_METHODS:
        _refuse_forged(request, plain)
    return find(store_of(request), plain)


def cookie_of(request: Request) -> str:
    """The token in a cookie: a worker's on the pages for workers, else an organiser's first."""
    path = request.url.path
    worker = request.cookies.get(COOKIE, "")
    if path.startswith("/judge/") or "/judging/" in path:
        return worker
    return request.cookies.get(OFFICE_COOKIE, "") or worker


def _refuse_forged(request: Request, plain: str) -> None:
    refuse_forged(request, plain, request.headers.get(FORGERY_HEADER, ""))


def refuse_forged(request: Request, plain: str, sent: str) -> None:
    """Cookies are sent along by other sites' forms too; our own pages know the forgery token."""
    right = forgery_token(settings_of(request), plain)
    origin = request.headers.get("Origin")
    known = (settings_of(request).address, f"{request.url.scheme}://{request.url.netloc}")
    if not hmac.compare_digest(sent.encode(), right.encode()) or origin not in (None, *known):
        raise RuleError("no-access", "this request did not come from our page; reload it")


async def _store(request: Request) -> Store:  # async: otherwise it would run in a thread
    return store_of(request)


async def _settings(request: Request) -> Settings:
    return settings_of(request)


Signed = Annotated[Who, Depends(signed_in)]
TheStore = Annotated[Store, Depends(_store)]
TheSettings = Annotated[Settings, Depends(_settings)]


@dataclass(frozen=True)
class Member:
    """Somebody signed in, in one campaign, with a role there."""

    who: Who
    store: Store
    campaign: int

    @property
    def worker(self) -> int:
        """The number that answers stand under."""
        assert self.who.worker is not None
        return self.who.worker


def campaign_id(store: Store, name: str) -> int:
    """A campaign's number by its name."""
    with store.snapshot() as db:
        found = db.scalar(_CAMPAIGN, {"name": name})
    if found is None:
        raise RuleError("not-found", "there is no such campaign")
    return int(found)


def member(role: str, scope: str) -> Callable[[str, Request], Member]:
    """A dependency: only this role, with this scope, in the campaign of the route's `name`."""

    def check(name: str, request: Request) -> Member:
        return member_of(store_of(request), signed_in(request), name, role, scope)

    return check


def member_of(store: Store, who: Who, name: str, role: str, scope: str) -> Member:
    """Somebody in a campaign; an error unless it is this role, with this scope."""
    number = campaign_id(store, name)
    found = as_member(store, who, number, role)
    elsewhere = found.campaign != number and not found.administrator
    if elsewhere or found.role != role:
        raise RuleError("not-found" if elsewhere else "no-access", _refused(role, elsewhere))
    if scope not in found.scopes:
        raise RuleError("no-access", lacking(scope))
    return Member(found, store, number)


def lacking(scope: str) -> str:
    """Why a token without this scope is refused."""
    return f"this token does not allow that: it lacks {scope!r}"


def _refused(role: str, elsewhere: bool) -> str:
    return "there is no such campaign" if elsewhere else f"only the campaign's {role} may do that"


Worker = Annotated[Member, Depends(member("worker", "work"))]
Expert = Annotated[Member, Depends(member("expert", "judge"))]
Reader = Annotated[Member, Depends(member("organiser", "read"))]
Manager = Annotated[Member, Depends(member("organiser", "manage"))]
Payer = Annotated[Member, Depends(member("organiser", "pay"))]
Keeper = Annotated[Member, Depends(member("organiser", "people"))]
Exporter = Annotated[Member, Depends(member("organiser", "export"))]


def administrator(who: Signed) -> Who:
    """Somebody to whom all campaigns are open."""
    if not who.administrator or "manage" not in who.scopes:
        raise RuleError("no-access", "only an administrator of this server may do that")
    return who


Administrator = Annotated[Who, Depends(administrator)]


def roles_of(db: Connection, account_id: int) -> list[tuple[str, int, str]]:
    """An account's campaigns: name, number, role."""
    joined = member_role.join(campaign, campaign.c.id == member_role.c.campaign_id)
    query = select(campaign.c.name, campaign.c.id, member_role.c.role).select_from(joined)
    rows = db.execute(query.where(member_role.c.account_id == account_id))
    return [(row.name, row.id, row.role) for row in rows]
