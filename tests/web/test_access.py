"""Who may do what: links, passwords, cookies, forged requests, roles, scopes, other campaigns."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import Request
from fastapi.routing import APIRoute
from sqlalchemy import select
from starlette.testclient import TestClient
from tests.web.office import desk
from tests.web.serving import API, Server

from qrowd.collection.database.schema import rate
from qrowd.collection.record import audit
from qrowd.errors import InputError, QrowdError, RuleError, StoreError, UsageError
from qrowd.web import accounts, limits
from qrowd.web.access import COOKIE, FORGERY_HEADER
from qrowd.web.app import API as API_ROUTERS
from qrowd.web.app import PAGES
from qrowd.web.problems import sentence_of
from qrowd.web.settings import secret_of, set_up_code

SECRET = {"login": "ann", "password": "a long password"}


def test_a_link_that_ended_or_was_changed(server: Server) -> None:
    link = server.link("ann", days=1)
    server.site.clock.forward(2 * 24 * 60)
    for given in (link, link + "x"):
        reply = server.client.post(f"{API}/enter", json={"link": given})
        assert (reply.status_code, reply.json()["error"]["code"]) == (401, "expired-link")


def test_the_first_account_needs_the_printed_link(server: Server) -> None:
    wrong = server.client.post("/api/set-up", json={**SECRET, "code": "guess"})
    assert wrong.status_code == 403
    right = {**SECRET, "code": set_up_code(server.settings)}
    assert server.client.post("/api/set-up", json=right).status_code == 201
    assert server.client.post("/api/set-up", json=right).status_code == 409
    server.client.cookies.clear()
    assert server.client.post("/api/sign-in", json=SECRET).status_code == 200
    assert server.client.get("/api/me").json()["administrator"] is True
    wrong = server.client.post("/api/sign-in", json={**SECRET, "password": "another one"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "no-sign-in")


def test_the_page_of_the_first_account(server: Server) -> None:
    page = server.client.get(f"/set-up?code={set_up_code(server.settings)}")
    assert "Make the account" in page.text
    short = {"login": "a<b", "password": "short", "code": set_up_code(server.settings)}
    refused = server.client.post("/set-up", data=short)
    assert refused.status_code == 422
    assert "at least 10 characters" in refused.text
    assert "a&lt;b" in refused.text
    done = server.client.post("/set-up", data={**short, "password": "a long password"})
    assert (done.status_code, done.url.path) == (200, "/campaigns")
    assert server.client.get("/api/me").json()["administrator"] is True
    server.client.cookies.clear()
    again = server.client.post("/set-up", data={**short, "password": "a long password"})
    assert again.status_code == 409


def _elsewhere(server: Server, host: str) -> TestClient:
    """The same server, asked from another address."""
    return TestClient(server.client.app, client=(host, 1))


def _first_account(server: Server) -> None:
    right = {**SECRET, "code": set_up_code(server.settings)}
    assert server.client.post("/api/set-up", json=right).status_code == 201
    server.client.cookies.clear()


def test_wrong_passwords_are_slowed_down_and_lock_nobody_out(server: Server) -> None:
    _first_account(server)
    wrong = {**SECRET, "password": "a wrong password"}
    codes = [server.client.post("/api/sign-in", json=wrong).status_code for _ in range(13)]
    assert codes == [401] * 10 + [401] + [429] * 2  # the one of this pause
    assert server.client.post("/api/sign-in", json={**wrong, "login": "bob"}).status_code == 401
    assert _elsewhere(server, "192.0.2.7").post("/api/sign-in", json=SECRET).status_code == 200
    page = server.client.post("/sign-in", data=SECRET)
    assert (page.status_code, "oo many tries" in page.text) == (429, True)
    server.site.clock.forward(5 / 60)
    assert server.client.post("/api/sign-in", json=SECRET).status_code == 200


def test_right_passwords_are_not_counted(server: Server) -> None:
    _first_account(server)
    for _ in range(15):
        assert server.client.post("/api/sign-in", json=SECRET).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "limit"),
    [
        ("/api/set-up", {**SECRET, "code": "guess"}, limits.WRONG_SET_UPS),
        (
            "/api/join",
            {"invitation": "guess", "password": "a long password"},
            limits.WRONG_INVITATIONS,
        ),
        (f"{API}/enter", {"link": "guess"}, limits.WRONG_LINKS),
    ],
)
def test_guesses_are_slowed_down_by_address(
    server: Server, path: str, body: dict[str, str], limit: limits.Limit
) -> None:
    codes = [server.client.post(path, json=body).status_code for _ in range(limit.times + 3)]
    assert codes[-2:] == [429, 429]
    assert 429 not in codes[: limit.times + 1]
    assert _elsewhere(server, "192.0.2.7").post(path, json=body).status_code == codes[0]
    server.site.clock.forward(limit.pause / 60)
    assert server.client.post(path, json=body).status_code == codes[0]


def test_a_lab_behind_one_address_works(server: Server) -> None:
    """Sixty people come in, come back again and again, and mistype; nobody has to wait."""
    links = [server.link(f"person {at}") for at in range(60)]
    for _ in range(4):
        for link in links:
            assert server.client.post(f"{API}/enter", json={"link": link[:-1]}).status_code == 401
            assert server.client.post(f"{API}/enter", json={"link": link}).status_code == 200
        server.site.clock.forward(0.25)


def test_messages_and_appeals_of_a_worker_are_limited(server: Server) -> None:
    ann, bob = server.worker("ann"), server.worker("bob")
    path, words = f"{API}/judging/messages", {"text": "hello"}
    sent = limits.MESSAGES.times + 3
    codes = [server.client.post(path, json=words, headers=ann).status_code for _ in range(sent)]
    assert codes == [204] * (limits.MESSAGES.times + 1) + [429] * 2
    assert server.client.post(path, json=words, headers=bob).status_code == 204
    paths = ("appeal", "batches/x/appeal", "sets/x/documents/1/disagree")
    for path in (f"{API}/judging/{each}" for each in paths):
        codes = [
            server.client.post(path, json=words, headers=bob).status_code
            for _ in range(limits.APPEALS.times + 2)
        ]
        assert codes[-1] == 429


def test_counts_hold_no_address_and_no_login_and_are_gone_after_a_day(server: Server) -> None:
    for login in ("a" * 200, "bob"):
        tried = {**SECRET, "login": login}
        client = _elsewhere(server, "192.0.2.7")
        assert client.post("/api/sign-in", json=tried).status_code == 401
        with server.site.store.snapshot() as db:
            kept = list(db.scalars(select(rate.c.what).order_by(rate.c.what)))
        assert [name.split()[0] for name in kept] == ["password", "sign-in"]
        assert not [name for name in kept if login in name or "192.0.2" in name]
        server.site.clock.forward(25 * 60)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_an_address_is_counted_as_one_household(host: str, address: str) -> None:
    request = Request({"type": "http", "client": (host, 1), "headers": []})
    assert limits.address_of(request) == address


def test_a_session_ends_when_its_password_changes(server: Server) -> None:
    _first_account(server)
    others = [server.client.post("/api/sign-in", json=SECRET).json()["token"] for _ in range(2)]
    server.client.cookies.clear()
    mine = {"Authorization": f"Bearer {others[0]}"}
    made = server.client.post(f"{API}/tokens", json={}, headers=mine).json()["token"]
    path, new = "/api/password", "another long password"
    wrong = {"password": "a wrong one", "new_password": new}
    assert server.client.post(path, json=wrong, headers=mine).status_code == 401
    short = {"password": SECRET["password"], "new_password": "short"}
    assert server.client.post(path, json=short, headers=mine).status_code == 422
    assert server.client.get("/api/me", headers=mine).status_code == 200
    right = {"password": SECRET["password"], "new_password": new}
    reply = server.client.post(path, json=right, headers=mine)
    assert reply.status_code == 200
    server.client.cookies.clear()
    for ended in (*others, made):
        headers = {"Authorization": f"Bearer {ended}"}
        assert server.client.get("/api/me", headers=headers).status_code == 401
    now = {"Authorization": f"Bearer {reply.json()['token']}"}
    assert server.client.get("/api/me", headers=now).status_code == 200
    assert server.client.post("/api/sign-in", json=SECRET).status_code == 401
    assert server.client.post("/api/sign-in", json={**SECRET, "password": new}).status_code == 200
    worker = server.worker("ann")  # has no account
    assert server.client.post(path, json=right, headers=worker).status_code == 422


def test_a_password_is_changed_on_a_page(server: Server) -> None:
    _first_account(server)
    assert server.client.post("/sign-in", data=SECRET).status_code == 200
    before = server.client.cookies["qrowd-office"]
    forgery = server.client.get("/api/me").json()["forgery_token"]
    assert "Password so far" in server.client.get("/password").text
    form = {"forgery": forgery, "password": "wrong", "new_password": "another long password"}
    refused = server.client.post("/password", data=form)
    assert (refused.status_code, "do not fit together" in refused.text) == (401, True)
    done = server.client.post("/password", data={**form, "password": SECRET["password"]})
    assert (done.status_code, done.url.path) == (200, "/campaigns")
    assert "Your password is changed" in done.text
    assert server.client.cookies["qrowd-office"] != before
    old = {"Authorization": f"Bearer {before}"}
    assert server.client.get("/api/me", headers=old).status_code == 401


def test_what_is_private_is_not_stored_by_browsers(server: Server) -> None:
    ann, organiser = server.worker("ann"), server.token("organiser")
    batch = server.client.post(f"{API}/judging/next", headers=ann)
    asked = [
        batch,
        server.client.get(f"{API}/judging/me", headers=ann),
        server.client.get(f"{API}/judging/data", headers=ann),
        server.client.get(f"{API}/workers", headers=organiser),
        server.client.get("/api/me", headers=organiser),
        server.client.get("/api/nowhere"),
        server.client.post("/api/sign-in", json=SECRET),
    ]
    assert {reply.headers["Cache-Control"] for reply in asked} == {"no-store"}
    key = batch.json()["batch"]["sets"][0]["key"]
    raw = server.client.get(f"{API}/judging/sets/{key}/documents/1", headers=ann)
    assert raw.headers["Cache-Control"].startswith("private")
    assert server.client.get("/static/qrowd.css").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("is full", file="/srv/q/files/3/x.run", line=3), "x.run:3: is full"),
        (InputError("no folder /srv/q/files; make it"), "no folder files; make it"),
        (StoreError("cannot open /srv/q.db", file="/srv/q.db"), "cannot open q.db"),
        (UsageError("/srv/q/keys.json: no ('/srv/q/keys.json')"), "keys.json: no ('keys.json')"),
        (RuleError("x", "https://example.org/a/b, 1/2/3"), "https://example.org/a/b, 1/2/3"),
    ],
)
def test_no_message_tells_the_folders_of_the_server(error: QrowdError, sentence: str) -> None:
    assert sentence_of(error) == sentence


def test_nobody_waits_for_a_password_to_be_hashed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, tries = server.site.store, []

    class Slow:
        def verify(self, *_: str) -> None:
            with ThreadPoolExecutor() as other:  # which writes while the password is hashed
                tries.append(other.submit(lambda: server.site.work(audit.last_act)).result())

    with store.transaction() as db:
        accounts.new_account(db, store.clock(), "ann", "a long password", administrator=True)
    monkeypatch.setattr(accounts, "_hasher", Slow())
    assert server.client.post("/api/sign-in", json=SECRET).status_code == 200
    assert len(tries) == 1


def test_cookies_alone_change_nothing(server: Server) -> None:
    entered = server.client.post(f"{API}/enter", json={"link": server.link("ann")})
    assert "httponly" in entered.headers["set-cookie"].lower()
    assert server.client.cookies[COOKIE]
    assert server.client.get("/api/me").status_code == 200
    path = f"{API}/judging/next"
    assert server.client.post(path).status_code == 403
    right = {FORGERY_HEADER: entered.json()["forgery_token"]}
    assert server.client.post(path, headers=right).status_code == 200
    elsewhere = {**right, "Origin": "https://evil.example"}
    assert server.client.post(path, headers=elsewhere).status_code == 403


def test_signing_out_makes_the_token_useless(server: Server) -> None:
    ann = server.worker("ann")
    assert server.client.post("/api/sign-out", headers=ann).status_code == 204
    assert server.client.get("/api/me", headers=ann).status_code == 401


def test_a_token_ends(server: Server) -> None:
    organiser = server.token("organiser", days=1)
    assert server.client.get(f"{API}/acts", headers=organiser).status_code == 200
    server.site.clock.forward(25 * 60)
    assert server.client.get(f"{API}/acts", headers=organiser).status_code == 401


@pytest.mark.parametrize("role", ["worker", "expert"])
def test_only_organisers_manage(server: Server, role: str) -> None:
    headers = server.worker("ann") if role == "worker" else server.token("expert")
    assert server.client.get(f"{API}/acts", headers=headers).status_code == 403
    pause = {"act": "pause"}
    assert server.client.post(f"{API}/acts", json=pause, headers=headers).status_code == 403


def test_scopes_and_other_campaigns(server: Server) -> None:
    reader = server.token("organiser", scopes=["read"])
    pause = {"act": "pause"}
    assert server.client.get(f"{API}/acts", headers=reader).status_code == 200
    refused = server.client.post(f"{API}/acts", json=pause, headers=reader)
    assert refused.json()["error"]["message"].endswith("it lacks 'manage'")
    missing = "/api/campaigns/other/acts"
    assert server.client.get(missing, headers=reader).status_code == 404


def test_a_token_can_make_a_weaker_one_only_of_its_campaign(server: Server) -> None:
    organiser = server.token("organiser")
    made = server.client.post(f"{API}/tokens", json={"scopes": ["export"]}, headers=organiser)
    assert made.status_code == 201
    weak = {"Authorization": f"Bearer {made.json()['token']}"}
    assert server.client.get("/api/me", headers=weak).json()["scopes"] == ["export"]
    again = server.client.post(f"{API}/tokens", json={}, headers=weak)
    assert again.status_code == 403
    bad = server.client.post(f"{API}/tokens", json={"scopes": ["all"]}, headers=organiser)
    assert bad.status_code == 422


def test_a_token_makes_none_that_allows_more(server: Server) -> None:
    keeper = server.token("organiser", scopes=["people", "read"])
    refused = server.client.post(f"{API}/tokens", json={"scopes": ["pay"]}, headers=keeper)
    assert refused.status_code == 403
    assert refused.json()["error"]["message"].endswith("it lacks 'pay'")
    made = server.client.post(f"{API}/tokens", json={}, headers=keeper).json()
    own = {"Authorization": f"Bearer {made['token']}"}
    assert server.client.get("/api/me", headers=own).json()["scopes"] == ["people", "read"]


def _sent(plan: str, documents: str) -> list[tuple[str, tuple[str, bytes]]]:
    """A plan and its files, as they are sent."""
    files = {
        "plan.toml": plan,
        "t.tsv": "topic\ttitle\n1\tone\n",
        "p.tsv": "topic\tdoc\n1\ta\n",
        "d.jsonl": documents,
    }
    return [("files", (name, text.encode())) for name, text in files.items()]


PLAN_OF_FILES = """
[campaign]
name = "sent"
[files]
topics = "t.tsv"
documents = "d.jsonl"
pool = "p.tsv"
[hit]
gold = 0
"""


@pytest.mark.parametrize("named", ["in the plan", "in the documents", "below"])
def test_a_plan_that_was_sent_names_no_file_of_the_server(
    server: Server, tmp_path: Path, named: str
) -> None:
    secret = tmp_path / "own.jsonl"
    secret.write_text('{"doc": "a", "text": "for nobody"}\n')
    plan, documents = PLAN_OF_FILES, '{"doc": "a", "text": "words"}\n'
    if named == "in the documents":
        documents = json.dumps({"doc": "a", "text": "", "file": str(secret)}) + "\n"
    else:
        way = str(secret) if named == "in the plan" else f"../../..{secret}"
        plan = plan.replace("d.jsonl", way)
    administrator = server.token("organiser", campaign_id=None)
    right = _sent(PLAN_OF_FILES.replace("sent", "right"), '{"doc": "a", "text": "words"}\n')
    made = server.client.post("/api/campaigns", files=right, headers=administrator)
    assert made.status_code == 201, made.text
    files = _sent(plan, documents)
    reply = server.client.post("/api/campaigns", files=files, headers=administrator)
    assert (reply.status_code, "not among the files" in reply.text) == (422, True), reply.text


def test_an_extension_names_no_file_of_the_server(server: Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("for nobody")
    line = json.dumps({"doc": "new", "text": "", "file": str(secret)})
    organiser = server.token("organiser")
    reply = server.client.post(
        f"{API}/extensions", files={"documents": ("d.jsonl", line)}, headers=organiser
    )
    assert (reply.status_code, "not among the files" in reply.text) == (422, True)


def test_acts_are_written_down_and_undone(server: Server) -> None:
    organiser = server.token("organiser")
    done = server.client.post(f"{API}/acts", json={"act": "pause"}, headers=organiser)
    assert done.status_code == 201
    number = done.json()["number"]
    back = server.client.post(f"{API}/acts/{number}/undo", headers=organiser)
    assert back.status_code == 201
    twice = server.client.post(f"{API}/acts/{number}/undo", headers=organiser)
    assert twice.status_code == 409
    lines = server.client.get(f"{API}/acts", headers=organiser).json()
    assert [line["act"] for line in lines[:2]] == ["undo pause", "pause"]
    unsure = {"act": "message", "details": {"worker": 1, "text": "hello"}}
    refused = server.client.post(f"{API}/messages", json=unsure, headers=organiser)
    assert refused.json()["error"]["code"] in ("ask-twice", "not-found")
    wrong = server.client.post(
        f"{API}/acts", json={"act": "raise target", "details": {}}, headers=organiser
    )
    assert wrong.status_code == 422


def test_an_undo_needs_what_the_act_needs(server: Server) -> None:
    organiser = server.token("organiser")
    wanted = {"act": "fund", "details": {"amount": 100}}
    done = server.client.post(f"{API}/money", json=wanted, headers=organiser).json()
    manager = desk(server, "organiser", scopes=["read", "manage"])
    headers = {"Authorization": f"Bearer {manager.token}"}
    number = done["number"]
    refused = server.client.post(f"{API}/acts/{number}/undo", headers=headers)
    assert (refused.status_code, "lacks 'pay'" in refused.text) == (403, True)
    assert manager.post(f"/campaigns/tiny/acts/{number}/undo").status_code == 403
    assert f"acts/{number}/undo" not in manager.get("/campaigns/tiny/acts").text
    assert server.client.post(f"{API}/acts/{number}/undo", headers=organiser).status_code == 201


def test_large_bodies_are_for_those_who_are_signed_in(server: Server) -> None:
    large = b"x" * (limits.SMALL_BODY + 1)
    administrator, organiser = (
        server.token("organiser", campaign_id=None),
        server.token("organiser"),
    )
    guesses: tuple[dict[str, str], ...] = (
        {},
        {"Authorization": "Bearer guess"},
        {"Cookie": f"{COOKIE}=guess"},
    )
    for path in ("/drafts/x/name", f"{API}/links", f"{API}/runs", "/api/campaigns"):
        for nobody in (*guesses, server.worker("ann"), server.token("expert")):
            reply = server.client.post(path, content=large, headers=nobody)
            assert (reply.status_code, "sign in to send more" in reply.text) == (413, True)
        for headers in (administrator, organiser):
            assert server.client.post(path, content=large, headers=headers).status_code != 413
    stated = {"Content-Length": str(limits.LARGEST_BODY + 1)}
    codes = [
        server.client.post("/drafts/x/name", headers={**headers, **stated}).status_code
        for headers in (administrator, organiser)
    ]
    assert (codes[0] != 413, codes[1]) == (True, 413)


LARGE_ROUTES = {  # all others take an answer or a form
    *("/api/campaigns", "/api/campaigns/{name}/extensions", "/api/campaigns/{name}/runs"),
    *("/campaigns/{name}/extend", "/campaigns/{name}/runs", "/campaigns/{name}/sample"),
    *("/api/campaigns/{name}/links", "/campaigns/{name}/people"),
    *("/api/campaigns/{name}/acts", "/campaigns/{name}/act", "/api/campaigns/{name}/money"),
    "/api/campaigns/{name}/messages",  # people who are put on the list
}


def test_every_route_has_a_limit_of_its_own(server: Server) -> None:
    routes = {
        (method, route.path)
        for router in (*API_ROUTERS, *PAGES)
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in (route.methods or set()) - {"GET", "HEAD"}
    }
    assert ("POST", "/api/campaigns/{name}/judging/answers") in routes
    large = {path for _, path in routes if limits.most_bytes(path) > limits.SMALL_BODY}
    assert {path for path in large if not path.startswith("/drafts")} == LARGE_ROUTES
    body = b"x" * (limits.SMALL_BODY + 1)
    known = server.token("organiser", campaign_id=None)
    for method, path in sorted(routes):
        if path not in large:
            reply = server.client.request(method, path, content=body, headers=known)
            assert reply.status_code == 413, (method, path)


def test_a_body_of_unknown_length_is_refused(server: Server) -> None:
    reply = server.client.post("/api/sign-in", content=iter([b"{}"]))
    assert (reply.status_code, reply.json()["error"]["code"]) == (411, "length-required")


def test_the_secret_is_made_once_and_only_its_owner_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QROWD_SECRET", raising=False)
    first = secret_of(tmp_path)
    assert secret_of(tmp_path) == first
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("QROWD_SECRET", "x" * 20)
    assert secret_of(tmp_path) == "x" * 20
    monkeypatch.delenv("QROWD_SECRET")
    for broken in (b"", b"\n", first[:8].encode(), b"\xff\x00"):
        (tmp_path / "secret.key").write_bytes(broken)
        with pytest.raises(UsageError, match=r"secret.key holds no secret; remove it"):
            secret_of(tmp_path)
