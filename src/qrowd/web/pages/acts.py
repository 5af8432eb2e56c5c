"""Acts of organisers: asked with their cost, done, recorded, undone; appeals and batches that wait;
more pool, topics, runs, gold.
"""

from __future__ import annotations

import secrets
import shutil
import time
from pathlib import Path
from typing import Any

from fastapi import Response
from sqlalchemy import select

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.schema import Assignment, Audit, assignment, topic, worker
from qrowd.collection.database.store import Work
from qrowd.collection.judging import submission
from qrowd.collection.judging.assignments import by_id
from qrowd.collection.judging.checks import gold_record
from qrowd.collection.office import worker_record
from qrowd.collection.plan.sections import Pay
from qrowd.collection.record import audit
from qrowd.collection.record.act import Act, act_named, all_acts
from qrowd.errors import QrowdError, RuleError
from qrowd.rendering import thousands
from qrowd.texts import Text
from qrowd.web.api.manage import UPLOADS, extension_in, extension_of, scope_of, take_back
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
PAGE = 100  # lines
MOST_WORDS = 300  # characters of a detail
STAGED_SECONDS = 86_400
DEPTH = "20"
DEEPEST = 10_000


class WaitingBatch(Assignment):
    """A batch and its worker's number."""

    number: int


# --- an act ---------------------------------------------------------------------------------------


@router.post("/campaigns/{name}/act")
def act(name: str, visit: Visiting) -> Response:
    """Ask first, with what it costs; then do it."""
    kind = act_named(visit.text("act"))
    inside = visit.enter(name, kind.scope)
    with inside.read() as work:
        wanted = kind.of_form(inside.text, work.plan.pay)
        if not inside.sure:
            return inside.confirm(_question(work, wanted, inside.back()))
    return _done(inside, wanted, inside.back())


def _question(work: Work, act: Act, back: str) -> Confirmation:
    """What is asked before an act."""
    asked, pay = act.foretell(work), work.plan.pay
    return Confirmation(
        asked.question,
        asked.follows,
        asked.price,
        asked.button,
        back,
        act.final,
        offers=[
            (each.foretell(work).question, {"act": each.name, "back": back, **each.form(pay)})
            for each in asked.offers
        ],
    )


def _done(visit: CampaignVisit, act: Act, back: str) -> Response:
    """Do an act, for somebody who was asked and is sure."""
    with visit.write() as work:
        seen = visit.number("seen")
        number = audit.perform(work, visit.member.name, act, sure=True, seen=seen)
        said = audit.said_of(work, number)
    return visit.go(back, message=said, undo=None if act.final else number)


# --- the record -----------------------------------------------------------------------------------


@router.get("/campaigns/{name}/acts")
def record(visit: ReaderVisit, before: int | None = None) -> Response:
    """What was done, the newest first."""
    with visit.read() as work:
        rows = audit.acts(work, PAGE, before)
        able = audit.reversible(work, rows)
        pay, data = work.plan.pay, visit.top(work, "/acts")
    lines = [
        (
            row,
            name_of(row.act),
            _details(row, pay) + ([Text("office.acts.folded", n=before)] if before else []),
            row.id in able and scope_of(row.act) in visit.member.scopes,
        )
        for row, before in folded(rows)
    ]
    older = rows[-1].id if len(rows) == PAGE else None
    return visit.show("organiser/acts.html.j2", lines=lines, older=older, **data)


def folded(rows: list[Audit]) -> list[tuple[Audit, int]]:
    """Acts, the newest first, with how many of the same kind before each are left out: of those
    that qrowd does again and again by itself only the last one can be undone.
    """
    shown: list[tuple[Audit, int]] = []
    for row in rows:
        act = all_acts().get(row.act)
        if act and act.repeated and shown and shown[-1][0].act == row.act:
            newest, before = shown[-1]
            shown[-1] = newest, before + 1
        else:
            shown.append((row, 0))
    return shown


def name_of(name: str) -> Text | str:
    """What an act of the record is called."""
    undone = name.removeprefix("undo ")
    act = all_acts().get(undone)
    called = act.says("name") if act else undone
    return called if undone == name else Text("office.acts.undone", act=called)


