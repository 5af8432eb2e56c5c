"""Signing in (the first account, passwords, tokens, workers' links); accounts and their roles."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from qrowd.collection.people import entry as people_entry
from qrowd.collection.people import workers
from qrowd.web import access
from qrowd.web import accounts as web_accounts
from qrowd.web.access import Administrator, Keeper, Signed, TheSettings, TheStore
from qrowd.web.accounts import Account, Guest, Session
from qrowd.web.limits import Caller, entering
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings

router = APIRouter(prefix="/api", tags=["accounts"], responses=RESPONSES)
members = APIRouter(prefix="/api", tags=["members"], responses=RESPONSES)


class Credentials(BaseModel):
    """A login and its password."""

    login: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=1000)


class PasswordChange(BaseModel):
    """One's password, and the one to have instead."""

    password: str = Field(min_length=1, max_length=1000)
    new_password: str = Field(min_length=1, max_length=1000)


class FirstAccount(Credentials):
    """The first account of a new server; `code` is in the link that `qrowd serve` printed."""

    code: str = Field(max_length=200)


class SignedIn(BaseModel):
    """A new token, and what browsers send back with it."""

    token: str
    forgery_token: str
    role: str


class CampaignRole(BaseModel):
    """What somebody is in a campaign."""

    campaign: str
    role: str


class Me(BaseModel):
    """Who is signed in, and what may be done."""

    name: str
    role: str
    administrator: bool
    scopes: list[str]
    forgery_token: str
    campaigns: list[CampaignRole]


class Entry(BaseModel):
    """How a worker comes in: by a signed link, or by the parameters of a platform's address."""

    link: str = Field("", max_length=4000)
    parameters: dict[str, str] = Field(default={}, max_length=50)


class Entered(SignedIn):
    """A worker who has come in; `preview`: only looking, without a batch."""

    preview: bool = False


class TokenWanted(BaseModel):
    """A token for a program: an organiser's or an expert's, for one campaign."""

    role: str = Field("organiser", pattern="^(organiser|expert)$")
    scopes: list[str] = Field(default=[], max_length=10)
    days: float = Field(90, gt=0, le=3650)


class AccountLine(BaseModel):
    """An account; times are milliseconds since 1970."""

    login: str
    administrator: bool
    made_at: int
    campaigns: list[CampaignRole] = Field(validation_alias="roles")


class Invitation(BaseModel):
    """Somebody to invite: an administrator, or with a role in a campaign."""

    login: str = Field(min_length=1, max_length=200)
    administrator: bool = False
    campaign: str = Field("", max_length=200)
    role: str = Field("", max_length=20)


class InvitationLink(BaseModel):
    """The address to send to them; it works once, within a week."""

    link: str


class Joining(BaseModel):
    """An invitation, as its address has it, and a password of one's own."""

    invitation: str = Field(max_length=4000)
    password: str = Field(min_length=1, max_length=1000)


class Role(BaseModel):
    """What an account is in a campaign."""

    login: str = Field(min_length=1, max_length=200)
    campaign: str = Field(min_length=1, max_length=200)
    role: str = Field(pattern="^(organiser|expert)$")


def _signed_in(response: Response, settings: Settings, session: Session) -> SignedIn:
    """The token as a cookie and in the body."""
    access.give_cookie(response, settings, session.token, session.role)
    return SignedIn(
        token=session.token,
        forgery_token=access.forgery_token(settings, session.token),
        role=session.role,
    )


@router.post("/set-up", status_code=201)
def set_up(
    first: FirstAccount, request: Request, response: Response, settings: TheSettings
) -> SignedIn:
    """Make the first account, an administrator's."""
    caller = Caller.of(request)
    session = web_accounts.set_up(caller, first.code, first.login, first.password)
    return _signed_in(response, settings, session)


@router.post("/sign-in")
def sign_in(
    credentials: Credentials, request: Request, response: Response, settings: TheSettings
) -> SignedIn:
    """Sign in with a password; after ten wrong ones in a minute, one try in five seconds."""
    session = web_accounts.sign_in(Caller.of(request), credentials.login, credentials.password)
    return _signed_in(response, settings, session)


