"""The people of a campaign, as its organiser sees them: numbers, links, appeals, codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.store import Work
from qrowd.collection.office import erasure
from qrowd.collection.people import workers as people
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web.access import Keeper, Member, Payer, Reader, TheSettings
from qrowd.web.api.own import Appeal
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings

router = APIRouter(prefix="/api/campaigns/{name}", tags=["people"], responses=RESPONSES)

Number = Annotated[int, Path(ge=1, lt=2**31)]
MOST_LINKS = 10_000
MOST_DAYS = 3650


class WorkerLine(BaseModel):
    """A worker in the list; nothing here says who it is."""

    worker: int = Field(validation_alias="number")
    kind: str
    state: str
    failed_batches: int = Field(validation_alias="failed_hits")
    batches: int
    earned: int


class LinksWanted(BaseModel):
    """Links for these people, good for so many days."""

    people: list[str] = Field(min_length=1, max_length=MOST_LINKS)
    days: float = Field(30, gt=0, le=MOST_DAYS)


class Link(BaseModel):
    """A person's link."""

    person: str
    link: str


class AppealLine(Appeal):
    """An appeal of a worker."""

    worker: int = Field(validation_alias="number")


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


@router.get("/workers", response_model=list[WorkerLine])
def workers(
    member: Reader,
    after: Annotated[int, Query(ge=0, lt=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[people.WorkerLine]:
    """Workers by number, a page at a time."""
    with member.read() as work:
        return people.listed(work, after, limit)


@router.post("/links", status_code=201)
def make_links(wanted: LinksWanted, member: Keeper, settings: TheSettings) -> list[Link]:
    """Signed links for people of one's own panel."""
    return links_for(member, settings, wanted.people, wanted.days)


def links_for(
    member: Member, settings: Settings, persons: Sequence[str], days: float
) -> list[Link]:
    """Each person's address of the campaign's judging page."""
    with member.write() as work:
        return [
            Link(person=person, link=link_for(work, settings, person, days)) for person in persons
        ]


def link_for(work: Work, settings: Settings, person: str, days: float) -> str:
    """The address of the campaign's judging page, with which this person comes in."""
    page = f"{settings.address}/judge/{quote(work.name, safe='')}"
    return f"{page}?link={people.make_link(work, person, days)}"


@router.get("/appeals", response_model=list[AppealLine])
def open_appeals(member: Keeper) -> list[appeals.NumberedAppeal]:
    """Appeals without an answer."""
    with member.read() as work:
        return appeals.open_appeals(work)


@router.post("/appeals/{number}", status_code=204)
def answer_appeal(number: Number, answer: AppealAnswer, member: Keeper) -> None:
    """Answer an appeal; a refusal whose appeal is won is accepted and paid."""
    with member.write() as work:
        audit.perform(work, member.name, "answer appeal", {"appeal": number, **answer.model_dump()})


@router.post("/workers/{number}/forget", status_code=204)
def forget(number: Number, wanted: Forgetting, member: Keeper) -> None:
    """Erase the person behind a worker."""
    if not wanted.sure:
        raise RuleError("ask-twice", "a person who is forgotten cannot be brought back; confirm it")
    erase(member, number, void=wanted.void, despite=wanted.despite_release)


def erase(member: Member, number: int, *, void: bool, despite: bool) -> None:
    """Erase the person behind a worker, in the name of this member."""
    with member.read() as work:
        name = work.name
    erasure.forget(member.store, name, number, who=member.name, void=void, despite=despite)


@router.post("/codes", status_code=201)
def use_code(wanted: CodeWanted, member: Payer) -> CodeUsed:
    """Use up a completion code."""
    with member.write() as work:
        worker, outcome = people.use_code(work, wanted.code)
    return CodeUsed(worker=worker, outcome=outcome)
