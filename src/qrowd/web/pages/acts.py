"""Acts of organisers: asked with their cost, done, recorded, undone; appeals and batches that wait;
more pool, topics, runs, gold.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from fastapi import Response
from sqlalchemy import select

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.schema import assignment, outcome, worker
from qrowd.collection.database.store import Row, Work
from qrowd.collection.office import extension
from qrowd.collection.office.acts import ACTS, consequence
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.record import audit
from qrowd.errors import QrowdError, RuleError
from qrowd.rendering import thousands
from qrowd.web.api.manage import UPLOADS, extension_in, scope_of, take_back
from qrowd.web.files import keep_upload
from qrowd.web.pages.frame import (
    CampaignVisit,
    Confirmation,
    KeeperVisit,
    ManagerVisit,
    ReaderVisit,
    Visit,
    Visiting,
    page_router,
)

router = page_router()
WHOLE = ("worker", "target", "set", "assignment", "appeal")
WORDS = ("topic", "text", "reply")
MESSAGES = {
    "launch": "Launched: workers can begin.",
    "pause": "Paused: nobody gets a new batch.",
    "resume": "Running again.",
    "close": "Closed.",
    "raise target": "The target is set.",
    "retire gold": "The gold set is retired.",
    "fund": "The budget is changed.",
    "screen out": "Screened out.",
    "stop": "This worker gets no more batches.",
    "accept": "Accepted.",
    "exclude": "Excluded.",
    "refuse": "Refused.",
    "bonus": "The bonus is owed.",
    "message": "Sent.",
    "settle": "Marked as paid.",
    "answer appeal": "Answered.",
}
PAGE = 100  # lines
MOST_WORDS = 300  # characters of an act's details
# details that only undoing wants to know
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
STAGED_SECONDS = 86_400
DEPTH = "20"
DEEPEST = 10_000


# --- an act ---------------------------------------------------------------------------------------


@router.post("/campaigns/{name}/act")
def act(name: str, visit: Visiting) -> Response:
    """Ask first, with what it costs; then do it."""
    wanted = visit.text("act")
    if wanted not in MESSAGES:
        raise RuleError("not-found", f"there is no act {wanted!r} here")
    inside = visit.enter(name, scope_of(wanted))
    with inside.read() as work:
        details = _details(inside, work)
        foretold = consequence(work, wanted, details)
        price = foretold.price(work)
    if not inside.sure:
        title, follows, button = foretold.question, foretold.follows, foretold.button
        confirmation = Confirmation(title, follows, price, button, inside.back(), foretold.final)
        return inside.confirm(confirmation)
    with inside.write() as work:
        number = _perform(work, inside, wanted, details)
    undo = number if ACTS[wanted].undo is not None else None
    return inside.go(inside.back(), message=MESSAGES[wanted], undo=undo)


def _details(visit: Visit, work: Work) -> dict[str, Any]:
    """What the form says of the act, as the act wants it; amounts in minor units."""
    details: dict[str, Any] = {}
    try:
        for key in WHOLE:
            if visit.text(key):
                details[key] = int(visit.text(key))
        if visit.text("amount"):
            details["amount"] = work.plan.pay.minor(float(visit.text("amount").replace(",", ".")))
        if visit.text("workers"):
            details["workers"] = [int(number) for number in visit.text("workers").split()]
    except (ValueError, OverflowError):
        raise RuleError("bad-value", "give a number, such as 2 or 2.50") from None
    details |= {key: visit.text(key) for key in WORDS if visit.text(key)}
    if visit.text("won"):
        details["won"] = visit.text("won") == "yes"
    return details


def _perform(work: Work, visit: CampaignVisit, act: str, details: dict[str, Any]) -> int:
    name, seen = visit.member.name, visit.number("seen")
    if act == "answer appeal":
        audit.refuse_unseen(work, act, details, seen)
        won, reply = details.get("won", False), details.get("reply", "")
        return appeals.answer_appeal(work, name, details["appeal"], won=won, reply=reply)
    try:
        return audit.perform(work, name, act, details, sure=True, seen=seen)
    except KeyError as missing:
        raise RuleError("bad-value", f"say {missing.args[0]}") from None


# --- the record -----------------------------------------------------------------------------------


@router.get("/campaigns/{name}/acts")
def record(visit: ReaderVisit, before: int | None = None) -> Response:
    """What was done, the newest first."""
    with visit.read() as work:
        rows = audit.acts(work, PAGE, before)
        able = audit.reversible(work, rows)
        data = visit.top(work, "/acts")
    lines = [
        (row, _words(row), row.id in able and scope_of(row.act) in visit.member.scopes)
        for row in rows
    ]
    older = rows[-1].id if len(rows) == PAGE else None
    return visit.show("organiser/acts.html.j2", lines=lines, older=older, **data)


def _words(row: Row) -> str:
    """The details of an act in a few words."""
    details: dict[str, Any] = json.loads(row.details)
    words = ", ".join(
        f"{key} {value}"
        for key, value in details.items()
        if key not in QUIET and not key.startswith(("after_", "last_"))
    )
    return words if len(words) <= MOST_WORDS else f"{words[:MOST_WORDS]}…"


@router.post("/campaigns/{name}/acts/{number}/undo")
def undo(number: int, visit: ManagerVisit) -> Response:
    """Undo an act."""
    with visit.write() as work:
        undone = audit.act_numbered(work, number).act
        take_back(work, visit.member, number)
    return visit.go(visit.back(), message=f"Taken back: {undone}.")


# --- what waits -----------------------------------------------------------------------------------


@router.get("/campaigns/{name}/appeals")
def open_appeals(visit: KeeperVisit) -> Response:
    """Appeals without an answer."""
    with visit.read() as work:
        rows = appeals.open_appeals(work)
        data = {
            "rows": [(row, _about(work, row)) for row in rows[:PAGE]],
            "total": len(rows),
            **visit.top(work, "/workers"),
        }
    return visit.show("organiser/appeals.html.j2", **data)


def _about(work: Work, row: Row) -> dict[str, Any]:
    """What an appeal is about: the batch, or the check question with both grades."""
    if row.kind != "refusal":
        return {"question": appeals.disputed_question(work, row)}
    return {"batch": work.row(select(assignment).where(assignment.c.id == row.assignment_id))}


@router.get("/campaigns/{name}/batches")
def batches(visit: ReaderVisit, after: int = 0) -> Response:
    """Batches that wait to be accepted, the oldest first."""
    with visit.read() as work:
        a = assignment.c
        joined = assignment.join(worker, worker.c.id == a.worker_id)
        query = select(assignment, worker.c.number).select_from(joined)
        mine = query.where(work.own(assignment), a.state == "submitted", a.id > after)
        rows = work.rows(mine.order_by(a.id).limit(PAGE))
        checks: dict[int, list[Row]] = {row.id: [] for row in rows}
        outcomes = select(outcome).where(outcome.c.assignment_id.in_(checks))
        for check in work.rows(outcomes.order_by(outcome.c.id)):
            checks[check.assignment_id].append(check)
        data = visit.top(work, "/workers")
    return visit.show("organiser/batches.html.j2", rows=rows, checks=checks, page=PAGE, **data)


# --- more pool, topics, runs, gold ----------------------------------------------------------------


@router.get("/campaigns/{name}/extend")
def extension_form(visit: ManagerVisit) -> Response:
    """The form."""
    with visit.read() as work:
        data = visit.top(work, "")
    return visit.show("organiser/extend.html.j2", depth=visit.text("depth", DEPTH), **data)


@router.post("/campaigns/{name}/extend")
def extend(visit: ManagerVisit) -> Response:
    """What the files would add and cost; then add it."""
    if visit.sure:
        return _add(visit)
    key = secrets.token_hex(8)
    folder = visit.storage.staged / key
    try:
        _stage(visit, folder)
        rows = extension_in(folder, _depth(visit))
        with visit.read() as work:
            confirmation = _extension(work, rows, visit.address("/extend"))
    except QrowdError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return extension_form(visit.with_problem(error, 422))
    kept = [("key", key), ("depth", str(_depth(visit))), ("seen", visit.text("seen"))]
    return visit.confirm(confirmation, kept)


def _depth(visit: Visit) -> int:
    depth = visit.number("depth", DEPTH)
    if depth is None or not 1 <= depth <= DEEPEST:
        deepest = thousands(DEEPEST)
        raise RuleError("bad-value", f"the depth must be a whole number from 1 to {deepest}")
    return depth


def _stage(visit: Visit, folder: Path) -> None:
    """Keep the files until the question is answered; what was left for a day is removed."""
    for old in folder.parent.iterdir():
        if time.time() - old.stat().st_mtime > STAGED_SECONDS:
            shutil.rmtree(old, ignore_errors=True)
    sent = [(kind, name, file) for kind in UPLOADS for name, file in visit.files(kind)]
    if not sent:
        raise RuleError("bad-value", "choose at least one file")
    for kind, name, file in sent:
        keep_upload(folder / kind, name, file)


def _extension(work: Work, rows: CampaignRows, back: str) -> Confirmation:
    cost, shown = extension.cost_of_pool(work, rows), work.plan.pay.shown
    topics, documents = len({topic for topic, _ in rows.pool}), len(list(rows.documents))
    follows = [
        f"{thousands(cost.pairs)} new pairs of {thousands(topics)} topics: "
        f"{thousands(cost.judgements)} judgements in about {thousands(cost.batches)} batches.",
        f"{thousands(len(rows.topics))} topics, {thousands(documents)} documents and "
        f"{thousands(len(rows.gold))} gold pairs were sent; what is here already stays as it "
        "is.",
        "They make new sets; sets that are there do not change.",
    ]
    short = cost.amount - cost.free
    lacks = f"; {shown(short)} more would be needed" if short > 0 else ""
    price = f"This costs {shown(cost.amount)}; {shown(cost.free)} are free{lacks}."
    return Confirmation("Add this to the campaign?", follows, price, "Add it", back)


def _add(visit: CampaignVisit) -> Response:
    key = visit.text("key")
    folder = visit.storage.staged / (key if key.isalnum() else "none")
    if not any(folder.glob("*/*")):
        raise RuleError("conflict", "the files are not here any more; choose them again")
    rows = extension_in(folder, _depth(visit))
    with visit.write() as work:
        added = extension.extend(work, visit.member.name, rows, visit.number("seen"))
        number = audit.last_act(work)
    for path in sorted((folder / "runs").glob("*")):
        shutil.move(path, visit.storage.runs / path.name)
    shutil.rmtree(folder, ignore_errors=True)
    message = f"Added: {thousands(added.pairs)} pairs in {thousands(added.sets)} sets."
    return visit.go(visit.address(), message=message, undo=number)
