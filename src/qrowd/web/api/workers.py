"""The people of a campaign, as its organiser sees them: numbers, links, appeals, codes."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.store import Work
from qrowd.collection.office import erasure
from qrowd.collection.office.acts.people import MOST_DAYS
from qrowd.collection.people import entry
from qrowd.collection.people import workers as people
from qrowd.collection.people.entry import MOST_PEOPLE
from qrowd.collection.record import audit
from qrowd.errors import RuleError
from qrowd.web.access import Keeper, Member, Payer, Reader, TheSettings
from qrowd.web.api.own import Appeal
from qrowd.web.problems import RESPONSES
from qrowd.web.settings import Settings

router = APIRouter(prefix="/api/campaigns/{name}", tags=["people"], responses=RESPONSES)

Number = Annotated[int, Path(ge=1, lt=2**31)]


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

    people: list[str] = Field(min_length=1, max_length=MOST_PEOPLE)
    days: float = Field(30, gt=0, le=MOST_DAYS)


class Link(BaseModel):
    """A person's link."""

    person: str
    link: str


class PersonLine(BaseModel):
    """Somebody on the campaign's list, the worker that they are, and until when a link is good."""

    person: int = Field(validation_alias="id")
    id: str = Field(validation_alias="platform_id")
    name: str
    email: str
    language: str
    state: str
    worker: int | None = Field(validation_alias="number")
    link_until: int | None = Field(validation_alias="expires_at")


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
    kind: Literal["human", "expert", "machine"] = "human",
) -> list[people.WorkerLine]:
    """Workers by number, a page at a time; experts and machines only where they are asked for."""
    with member.read() as work:
        return people.listed(work, after, limit, kind)


@router.get("/people", response_model=list[PersonLine])
def people_listed(
    member: Keeper,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[entry.PersonLine]:
    """The campaign's list, a page at a time; acts put people on it and take them off."""
    with member.read() as work:
        return entry.people(work, after, limit)


@router.post("/links", status_code=201)
def make_links(wanted: LinksWanted, member: Keeper, settings: TheSettings) -> list[Link]:
    """Signed links for people, who are put on the campaign's list: an act, which can be undone."""
    with member.write() as work:
        number = audit.perform(work, member.name, "make links", wanted.model_dump())
        return links_of_act(work, settings, number)


def links_of_act(work: Work, settings: Settings, number: int) -> list[Link]:
    """Each person's address of the campaign's judging page, which an act has made."""
    numbers = audit.details_numbered(work, number)["links"]
    return [
        Link(person=person, link=judging_page(work, settings, text))
        for person, text in entry.links_numbered(work, numbers)
    ]


def judging_page(work: Work, settings: Settings, link: str) -> str:
    """The address of the campaign's judging page, with a link's text."""
    return f"{settings.address}/judge/{quote(work.name, safe='')}?link={link}"


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