def _details(row: Audit, pay: Pay) -> list[Text | str]:
    """The details of an act that people want to read."""
    act, stored = all_acts().get(row.act), audit.details_of(row)
    if act is None:
        return [f"{name} {value}" for name, value in stored.items()]
    shown = act.shown(stored, pay)
    return [Text(f"office.detail.{name}", value=_cut(value)) for name, value in shown.items()]


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else ""
    return f"{text[:MOST_WORDS]}…" if len(text) > MOST_WORDS else value


@router.post("/campaigns/{name}/acts/{number}/undo")
def undo(number: int, visit: ManagerVisit) -> Response:
    """Undo an act."""
    with visit.write() as work:
        undone = audit.act_numbered(work, number).act
        take_back(work, visit.member, number)
    return visit.go(visit.back(), message=Text("office.acts.taken-back", act=name_of(undone)))


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


def _about(work: Work, row: appeals.NumberedAppeal) -> dict[str, Any]:
    """What an appeal is about: the batch, being out, or the check question with both grades."""
    if row.kind == "screen-out":
        batch = by_id(work, row.assignment_id) if row.assignment_id else None
        failed = submission.failed_checks(work, [batch]).get(batch.id, []) if batch else []
        return {"out": batch, "failed": failed, "gold": gold_record(work, row.worker_id)}
    if row.kind != "refusal" or row.assignment_id is None:
        return {"question": appeals.disputed_question(work, row.id)}
    return {"batch": by_id(work, row.assignment_id)}


@router.get("/campaigns/{name}/batches")
def batches(visit: ReaderVisit, after: int = 0) -> Response:
    """Batches that wait to be accepted, the oldest first."""
    with visit.read() as work:
        a = assignment.c
        joined = assignment.join(worker, worker.c.id == a.worker_id)
        query = select(assignment, worker.c.number).select_from(joined)
        mine = query.where(work.own(assignment), a.state == "submitted", a.id > after)
        rows = work.rows(mine.order_by(a.id).limit(PAGE), WaitingBatch)
        checks = worker_record.outcomes(work, rows)
        data = visit.top(work, "/workers")
    return visit.show("organiser/batches.html.j2", rows=rows, checks=checks, page=PAGE, **data)


# --- more pool, topics, runs, gold ----------------------------------------------------------------


@router.get("/campaigns/{name}/extend")
def extension_form(visit: ManagerVisit) -> Response:
    """The form."""
    with visit.read() as work:
        names = select(topic.c.name).where(work.own(topic)).order_by(topic.c.id)
        topics = [(name, name) for name in work.db.scalars(names)]
        data = {"topics": topics, "into": visit.text("into"), **visit.top(work, "")}
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
        rows = extension_in(folder, _depth(visit), visit.text("into"))
        with visit.read() as work:
            wanted = extension_of(work, rows, visit.text("into"))
            confirmation = _question(work, wanted, visit.address("/extend"))
    except QrowdError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return extension_form(visit.with_problem(error, 422))
    kept = [("key", key), ("depth", str(_depth(visit)))]
    kept += [(name, visit.text(name)) for name in ("into", "seen")]
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
    if not sent and not visit.text("into"):
        raise RuleError("bad-value", "choose at least one file, or a topic for the documents")
    folder.mkdir(parents=True, exist_ok=True)
    for kind, name, file in sent:
        keep_upload(folder / kind, name, file)


def _add(visit: CampaignVisit) -> Response:
    key = visit.text("key")
    folder = visit.storage.staged / (key if key.isalnum() else "none")
    if not folder.is_dir():
        raise RuleError("conflict", "the files are not here any more; choose them again")
    rows = extension_in(folder, _depth(visit), visit.text("into"))
    with visit.read() as work:
        extension = extension_of(work, rows, visit.text("into"))
    page = _done(visit, extension, visit.address())
    for path in sorted((folder / "runs").glob("*")):
        shutil.move(path, visit.storage.runs / path.name)
    shutil.rmtree(folder, ignore_errors=True)
    return page
