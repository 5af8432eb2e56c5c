"""Signing in: the first account, passwords, tokens, and workers' links."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from qrowd.collection.people import visits, workers
from qrowd.collection.plan.platforms import Arrival, provider_of
from qrowd.errors import RuleError
from qrowd.web import passwords
from qrowd.web.access import (
    COOKIE,
    OFFICE_COOKIE,
    SCOPES,
    Keeper,
    Signed,
    TheSettings,
    TheStore,
    forgery_token,
    lacking,
    new_token,
    revoke,
    roles_of,
)
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings, set_up_code

router = APIRouter(prefix="/api", tags=["accounts"], responses=RESPONSES)


class Credentials(BaseModel):
    """A login and its password."""

    login: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=1000)


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


def _give(response: Response, settings: Settings, plain: str, role: str) -> SignedIn:
    """The token as a cookie and in the body."""
    name = COOKIE if role == "worker" else OFFICE_COOKIE
    response.set_cookie(
        name,
        plain,
        max_age=30 * 86400,
        httponly=True,
        samesite="lax",
        secure=settings.secure_cookies,
    )
    return SignedIn(token=plain, forgery_token=forgery_token(settings, plain), role=role)


@router.post("/set-up", status_code=201)
def set_up(
    given: FirstAccount, response: Response, store: TheStore, settings: TheSettings
) -> SignedIn:
    """Make the first account, an administrator's."""
    with store.transaction() as db:
        passwords.limit(db, store.clock(), "set-up", 20)
    with store.transaction() as db:
        if not passwords.no_account_yet(db):
            raise RuleError("conflict", "this server has an account already; sign in with it")
        if given.code != set_up_code(settings):
            raise RuleError("no-access", "open the link that `qrowd serve` printed")
        now = store.clock()
        number = passwords.new_account(db, now, given.login, given.password, administrator=True)
        plain = new_token(db, now, "organiser", account_id=number)
    return _give(response, settings, plain, "organiser")


@router.post("/sign-in")
def sign_in(
    given: Credentials, response: Response, store: TheStore, settings: TheSettings
) -> SignedIn:
    """Sign in with a password; at most ten tries a minute for a login."""
    with store.transaction() as db:
        passwords.limit(db, store.clock(), f"sign-in {given.login}", 10)
    number, administrator = passwords.check_password(store, given.login, given.password)
    with store.transaction() as db:
        roles = {held for _, _, held in roles_of(db, number)}
        if not administrator and not roles:
            raise RuleError("no-access", "this account has no campaign yet")
        role = "organiser" if administrator or "organiser" in roles else min(roles)
        plain = new_token(db, store.clock(), role, account_id=number)
    return _give(response, settings, plain, role)


@router.post("/sign-out", status_code=204)
def sign_out(who: Signed, response: Response, store: TheStore) -> None:
    """Make the token useless."""
    with store.transaction() as db:
        revoke(db, store.clock(), who.token)
    response.delete_cookie(COOKIE if who.role == "worker" else OFFICE_COOKIE)


@router.get("/me")
def me(who: Signed, store: TheStore, settings: TheSettings) -> Me:
    """Who is signed in."""
    with store.snapshot() as db:
        roles = roles_of(db, who.account) if who.account else []
    return Me(
        name=who.name,
        role=who.role,
        administrator=who.administrator,
        scopes=sorted(who.scopes),
        forgery_token=forgery_token(settings, who.token),
        campaigns=[CampaignRole(campaign=name, role=role) for name, _, role in roles],
    )


@router.post("/campaigns/{name}/enter")
def enter(
    name: str, given: Entry, response: Response, store: TheStore, settings: TheSettings
) -> Entered:
    """Come in as a worker, by a link or from a platform."""
    with store.write(name) as work:
        arrival = (
            Arrival(visits.PLATFORM, visits.open_link(work, given.link), {})
            if given.link
            else provider_of(work.plan.platform).arrive(given.parameters)
        )
        if arrival.preview:
            return Entered(token="", forgery_token="", role="worker", preview=True)
        found = workers.enter(work, arrival.platform, arrival.person, parameters=arrival.kept)
        plain = new_token(
            work.db, work.now, "worker", campaign_id=work.campaign, worker_id=found.id
        )
    given_out = _give(response, settings, plain, "worker")
    return Entered(**given_out.model_dump())


@router.post("/campaigns/{name}/tokens", status_code=201)
def make_token(wanted: TokenWanted, member: Keeper, settings: TheSettings) -> SignedIn:
    """A token for a program; it is shown this once. It allows no more than the maker's own."""
    scopes = wanted.scopes
    if wanted.role == "organiser":
        scopes = scopes or sorted(member.who.scopes)
        more = {scope for scope in scopes if scope in SCOPES["organiser"]} - member.who.scopes
        if more:
            raise RuleError("no-access", lacking(min(more)))
    with member.store.write(member.campaign) as work:
        worker = workers.expert(work, member.who.name) if wanted.role == "expert" else None
        plain = new_token(
            work.db,
            work.now,
            wanted.role,
            campaign_id=work.campaign,
            worker_id=worker,
            account_id=member.who.account,
            scopes=scopes,
            days=wanted.days,
        )
    return SignedIn(token=plain, forgery_token=forgery_token(settings, plain), role=wanted.role)
