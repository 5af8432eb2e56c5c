"""Accounts: who has one, inviting somebody, roles; and the page behind an invitation."""

from __future__ import annotations

from fastapi import Response

from qrowd.errors import RuleError
from qrowd.web import membership
from qrowd.web.api import campaigns, members
from qrowd.web.api.members import Joining
from qrowd.web.membership import Invited
from qrowd.web.pages.organiser.frame import Anybody, Visit, Visiting, page_router
from qrowd.web.pages.organiser.signing import with_cookie
from qrowd.web.passwords import LEAST_PASSWORD
from qrowd.web.problems import STATUS

router = page_router()


@router.get("/accounts")
def accounts(visit: Visiting) -> Response:
    """Who has an account."""
    return _page(visit)


def _page(visit: Visit, problem: str = "", link: str = "", status: int = 200) -> Response:
    who = visit.administrator()
    with visit.store.snapshot() as db:
        found = membership.accounts(db)
    names = [one.name for one in campaigns.listed(who, visit.store)]
    return visit.show(
        "organiser/accounts.html.j2",
        status=status,
        accounts=found,
        campaigns=names,
        link=link,
        pairs=[(name, name) for name in names],
        problem=problem,
        login=visit.text("login"),
    )


@router.post("/accounts")
def invite(visit: Visiting) -> Response:
    """Invite somebody, or give an account one more role."""
    visit.administrator()
    login, role, campaign = visit.text("login"), visit.text("role"), visit.text("campaign")
    with visit.store.snapshot() as db:
        known = {one.login for one in membership.accounts(db)}
    try:
        if login in known and role != "administrator":
            membership.give_role(visit.store, login, campaign, role)
            return visit.go("/accounts", told=f"{login} is {role} of {campaign} now.")
        chief = role == "administrator"
        who = Invited(login, chief, "" if chief else campaign, "" if chief else role)
        return _page(visit, link=membership.invite(visit.store, visit.settings, who))
    except RuleError as error:
        return _page(visit, str(error), status=STATUS.get(error.code, 409))


@router.post("/accounts/roles")
def take_role(visit: Visiting) -> Response:
    """Take a role from an account."""
    visit.administrator()
    login, role, campaign = visit.text("login"), visit.text("role"), visit.text("campaign")
    membership.take_role(visit.store, login, campaign, role)
    return visit.go("/accounts", told=f"{login} is no longer {role} of {campaign}.")


@router.get("/join")
def ask(visit: Anybody, invitation: str = "") -> Response:
    """Choose a password."""
    return _joining(visit, invitation)


def _joining(visit: Visit, invitation: str, problem: str = "", status: int = 200) -> Response:
    try:
        who = membership.invited(visit.settings, invitation)
    except RuleError as error:
        return visit.show(
            "organiser/problem.html.j2", status=403, message=str(error), missing=False
        )
    return visit.show(
        "organiser/join.html.j2",
        status=status,
        who=who,
        invitation=invitation,
        problem=problem,
        least=LEAST_PASSWORD,
    )


@router.post("/join")
def join(visit: Anybody) -> Response:
    """Make the account, and sign in."""
    cookie, invitation = Response(), visit.text("invitation")[:4000]
    given = Joining.model_construct(invitation=invitation, password=visit.text("password")[:1000])
    try:
        members.join(given, cookie, visit.store, visit.settings)
    except RuleError as error:
        return _joining(visit, invitation, str(error), STATUS.get(error.code, 409))
    return with_cookie(visit.go("/campaigns"), cookie)
