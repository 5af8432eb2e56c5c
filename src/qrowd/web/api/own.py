"""A worker's own page: batches, pay, messages, appeals, own data, leaving and being forgotten."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from sqlalchemy import select

from qrowd.collection.adjudication import appeals
from qrowd.collection.books import ledger
from qrowd.collection.database import schema
from qrowd.collection.database.schema import Assignment, assignment
from qrowd.collection.database.states import VOID
from qrowd.collection.database.store import Work
from qrowd.collection.judging import queue, submission
from qrowd.collection.office import erasure
from qrowd.collection.people import workers
from qrowd.collection.plan.platforms import Departure
from qrowd.web.access import Member, TheSettings, Worker, forgery_token
from qrowd.web.api.work import Key
from qrowd.web.limits import APPEALS, MESSAGES, Caller
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings

router = APIRouter(prefix="/api/campaigns/{name}/judging", tags=["own page"], responses=RESPONSES)


class Batch(BaseModel):
    """One's own batch; pay in minor units, times in milliseconds since 1970.

    `can_appeal`: it was refused not long ago, and no appeal is open. `failed`: the checks for which
    its answers do not count.
    """

    key: str
    kind: str
    state: str
    pay: int
    earned: int
    leased_at: int
    ended_at: int | None
    can_appeal: bool
    failed: list[str]


class Letter(BaseModel):
    """A message between worker and organiser."""

    at: int
    from_worker: bool
    text: str


class Appeal(BaseModel):
    """An appeal, and its answer once there is one."""

    number: int = Field(validation_alias="id")
    kind: str
    at: int
    text: str
    answered_at: int | None
    won: bool | None
    reply: str


class Out(BaseModel):
    """Why somebody was screened out: the checks that failed with the last batch, none where an
    organiser decided; what that batch is paid; whether an appeal is possible, or waits.
    """

    failed: list[str]
    pay: int | None
    can_appeal: bool
    appealed: bool


class Ahead(BaseModel):
    """How many batches there are for a worker as things stand; whom to ask, "" if nobody says."""

    batches: int
    contact: str


class Own(BaseModel):
    """All that a worker's own page shows."""

    worker: int
    state: str
    out: Out | None
    consent_needed: bool
    ask_again: bool
    unsettled: int
    owed: int
    settled: int
    batches: list[Batch]
    messages: list[Letter]
    appeals: list[Appeal]


class Session(BaseModel):
    """What a worker's browser sends back with every change."""

    forgery_token: str


class Words(BaseModel):
    """Free text."""

    text: str = Field(min_length=1, max_length=10_000)


class Made(BaseModel):
    """The number of what was made."""

    number: int


class Way(BaseModel):
    """The way back: show `code`, go to `address`, or post `form` to it."""

    code: str
    address: str
    form: dict[str, str]


class AskAgain(BaseModel):
    """Whether one may be asked again, for other work."""

    agreed: bool


class Asked(BaseModel):
    """Whether somebody can be forgotten at once, or open work and pay are settled first."""

    now: bool


@router.get("/session")
def session(worker: Worker, settings: TheSettings) -> Session:
    """Come back to a page that was open before."""
    return Session(forgery_token=forgery_token(settings, worker.bearer.token))


@router.get("/ahead")
def ahead(worker: Worker) -> Ahead:
    """What somebody wants to know before starting."""
    with worker.read() as work:
        plan = work.plan
        contact = plan.mail.contact or plan.release.contact
        return Ahead(batches=queue.batches_left(work, worker.worker), contact=contact)


@router.get("/me", response_model=Own)
def own_page(worker: Worker) -> dict[str, Any]:
    """What a worker has done and earned."""
    with worker.read() as work:
        row = workers.worker_of(work, worker.worker)
        mine = select(assignment).where(assignment.c.worker_id == worker.worker)
        own_appeals = appeals.appeals_of(work, worker.worker)
        appealed = {
            appeal.assignment_id
            for appeal in own_appeals
            if appeal.kind == "refusal" and appeal.answered_at is None
        }
        batches = work.rows(mine.order_by(assignment.c.id), Assignment)
        failed = submission.failed_checks(work, [batch for batch in batches if batch.state in VOID])
        return {
            "worker": row.number,
            "state": row.state,
            "out": _out(work, row, own_appeals, failed) if row.state == "screened-out" else None,
            "consent_needed": workers.consent_needed(work, worker.worker),
            "ask_again": row.ask_again_at is not None,
            "unsettled": ledger.unsettled(work, worker.worker),
            "owed": ledger.unsettled(work, worker.worker, ("owed",)),
            "settled": ledger.paid_out(work, worker.worker),
            "batches": [
                _batch(
                    batch,
                    failed.get(batch.id, []),
                    batch.id not in appealed and appeals.in_time(work, batch),
                )
                for batch in batches
            ],
            "messages": workers.messages(work, worker.worker),
            "appeals": own_appeals,
        }


