"""The record of what organisers did, each with its undo; appeals; batches that wait."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Response
from sqlalchemy import select

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.schema import assignment, outcome, worker
from qrowd.collection.database.store import Found, Work
from qrowd.collection.record import audit
from qrowd.web.api import manage
from qrowd.web.pages.organiser.frame import Visiting, campaign_address, own_address, page_router
from qrowd.web.pages.organiser.live import shown

router = page_router()
PAGE = 100
MOST = 300  # characters of an act's details
QUIET = (
    "before",
    "batches",
    "batch",
    "promised",
    "earned",
    "paid",
    "ended_at",
    "priorities",
    "drawn",
    "added",
)


@router.get("/campaigns/{name}/acts")
def record(name: str, visit: Visiting, before: int | None = None) -> Response:
    """What was done, the newest first."""
    member = visit.organiser(name)
    with member.store.read(member.campaign) as work:
        rows = audit.acts(work, PAGE, before)
        able = audit.reversible(work, rows)
        data = shown(member, name, "/acts", work)
    scopes = member.who.scopes
    lines = [
        (row, _said(row), row.id in able and manage.scope_of(row.act) in scopes) for row in rows
    ]
    older = rows[-1].id if len(rows) == PAGE else None
    return visit.show("organiser/acts.html.j2", lines=lines, older=older, **data)


def _said(row: Found) -> str:
    """The details of an act in a few words."""
    details: dict[str, Any] = json.loads(row.details)
    kept = {
        key: value
        for key, value in details.items()
        if key not in QUIET and not key.startswith(("after_", "last_"))
    }
    words = ", ".join(f"{key} {value}" for key, value in kept.items())
    return words if len(words) <= MOST else f"{words[:MOST]}…"


@router.post("/campaigns/{name}/acts/{number}/undo")
def take_back(name: str, number: int, visit: Visiting) -> Response:
    """Undo an act."""
    member = visit.organiser(name, "manage")
    with member.store.write(member.campaign) as work:
        undone = audit.act_numbered(work, number).act
        manage.take_back(work, member, number)
    back = own_address(visit.text("back"), campaign_address(name))
    return visit.go(back, told=f"Taken back: {undone}.")


@router.get("/campaigns/{name}/appeals")
def asked(name: str, visit: Visiting) -> Response:
    """Appeals without an answer."""
    member = visit.organiser(name, "people")
    with member.store.read(member.campaign) as work:
        rows = appeals.open_appeals(work)
        data = {
            "rows": [(row, _about(work, row)) for row in rows[:PAGE]],
            "total": len(rows),
            **shown(member, name, "/workers", work),
        }
    return visit.show("organiser/appeals.html.j2", **data)


def _about(work: Work, row: Found) -> dict[str, Any]:
    """What an appeal is about: the batch, or the check question with both grades."""
    if row.kind == "refusal":
        batch = work.db.execute(
            select(assignment).where(assignment.c.id == row.assignment_id)
        ).one()
        return {"batch": batch}
    return {"question": appeals.disputed_question(work, row)}


@router.get("/campaigns/{name}/batches")
def batches(name: str, visit: Visiting, after: int = 0) -> Response:
    """Batches that wait to be accepted, the oldest first."""
    member = visit.organiser(name)
    with member.store.read(member.campaign) as work:
        a = assignment.c
        own = (a.campaign_id == work.campaign) & (a.state == "submitted") & (a.id > after)
        joined = assignment.join(worker, worker.c.id == a.worker_id)
        query = select(assignment, worker.c.number).select_from(joined).where(own)
        rows = list(work.db.execute(query.order_by(a.id).limit(PAGE)))
        checks = _checks(work, [row.id for row in rows])
        data = shown(member, name, "/workers", work)
    return visit.show("organiser/batches.html.j2", rows=rows, checks=checks, page=PAGE, **data)


def _checks(work: Work, ids: list[int]) -> dict[int, list[Found]]:
    query = select(outcome).where(outcome.c.assignment_id.in_(ids)).order_by(outcome.c.id)
    found: dict[int, list[Found]] = {number: [] for number in ids}
    for row in work.db.execute(query):
        found[row.assignment_id].append(row)
    return found
