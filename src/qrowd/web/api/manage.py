"""What an organiser does while a campaign runs: acts, each written down, most reversible; and more
of a campaign: topics, documents, pairs, runs, gold.
"""

from __future__ import annotations

import dataclasses
import pathlib
import tempfile
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, UploadFile
from pydantic import BaseModel, Field

from qrowd.collection.books import ledger, notices
from qrowd.collection.books.progress import Status, status
from qrowd.collection.database.store import Work
from qrowd.collection.material.campaign_rows import Added
from qrowd.collection.office.acts.sets import Cost, Extend, RaiseTarget, outside_pool
from qrowd.collection.office.todo import overview
from qrowd.collection.plan.files import read_extension
from qrowd.collection.plan.rows import CampaignRows
from qrowd.collection.record import audit
from qrowd.collection.record.act import act_named, all_acts
from qrowd.collection.record.details import Inside
from qrowd.errors import RuleError
from qrowd.web.access import Keeper, Manager, Member, Payer, Reader
from qrowd.web.files import keep_upload
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}", tags=["manage"], responses=RESPONSES)
extensions = APIRouter(prefix="/api/campaigns/{name}", tags=["extensions"], responses=RESPONSES)

Number = Annotated[int, Path(ge=1, lt=2**62)]
Upload = Annotated[UploadFile | None, File()]
UPLOADS = ("topics", "documents", "pool", "runs", "gold")
ADDRESSES = {"manage": "/acts", "pay": "/money", "people": "/messages"}  # of acts, by scope


def _list_acts(schema: dict[str, Any]) -> None:
    """Describe every act with its details; called when the interface is described."""
    lines = [
        f"- POST {ADDRESSES[act.scope]}: `{act.usage()}`. {act.summary()}"
        for act in all_acts().values()
        if not any(
            isinstance(each.kind, Inside) and each.required for each in act.details().values()
        )
    ]
    about = "The acts, with their details; a reason may be said of each. Amounts in minor units."
    schema["description"] = "\n".join([about, "", *lines])


class ActWanted(BaseModel):
    """An act of an organiser; `sure` confirms one that cannot be undone.

    `seen` is the number of the last act that was known: a later one on the same is a conflict.
    """

    act: str = Field(max_length=40, json_schema_extra=_list_acts)
    details: dict[str, Any] = Field(default={}, max_length=20)
    sure: bool = False
    seen: int | None = Field(None, ge=0, lt=2**62)


class Done(BaseModel):
    """The number of an act, with which it can be undone."""

    number: int


class ActDone(BaseModel):
    """A line of the record of acts. Times are milliseconds since 1970."""

    number: int
    at: int
    who: str
    act: str
    details: dict[str, Any]
    undoes: int | None
    reversible: bool


class Notice(BaseModel):
    """Something that an organiser should know."""

    number: int = Field(validation_alias="id")
    at: int
    kind: str
    text: str


class Balance(BaseModel):
    """The campaign's money in minor units: budget = free + promised + owed + settled."""

    currency: str
    digits: int
    budget: int
    free: int
    promised: int
    owed: int
    settled: int


class Owed(BaseModel):
    """What one worker has earned and not been paid."""

    worker: int = Field(validation_alias="number")
    amount: int


class Extended(BaseModel):
    """What was added; without `sure` only what it would cost, and why it would be refused."""

    cost: Cost
    refused: list[str] = []
    added: Added | None


def _perform(member: Member, wanted: ActWanted, scope: str) -> Done:
    act = act_named(wanted.act)
    if act.scope != scope:
        raise RuleError("no-access", f"{act.name} has another address: {ADDRESSES[act.scope]}")
    with member.write() as work:
        number = audit.perform(
            work, member.name, wanted.act, wanted.details, sure=wanted.sure, seen=wanted.seen
        )
    return Done(number=number)


@router.post("/acts", status_code=201)
def perform(wanted: ActWanted, member: Manager) -> Done:
    """Change the campaign, its sets, workers or batches."""
    return _perform(member, wanted, "manage")


@router.post("/money", status_code=201)
def spend(wanted: ActWanted, member: Payer) -> Done:
    """Change the budget, owe money to people, pay it."""
    return _perform(member, wanted, "pay")


@router.post("/messages", status_code=201)
def write(wanted: ActWanted, member: Keeper) -> Done:
    """Write to a worker, answer one, say who is on the list and has a link."""
    return _perform(member, wanted, "people")