def _out(
    work: Work,
    row: schema.Worker,
    own_appeals: list[schema.Appeal],
    failed: dict[int, list[str]],
) -> Out:
    batch = appeals.last_screened_out(work, row.id)
    waiting = [each for each in own_appeals if each.kind == "screen-out" and not each.answered_at]
    return Out(
        failed=failed.get(batch.id, []) if batch else [],
        pay=batch.earned + batch.paid if batch and batch.pay else None,
        can_appeal=appeals.can_appeal_screen_out(work, row.id),
        appealed=bool(waiting),
    )


def _batch(row: Assignment, failed: list[str], can_appeal: bool) -> Batch:
    return Batch(
        key=row.key,
        kind="judge" if row.kind == "second" else row.kind,  # which of both it is stays hidden
        state=row.state,
        pay=row.pay,
        earned=row.earned + row.paid,
        leased_at=row.leased_at,
        ended_at=row.ended_at,
        can_appeal=can_appeal,
        failed=failed,
    )


def _caller(worker: Member, settings: Settings) -> Caller:
    return Caller(worker.store, settings, f"worker {worker.worker}")


@router.post("/ask-again", status_code=204)
def agree_to_be_asked(wanted: AskAgain, worker: Worker) -> None:
    """Say whether one may be asked again, for other work."""
    with worker.write() as work:
        workers.agree_to_be_asked(work, worker.worker, wanted.agreed)


@router.post("/messages", status_code=204)
def write(words: Words, worker: Worker, settings: TheSettings) -> None:
    """Write to the organiser."""
    _caller(worker, settings).count(MESSAGES)
    with worker.write() as work:
        workers.write_message(work, worker.worker, words.text, from_worker=True)


@router.post("/batches/{key}/appeal", status_code=201)
def appeal(key: Key, words: Words, worker: Worker, settings: TheSettings) -> Made:
    """Appeal against the refusal of a batch."""
    _caller(worker, settings).count(APPEALS)
    with worker.write() as work:
        return Made(number=appeals.appeal_refusal(work, worker.worker, key, words.text))


@router.post("/appeal", status_code=201)
def appeal_screen_out(words: Words, worker: Worker, settings: TheSettings) -> Made:
    """Appeal against being screened out."""
    _caller(worker, settings).count(APPEALS)
    with worker.write() as work:
        return Made(number=appeals.appeal_screen_out(work, worker.worker, words.text))


@router.post("/sets/{key}/documents/{position}/disagree", status_code=201)
def disagree(
    key: Key,
    position: Annotated[int, Path(ge=1, le=1000)],
    words: Words,
    worker: Worker,
    settings: TheSettings,
) -> Made:
    """Disagree with the expert on a check question that was missed."""
    _caller(worker, settings).count(APPEALS)
    with worker.write() as work:
        return Made(number=appeals.disagree(work, worker.worker, key, position, words.text))


@router.post("/leave", response_model=Way)
def way_back(worker: Worker) -> Departure:
    """The way back to the platform, with a code that is good once."""
    with worker.write() as work:
        mine = select(assignment.c.id).where(assignment.c.worker_id == worker.worker)
        return workers.leave(work, worker.worker, worked=bool(work.number(mine.limit(1))))


@router.get("/data")
def my_data(worker: Worker) -> dict[str, Any]:
    """Everything that is stored of oneself."""
    with worker.read() as work:
        return erasure.my_data(work, worker.worker)


@router.post("/forget")
def forget_me(worker: Worker) -> Asked:
    """Ask to be forgotten; the organiser does it once everything is settled."""
    with worker.write() as work:
        return Asked(now=erasure.ask(work, worker.worker))
