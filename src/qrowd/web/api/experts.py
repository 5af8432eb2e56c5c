"""What experts do: judge blind, see what judges said, decide, answer objections.

What judges said of a pair is refused (`blind-first`) until the expert has judged it. Nothing here
tells anything about the systems.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from qrowd.collection.adjudication import cases, expert_sample
from qrowd.collection.database.store import Work
from qrowd.collection.judging.offer import document_of
from qrowd.collection.material import clarification
from qrowd.collection.record import audit
from qrowd.rendering import plain
from qrowd.web.access import Expert, Manager, Member, Reader
from qrowd.web.api.manage import Done
from qrowd.web.api.own import Made
from qrowd.web.api.work import as_bytes
from qrowd.web.neighbours import Neighbour, neighbours
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}/experts", tags=["experts"], responses=RESPONSES)

Topic = Annotated[str, Query(max_length=400)]
Doc = Annotated[str, Query(max_length=1000)]
Number = Annotated[int, Path(ge=1, lt=2**31)]


class Pair(BaseModel):
    """A pair to judge, without anybody's grade."""

    topic: str
    doc: str


class Decision(Pair):
    """An expert's decision; `code` says why judges were wrong, in a word."""

    grade: int = Field(ge=-128, le=127)
    reason: str = Field("", max_length=10_000)
    code: str = Field("", max_length=40)


class Decided(Decision):
    """A decision that stands; `at` is milliseconds since 1970, `own` if it is one's own."""

    at: int
    expert: str
    own: bool


class Seen(BaseModel):
    """What judges said of a pair, and what is alike; `problem` says why nothing is."""

    votes: list[cases.Vote]
    neighbours: list[Neighbour]
    problem: str


class SampleWanted(BaseModel):
    """How many judgements to draw; none: the planned share."""

    size: int | None = Field(None, ge=0, le=1_000_000)


class ErrorRate(BaseModel):
    """How often sampled judgements differ from the experts', with a 90 % interval."""

    sampled: int
    judged: int
    wrong: int
    rate: float | None
    low: float | None
    high: float | None


class Objection(Pair):
    """An "I disagree" that waits for an answer."""

    number: int = Field(validation_alias="id")
    at: int


class Sides(Objection):
    """Both sides of an objection: what gold and the worker said, and the worker's words."""

    words: str = Field(validation_alias="text")
    gold: int
    reason: str
    said: int | None


class Answer(BaseModel):
    """The answer to an objection; `right` if the worker is, which retires the check question."""

    right: bool
    reply: str = Field(min_length=1, max_length=10_000)


class Clarification(BaseModel):
    """What is added to a topic's instructions, with the day."""

    topic: str = Field(max_length=400)
    text: str = Field(min_length=1, max_length=2_000)


@contextmanager
def reading(expert: Member) -> Iterator[tuple[Work, int]]:
    """A snapshot, and the number of the expert there."""
    with expert.read() as work:
        yield work, cases.seen_as(work, expert.bearer.worker, expert.name)


@contextmanager
def writing(expert: Member) -> Iterator[tuple[Work, int]]:
    """A transaction, and the number of the expert there."""
    with expert.write() as work:
        yield work, cases.expert_id(work, expert.bearer.worker, expert.name)


# --- blind ----------------------------------------------------------------------------------------


@router.post("/sample", status_code=201)
def draw(wanted: SampleWanted, expert: Expert) -> Made:
    """Draw random judgements to judge again; how many."""
    with expert.write() as work:
        return Made(number=len(expert_sample.draw_sample(work, wanted.size)))


@router.get("/sample", response_model=list[Pair])
def sample(expert: Expert) -> list[expert_sample.NamedPair]:
    """What is left to judge of the sample, blind."""
    with expert.read() as work:
        return expert_sample.to_judge(work)


