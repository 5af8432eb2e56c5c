"""Accounts and roles: who has one, invitations, what somebody is in a campaign."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from qrowd.web import membership, passwords
from qrowd.web.access import Administrator, TheSettings, TheStore
from qrowd.web.api.accounts import CampaignRole, Credentials, SignedIn, sign_in
from qrowd.web.membership import Invited
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api", tags=["members"], responses=RESPONSES)


class AccountLine(BaseModel):
    """An account; times are milliseconds since 1970."""

    login: str
    administrator: bool
    made_at: int
    campaigns: list[CampaignRole]


class Invitation(BaseModel):
    """Somebody to invite: an administrator, or with a role in a campaign."""

    login: str = Field(min_length=1, max_length=200)
    administrator: bool = False
    campaign: str = Field("", max_length=200)
    role: str = Field("", max_length=20)


class InvitationLink(BaseModel):
    """The address to send to them; it is good for a week, and once."""

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


@router.get("/accounts")
def accounts(_: Administrator, store: TheStore) -> list[AccountLine]:
    """All accounts."""
    with store.snapshot() as db:
        found = membership.accounts(db)
    return [
        AccountLine(
            login=one.login,
            administrator=one.administrator,
            made_at=one.made_at,
            campaigns=[CampaignRole(campaign=name, role=role) for name, role in one.roles],
        )
        for one in found
    ]


@router.post("/invitations", status_code=201)
def invite(
    wanted: Invitation, _: Administrator, store: TheStore, settings: TheSettings
) -> InvitationLink:
    """An address with which somebody makes an account."""
    return InvitationLink(link=membership.invite(store, settings, Invited(**wanted.model_dump())))


@router.post("/join", status_code=201)
def join(given: Joining, response: Response, store: TheStore, settings: TheSettings) -> SignedIn:
    """Make the account of an invitation, and sign in."""
    with store.transaction() as db:
        passwords.limit(db, store.clock(), "join", 60)
    who = membership.invited(settings, given.invitation)
    membership.join(store, settings, given.invitation, given.password)
    known = Credentials(login=who.login, password=given.password)
    return sign_in(known, response, store, settings)


@router.put("/roles", status_code=204)
def give(wanted: Role, _: Administrator, store: TheStore) -> None:
    """Let an account be something in a campaign."""
    membership.give_role(store, wanted.login, wanted.campaign, wanted.role)


@router.delete("/roles", status_code=204)
def take(wanted: Role, _: Administrator, store: TheStore) -> None:
    """Let an account be that no longer."""
    membership.take_role(store, wanted.login, wanted.campaign, wanted.role)
