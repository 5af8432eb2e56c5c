"""Accounts from beginning to end: links that are good once, people who leave, the last
administrator, tokens, and the record of it all; from pages and from the command line.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from tests.web.office import Desk, words
from tests.web.serving import API, Server

from qrowd.cli.main import main
from qrowd.collection.database.schema import account, account_act, token
from qrowd.errors import RuleError
from qrowd.web import accounts
from qrowd.web.access import OFFICE_COOKIE
from qrowd.web.accounts import Guest

PASSWORD, OTHER = "a long password", "another long password"


def make(server: Server, login: str, *, administrator: bool = False) -> int:
    """An account; its number."""
    store = server.site.store
    with store.transaction() as db:
        return accounts.new_account(db, store.clock(), login, PASSWORD, administrator=administrator)


def sign_in(server: Server, login: str, password: str = PASSWORD) -> Desk:
    """Somebody at a browser."""
    sent = {"login": login, "password": password}
    reply = server.client.post("/api/sign-in", json=sent)
    server.client.cookies.clear()
    assert reply.status_code == 200, reply.text
    return Desk(server, reply.json()["token"])


def is_in(desk: Desk) -> bool:
    """Whether a browser is still signed in."""
    return bool(desk.get("/campaigns").status_code == 200)


def acts(server: Server) -> list[tuple[str, str, str]]:
    """Who did what to whom, the oldest first."""
    with server.site.store.snapshot() as db:
        return [(row.who, row.act, row.login) for row in accounts.account_acts(db)][::-1]


def link_in(page: Any) -> str:
    """The address that a page shows to be handed over, without the server."""
    return re.search(r"http://testserver(/[^<\s]+)", page.text)[1]  # type: ignore[index]


@pytest.fixture
def ada(server: Server) -> Desk:
    """An administrator, and bob, an organiser."""
    make(server, "ada", administrator=True)
    make(server, "bob")
    accounts.give_role(server.site.store, "bob", "tiny", "organiser", who="ada")
    return sign_in(server, "ada")


def number_of(server: Server, login: str) -> int:
    return accounts.account_called(server.site.store, login).id


def test_a_forgotten_password_is_replaced_by_a_link_once(server: Server, ada: Desk) -> None:
    before = sign_in(server, "bob")
    page = ada.post(f"/accounts/{number_of(server, 'bob')}/reset")
    link, nobody = link_in(page), Desk(server, "")
    assert "Hand this address to bob" in words(page)
    assert is_in(before)  # a link alone ends nothing
    assert "For the account bob" in words(nobody.get(link))
    sent = {"link": link.partition("=")[2]}
    assert nobody.post("/reset", password="short", **sent).status_code == 422
    done = nobody.post("/reset", password=OTHER, **sent)
    assert (done.status_code, done.headers["location"]) == (303, "/campaigns")
    assert is_in(Desk(server, done.cookies[OFFICE_COOKIE]))
    assert not is_in(before)
    assert (
        server.client.post("/api/sign-in", json={"login": "bob", "password": PASSWORD}).status_code
        == 401
    )
    assert is_in(sign_in(server, "bob", OTHER))
    again = nobody.post("/reset", password="a third long password", **sent)
    assert (again.status_code, "not good any more" in words(again)) == (403, True)
    assert nobody.get(link).status_code == 403
    assert acts(server)[-2:] == [
        ("ada", "make reset link", "bob"),
        ("bob", "reset password", "bob"),
    ]


def test_only_the_last_link_to_a_password_is_good(server: Server, ada: Desk) -> None:
    store, settings, number = server.site.store, server.settings, number_of(server, "bob")
    first = accounts.make_reset_link(store, settings, "bob", who="ada").partition("=")[2]
    second = accounts.make_reset_link(store, settings, "bob", who="ada").partition("=")[2]
    with pytest.raises(RuleError, match="not good any more"):
        accounts.reset_of(store, settings, first)
    assert accounts.reset_of(store, settings, second).login == "bob"
    page = ada.get(f"/accounts/{number}")
    assert "ada made a link to another password for bob" in words(page)
    ada.post("/accounts/links", login="bob")
    with pytest.raises(RuleError, match="not good any more"):
        accounts.reset_of(store, settings, second)
    # one's own change of password ends it as well
    third = accounts.make_reset_link(store, settings, "bob", who="ada").partition("=")[2]
    bob = sign_in(server, "bob")
    bob.post("/password", password=PASSWORD, new_password=OTHER)
    with pytest.raises(RuleError, match="not good any more"):
        accounts.reset_of(store, settings, third)
    with pytest.raises(RuleError, match="not good any more"):
        accounts.reset_of(store, settings, third[:-1])


@pytest.mark.parametrize(("act", "login"), [("change password", "ada"), ("set password", "bob")])
def test_a_link_made_after_a_backup_that_was_restored_opens_no_other_account(
    server: Server, ada: Desk, act: str, login: str
) -> None:
    store = server.site.store
    link = accounts.make_reset_link(store, server.settings, "bob", who="ada").partition("=")[2]
    number = accounts.reset_of(store, server.settings, link).id
    with store.transaction() as db:  # the link's act is gone, and its number is another's
        own = account_act.c.id == number
        db.execute(update(account_act).where(own).values(act=act, login=login))
    with pytest.raises(RuleError, match="not good any more"):
        accounts.reset_of(store, server.settings, link)


def test_an_invitation_does_not_bring_back_who_was_removed(server: Server, ada: Desk) -> None:
    store, settings = server.site.store, server.settings
    guest = Guest("eve", campaign="tiny", role="expert")
    invitation = accounts.invite(store, settings, guest, who="ada").partition("=")[2]
    nobody = Desk(server, "")
    eve = Desk(
        server,
        nobody.post("/join", invitation=invitation, password=PASSWORD).cookies[OFFICE_COOKIE],
    )
    assert is_in(eve)
    number = number_of(server, "eve")
    asked = ada.post(f"/accounts/{number}/remove")
    assert "Remove the account of eve?" in words(asked)
    assert is_in(eve)
    done = ada.post(f"/accounts/{number}/remove", sure="yes")
    assert done.status_code == 303
    assert not is_in(eve)
    again = nobody.post("/join", invitation=invitation, password=PASSWORD)
    assert again.status_code == 403
    with store.snapshot() as db:
        assert db.scalar(select(account.c.id).where(account.c.login == "eve")) is None
        assert db.scalar(select(token.c.id).where(token.c.account_id == number)) is None
    assert ada.get(f"/accounts/{number}").status_code == 404
    # another one is good, and the expert is the same
    another = accounts.invite(store, settings, guest, who="ada").partition("=")[2]
    assert nobody.post("/join", invitation=another, password=PASSWORD).status_code == 303
    assert [act for _, act, login in acts(server) if login == "eve"] == [
        "invite",
        "join",
        "give role",
        "remove account",
        "invite",
        "join",
        "give role",
    ]


def test_an_invitation_is_withdrawn(server: Server, ada: Desk) -> None:
    page = ada.post("/accounts", login="eve", role="expert", campaign="tiny")
    link = link_in(page)
    assert "eve was invited by ada" in words(ada.get("/accounts"))
    gone = ada.post("/accounts/links", login="eve")
    assert gone.status_code == 303
    assert "eve was invited" not in words(ada.get("/accounts"))
    assert Desk(server, "").get(link).status_code == 403


def test_an_invitation_of_before_the_record_is_good_once(server: Server, ada: Desk) -> None:
    payload = ["eve", False, "tiny", "expert"]  # as it was signed before schema 0008
    invitation = server.settings.signer("invitation").dumps(payload)
    nobody = Desk(server, "")
    assert nobody.post("/join", invitation=invitation, password=PASSWORD).status_code == 303
    accounts.remove_account(server.site.store, number_of(server, "eve"), who="ada")
    assert nobody.post("/join", invitation=invitation, password=PASSWORD).status_code == 403


def test_the_last_administrator_stays(server: Server, ada: Desk) -> None:
    number = number_of(server, "ada")
    refused = ada.post(f"/accounts/{number}/remove", sure="yes")
    assert (refused.status_code, "only administrator" in words(refused)) == (409, True)
    refused = ada.post("/accounts/roles", login="ada", role="administrator")
    assert refused.status_code == 409
    ada.post("/accounts", login="bob", role="administrator")
    bob = sign_in(server, "bob")
    assert bob.get("/accounts").status_code == 200
    bob.post("/accounts/roles", login="ada", role="administrator")
    assert not is_in(ada)  # had only that
    ada_again = server.client.post("/api/sign-in", json={"login": "ada", "password": PASSWORD})
    assert ada_again.status_code == 403
    assert ("bob", "take role", "ada") in acts(server)


def test_an_unknown_login_takes_as_long_as_a_wrong_password(server: Server) -> None:
    make(server, "ada")
    hashed = accounts.account_called(server.site.store, "ada").password
    costs = [each.rsplit("$", 2)[0] for each in (hashed, accounts._NOBODY)]
    assert costs[0] == costs[1]
    with pytest.raises(RuleError, match="do not fit together"):
        accounts.check_password(server.site.store, "nobody", "nobody has this password")


def test_signing_out_everywhere(server: Server, ada: Desk) -> None:
    mine, other = sign_in(server, "bob"), sign_in(server, "bob")
    headers = {"Authorization": f"Bearer {mine.token}"}
    made = server.client.post(f"{API}/tokens", json={"scopes": ["read"]}, headers=headers)
    program = {"Authorization": f"Bearer {made.json()['token']}"}
    page = mine.get("/password")
    assert "Program" in words(page)
    assert words(page).count("(this one)") == 1
    with server.site.store.snapshot() as db:
        rows = accounts.tokens_of(db, number_of(server, "bob"), server.site.store.clock())
    programs = [row for row in rows if row.campaign]
    mine.post("/password/tokens", token=str(programs[0].id))
    assert server.client.get("/api/me", headers=program).status_code == 401
    assert is_in(other)
    mine.post("/password/tokens")
    assert not is_in(mine)
    assert not is_in(other)
    third = sign_in(server, "bob")
    ada.post(f"/accounts/{number_of(server, 'bob')}/tokens")
    assert not is_in(third)


def test_nobody_ends_the_tokens_of_others(server: Server, ada: Desk) -> None:
    bob = sign_in(server, "bob")
    with server.site.store.snapshot() as db:
        theirs = accounts.tokens_of(db, number_of(server, "ada"), server.site.store.clock())[0]
    assert bob.post("/password/tokens", token=str(theirs.id)).status_code == 404
    assert is_in(ada)
    headers = {"Authorization": f"Bearer {bob.token}"}
    made = server.client.post(f"{API}/tokens", json={"scopes": ["read"]}, headers=headers)
    program = Desk(server, made.json()["token"])  # a program's token in a browser's cookie
    assert program.post("/password/tokens").status_code == 403
    assert "Browser" not in words(program.get("/password"))
    assert is_in(bob)


# --- the command line -----------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *line: str) -> tuple[int, str, str]:
    """A command: its code, what it prints, what it says."""
    try:
        main(["accounts", *line])
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_all_of_it_by_commands(
    server: Server,
    ada: Desk,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = str(tmp_path / "campaign.db")
    at = ("--address", "http://testserver")
    bob = sign_in(server, "bob")
    _, out, _ = run(capsys, "list", place, "--json")
    rows = {row["login"]: row["roles"] for row in json.loads(out)}
    assert rows == {"ada": "everything", "bob": "organiser of tiny"}
    _, out, _ = run(capsys, "tokens", place, "bob", "--json")
    assert [row["kind"] for row in json.loads(out)] == ["browser"]
    _, link, _ = run(capsys, "reset", place, "bob", *at)
    sent = {"link": link.strip().partition("=")[2], "password": OTHER}
    assert Desk(server, "").post("/reset", **sent).status_code == 303
    assert not is_in(bob)
    monkeypatch.setattr("sys.stdin", io.StringIO(PASSWORD + "\n"))
    assert run(capsys, "password", place, "bob")[0] == 0
    bob = sign_in(server, "bob")
    assert run(capsys, "tokens", place, "bob", "--revoke-all")[0] == 0
    assert not is_in(bob)
    _, link, _ = run(capsys, "invite", place, "eve", "--role", "expert", "--campaign", "tiny", *at)
    assert Desk(server, "").get(link.strip().removeprefix("http://testserver")).status_code == 200
    assert run(capsys, "invite", place, "eve", "--withdraw")[0] == 0
    assert Desk(server, "").get(link.strip().removeprefix("http://testserver")).status_code == 403
    role = ("--role", "organiser", "--campaign", "tiny", "--take")
    assert run(capsys, "role", place, "bob", *role)[0] == 0
    assert run(capsys, "remove", place, "bob", "--yes")[0] == 0
    _, out, _ = run(capsys, "record", place, "--json")
    done = [row["act"] for row in json.loads(out)][::-1]
    assert done == [
        "give role",
        "make reset link",
        "reset password",
        "set password",
        "sign out everywhere",
        "invite",
        "withdraw invitation",
        "take role",
        "remove account",
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["reset", "{db}", "nobody"], "nobody has the account 'nobody'; invite them"),
        (["remove", "{db}", "ada", "--yes"], "only administrator"),
        (["remove", "{db}", "ada"], "Add --yes to do it"),
        (["tokens", "{db}", "ada", "--revoke", "999"], "ada has no token 999"),
        (["role", "{db}", "ada", "--campaign", "nowhere"], "there is no campaign 'nowhere'"),
        (["invite", "{db}", "eve"], "say in which campaign"),
        (["invite", "{db}", " eve", "--role", "administrator"], "no blanks around it"),
        (["reset", "{folder}/no", "ada", "--database", "{db}"], "give the one of `qrowd serve`"),
        (["list", "{folder}/nothing"], "no such database"),
        (["password", "{db}", "ada"], "at least 10 characters"),
    ],
)
def test_what_is_wrong_is_one_line(
    server: Server,
    ada: Desk,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: list[str],
    sentence: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    names = {"db": str(tmp_path / "campaign.db"), "folder": str(tmp_path)}
    code, out, err = run(capsys, *(word.format(**names) for word in line))
    assert (code > 0, out) == (True, "")
    assert (len(err.splitlines()), sentence in err) == (1, True), err
    assert is_in(ada)
