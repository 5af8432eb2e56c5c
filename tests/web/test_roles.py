"""Every route of the application as each role, single scopes too, and as members of another
campaign: refused where it must be, and nobody is turned away wrongly.

`RULES` says who may, route by route, pages and JSON: a route that is not in it fails. Routes are
those that the application itself has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import func, select
from starlette.routing import BaseRoute, Mount, Route
from tests.collection.conftest import ENGINES, fresh_postgresql
from tests.collection.making import PLAN, material
from tests.web.office import Desk, desk
from tests.web.serving import API, Server, make_server

from qrowd.collection.database.schema import (
    account,
    audit,
    campaign,
    decision,
    entry,
    event,
    job,
    letter,
    link,
    listed_person,
    member_role,
    message,
    token,
    worker,
)
from qrowd.collection.drafts.draft import all_drafts, new_draft
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people import workers
from qrowd.collection.plan.toml import parse_plan
from qrowd.web import accounts
from qrowd.web.access import SCOPES, new_token
from qrowd.web.files import drafts_in

SCOPED = SCOPES["organiser"]
# everybody; whoever has a secret (a password, a link, an invitation, a ticket); whoever is signed
# in; a role of the campaign, of an organiser by the scope that is needed
RULES = {
    "everybody": """
        GET /
        GET /api/campaigns/{name}/about
        GET /api/openapi.json
        GET /health
        GET /join
        GET /judge/{name}
        GET /judge/{name}/me
        GET /set-up
        GET /sign-in
        GET /static
    """,
    "secret": """
        GET /decline/{name}
        GET /judge/{name}/original/{ticket}
        GET /reset
        GET /judge/{name}/original/{ticket}/{number}
        POST /api/campaigns/{name}/enter
        POST /api/campaigns/{name}/prolific
        POST /api/join
        POST /api/set-up
        POST /api/sign-in
        POST /decline/{name}
        POST /join
        POST /reset
        POST /set-up
        POST /sign-in
    """,
    "monitoring token": """
        GET /metrics
    """,
    "signed in": """
        GET /api/campaigns
        GET /api/me
        GET /campaigns
        GET /password
        POST /api/sign-out
        POST /sign-out
    """,
    "signed in, with a secret": """
        POST /api/password
        POST /password
        POST /password/tokens
    """,
    "worker": """
        GET /api/campaigns/{name}/judging/ahead
        GET /api/campaigns/{name}/judging/batches/{key}/review
        GET /api/campaigns/{name}/judging/data
        GET /api/campaigns/{name}/judging/me
        GET /api/campaigns/{name}/judging/session
        GET /api/campaigns/{name}/judging/sets/{key}/documents/{position}
        GET /judge/{name}/documents/{key}/{position}
        POST /api/campaigns/{name}/judging/answers
        POST /api/campaigns/{name}/judging/appeal
        POST /api/campaigns/{name}/judging/ask-again
        POST /api/campaigns/{name}/judging/batches/{key}/appeal
        POST /api/campaigns/{name}/judging/batches/{key}/end
        POST /api/campaigns/{name}/judging/batches/{key}/finish
        POST /api/campaigns/{name}/judging/batches/{key}/return
        POST /api/campaigns/{name}/judging/batches/{key}/submit
        POST /api/campaigns/{name}/judging/consent
        POST /api/campaigns/{name}/judging/forget
        POST /api/campaigns/{name}/judging/leave
        POST /api/campaigns/{name}/judging/messages
        POST /api/campaigns/{name}/judging/next
        POST /api/campaigns/{name}/judging/questions
        POST /api/campaigns/{name}/judging/sets/{key}/documents/{position}/disagree
    """,
    "expert": """
        GET /api/campaigns/{name}/experts/decisions
        GET /api/campaigns/{name}/experts/disputed
        GET /api/campaigns/{name}/experts/documents
        GET /api/campaigns/{name}/experts/objections
        GET /api/campaigns/{name}/experts/objections/{number}
        GET /api/campaigns/{name}/experts/queue
        GET /api/campaigns/{name}/experts/sample
        GET /api/campaigns/{name}/experts/topics
        GET /api/campaigns/{name}/experts/votes
        GET /campaigns/{name}/experts
        GET /campaigns/{name}/experts/alike
        GET /campaigns/{name}/experts/following
        GET /campaigns/{name}/experts/next
        GET /campaigns/{name}/experts/objections/{number}
        GET /campaigns/{name}/experts/original/{ticket}
        GET /campaigns/{name}/experts/original/{ticket}/{page}
        GET /campaigns/{name}/experts/pair
        GET /campaigns/{name}/experts/reading
        GET /campaigns/{name}/experts/topic
        POST /api/campaigns/{name}/experts/clarifications
        POST /api/campaigns/{name}/experts/decisions
        POST /api/campaigns/{name}/experts/objections/{number}
        POST /api/campaigns/{name}/experts/sample
        POST /api/campaigns/{name}/experts/take-back
        POST /campaigns/{name}/experts/objections/{number}
        POST /campaigns/{name}/experts/pair
        POST /campaigns/{name}/experts/take-back
    """,
    "read": """
        GET /api/campaigns/{name}/acts
        GET /api/campaigns/{name}/cost-of-target
        GET /api/campaigns/{name}/experts/all-decisions
        GET /api/campaigns/{name}/experts/error-rate
        GET /api/campaigns/{name}/jobs/{number}
        GET /api/campaigns/{name}/money
        GET /api/campaigns/{name}/notices
        GET /api/campaigns/{name}/overview
        GET /api/campaigns/{name}/results/{kind}
        GET /api/campaigns/{name}/status
        GET /api/campaigns/{name}/workers
        GET /campaigns/{name}
        GET /campaigns/{name}/acts
        GET /campaigns/{name}/batches
        GET /campaigns/{name}/coverage
        GET /campaigns/{name}/decisions
        GET /campaigns/{name}/disputed
        GET /campaigns/{name}/document
        GET /campaigns/{name}/document/original
        GET /campaigns/{name}/documents
        GET /campaigns/{name}/gold
        GET /campaigns/{name}/hierarchy
        GET /campaigns/{name}/money
        GET /campaigns/{name}/prolific
        GET /campaigns/{name}/quality
        GET /campaigns/{name}/systems
        GET /campaigns/{name}/workers
        GET /campaigns/{name}/workers/{number}
    """,
    "manage": """
        GET /campaigns/{name}/extend
        POST /api/campaigns/{name}/acts
        POST /api/campaigns/{name}/acts/{number}/undo
        POST /api/campaigns/{name}/experts/draw
        POST /api/campaigns/{name}/extensions
        POST /api/campaigns/{name}/notices/{number}/done
        POST /api/campaigns/{name}/results/{kind}
        POST /api/campaigns/{name}/runs
        POST /campaigns/{name}/act
        POST /campaigns/{name}/acts/{number}/undo
        POST /campaigns/{name}/decisions/effect
        POST /campaigns/{name}/decisions/sample
        POST /campaigns/{name}/extend
        POST /campaigns/{name}/find
        POST /campaigns/{name}/notices/{number}/done
        POST /campaigns/{name}/runs
        POST /campaigns/{name}/sample
    """,
    "pay": """
        GET /api/campaigns/{name}/money/owed
        POST /api/campaigns/{name}/codes
        POST /api/campaigns/{name}/money
        POST /campaigns/{name}/money/paid
    """,
    "pay and people": """
        GET /campaigns/{name}/money/payout.csv
    """,
    "people": """
        GET /api/campaigns/{name}/appeals
        GET /api/campaigns/{name}/people
        GET /campaigns/{name}/appeals
        GET /campaigns/{name}/people
        GET /campaigns/{name}/people/letters.csv
        GET /campaigns/{name}/people/letters.zip
        GET /campaigns/{name}/people/before
        GET /campaigns/{name}/qualification
        GET /campaigns/{name}/qualification/ids.csv
        GET /campaigns/{name}/qualification/task.csv
        POST /api/campaigns/{name}/appeals/{number}
        POST /api/campaigns/{name}/links
        POST /api/campaigns/{name}/messages
        POST /api/campaigns/{name}/tokens
        POST /api/campaigns/{name}/workers/{number}/forget
        POST /campaigns/{name}/people
        POST /campaigns/{name}/people/send
        POST /campaigns/{name}/people/sent
        POST /campaigns/{name}/people/{number}/forget
        POST /campaigns/{name}/qualification
        POST /campaigns/{name}/workers/{number}/forget
    """,
    "export": """
        GET /api/campaigns/{name}/files/{file}
        GET /api/campaigns/{name}/releases
        GET /api/campaigns/{name}/releases/{number}/zip
        GET /campaigns/{name}/releases
        GET /campaigns/{name}/releases/{number}/datasheet
        GET /campaigns/{name}/releases/{number}/zip
        POST /api/campaigns/{name}/releases
        POST /campaigns/{name}/releases
    """,
    "administrator": """
        DELETE /api/roles
        GET /accounts
        GET /accounts/{number}
        GET /api/accounts
        GET /drafts/{key}
        GET /drafts/{key}/gold/grade
        GET /drafts/{key}/launch
        GET /drafts/{key}/passing
        GET /drafts/{key}/plan
        GET /drafts/{key}/plan.toml
        GET /drafts/{key}/plan.zip
        GET /drafts/{key}/rehearsal
        GET /drafts/{key}/{name}
        POST /accounts
        POST /accounts/links
        POST /accounts/roles
        POST /accounts/{number}/remove
        POST /accounts/{number}/reset
        POST /accounts/{number}/tokens
        POST /api/campaigns
        POST /api/invitations
        POST /drafts
        POST /drafts/{key}/delete
        POST /drafts/{key}/gold/grade
        POST /drafts/{key}/launch
        POST /drafts/{key}/rehearsal
        POST /drafts/{key}/{name}
        POST /drafts/{key}/{name}/preview
        PUT /api/roles
    """,
}
RULE_OF = {
    line.strip(): rule for rule, lines in RULES.items() for line in lines.split("\n") if line
}
NAMED = (
    "/campaigns/{name}/document",
    "/campaigns/{name}/experts/",
    "/api/campaigns/{name}/experts/",
    "/accounts/roles",
    "/accounts/{number}",
)
COUNTED = (
    account,
    audit,
    campaign,
    decision,
    entry,
    event,
    job,
    letter,
    link,
    listed_person,
    member_role,
    message,
    token,
    worker,
)


def routes_in(routes: list[BaseRoute]) -> Iterator[str]:
    """Method and path of every route, also of routers inside of routers."""
    for route in routes:
        if isinstance(route, APIRoute | Route):
            yield from (f"{method} {route.path}" for method in (route.methods or set()) - {"HEAD"})
        elif isinstance(route, Mount):
            yield f"GET {route.path}"
        yield from routes_in(getattr(getattr(route, "original_router", None), "routes", []))


def routes_of(server: Server) -> list[str]:
    """Every route of the application."""
    return sorted(set(routes_in(server.client.app.routes)))  # type: ignore[attr-defined]


def allowed(rule: str, role: str) -> bool:
    """Whether a role may; "people" is a token with that scope alone."""
    if rule in ("everybody", "secret"):
        return True
    if rule.startswith("signed in"):
        return role != "nobody"
    if role in ("organiser", "organiser by account", "administrator"):
        return set(rule.split(" and ")) <= set(SCOPED) or rule == role
    return rule == role.removesuffix(" by account")


def members(server: Server) -> dict[str, Desk]:
    """Somebody of each role, and of each scope alone; the same of another campaign."""
    store, plan = server.site.store, parse_plan(PLAN.replace('"tiny"', '"other"'))
    create_campaign(store, plan, material())
    found = {role: desk(server, role) for role in ("nobody", "worker", "expert", "organiser")}
    found["administrator"] = desk(server, "organiser", campaign_id=None)
    found |= {scope: desk(server, "organiser", scopes=[scope]) for scope in SCOPED}
    for name, where in (("tiny", ""), ("other", " elsewhere")):
        for role in ("organiser", "expert"):
            login = f"{role}{where}"
            with store.transaction() as db:
                number = accounts.new_account(db, store.clock(), login, "a long password")
            accounts.give_role(store, login, name, role, who="ann")
            with store.transaction() as db:
                plain = new_token(db, store.clock(), role, account_id=number)
            found[f"{role}{where} by account"] = Desk(server, plain)
    with store.write("other") as work:
        eve, ann = workers.expert(work, "eve"), workers.enter(work, "own", "ann").id
        here: dict[str, Any] = {"campaign_id": work.campaign}
        tokens = {
            "worker elsewhere": new_token(work.db, work.now, "worker", worker_id=ann, **here),
            "expert elsewhere": new_token(work.db, work.now, "expert", worker_id=eve, **here),
            "organiser elsewhere": new_token(work.db, work.now, "organiser", **here),
        }
    return found | {role: Desk(server, plain) for role, plain in tokens.items()}


def a_draft(server: Server) -> str:
    """The key of a draft that there is."""
    folder = drafts_in(server.settings.folder)
    found = all_drafts(folder) or [new_draft(folder, "ann", 1)]
    return found[0].key


def ask(who: Desk, route: str) -> Any:
    """A route of the campaign `tiny`, with nothing filled in: a page with a cookie, or JSON."""
    method, path = route.split(" ")
    filled = path.replace("{name}", "name" if path.startswith("/drafts") else "tiny")
    filled = filled.replace("{key}", a_draft(who.server)) if "/drafts/" in path else filled
    filled = filled.replace("{kind}", "merge").replace("{file}", "a.b")
    filled = filled.replace("/accounts/{number}", "/accounts/999")  # nobody's: all are needed
    filled = re.sub(r"\{(number|position)\}", "1", filled)
    filled = re.sub(r"\{\w+\}", "x", filled)
    if path.startswith(("/api/", "/judge/")):
        who.server.client.cookies.clear()
        headers = {"Authorization": f"Bearer {who.token}"} if who.token else {}
        body: Any = None if method == "GET" else {}
        return who.server.client.request(method, filled, json=body, headers=headers)
    # an act that there is, so that only the role can be the reason to refuse it
    return who.get(filled) if method == "GET" else who.post(filled, sure="yes", act="pause")


def rows(server: Server) -> dict[str, int]:
    """How many rows there are of all that somebody could change."""
    with server.site.store.snapshot() as db:
        counts = {one.name: db.scalar(select(func.count()).select_from(one)) for one in COUNTED}
        states = db.scalars(select(campaign.c.state).order_by(campaign.c.id)).all()
    drafts = {
        f"draft {one.key}": one.version for one in all_drafts(drafts_in(server.settings.folder))
    }
    return {
        **drafts,
        **{name: int(number or 0) for name, number in counts.items()},
        **{f"state {at}": hash(state) for at, state in enumerate(states)},
    }


def refused(reply: Any) -> bool:
    """Whether somebody was turned away, or asked to sign in."""
    to_sign_in = reply.headers.get("location", "").startswith("/sign-in")
    return reply.status_code in (401, 403, 404) or (reply.status_code == 303 and to_sign_in)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_route_is_refused_where_it_must_be(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = "" if engine == "sqlite" else fresh_postgresql(request.getfixturevalue("postgresql"))
    with make_server(tmp_path, url) as server:
        routes, people_of = routes_of(server), members(server)
        assert len(routes) > 140
        assert set(routes) == RULE_OF.keys() - {""}, "say in RULES who may open a new route"
        a_draft(server)
        before = rows(server)
        for role, who in people_of.items():
            for route in routes:
                if not allowed(RULE_OF[route], role):
                    reply = ask(who, route)
                    assert refused(reply), (role, route, reply.status_code)
            _comes_in_nowhere(who, role)
        assert rows(server) == before
        if engine == "sqlite":
            _nobody_is_turned_away_wrongly(people_of, routes)


def _comes_in_nowhere(who: Desk, role: str) -> None:
    """No role and no made-up name makes anybody a worker."""
    client = who.server.client
    client.cookies.clear()
    headers = {"Authorization": f"Bearer {who.token}"} if who.token else {}
    for name in ("tiny", "other"):
        made_up: tuple[dict[str, Any], ...] = (
            {},
            {"parameters": {"worker": "mallory"}},
            {"link": "x.y"},
        )
        for body in made_up:
            reply = client.post(f"/api/campaigns/{name}/enter", json=body, headers=headers)
            assert reply.status_code == 401, (role, name, body)
        if role not in ("worker", "worker elsewhere"):
            page = client.get(f"/judge/{name}?worker=mallory", headers=headers)
            assert page.status_code == 401, (role, name)


def _nobody_is_turned_away_wrongly(people_of: dict[str, Desk], routes: list[str]) -> None:
    for role, who in people_of.items():
        for route in routes:
            rule, path = RULE_OF[route], route.split(" ")[1]
            plain = "secret" not in rule and "/sign-out" not in path and rule != "everybody"
            if allowed(rule, role) and plain:
                reply = ask(who, route)
                of_one = path.count("{") > 1 or path.startswith(NAMED)  # which is not there
                missing = reply.status_code == 404 and of_one
                assert not refused(reply) or missing, (role, route, reply.status_code)
                assert reply.status_code < 500, (role, route)


def test_a_ticket_of_one_campaign_opens_nothing_under_the_name_of_another(server: Server) -> None:
    create_campaign(server.site.store, parse_plan(PLAN.replace('"tiny"', '"other"')), material())
    ann = server.worker("ann")
    batch = server.client.post(f"{API}/judging/next", headers=ann).json()["batch"]
    with server.site.store.read("tiny") as work:
        numbers = [work.campaign, 1, batch["sets"][0]["key"], 1]
    ticket = server.settings.signer("original").dumps(numbers)
    for name, status in (("tiny", 200), ("other", 404), ("nowhere", 404)):
        assert server.client.get(f"/judge/{name}/original/{ticket}").status_code == status