@router.get("/acts")
def acts(member: Reader, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> list[ActDone]:
    """What was done, the newest first."""
    with member.read() as work:
        rows = audit.acts(work, limit)
    undoable = {name for name, act in all_acts().items() if not act.final}
    return [
        ActDone(
            number=row.id,
            at=row.at,
            who=row.who,
            act=row.act,
            details=dict(audit.readable_details(row)),
            undoes=row.undoes,
            reversible=row.act in undoable,
        )
        for row in rows
    ]


@router.post("/acts/{number}/undo", status_code=201)
def undo(number: Number, member: Manager) -> Done:
    """Take an act back, by a new act. The token must allow that act too."""
    with member.write() as work:
        return Done(number=take_back(work, member, number))


def take_back(work: Work, member: Member, number: int) -> int:
    """Undo an act, for somebody who may do it; the number of the new act."""
    member.refuse_without(scope_of(audit.act_numbered(work, number).act))
    return audit.undo(work, member.name, number)


def scope_of(name: str) -> str:
    """What a token must allow for an act of the record."""
    act = all_acts().get(name)
    return act.scope if act else "manage"


class CauseFound(BaseModel):
    """Why a campaign does not go as it should: a permanent name, the sentence, the act that helps
    with its details, and the page of the campaign to look at; "" for none.
    """

    name: str
    text: str
    act: str
    details: dict[str, Any]
    page: str


class Overview(BaseModel):
    """What an organiser reads first. Times in milliseconds, money in minor units.

    `decided` says how many documents are, where that decides what is judged next; else it is "".
    """

    sentence: str
    decided: str
    causes: list[CauseFound]
    wanted: int
    valid: int
    pending: int
    ready_at: int | None
    expected: int
    missing: int


@router.get("/overview")
def first_look(member: Reader) -> Overview:
    """Whether it goes well, and what is in the way; the page and `campaign status` say the same."""
    with member.read() as work:
        seen, pay = overview(work), work.plan.pay
    pace = seen.pace
    return Overview(
        sentence=str(seen.first_sentence(pay)),
        decided=str(pace.decided.sentence) if pace.decided else "",
        causes=[CauseFound(**cause.told()) for cause in seen.causes],
        wanted=pace.wanted,
        valid=pace.valid,
        pending=pace.pending,
        ready_at=pace.ready_at,
        expected=pace.expected,
        missing=pace.missing,
    )


@router.get("/status")
def how_it_goes(member: Reader) -> Status:
    """Coverage, money, batches and workers, from counters."""
    with member.read() as work:
        return status(work)


@router.get("/notices")
def told(member: Reader) -> list[Notice]:
    """What needs a decision."""
    with member.read() as work:
        return [Notice.model_validate(row, from_attributes=True) for row in notices.notices(work)]


@router.post("/notices/{number}/done", status_code=204)
def dealt_with(number: Number, member: Manager) -> None:
    """Take a notice off the list."""
    with member.write() as work:
        notices.dealt_with(work, number)


@router.get("/money")
def balance(member: Reader) -> Balance:
    """The campaign's accounts."""
    with member.read() as work:
        balances, pay = ledger.balance(work), work.plan.pay
    return Balance(currency=pay.currency, digits=pay.digits, **vars(balances))


@router.get("/money/owed", response_model=list[Owed])
def owed(member: Payer) -> list[ledger.Debt]:
    """Who is owed what."""
    with member.read() as work:
        return ledger.owed(work)


# --- more topics, documents, pairs, runs, gold; the cost comes first ------------------------------


@extensions.get("/cost-of-target")
def cost_of_target(target: Annotated[int, Query(ge=1, le=1000)], member: Reader) -> Cost:
    """What more judgements of every document would cost."""
    with member.read() as work:
        return RaiseTarget(target=target).cost(work)


@extensions.post("/extensions")
def extend(
    member: Manager,
    topics: Upload = None,
    documents: Upload = None,
    pool: Upload = None,
    runs: Upload = None,
    gold: Upload = None,
    depth: Annotated[int, Form(ge=1, le=10_000)] = 20,
    into: Annotated[str, Form(max_length=400)] = "",
    sure: Annotated[bool, Form()] = False,
) -> Extended:
    """Add files to a campaign. Without `sure` nothing is changed, and the cost is told.

    `into` is a topic: what is not in its pool is judged under it, all documents that are sent, or
    those of the campaign where no file is.
    """
    sent = {"topics": topics, "documents": documents, "pool": pool, "runs": runs, "gold": gold}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, file in sent.items():
            if file is not None:
                keep_upload(folder / kind, file.filename, file.file)
        rows = extension_in(folder, depth, into)
    with member.write() as work:
        wanted = extension_of(work, rows, into)
        cost = wanted.cost(work)
        if not sure:
            refused = [str(problem) for problem in wanted.refused(work)]
            return Extended(cost=cost, refused=refused, added=None)
        number = audit.perform(work, member.name, wanted)
        stored = audit.details_numbered(work, number)
    return Extended(cost=cost, added=Added(**{name: stored[name] for name, _ in Extend.results}))


def extension_of(work: Work, rows: CampaignRows, into: str) -> Extend:
    """The extension that an upload wants; without documents, `into` a topic go the campaign's."""
    if into and not any(True for _ in rows.documents):
        rows = dataclasses.replace(rows, pool=[*rows.pool, *outside_pool(work, into)])
    return Extend(rows=rows)


def extension_in(folder: pathlib.Path, depth: int, into: str = "") -> CampaignRows:
    """What an upload adds; `folder` has a folder for each kind of file."""
    paths = {kind: sorted((folder / kind).glob("*")) for kind in UPLOADS}
    first = {kind: next(iter(paths[kind]), None) for kind in UPLOADS if kind != "runs"}
    topics = [into] if into else []
    return read_extension(**first, runs=paths["runs"], depth=depth, into=topics)
