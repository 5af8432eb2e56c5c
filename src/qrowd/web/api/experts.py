"""What experts do: judge a random sample blind, decide disputed documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from qrowd.collection import experts
from qrowd.collection.showing import document_of
from qrowd.rendering import plain
from qrowd.web.access import Expert, Reader
from qrowd.web.api.own import Made
from qrowd.web.api.work import HARMLESS
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}/experts", tags=["experts"], responses=RESPONSES)


class Pair(BaseModel):
    """A pair to judge, without anybody's grade."""

    topic: str
    doc: str


class Disputed(Pair):
    """A pair whose judges disagree."""

    votes: int
    relevant: int


class Decision(Pair):
    """An expert's decision; `code` says why judges were wrong, in a word."""

    grade: int = Field(ge=-128, le=127)
    reason: str = Field("", max_length=10_000)
    code: str = Field("", max_length=40)


class SampleWanted(BaseModel):
    """How many judgements to draw; none: the planned share."""

    size: int | None = Field(None, ge=0, le=1_000_000)


class ErrorRate(BaseModel):
    """How often sampled judgements differ from the experts', with a 95 % interval."""

    sampled: int
    judged: int
    wrong: int
    rate: float | None
    low: float | None
    high: float | None


@router.post("/sample", status_code=201)
def draw(wanted: SampleWanted, expert: Expert) -> Made:
    """Draw random judgements to judge again; how many."""
    with expert.store.write(expert.campaign) as work:
        return Made(number=experts.draw_sample(work, wanted.size))


@router.get("/sample")
def sample(expert: Expert) -> list[Pair]:
    """What is left to judge, blind."""
    with expert.store.read(expert.campaign) as work:
        return [Pair(topic=row.topic, doc=row.doc) for row in experts.to_judge(work)]


@router.get("/disputed")
def disputed(expert: Expert, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> list[Disputed]:
    """The pairs that judges disagree on most."""
    with expert.store.read(expert.campaign) as work:
        rows = experts.disputed(work, limit)
    return [
        Disputed(topic=row.topic, doc=row.doc, votes=row.votes, relevant=row.relevant)
        for row in rows
    ]


@router.get("/documents", response_class=Response)
def document(
    topic: Annotated[str, Query(max_length=400)],
    doc: Annotated[str, Query(max_length=1000)],
    expert: Expert,
) -> Response:
    """The bytes of a document."""
    with expert.store.read(expert.campaign) as work:
        body = document_of(work, experts.pair_named(work, topic, doc))
    return Response(body.content, media_type=body.media_type, headers=HARMLESS)


@router.post("/decisions", status_code=204)
def decide(decision: Decision, expert: Expert) -> None:
    """Decide a pair."""
    with expert.store.write(expert.campaign) as work:
        pair = experts.pair_named(work, decision.topic, decision.doc)
        experts.decide(work, expert.who.name, pair, decision.grade, decision.reason, decision.code)


@router.get("/error-rate")
def error_rate(reader: Reader) -> ErrorRate:
    """How often the sampled judgements were wrong."""
    with reader.store.read(reader.campaign) as work:
        found = experts.error_rate(work)
    return ErrorRate.model_validate(plain(vars(found)))
