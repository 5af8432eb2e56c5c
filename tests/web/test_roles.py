"""Every route as each role and as a member of another campaign: refused where it must be.

Pages here; `test_contract` has the roles of the JSON interface, whose operations are asked here by
members of another campaign. A page that is not in `OWNERS` fails.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import func, select
from starlette.routing import BaseRoute
from tests.collection.making import PLAN, material
from tests.web.office import Desk, desk
from tests.web.serving import Server
from tests.web.test_contract import PUBLIC, operations
from tests.web.test_contract import ask as ask_api

from qrowd.collection.database.schema import (
    audit,
    campaign,
    decision,
    entry,
    event,
    job,
    message,
    worker,
)
from qrowd.collection.drafts.draft import all_drafts, new_draft
from qrowd.collection.material.campaign_rows import create_campaign
from qrowd.collection.people import workers
from qrowd.collection.plan.toml import parse_plan
from qrowd.web.access import new_token
from qrowd.web.files import drafts_in

# the first pattern that fits says who may
OWNERS = (
    (r"/judge/.*|/set-up|/sign-in|/join|/", "everybody"),
    (r"/campaigns|/sign-out|/password", "signed in"),
    (r"/campaigns/\{name\}/experts(/.*)?", "expert"),
    (r"/campaigns/\{name\}(/.*)?", "organiser"),
    (r"/accounts(/.*)?|/drafts(/.*)?", "administrator"),
)
NAMED = ("/campaigns/{name}/experts/", "/accounts/roles")  # forms say of what
COUNTED = (audit, campaign, decision, entry, event, job, message, worker)


def pages(routes: list[BaseRoute]) -> list[tuple[str, str]]:
    """Method and path of every page, also of routers inside of routers."""
    found = []
    for route in routes:
        if isinstance(route, APIRoute) and not route.include_in_schema:
            found += [(method, route.path) for method in sorted(route.methods or ())]
        found += pages(getattr(getattr(route, "original_router", None), "routes", []))
    return found


def owner_of(path: str) -> str:
    """Who may open a page."""
    return next((who for pattern, who in OWNERS if re.fullmatch(pattern, path)), "")


def allowed(owner: str, role: str) -> bool:
    """Whether a role may."""
    if owner == "everybody":
        return True
    if owner == "signed in":
        return role != "nobody"
    return role == owner or (role, owner) == ("administrator", "organiser")


def members(server: Server) -> dict[str, Desk]:
    """Somebody of each role; three of them belong to another campaign."""
    plan = parse_plan(PLAN.replace('"tiny"', '"other"'))
    create_campaign(server.site.store, plan, material())
    found = {role: desk(server, role) for role in ("nobody", "worker", "expert", "organiser")}
    found["administrator"] = desk(server, "organiser", campaign_id=None)
    with server.site.store.write("other") as work:
        eve, ann = workers.expert(work, "eve"), workers.enter(work, "own", "ann").id
        tokens = {
            "worker elsewhere": new_token(
                work.db, work.now, "worker", campaign_id=work.campaign, worker_id=ann
            ),
            "expert elsewhere": new_token(
                work.db, work.now, "expert", campaign_id=work.campaign, worker_id=eve
            ),
            "organiser elsewhere": new_token(
                work.db, work.now, "organiser", campaign_id=work.campaign
            ),
        }
    return found | {role: Desk(server, plain) for role, plain in tokens.items()}


def a_draft(server: Server) -> str:
    """The key of a draft that there is."""
    folder = drafts_in(server.settings.folder)
    found = all_drafts(folder) or [new_draft(folder, "ann", 1)]
    return found[0].key


def ask(who: Desk, method: str, path: str) -> Any:
    """A page of the campaign `tiny`, or what its form sends, with nothing filled in."""
    filled = path.replace("{name}", "tiny").replace("{step}", "name")
    filled = filled.replace("{key}", a_draft(who.server)) if "/drafts/" in path else filled
    filled = re.sub(r"\{(number|position)(:\w+)?\}", "1", filled)
    filled = re.sub(r"\{\w+(:\w+)?\}", "x", filled)
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


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_every_page_is_refused_where_it_must_be(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from tests.collection.conftest import fresh_postgresql
    from tests.web.serving import make_server

    url = "" if engine == "sqlite" else fresh_postgresql(request.getfixturevalue("postgresql"))
    with make_server(tmp_path, url) as server:
        found, people_of = pages(server.client.app.routes), members(server)  # type: ignore[attr-defined]
        assert len(found) > 15
        assert [path for _, path in found if not owner_of(path)] == []
        a_draft(server)
        before = rows(server)
        for role, who in people_of.items():
            for method, path in found:
                if not allowed(owner_of(path), role):
                    reply = ask(who, method, path)
                    assert refused(reply), (role, method, path, reply.status_code)
        _nothing_is_open_to_members_of_another_campaign(server, people_of)
        assert rows(server) == before
        if engine == "sqlite":
            _nobody_is_turned_away_wrongly(people_of, found)


def _nothing_is_open_to_members_of_another_campaign(
    server: Server, people_of: dict[str, Desk]
) -> None:
    """Every operation of the interface that names a campaign."""
    found = [(method, path) for method, path in operations(server) if "{name}" in path]
    assert len(found) > 50
    for role in (one for one in people_of if one.endswith("elsewhere")):
        headers = {"Authorization": f"Bearer {people_of[role].token}"}
        for method, path in found:
            if (method, path) not in PUBLIC:
                status = ask_api(server, method, path, "tiny", headers)
                assert status in (403, 404), (role, method, path, status)


def _nobody_is_turned_away_wrongly(
    people_of: dict[str, Desk], found: list[tuple[str, str]]
) -> None:
    for role, who in people_of.items():
        for method, path in found:
            owner = owner_of(path)
            if allowed(owner, role) and path != "/sign-out" and owner != "everybody":
                reply = ask(who, method, path)
                of_one = path.count("{") > 1 or path.startswith(NAMED)  # which is not there
                missing = reply.status_code == 404 and of_one
                assert not refused(reply) or missing, (role, method, path, reply.status_code)
                assert reply.status_code < 500, (role, method, path)
