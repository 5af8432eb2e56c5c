"""Who asks: tokens in the Authorization header or in a cookie, roles, scopes, forgery checks.

A token is a random string; the database keeps its hash only. Browsers carry it in a cookie that
scripts cannot read, and must then send the matching forgery token (`X-Qrowd-Token`) with every
request that changes something (pages' forms send it as a field, see `pages.frame`); programs
and framed pages send `Authorization: Bearer TOKEN`.

An administrator's token opens all campaigns; an account's, those in which it has a role, with the
rights of that role there; any other token belongs to one campaign.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from sqlalchemy import Connection, bindparam, insert, select, update

from qrowd.collection.database.schema import (
    MemberRole,
    Token,
    account,
    campaign,
    member_role,
    token,
)
from qrowd.collection.database.store import Store, Work
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
class Bearer:
    """Who has a token. An administrator's token has no campaign: it opens all of them."""

    token: str
    role: str
    scopes: frozenset[str]
    campaign: int | None = None
    worker: int | None = None
    account: int | None = None
    name: str = ""
    plain_account: bool = False
    ends: int | None = None  # when a program's token ends: what it makes does not outlive it

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
    row = insert(token).values(
        hash=hashed(plain),
        made_at=now,
        role=role,
        campaign_id=campaign_id,
        worker_id=worker_id,
        account_id=account_id,
        scopes=" ".join(chosen),
        expires_at=expires,
    )
    db.execute(row)
    return plain


def revoke(db: Connection, now: int, plain: str) -> None:
    """Make a token useless."""
    db.execute(update(token).where(token.c.hash == hashed(plain)).values(revoked_at=now))


def give_cookie(response: Response, settings: Settings, plain: str, role: str) -> None:
    """Let a browser keep a token."""
    response.set_cookie(
        COOKIE if role == "worker" else OFFICE_COOKIE,
        plain,
        max_age=30 * 86400,
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies,
    )


def sign_out(response: Response, store: Store, bearer: Bearer) -> None:
    """Make a token useless, also in the browser that has it."""
    with store.transaction() as db:
        revoke(db, store.clock(), bearer.token)
    response.delete_cookie(COOKIE if bearer.role == "worker" else OFFICE_COOKIE)


class OwnedToken(Token):
    """A token, and the account that it belongs to, if it is one's."""

    login: str | None
    administrator: int | None


class Membership(MemberRole):
    """What an account is in a campaign, and the campaign's name."""

    campaign: str


_TOKEN = (
    select(token, account.c.login, account.c.administrator)
    .select_from(token.outerjoin(account, account.c.id == token.c.account_id))
    .where(token.c.hash == bindparam("hash"))
)
MEMBERS = select(  # a `Membership` each
    member_role, campaign.c.name.label("campaign")
).select_from(member_role.join(campaign, campaign.c.id == member_role.c.campaign_id))
_CAMPAIGN = select(campaign.c.id).where(campaign.c.name == bindparam("name"))


def bearer_of(store: Store, plain: str) -> Bearer:
    """Who has this token; an error where nobody has, or it is no longer good."""
    with store.snapshot() as db:
        return _bearer(db, store.clock(), plain)


def _bearer(db: Connection, now: int, plain: str) -> Bearer:
    row = OwnedToken.row(db, _TOKEN, {"hash": hashed(plain)})
    over = row is not None and row.expires_at is not None and row.expires_at <= now
    if row is None or over or row.revoked_at is not None:
        raise RuleError("no-sign-in", "this sign-in is not valid any more; please sign in again")
    return Bearer(
        token=plain,
        role=row.role,
        scopes=frozenset(row.scopes.split()),
        campaign=row.campaign_id,
        worker=row.worker_id,
        account=row.account_id,
        name=row.login or row.role,
        ends=None if row.campaign_id is None else row.expires_at,
        plain_account=row.campaign_id is None
        and row.account_id is not None
        and not row.administrator,
    )


def as_member(db: Connection, bearer: Bearer, number: int, role: str) -> Bearer:
    """Who asks, with the role that the account has in this campaign, if it has one there."""
    if not bearer.plain_account:
        return bearer
    mine = (member_role.c.account_id == bearer.account) & (member_role.c.campaign_id == number)
    rows = {row.role: row for row in MemberRole.rows(db, select(member_role).where(mine))}
    if not rows:
        return bearer
    row = rows.get(role) or next(iter(rows.values()))
    return replace(
        bearer,
        role=row.role,
        campaign=number,
        worker=row.worker_id,
        scopes=frozenset(SCOPES[row.role]),
        plain_account=False,
    )


# --- what routes ask for --------------------------------------------------------------------------


def store_of(request: Request) -> Store:
    """The server's database."""
    store: Store = request.app.state.store
    return store


def settings_of(request: Request) -> Settings:
    """The server's settings."""
    settings: Settings = request.app.state.settings
    return settings


def signed_in(request: Request) -> Bearer:
    """Who asks; an error where nobody is signed in, or the request may be forged."""
    return bearer_of(store_of(request), sent_token(request))


def sent_token(request: Request) -> str:
    """The token that came with a request; an error where none did, or it may be forged."""
    plain = header_token(request)
    if plain is None:
        plain = cookie_token(request)
        if not plain:
            raise RuleError("no-sign-in", "please sign in, or open your link again")
        if request.method not in SAFE_METHODS:
            refuse_forged(request, plain, request.headers.get(FORGERY_HEADER, ""))
    return plain