@router.get("/disputed", response_model=list[Pair])
def disputed(
    expert: Expert, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[expert_sample.DisputedPair]:
    """The pairs that judges disagree on most; how they voted is told after one's own judgement."""
    with expert.read() as work:
        return expert_sample.disputed(work, limit)


@router.get("/queue", response_model=list[Pair])
def queue(expert: Expert) -> list[expert_sample.NamedPair]:
    """All that waits, sampled and disputed pairs mixed."""
    with expert.read() as work:
        return cases.queue(work)


@router.get("/documents", response_class=Response)
def document(topic: Topic, doc: Doc, expert: Expert) -> Response:
    """The bytes of a document."""
    with expert.read() as work:
        body = document_of(work, expert_sample.pair_named(work, topic, doc))
    return as_bytes(body)


# --- deciding -------------------------------------------------------------------------------------


@router.post("/decisions", status_code=204)
def decide(decision: Decision, expert: Expert) -> None:
    """Decide a pair: blind the first time, and again after having seen what judges said."""
    with writing(expert) as (work, number):
        pair = expert_sample.pair_named(work, decision.topic, decision.doc)
        cases.decide(work, number, pair, decision.grade, decision.reason, decision.code)


@router.post("/take-back", status_code=201)
def take_back(wanted: Pair, expert: Expert) -> Done:
    """Take back one's own decision on a pair, which waits again then; organisers can undo that."""
    with writing(expert) as (work, number):
        pair = expert_sample.pair_named(work, wanted.topic, wanted.doc)
        return Done(number=cases.take_back(work, expert.name, number, pair))


@router.get("/votes", response_model=Seen)
def votes(topic: Topic, doc: Doc, expert: Expert) -> dict[str, Any]:
    """What judges said, and what is alike; refused until this expert has judged the pair."""
    with reading(expert) as (work, number):
        pair = expert_sample.pair_named(work, topic, doc)
        judges = cases.votes(work, number, pair)
        alike = neighbours(work, number, pair)
    return {"votes": judges, "neighbours": alike.documents, "problem": str(alike.problem)}


@router.get("/topics", response_model=list[Pair])
def topic(topic: Topic, expert: Expert) -> list[expert_sample.NamedPair]:
    """All pairs of a topic, for somebody who judges it whole."""
    with expert.read() as work:
        return cases.of_topic(work, topic)


@router.get("/decisions", response_model=list[Decided])
def decisions(expert: Expert, topic: Topic | None = None) -> list[cases.Decided]:
    """The decisions that stand on what this expert has judged, the newest first."""
    with reading(expert) as (work, number):
        return cases.decisions(work, number, topic)


@router.post("/clarifications", status_code=201)
def clarify(wanted: Clarification, expert: Expert) -> Done:
    """Add to a topic's instructions, with the day."""
    with expert.write() as work:
        act = audit.perform(work, expert.name, clarification.ACT, wanted.model_dump())
    return Done(number=act)


# --- objections -----------------------------------------------------------------------------------


@router.get("/objections", response_model=list[Objection])
def objections(expert: Expert) -> list[cases.Objection]:
    """Check questions that workers disagree with."""
    with expert.read() as work:
        return cases.disagreements(work)


@router.get("/objections/{number}", response_model=Sides)
def objection(number: Number, expert: Expert) -> cases.Disagreement:
    """Both sides; refused until this expert has judged the document."""
    with reading(expert) as (work, mine):
        return cases.disagreement(work, mine, number)


@router.post("/objections/{number}", status_code=204)
def answer(number: Number, reply: Answer, expert: Expert) -> None:
    """Answer an objection."""
    with writing(expert) as (work, mine):
        cases.answer_disagreement(
            work, expert.name, mine, number, right=reply.right, reply=reply.reply
        )


# --- for organisers -------------------------------------------------------------------------------


@router.get("/error-rate")
def error_rate(reader: Reader) -> ErrorRate:
    """How often the sampled judgements were wrong."""
    with reader.read() as work:
        rate = expert_sample.error_rate(work)
    return ErrorRate.model_validate(plain(vars(rate)))


@router.get("/all-decisions", response_model=list[Decided])
def all_decisions(reader: Reader) -> list[cases.Decided]:
    """What experts decided; POST results/decisions tells which systems' scores that moves."""
    with reader.read() as work:
        return cases.decisions(work)


@router.post("/draw", status_code=201)
def draw_for_experts(wanted: SampleWanted, manager: Manager) -> Done:
    """The act of drawing a sample for experts; it can be undone."""
    details = wanted.model_dump(exclude_none=True)
    with manager.write() as work:
        return Done(number=audit.perform(work, manager.name, "draw sample", details))
