"""The people of a campaign, as its organiser sees them: numbers, links, appeals, codes."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from qrowd.collection.adjudication import appeals
from qrowd.collection.office import erasure
from qrowd.collection.people import visits
from qrowd.collection.people import workers as people
from qrowd.errors import RuleError
from qrowd.web.access import Keeper, Payer, Reader, TheSettings
from qrowd.web.api.own import Appeal, appeal_of
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}", tags=["people"], responses=RESPONSES)

Number = Annotated[int, Path(ge=1, lt=2**31)]


class WorkerLine(BaseModel):
    """A worker in the list; nothing here says who it is."""

    worker: int
    kind: str
    state: str
    failed_batches: int
    batches: int
    earned: int


class LinksWanted(BaseModel):
    """Links for these people, good for so many days."""

    people: list[str] = Field(min_length=1, max_length=10_000)
    days: float = Field(30, gt=0, le=3650)


class Link(BaseModel):
    """A person's link."""

    person: str
    link: str


class AppealLine(Appeal):
    """An appeal of a worker."""

    worker: int


class AppealAnswer(BaseModel):
    """The answer to an appeal."""

    won: bool
    reply: str = Field("", max_length=10_000)


class Forgetting(BaseModel):
    """`void` also takes the answers out; `sure` confirms what cannot be undone, and
    `despite_release` that a release which holds these answers will no longer agree.
    """

    void: bool = False
    sure: bool = False
    despite_release: bool = False


class CodeWanted(BaseModel):
    """A completion code that a worker brought."""

    code: str = Field(min_length=1, max_length=64)


class CodeUsed(BaseModel):
    """Whose code it was, and for what."""

    worker: int
    outcome: str


@router.get("/workers")
def workers(
    member: Reader,
    after: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[WorkerLine]:
    """Workers by number, a page at a time."""
    with member.store.read(member.campaign) as work:
        rows = people.listed(work, after, limit)
    return [
        WorkerLine(
            worker=row.number,
            kind=row.kind,
            state=row.state,
            failed_batches=row.failed_hits,
            batches=row.batches,
            earned=row.earned,
        )
        for row in rows
    ]


@router.post("/links", status_code=201)
def make_links(wanted: LinksWanted, member: Keeper, settings: TheSettings) -> list[Link]:
    """Signed links for people of one's own panel."""
    with member.store.write(member.campaign) as work:
        made = [(one, visits.make_link(work, one, wanted.days)) for one in wanted.people]
        at = f"{settings.address}/judge/{quote(work.name, safe='')}"
    return [Link(person=one, link=f"{at}?link={link}") for one, link in made]


@router.get("/appeals")
def open_appeals(member: Keeper) -> list[AppealLine]:
    """Appeals without an answer."""
    with member.store.read(member.campaign) as work:
        rows = appeals.open_appeals(work)
    return [AppealLine(worker=row.number, **appeal_of(row).model_dump()) for row in rows]


@router.post("/appeals/{number}", status_code=204)
def answer_appeal(number: Number, answer: AppealAnswer, member: Keeper) -> None:
    """Answer an appeal; a refusal whose appeal is won is accepted and paid."""
    with member.store.write(member.campaign) as work:
        appeals.answer_appeal(work, member.who.name, number, won=answer.won, reply=answer.reply)


@router.post("/workers/{number}/forget", status_code=204)
def forget(number: Number, wanted: Forgetting, member: Keeper) -> None:
    """Erase the person behind a worker."""
    if not wanted.sure:
        raise RuleError("ask-twice", "a person who is forgotten cannot be brought back; confirm it")
    with member.store.read(member.campaign) as work:
        name = work.name
    despite = wanted.despite_release
    erasure.forget(
        member.store, name, number, who=member.who.name, void=wanted.void, despite=despite
    )


@router.post("/codes", status_code=201)
def use_code(wanted: CodeWanted, member: Payer) -> CodeUsed:
    """Use up a completion code."""
    with member.store.write(member.campaign) as work:
        worker, outcome = visits.use_code(work, wanted.code)
    return CodeUsed(worker=worker, outcome=outcome)