def header_token(request: Request) -> str | None:
    """The token in the header for programs; None where there is no such header."""
    header = request.headers.get("Authorization", "")
    return header.removeprefix("Bearer ").strip() if header.startswith("Bearer ") else None


def cookie_token(request: Request) -> str:
    """The token in a cookie: a worker's on the pages for workers, else an organiser's first."""
    path = request.url.path
    worker = request.cookies.get(COOKIE, "")
    if path.startswith("/judge/") or "/judging/" in path:
        return worker
    return request.cookies.get(OFFICE_COOKIE, "") or worker


def refuse_forged(request: Request, plain: str, sent: str) -> None:
    """Cookies are sent along by other sites' forms too; our own pages know the forgery token."""
    right = forgery_token(settings_of(request), plain)
    if not hmac.compare_digest(sent.encode(), right.encode()) or is_foreign(request):
        raise RuleError("no-access", "this request did not come from our page; reload it")


def is_foreign(request: Request) -> bool:
    """Whether a browser says that another site's page sent this."""
    own = (settings_of(request).address, f"{request.url.scheme}://{request.url.netloc}")
    return request.headers.get("Origin") not in (None, *own)


async def _store(request: Request) -> Store:  # async: otherwise it would run in a thread
    return store_of(request)


async def _settings(request: Request) -> Settings:
    return settings_of(request)


Signed = Annotated[Bearer, Depends(signed_in)]
TheStore = Annotated[Store, Depends(_store)]
TheSettings = Annotated[Settings, Depends(_settings)]


@dataclass(frozen=True)
class Member:
    """Somebody signed in, in one campaign, with a role there."""

    bearer: Bearer
    store: Store
    campaign: int

    @property
    def name(self) -> str:
        """What acts are recorded under."""
        return self.bearer.name

    @property
    def scopes(self) -> frozenset[str]:
        """What this one may do."""
        return self.bearer.scopes

    @property
    def worker(self) -> int:
        """The number that answers stand under."""
        assert self.bearer.worker is not None
        return self.bearer.worker

    def read(self) -> AbstractContextManager[Work]:
        """A snapshot of the campaign."""
        return self.store.read(self.campaign)

    def write(self) -> AbstractContextManager[Work]:
        """A transaction on the campaign."""
        return self.store.write(self.campaign)

    def refuse_more(self, role: str, scopes: Iterable[str]) -> None:
        """An error unless the token allows all that a token of this role and scopes would.

        Experts see what everybody said, and decide: only whoever may do everything appoints one.
        """
        wanted = SCOPES["organiser"] if role == "expert" else scopes
        for scope in sorted(set(wanted) & set(SCOPES["organiser"])):
            self.refuse_without(scope)

    def refuse_without(self, scope: str) -> None:
        """An error unless the token allows this."""
        if scope not in self.scopes:
            raise RuleError("no-access", f"this token does not allow that: it lacks {scope!r}")


def member_of(store: Store, bearer: Bearer, name: str, role: str, scope: str) -> Member:
    """Somebody in a campaign; an error unless it is this role, with this scope."""
    with store.snapshot() as db:
        return _member_in(db, store, bearer, name, role, scope)


def _member_in(
    db: Connection, store: Store, bearer: Bearer, name: str, role: str, scope: str
) -> Member:
    number = db.scalar(_CAMPAIGN, {"name": name})
    if number is None:
        raise RuleError("not-found", "there is no such campaign")
    bearer = as_member(db, bearer, number, role)
    if bearer.campaign != number and not bearer.administrator:
        raise RuleError("not-found", "there is no such campaign")
    if bearer.role != role:
        raise RuleError("no-access", f"only the campaign's {role} may do that")
    member = Member(bearer, store, number)
    member.refuse_without(scope)
    return member


def _member(role: str, scope: str) -> Any:
    """A dependency: only this role, with this scope, in the campaign of the route's `name`."""

    def check(name: str, request: Request) -> Member:
        store, plain = store_of(request), sent_token(request)
        with store.snapshot() as db:
            bearer = _bearer(db, store.clock(), plain)
            return _member_in(db, store, bearer, name, role, scope)

    return Depends(check)


Worker = Annotated[Member, _member("worker", "work")]
Expert = Annotated[Member, _member("expert", "judge")]
Reader = Annotated[Member, _member("organiser", "read")]
Manager = Annotated[Member, _member("organiser", "manage")]
Payer = Annotated[Member, _member("organiser", "pay")]
Keeper = Annotated[Member, _member("organiser", "people")]
Exporter = Annotated[Member, _member("organiser", "export")]


def administrator(bearer: Signed) -> Bearer:
    """Somebody to whom all campaigns are open."""
    # whoever gives accounts and roles gives everything
    if not bearer.administrator or not bearer.scopes.issuperset(SCOPES["organiser"]):
        raise RuleError("no-access", "only an administrator of this server may do that")
    return bearer


Administrator = Annotated[Bearer, Depends(administrator)]


def roles_of(db: Connection, account_id: int) -> list[Membership]:
    """An account's roles."""
    return Membership.rows(db, MEMBERS.where(member_role.c.account_id == account_id))
