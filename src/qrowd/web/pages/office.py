"""The door of the office: signing in, the first account and others, invitations, the campaigns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import Response
from fastapi.responses import RedirectResponse

from qrowd.collection.books.ledger import balance
from qrowd.collection.books.notices import notices
from qrowd.collection.books.progress import coverage
from qrowd.collection.database.schema import AccountAct
from qrowd.collection.drafts.draft import all_drafts
from qrowd.collection.drafts.steps import all_steps
from qrowd.errors import RuleError
from qrowd.texts import Text
from qrowd.web import access, accounts
from qrowd.web.access import as_member
from qrowd.web.accounts import LEAST_PASSWORD, Guest, Session, no_account_yet
from qrowd.web.api.campaigns import Listed, listed
from qrowd.web.files import drafts_in
from qrowd.web.pages.frame import (
    AdministratorVisit,
    Anybody,
    Confirmation,
    Visit,
    Visiting,
    campaign_address,
    own_address,
    page_router,
)
from qrowd.web.problems import status_of

router = page_router()
LONGEST_LOGIN = 200
LONGEST_PASSWORD = 1000
LONGEST_INVITATION = 4000
MOST_ACTS = 100  # of the record, on a page


# --- coming in ------------------------------------------------------------------------------------


@router.get("/set-up")
def ask_first(visit: Anybody, code: str = "") -> Response:
    """The form for the first account."""
    with visit.store.snapshot() as db:
        if not no_account_yet(db):
            return visit.go("/campaigns")
    return _set_up_page(visit, code)


@router.post("/set-up")
def make_first(visit: Anybody) -> Response:
    """Make the account; or say why not, and ask again."""
    code, login, password = visit.text("code"), _login(visit), _password(visit)
    try:
        session = accounts.set_up(visit.caller, code, login, password)
    except RuleError as error:
        return _set_up_page(visit.with_problem(error, status_of(error)), code)
    return _let_in(visit, session, "/campaigns")


def _set_up_page(visit: Visit, code: str) -> Response:
    data = {"code": code, "login": _login(visit), "least": LEAST_PASSWORD}
    return visit.show("organiser/set_up.html.j2", **data)


@router.get("/sign-in")
def ask_who(visit: Anybody) -> Response:
    """The form."""
    with visit.store.snapshot() as db:
        fresh = no_account_yet(db)
    query = visit.request.query_params
    goal, unsaved = own_address(query.get("next", "")), "unsaved" in query
    return visit.show(
        "organiser/sign_in.html.j2", goal=goal, fresh=fresh, login="", unsaved=unsaved
    )


@router.post("/sign-in")
def come_in(visit: Anybody) -> Response:
    """Sign in with a password."""
    goal = own_address(visit.text("goal"))
    login, password = _login(visit), _password(visit)
    try:
        if not login or not password:
            raise RuleError("bad-value", "give a name and a password")
        session = accounts.sign_in(visit.caller, login, password)
    except RuleError as error:
        again = visit.with_problem(error, status_of(error))
        return again.show(
            "organiser/sign_in.html.j2", goal=goal, fresh=False, login=login, unsaved=False
        )
    return _let_in(visit, session, goal)


@router.post("/sign-out")
def leave(visit: Visiting) -> RedirectResponse:
    """Sign out."""
    page = visit.go("/sign-in")
    access.sign_out(page, visit.store, visit.signed)
    return page


@router.get("/join")
def ask_to_join(visit: Anybody, invitation: str = "") -> Response:
    """Choose a password."""
    try:
        guest = accounts.guest_of(visit.store, visit.settings, invitation)
    except RuleError as error:
        return visit.show_problem(403, str(error))
    return visit.show(
        "organiser/join.html.j2", guest=guest, invitation=invitation, least=LEAST_PASSWORD
    )


@router.post("/join")
def join(visit: Anybody) -> Response:
    """Make the account, and sign in."""
    invitation = visit.text("invitation")[:LONGEST_INVITATION]
    try:
        session = accounts.join(visit.caller, invitation, _password(visit))
    except RuleError as error:
        return ask_to_join(visit.with_problem(error, status_of(error)), invitation)
    return _let_in(visit, session, "/campaigns")


@router.get("/password")
def ask_password(visit: Visiting) -> Response:
    """The form for another password, and where one is signed in (not for a program's token)."""
    number = visit.signed.account if visit.signed.campaign is None else None
    tokens = _signed_in(visit, number)
    return visit.show("organiser/password.html.j2", least=LEAST_PASSWORD, **tokens)


@router.post("/password")
def change_password(visit: Visiting) -> Response:
    """Another password; all other sessions of the account end."""
    new = visit.text("new_password")[:LONGEST_PASSWORD]
    try:
        session = accounts.change_password(visit.caller, visit.signed, _password(visit), new)
    except RuleError as error:
        return ask_password(visit.with_problem(error, status_of(error)))
    return _let_in(visit, session, "/campaigns", Text("office.password.changed"))


@router.post("/password/tokens")
def end_own(visit: Visiting) -> Response:
    """Sign another browser or a program out; without saying which, everything, this one too."""
    number, token = visit.signed.account, visit.number("token")
    # a program's token opens one campaign only
    if number is None or visit.signed.campaign is not None:
        raise RuleError("no-access", "sign in with your password to do that")
    if token is None:
        accounts.sign_out_everywhere(visit.store, number, who=visit.signed.name)
        return visit.go("/sign-in")
    accounts.end_token(visit.store, number, token, who=visit.signed.name)
    return visit.go("/password", Text("office.token.ended"))


@router.get("/reset")
def ask_reset(visit: Anybody, link: str = "") -> Response:
    """Choose another password by a link."""
    try:
        login = accounts.reset_of(visit.store, visit.settings, link).login
    except RuleError as error:
        return visit.show_problem(403, str(error))
    return visit.show("organiser/reset.html.j2", login=login, link=link, least=LEAST_PASSWORD)


@router.post("/reset")
def reset(visit: Anybody) -> Response:
    """Another password, and sign in."""
    link = visit.text("link")[:LONGEST_INVITATION]
    try:
        session = accounts.reset_password(visit.caller, link, _password(visit))
    except RuleError as error:
        return ask_reset(visit.with_problem(error, status_of(error)), link)
    return _let_in(visit, session, "/campaigns")


def _signed_in(visit: Visit, number: int | None) -> dict[str, Any]:
    """What pages say of an account's browsers and programs."""
    if number is None:
        return {"tokens": [], "own": 0}
    with visit.store.snapshot() as db:
        tokens = accounts.tokens_of(db, number, visit.store.clock())
    own = next((row.id for row in tokens if row.hash == access.hashed(visit.signed.token)), 0)
    return {"tokens": tokens, "own": own}


def _login(visit: Visit) -> str:
    return visit.text("login")[:LONGEST_LOGIN]


def _password(visit: Visit) -> str:
    return visit.text("password")[:LONGEST_PASSWORD]


def _let_in(visit: Visit, session: Session, goal: str, message: Text | None = None) -> Response:
    page = visit.go(goal, message)
    access.give_cookie(page, visit.settings, session.token, session.role)
    return page


# --- who has an account (administrators) ----------------------------------------------------------


@router.get("/accounts")
def all_accounts(visit: AdministratorVisit) -> Response:
    """Who has an account."""
    return _accounts_page(visit)


@router.post("/accounts")
def invite(visit: AdministratorVisit) -> Response:
    """Invite somebody, or give an account one more role."""
    login, role, campaign = visit.text("login"), visit.text("role"), visit.text("campaign")
    with visit.store.snapshot() as db:
        logins = {account.login for account in accounts.accounts(db)}
    try:
        if login in logins:
            if role == "administrator":
                accounts.make_administrator(visit.store, login, who=visit.signed.name)
            else:
                accounts.give_role(visit.store, login, campaign, role, who=visit.signed.name)
            return visit.go("/accounts", _role_message("given", visit))
        guest = Guest.of_role(login, role, campaign)
        link = accounts.invite(visit.store, visit.settings, guest, who=visit.signed.name)
        return _accounts_page(visit, link=link)
    except RuleError as error:
        return _accounts_page(visit.with_problem(error, status_of(error)))


@router.post("/accounts/roles")
def take_role(visit: AdministratorVisit) -> Response:
    """Take a role from an account."""
    login, role, campaign = visit.text("login"), visit.text("role"), visit.text("campaign")
    if role == "administrator":
        accounts.no_administrator(visit.store, login, who=visit.signed.name)
    else:
        accounts.take_role(visit.store, login, campaign, role, who=visit.signed.name)
    return visit.go("/accounts", _role_message("taken", visit))


@router.post("/accounts/links")
def withdraw(visit: AdministratorVisit) -> Response:
    """Make the links useless that were handed over for a login."""
    login = visit.text("login")
    n = accounts.withdraw_links(visit.store, login, who=visit.signed.name)
    return visit.go("/accounts", Text("office.accounts.withdrawn", n=n, login=login))


@router.get("/accounts/{number}")
def one_account(visit: AdministratorVisit, number: int) -> Response:
    """Where somebody is signed in, what was done to the account, and how it ends."""
    return _account_page(visit, number)


@router.post("/accounts/{number}/reset")
def make_reset_link(visit: AdministratorVisit, number: int) -> Response:
    """The link to another password, to be handed over."""
    login = accounts.account_numbered(visit.store, number).login
    link = accounts.make_reset_link(visit.store, visit.settings, login, who=visit.signed.name)
    return _account_page(visit, number, link)


@router.post("/accounts/{number}/tokens")
def end_tokens(visit: AdministratorVisit, number: int) -> Response:
    """Sign a browser or a program out; without saying which, all of them."""
    token, who = visit.number("token"), visit.signed.name
    login = accounts.account_numbered(visit.store, number).login
    if token is not None:
        accounts.end_token(visit.store, number, token, who=who)
        return visit.go(f"/accounts/{number}", Text("office.token.ended"))
    accounts.sign_out_everywhere(visit.store, number, who=who)
    return visit.go(f"/accounts/{number}", Text("office.account.signed-out", login=login))


@router.post("/accounts/{number}/remove")
def remove(visit: AdministratorVisit, number: int) -> Response:
    """Take somebody off the server, after asking."""
    login = accounts.account_numbered(visit.store, number).login
    if not visit.sure:
        asked = Confirmation(
            Text("office.account.remove-title", login=login),
            [Text(f"office.account.remove-{line}") for line in ("ends", "stays", "again")],
            button=Text("office.account.remove"),
            back=f"/accounts/{number}",
            final=True,
        )
        return visit.confirm(asked)
    accounts.remove_account(visit.store, number, who=visit.signed.name)
    return visit.go("/accounts", Text("office.account.removed", login=login))


def _record(acts: Sequence[AccountAct]) -> list[tuple[AccountAct, list[Text | str]]]:
    """Acts, each with what it says beside its name."""
    lines = []
    for act in acts:
        stored, said = json.loads(act.details), list[Text | str]()
        if role := stored.get("role"):
            everything = role == accounts.ADMINISTRATOR
            said.append(Text("office.accounts.everything" if everything else f"office.role.{role}"))
        if stored.get("campaign"):
            said.append(stored["campaign"])
        if stored.get("token"):
            said.append(Text("office.token.number", n=stored["token"]))
        lines.append((act, said))
    return lines


def _account_page(visit: Visit, number: int, link: str = "") -> Response:
    row = accounts.account_numbered(visit.store, number)
    with visit.store.snapshot() as db:
        acts = accounts.account_acts(db, MOST_ACTS, row.login)
        links = [
            act for act in accounts.open_links(db, visit.store.clock()) if act.login == row.login
        ]
    return visit.show(
        "organiser/account.html.j2",
        account=row,
        link=link,
        links=links,
        acts=_record(acts),
        **_signed_in(visit, number),
    )


def _role_message(done: str, visit: Visit) -> Text:
    role = Text(f"office.role.{visit.text('role')}")
    login, campaign = visit.text("login"), visit.text("campaign")
    if visit.text("role") == "administrator":
        return Text(f"office.accounts.{done}-everything", login=login)
    return Text(f"office.accounts.{done}", login=login, role=role, campaign=campaign)


def _accounts_page(visit: Visit, link: str = "") -> Response:
    with visit.store.snapshot() as db:
        rows = accounts.accounts(db)
        links = accounts.open_links(db, visit.store.clock())
        acts = accounts.account_acts(db, MOST_ACTS)
    names = [row.name for row in listed(visit.signed, visit.store)]
    return visit.show(
        "organiser/accounts.html.j2",
        accounts=rows,
        links=links,
        acts=_record(acts),
        campaigns=names,
        pairs=[(name, name) for name in names],
        login=visit.text("login"),
        link=link,
    )


# --- the campaigns --------------------------------------------------------------------------------


@router.get("/")
def door(visit: Anybody) -> Response:
    """To the campaigns, or to sign in first."""
    return visit.go("/campaigns")


@router.get("/campaigns")
def home(visit: Visiting) -> Response:
    """The campaigns and their state."""
    drafts = all_drafts(drafts_in(visit.settings.folder)) if visit.signed.administrator else []
    return visit.show(
        "organiser/home.html.j2",
        lines=[_line(visit, row) for row in listed(visit.signed, visit.store)],
        drafts=drafts,
        steps=all_steps(),
    )


def _line(visit: Visit, row: Listed) -> dict[str, Any]:
    """A campaign in the list; money and notices are for organisers only."""
    with visit.store.read(row.name) as work:
        money, pay = balance(work), work.plan.pay
        wanted, held, pending = coverage(work)
        bearer = as_member(work.db, visit.signed, work.campaign, "organiser")
        may_know = bearer.role == "organiser" and "read" in bearer.scopes
        return {
            "name": row.name,
            "address": campaign_address(row.name, "/experts" if bearer.role == "expert" else ""),
            "title": work.plan.campaign.title or row.name,
            "state": row.state,
            "share": (held - pending) / wanted if wanted else 1.0,
            "spent": pay.shown(money.owed + money.settled) if may_know else "",
            "budget": pay.shown(money.budget) if money.budget and may_know else "",
            "notices": len(notices(work)) if may_know else 0,
            "role": bearer.role,
        }
