"""A whole campaign over HTTP, as each role in turn: nearly every operation succeeds once, and
schemathesis finds that the replies are what the interface's description says.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tests.collection.making import PLAN, make_site
from tests.web.serving import API, Server
from tests.web.test_contract import belongs_to, operations

from qrowd.web import tasks
from qrowd.web.app import make_app
from qrowd.web.settings import Settings, set_up_code

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis checks the replies")

BY_HAND = (
    PLAN.replace("seed = 1", 'seed = 1\naccept = "by hand"')
    + """
[people]
consent = "You may stop at any time."
[techniques]
expert_share = 0.5
"""
)
EXAMPLE = Path(__file__).parents[2] / "examples" / "campaign"


class Walk:
    """Requests, and which operations have succeeded."""

    def __init__(self, server: Server) -> None:
        self.server, self.reached = server, set[tuple[str, str]]()
        self.known = [
            (method, path, re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$"))
            for method, path in operations(server)
        ]
        self.schema = schemathesis.openapi.from_asgi("/api/openapi.json", server.client.app)

    def __call__(self, method: str, path: str, headers: dict[str, str], /, **body: Any) -> Any:
        files = body.pop("files", None)
        sent: dict[str, Any] = {"files": files} if files else {"json": body} if body else {}
        reply = self.server.client.request(method, path, headers=headers, **sent)
        assert 200 <= reply.status_code < 300, (method, path, reply.status_code, reply.text[:300])
        for known, pattern, regex in self.known:
            if known == method.lower() and regex.match(path.split("?")[0]):
                self.reached.add((known, pattern))
                self.schema[pattern][known].validate_response(reply)
                break
        kind = reply.headers.get("content-type", "")
        return reply.json() if reply.content and "json" in kind else None


@pytest.fixture
def walk(tmp_path: Path) -> Any:
    from starlette.testclient import TestClient

    where = f"sqlite:///{tmp_path / 'c.db'}"
    site = make_site(where, BY_HAND)
    settings = Settings.of_folder(tmp_path, where, "http://testserver")
    with TestClient(make_app(settings, site.store)) as client:
        yield Walk(Server(site, settings, client))


def judge_batch(walk: Walk, worker: dict[str, str], wrong: bool = False) -> dict[str, Any]:
    """Take, judge and hand in a batch."""
    batch: dict[str, Any] = walk("POST", f"{API}/judging/next", worker)["batch"]
    for shown in batch["sets"]:
        for document in shown["documents"]:
            place = f"{shown['key']}{document['position']}"
            right = int(document["title"].split()[-1])
            grade = (2 if right == 0 else 0) if wrong else right
            said = {"kind": "grade", "grade": grade, "position": document["position"]}
            walk("POST", f"{API}/judging/answers", worker, key=place, place=shown["key"], **said)
    walk("GET", f"{API}/judging/sets/{batch['sets'][0]['key']}/documents/1", worker)
    walk("GET", f"{API}/judging/ahead", worker)
    finished = walk("POST", f"{API}/judging/batches/{batch['key']}/finish", worker)
    walk("GET", f"{API}/judging/batches/{batch['key']}/review", worker)
    walk("POST", f"{API}/judging/batches/{batch['key']}/submit", worker)
    walk("POST", f"{API}/judging/batches/{batch['key']}/end", worker, go_on=False)  # it has ended
    return {**batch, **finished}


def test_nearly_every_operation_succeeds(walk: Walk) -> None:
    server, client = walk.server, walk.server.client
    first = walk(
        "POST",
        "/api/set-up",
        {},
        login="ada",
        password="a long password",
        code=set_up_code(server.settings),
    )
    client.cookies.clear()
    admin = {"Authorization": f"Bearer {first['token']}"}
    walk("POST", "/api/sign-in", {}, login="ada", password="a long password")
    client.cookies.clear()
    _administer(walk, admin)
    worker = _work(walk, admin)
    _organise(walk, admin)
    _experts(walk, admin)
    _results(walk, admin)
    walk("POST", f"{API}/judging/forget", worker)
    walk("POST", f"{API}/money", admin, act="settle", details={"workers": [1, 2]}, sure=True)
    walk("POST", f"{API}/workers/1/forget", admin, sure=True)
    passwords = {"password": "a long password", "new_password": "another password"}
    changed = walk("POST", "/api/password", admin, **passwords)["token"]
    client.cookies.clear()
    walk("POST", "/api/sign-out", {"Authorization": f"Bearer {changed}"})
    every = {(method, path) for method, path, _ in walk.known}
    missed = sorted(every - walk.reached)
    assert len(walk.reached) >= 0.9 * len(every), missed
    for role in ("all", "signed in", "worker", "expert", "organiser", "administrator"):
        own = {one for one in every if belongs_to(*one) == role}
        assert len(walk.reached & own) >= 0.9 * len(own), (role, sorted(own - walk.reached))


def _administer(walk: Walk, admin: dict[str, str]) -> None:
    files = [("files", (path.name, path.read_bytes())) for path in sorted(EXAMPLE.iterdir())]
    made = walk("POST", "/api/campaigns", admin, files=files)
    assert made["pairs"] > 0
    assert len(walk("GET", "/api/campaigns", admin)) == 2
    assert walk("GET", "/api/me", admin)["administrator"]
    walk("POST", f"{API}/tokens", admin, role="organiser", scopes=["read"])
    role = {"login": "bea", "campaign": "tiny", "role": "expert"}
    link = walk("POST", "/api/invitations", admin, **role)["link"]
    invitation = unquote(link.partition("invitation=")[2])
    walk("POST", "/api/join", {}, invitation=invitation, password="a long password")
    walk.server.client.cookies.clear()
    assert len(walk("GET", "/api/accounts", admin)) == 2
    for method in ("DELETE", "PUT"):
        walk(method, "/api/roles", admin, **role)


def _work(walk: Walk, admin: dict[str, str]) -> dict[str, str]:
    made = walk("POST", f"{API}/links", admin, people=["ann", "bob"])
    assert [line["id"] for line in walk("GET", f"{API}/people", admin)] == ["ann", "bob"]
    tokens = []
    for one in made:
        link = one["link"].split("link=")[1]
        entered = walk("POST", f"{API}/enter", {}, link=link)
        walk.server.client.cookies.clear()
        tokens.append({"Authorization": f"Bearer {entered['token']}"})
    ann, bob = tokens
    terms = walk("GET", f"{API}/about", {})["consent"]
    for one in tokens:
        walk("POST", f"{API}/judging/consent", one, version=terms["version"])
        walk("POST", f"{API}/judging/ask-again", one, agreed=True)
    judge_batch(walk, ann)
    judged = judge_batch(walk, bob, wrong=True)
    missed = judged["missed"][0]
    where = f"{API}/judging/sets/{missed['place']}/documents/{missed['position']}/disagree"
    walk("POST", where, bob, text="it is relevant")
    given_back = walk("POST", f"{API}/judging/next", ann)["batch"]["key"]
    walk("POST", f"{API}/judging/batches/{given_back}/return", ann)
    walk("GET", f"{API}/judging/session", ann)
    own = walk("GET", f"{API}/judging/me", ann)
    assert [batch["state"] for batch in own["batches"]] == ["submitted", "returned"]
    walk("POST", f"{API}/acts", admin, act="refuse", details={"assignment": 1})
    walk("POST", f"{API}/judging/batches/{own['batches'][0]['key']}/appeal", ann, text="why?")
    out = walk("GET", f"{API}/judging/me", bob)
    if out["state"] != "screened-out":  # the checks need not be sure yet
        walk("POST", f"{API}/acts", admin, act="screen out", details={"worker": out["worker"]})
    walk("POST", f"{API}/judging/appeal", bob, text="why?")
    walk("POST", f"{API}/judging/messages", ann, text="hello")
    code = walk("POST", f"{API}/judging/leave", ann)["code"]
    walk("POST", f"{API}/codes", admin, code=code)
    walk("GET", f"{API}/judging/data", ann)
    return ann


def _organise(walk: Walk, admin: dict[str, str]) -> None:
    appeals = walk("GET", f"{API}/appeals", admin)
    assert {one["kind"] for one in appeals} == {"gold", "refusal", "screen-out"}
    for one in appeals:
        if one["kind"] != "gold":  # which waits for an expert
            walk("POST", f"{API}/appeals/{one['number']}", admin, won=True, reply="you are right")
    assert walk("GET", f"{API}/status", admin)["held"] > 0
    # the first of the campaign's people is an expert, who is not among workers
    assert walk("GET", f"{API}/workers", admin)[0]["worker"] == 2
    assert walk("GET", f"{API}/workers?kind=expert", admin)[0]["worker"] == 1
    notice = walk("GET", f"{API}/notices", admin)[0]
    walk("POST", f"{API}/notices/{notice['number']}/done", admin)
    done = walk("POST", f"{API}/acts", admin, act="pause")
    walk("POST", f"{API}/acts/{done['number']}/undo", admin)
    assert walk("GET", f"{API}/acts", admin)[0]["undoes"] == done["number"]
    walk("POST", f"{API}/money", admin, act="bonus", details={"worker": 1, "amount": 50})
    assert walk("GET", f"{API}/money", admin)["owed"] > 0
    assert walk("GET", f"{API}/money/owed", admin)
    hello = {"worker": 1, "text": "thank you"}
    walk("POST", f"{API}/messages", admin, act="message", details=hello, sure=True)

    _extend(walk, admin)


def _extend(walk: Walk, admin: dict[str, str]) -> None:
    assert walk("GET", f"{API}/cost-of-target?target=4", admin)["judgements"] > 0
    files = {
        "documents": (
            "more.jsonl",
            '{"doc": "new1", "text": "one"}\n{"doc": "new2", "text": "two"}',
        ),
        "pool": ("more.tsv", "topic\tdoc\nt0\tnew1\nt0\tnew2\n"),
    }
    told = walk("POST", f"{API}/extensions", admin, files=files)
    assert (told["cost"]["pairs"], told["added"]) == (2, None)
    sent = {**files, "sure": (None, "true")}
    assert walk("POST", f"{API}/extensions", admin, files=sent)["added"]["pairs"] == 2
    assert walk("POST", f"{API}/extensions", admin, files=files)["cost"]["pairs"] == 0


def _experts(walk: Walk, admin: dict[str, str]) -> None:
    made = walk("POST", f"{API}/tokens", admin, role="expert")
    eve = {"Authorization": f"Bearer {made['token']}"}
    walk("POST", f"{API}/experts/sample", eve, size=2)
    pair = walk("GET", f"{API}/experts/sample", eve)[0]
    query = f"topic={pair['topic']}&doc={pair['doc']}"
    walk("GET", f"{API}/experts/documents?{query}", eve)
    walk("POST", f"{API}/experts/decisions", eve, **pair, grade=1, reason="it says so")
    for path in ("disputed", "queue", "topics?topic=t0", "decisions", f"votes?{query}"):
        walk("GET", f"{API}/experts/{path}", eve)
    walk("POST", f"{API}/experts/clarifications", eve, topic="t0", text="only in print")
    walk("POST", f"{API}/experts/draw", admin, size=3)
    assert walk("GET", f"{API}/experts/all-decisions", admin)[0]["grade"] == 1
    _objections(walk, eve)
    assert walk("GET", f"{API}/experts/error-rate", admin)["judged"] >= 1


def _objections(walk: Walk, eve: dict[str, str]) -> None:
    path = f"{API}/experts/objections"
    one = walk("GET", path, eve)[0]
    names = {"topic": one["topic"], "doc": one["doc"]}
    walk("POST", f"{API}/experts/decisions", eve, **names, grade=1)
    assert walk("GET", f"{path}/{one['number']}", eve)["words"]
    walk("POST", f"{path}/{one['number']}", eve, right=False, reply="read it again")


def _results(walk: Walk, admin: dict[str, str]) -> None:
    walk("POST", f"{API}/runs", admin, files={"file": ("a.run", "t0 Q0 d0-0 1 1 a\n")})
    asked = walk("POST", f"{API}/results/merge", admin, method="mv")
    assert tasks.run_one(walk.server.site.store, walk.server.settings.folder)
    assert walk("GET", f"{API}/jobs/{asked['number']}", admin)["state"] == "done"
    walk("GET", f"{API}/results/merge", admin)
    walk("GET", f"{API}/files/merged.qrels", admin)
    walk("POST", f"{API}/releases", admin, sure=True)
    assert tasks.run_one(walk.server.site.store, walk.server.settings.folder)
    made = walk("GET", f"{API}/releases", admin)
    walk("GET", f"{API}/releases/{made[0]['number']}/zip", admin)