@router.post("/password")
def change_password(
    change: PasswordChange,
    bearer: Signed,
    request: Request,
    response: Response,
    settings: TheSettings,
) -> SignedIn:
    """Choose another password: all other sessions and tokens of the account end."""
    caller = Caller.of(request)
    session = web_accounts.change_password(caller, bearer, change.password, change.new_password)
    return _signed_in(response, settings, session)


@router.post("/sign-out", status_code=204)
def sign_out(bearer: Signed, response: Response, store: TheStore) -> None:
    """Make the token useless."""
    access.sign_out(response, store, bearer)


@router.get("/me", response_model=Me)
def me(bearer: Signed, store: TheStore, settings: TheSettings) -> dict[str, Any]:
    """Who is signed in."""
    with store.snapshot() as db:
        roles = access.roles_of(db, bearer.account) if bearer.account else []
    return {
        "name": bearer.name,
        "role": bearer.role,
        "administrator": bearer.administrator,
        "scopes": sorted(bearer.scopes),
        "forgery_token": access.forgery_token(settings, bearer.token),
        "campaigns": roles,
    }


@router.post("/campaigns/{name}/enter", dependencies=[Depends(entering)])
def enter(
    name: str, entry: Entry, response: Response, store: TheStore, settings: TheSettings
) -> Entered:
    """Come in as a worker, by a link or from a platform."""
    with store.write(name) as work:
        entrant = people_entry.admitted(work, entry.link, entry.parameters)
        if entrant.preview:
            return Entered(token="", forgery_token="", role="worker", preview=True)
        worker = people_entry.come_in(work, entrant)
        plain = access.new_token(
            work.db, work.now, "worker", campaign_id=work.campaign, worker_id=worker.id
        )
    signed_in = _signed_in(response, settings, Session(plain, "worker"))
    return Entered(**signed_in.model_dump())


@router.post("/campaigns/{name}/tokens", status_code=201)
def make_token(wanted: TokenWanted, member: Keeper, settings: TheSettings) -> SignedIn:
    """A token for a program; it is shown this once. It allows no more than the maker's own."""
    scopes = wanted.scopes
    if wanted.role == "organiser":
        scopes = scopes or sorted(member.scopes)
    member.refuse_more(wanted.role, scopes)
    with member.write() as work:
        left = None if member.bearer.ends is None else (member.bearer.ends - work.now) / access.DAY
        plain = access.new_token(
            work.db,
            work.now,
            wanted.role,
            campaign_id=work.campaign,
            worker_id=workers.expert(work, member.name) if wanted.role == "expert" else None,
            account_id=member.bearer.account,
            scopes=scopes,
            days=wanted.days if left is None else min(wanted.days, left),
        )
    return SignedIn(
        token=plain, forgery_token=access.forgery_token(settings, plain), role=wanted.role
    )


# --- accounts and roles ---------------------------------------------------------------------------


@members.get("/accounts", response_model=list[AccountLine])
def accounts(_: Administrator, store: TheStore) -> list[Account]:
    """All accounts."""
    with store.snapshot() as db:
        return web_accounts.accounts(db)


@members.post("/invitations", status_code=201)
def invite(
    wanted: Invitation, bearer: Administrator, store: TheStore, settings: TheSettings
) -> InvitationLink:
    """An address with which somebody makes an account."""
    guest = Guest(**wanted.model_dump())
    return InvitationLink(link=web_accounts.invite(store, settings, guest, who=bearer.name))


@members.post("/join", status_code=201)
def join(joining: Joining, request: Request, response: Response, settings: TheSettings) -> SignedIn:
    """Make the account of an invitation, and sign in."""
    session = web_accounts.join(Caller.of(request), joining.invitation, joining.password)
    return _signed_in(response, settings, session)


@members.put("/roles", status_code=204)
def give(wanted: Role, bearer: Administrator, store: TheStore) -> None:
    """Let an account be something in a campaign."""
    web_accounts.give_role(store, wanted.login, wanted.campaign, wanted.role, who=bearer.name)


@members.delete("/roles", status_code=204)
def take(wanted: Role, bearer: Administrator, store: TheStore) -> None:
    """Let an account be that no longer."""
    web_accounts.take_role(store, wanted.login, wanted.campaign, wanted.role, who=bearer.name)
