"""Coming in: the first account by the link that `qrowd serve` printed; signing in and out."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import RedirectResponse

from qrowd.errors import RuleError
from qrowd.web.api import accounts
from qrowd.web.api.accounts import Credentials, FirstAccount, SignedIn
from qrowd.web.pages.organiser.frame import (
    Anybody,
    Visit,
    Visiting,
    own_address,
    page_router,
)
from qrowd.web.passwords import LEAST_PASSWORD, no_account_yet
from qrowd.web.problems import STATUS

router = page_router()
LONGEST = 200


def with_cookie(page: Response, cookie: Response) -> Response:
    """A page that also sets the cookie of another response."""
    page.raw_headers += [pair for pair in cookie.raw_headers if pair[0] == b"set-cookie"]
    return page


@router.get("/set-up")
def ask_first(visit: Anybody, code: str = "") -> Response:
    """The form for the first account."""
    with visit.store.snapshot() as db:
        if not no_account_yet(db):
            return visit.go("/campaigns")
    return visit.show("organiser/set_up.html.j2", code=code, login="", problem="", **_least())


def _least() -> dict[str, int]:
    return {"least": LEAST_PASSWORD}


@router.post("/set-up")
def make_first(visit: Anybody) -> Response:
    """Make the account; or say why not, and ask again."""
    cookie, code, login = Response(), visit.text("code"), visit.text("login")[:LONGEST]
    try:
        given = FirstAccount.model_construct(
            code=code, login=login, password=visit.text("password")[:1000]
        )
        accounts.set_up(given, cookie, visit.store, visit.settings)
    except RuleError as error:
        status, data = STATUS.get(error.code, 409), {"code": code, "login": login, **_least()}
        return visit.show("organiser/set_up.html.j2", status=status, problem=str(error), **data)
    return with_cookie(visit.go("/campaigns"), cookie)


@router.get("/sign-in")
def ask_who(visit: Anybody) -> Response:
    """The form."""
    with visit.store.snapshot() as db:
        fresh = no_account_yet(db)
    goal = own_address(visit.request.query_params.get("next", ""))
    return visit.show("organiser/sign_in.html.j2", goal=goal, fresh=fresh, login="", problem="")


@router.post("/sign-in")
def come_in(visit: Anybody) -> Response:
    """Sign in with a password."""
    cookie, login = Response(), visit.text("login")[:LONGEST]
    goal = own_address(visit.text("goal"))
    try:
        _sign_in(visit, cookie, login)
    except RuleError as error:
        status, data = STATUS.get(error.code, 409), {"goal": goal, "login": login, "fresh": False}
        return visit.show("organiser/sign_in.html.j2", status=status, problem=str(error), **data)
    return with_cookie(visit.go(goal), cookie)


def _sign_in(visit: Visit, cookie: Response, login: str) -> SignedIn:
    password = visit.text("password")[:1000]
    if not login or not password:
        raise RuleError("bad-value", "give a name and a password")
    given = Credentials(login=login, password=password)
    return accounts.sign_in(given, cookie, visit.store, visit.settings)


@router.post("/sign-out")
def leave(visit: Visiting) -> RedirectResponse:
    """Sign out."""
    page = visit.go("/sign-in")
    accounts.sign_out(visit.signed, page, visit.store)
    return page
