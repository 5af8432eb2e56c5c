"""What organisers' pages share: signing in, forged forms, errors, accounts with several roles."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2", reason="pages need the extra serve")

from sqlalchemy import insert
from tests.web.office import desk, words
from tests.web.serving import API, Server

from qrowd.collection.books import notices
from qrowd.collection.database.schema import member_role
from qrowd.web.access import FORGERY_HEADER
from qrowd.web.accounts import new_account, take_role
from qrowd.web.pages.frame import own_address
from qrowd.web.pages.quality import embedded
from qrowd.web.settings import set_up_code

PASSWORD = "a long password"


def account(server: Server, login: str, *roles: str, administrator: bool = False) -> None:
    """An account with roles in the campaign."""
    with server.site.store.write("tiny") as work:
        number = new_account(work.db, work.now, login, PASSWORD, administrator=administrator)
        for role in roles:
            values = {"account_id": number, "campaign_id": work.campaign, "role": role}
            work.db.execute(insert(member_role).values(**values))


def sign_in(server: Server, login: str) -> None:
    """Sign in by the form."""
    server.client.cookies.clear()
    given = {"login": login, "password": PASSWORD, "goal": "/campaigns"}
    reply = server.client.post("/sign-in", data=given, follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) == (303, "/campaigns")


def forgery(server: Server) -> str:
    """What the forms of the home page send back."""
    found = re.search(r'name="forgery" value="(\w+)"', server.client.get("/campaigns").text)
    assert found
    return found[1]


def test_from_the_printed_link_to_the_campaigns(server: Server) -> None:
    address = f"/set-up?code={set_up_code(server.settings)}"
    assert "no account yet" in server.client.get("/").text
    assert "Make the account" in server.client.get(address).text
    given = {"login": "ann", "password": PASSWORD, "code": set_up_code(server.settings)}
    home = server.client.post("/set-up", data=given)
    assert home.url.path == "/campaigns"
    assert "tiny" in home.text
    assert server.client.get(address).url.path == "/campaigns"


def test_pages_ask_to_sign_in_and_come_back(server: Server) -> None:
    account(server, "ann", administrator=True)
    reply = server.client.get("/campaigns/tiny")
    assert reply.url.path == "/sign-in"
    assert 'value="/campaigns/tiny"' in reply.text
    wrong = server.client.post("/sign-in", data={"login": "ann", "password": "x"})
    assert (wrong.status_code, "do not fit together" in wrong.text) == (401, True)
    given = {"login": "ann", "password": PASSWORD, "goal": "/campaigns/tiny"}
    assert server.client.post("/sign-in", data=given).url.path == "/campaigns/tiny"


def test_where_a_sign_in_leads(server: Server) -> None:
    for strange in ("//evil.example", "https://evil.example", "/\\evil.example", "", "/a\nb"):
        assert own_address(strange) == "/campaigns"
    assert own_address("/campaigns/tiny?a=b") == "/campaigns/tiny?a=b"


def test_forged_forms_are_refused(server: Server) -> None:
    account(server, "ann", administrator=True)
    sign_in(server, "ann")
    assert server.client.post("/sign-out", data={"forgery": "guess"}).status_code == 403
    right, foreign = {"forgery": forgery(server)}, {"Origin": "https://evil.example"}
    assert server.client.post("/sign-out", data=right, headers=foreign).status_code == 403
    assert server.client.post("/sign-out", data=right).url.path == "/sign-in"
    assert server.client.get("/campaigns").url.path == "/sign-in"
    given = {"login": "ann", "password": PASSWORD}
    assert server.client.post("/sign-in", data=given, headers=foreign).status_code == 403


def test_nothing_runs_that_is_not_ours(server: Server) -> None:
    account(server, "ann", administrator=True)
    sign_in(server, "ann")
    first, second = (server.client.get("/campaigns") for _ in range(2))
    policy = first.headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'nonce-" in policy
    assert "unsafe" not in policy
    assert policy != second.headers["Content-Security-Policy"]
    assert not re.search(r'style="|<script(?![^>]*nonce=)|\son\w+=', first.text)


@pytest.mark.parametrize("role", ["organiser", "expert"])
def test_an_account_is_what_it_is_in_each_campaign(server: Server, role: str) -> None:
    account(server, "eve", role)
    sign_in(server, "eve")
    assert "tiny" in server.client.get("/campaigns").text
    assert server.client.get("/campaigns/tiny").status_code == (200 if role == "organiser" else 403)
    assert server.client.get(f"{API}/acts").status_code == (200 if role == "organiser" else 403)
    missing = server.client.get("/campaigns/other")
    assert (missing.status_code, "no such campaign" in missing.text) == (404, True)
    me = server.client.get("/api/me").json()
    assert (me["administrator"], me["campaigns"]) == (False, [{"campaign": "tiny", "role": role}])
    listed = server.client.get("/api/campaigns").json()
    assert [one["name"] for one in listed] == ["tiny"]


def test_a_worker_in_the_same_browser(server: Server) -> None:
    account(server, "ann", administrator=True)
    sign_in(server, "ann")
    entered = server.client.post(f"{API}/enter", json={"link": server.link("bob")}).json()
    assert server.client.get("/campaigns").url.path == "/campaigns"
    session = server.client.get(f"{API}/judging/session").json()
    assert session["forgery_token"] == entered["forgery_token"]


def test_pictures_have_no_styles() -> None:
    svg = '<svg><text style="font: 10px sans-serif; text-anchor: middle">a</text>'
    svg += '<g style="fill: var(--c-one); stroke-width: 2"/></svg>'
    assert embedded(svg) == (
        '<svg lang="en"><text font-size="10px" text-anchor="middle">a</text>'
        '<g fill="var(--c-one)" stroke-width="2"/></svg>'
    )


def test_an_invitation_makes_an_account_once(server: Server) -> None:
    account(server, "ann", administrator=True)
    sign_in(server, "ann")
    form = {"forgery": forgery(server), "login": "eve", "role": "expert", "campaign": "tiny"}
    page = server.client.post("/accounts", data=form)
    found = re.search(r"http://testserver(/join\?invitation=[^<]+)", page.text)
    assert found
    server.client.cookies.clear()
    assert server.client.get(found[1][:-2]).status_code == 403
    assert "as expert of tiny" in server.client.get(found[1]).text
    given = {"invitation": found[1].partition("=")[2], "password": "short"}
    assert "at least 10 characters" in server.client.post("/join", data=given).text
    home = server.client.post("/join", data={**given, "password": PASSWORD})
    assert home.url.path == "/campaigns"
    assert server.client.get("/campaigns/tiny/experts").status_code == 200
    server.client.cookies.clear()
    again = server.client.post("/join", data={**given, "password": PASSWORD})
    assert (again.status_code, "not good any more" in again.text) == (403, True)


def test_roles_are_given_and_taken(server: Server) -> None:
    account(server, "ann", administrator=True)
    account(server, "bob", "expert")
    sign_in(server, "ann")
    form = {"forgery": forgery(server), "login": "bob", "role": "organiser", "campaign": "tiny"}
    assert "bob is organiser of tiny now" in server.client.post("/accounts", data=form).text
    admin = server.token("organiser", campaign_id=None)
    listed = {one["login"]: one for one in server.client.get("/api/accounts", headers=admin).json()}
    assert {one["role"] for one in listed["bob"]["campaigns"]} == {"expert", "organiser"}
    sign_in(server, "bob")
    assert server.client.get("/campaigns/tiny").status_code == 200
    assert server.client.get("/accounts").status_code == 403
    sign_in(server, "ann")
    form["forgery"] = forgery(server)
    assert "no longer organiser" in server.client.post("/accounts/roles", data=form).text
    sign_in(server, "bob")
    assert server.client.get("/campaigns/tiny").status_code == 403
    for bad in (
        {"login": "x"},
        {"login": "x", "role": "expert", "campaign": "none"},
        {"login": "ann", "administrator": True},
    ):
        assert server.client.post("/api/invitations", json=bad, headers=admin).status_code in (
            404,
            409,
            422,
        )


@pytest.mark.parametrize(
    ("roles", "status"), [(["organiser"], 401), (["organiser", "expert"], 200)]
)
def test_a_role_that_is_taken_takes_the_tokens_made_with_it(
    server: Server, roles: list[str], status: int
) -> None:
    account(server, "bob", *roles)
    sign_in(server, "bob")
    headers = {FORGERY_HEADER: forgery(server)}
    made = server.client.post(f"{API}/tokens", json={"role": "expert"}, headers=headers).json()
    server.client.cookies.clear()
    expert = {"Authorization": f"Bearer {made['token']}"}
    assert server.client.get("/api/me", headers=expert).status_code == 200
    take_role(server.site.store, "bob", "tiny", "organiser", who="ann")
    assert server.client.get("/api/me", headers=expert).status_code == status


def test_money_and_notices_are_for_organisers(server: Server) -> None:
    server.site.work(notices.tell, "no-budget")
    for role, seen in (("organiser", True), ("expert", False), ("worker", False)):
        page = words(desk(server, role).get("/campaigns"))
        assert "of the judgements" in page
        assert ("100.00 EUR spent" in page, "needs a decision" in page) == (seen, seen)
