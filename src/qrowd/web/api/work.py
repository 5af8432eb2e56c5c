"""What a worker does: consent, batches, answers, the review of missed check questions, own data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from qrowd.collection.judging import events, offer, queue, submission
from qrowd.collection.judging.events import Said, Saved
from qrowd.collection.judging.offer import Body, Offer
from qrowd.collection.judging.queue import Ending, Nothing
from qrowd.collection.judging.submission import Ended, Finished
from qrowd.collection.people import topic_questions, workers
from qrowd.web.access import Worker
from qrowd.web.problems import RESPONSES

router = APIRouter(prefix="/api/campaigns/{name}/judging", tags=["work"], responses=RESPONSES)

Key = Annotated[str, Path(min_length=1, max_length=64)]
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
# What a document's bytes may do in a browser: nothing.
HARMLESS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
}


STEP = 0.025  # seconds


@contextmanager
def in_whole_steps() -> Iterator[None]:
    """Take whole steps of time: documents that others have read (gold) come faster from the
    database, and the time must not tell.
    """
    began = time.monotonic()
    yield
    time.sleep(-(time.monotonic() - began) % STEP)


class Next(BaseModel):
    """The batch to work on, or why there is none."""

    batch: Offer | None = None
    nothing: Nothing | None = None


class Wish(BaseModel):
    """Whether the next batch is wanted at once."""

    go_on: bool = False


class Terms(BaseModel):
    """The version of the terms that was read."""

    version: str = Field(max_length=40)


class Answer(BaseModel):
    """Something a worker says; see `Said`."""

    key: str = Field(min_length=1, max_length=64)
    place: str = Field(min_length=1, max_length=64)
    kind: str = Field(max_length=20)
    position: int = Field(0, ge=0, le=1000)
    grade: int | None = Field(None, ge=-128, le=127)
    ranks: list[int] = Field(default=[], max_length=100)
    value: float | None = Field(None, allow_inf_nan=False)
    bucket: str | None = Field(None, max_length=10_000)
    seconds: float = Field(0.0, ge=0, lt=1e7, allow_inf_nan=False)
    follows: int | None = Field(None, ge=0, lt=2**62)
    reason: str = Field("", max_length=10_000)
    passage: str = Field("", max_length=10_000)

    def said(self) -> Said:
        """As `collection` has it."""
        return Said(**{**self.model_dump(), "ranks": tuple(self.ranks)})


class Answers(BaseModel):
    """Answers to all questions on one topic: question number -> choice, from 0 on."""

    answers: dict[int, int] = Field(max_length=100)


class Passed(BaseModel):
    """Whether the topic may be judged."""

    passed: bool


@router.post("/consent", status_code=204)
def give_consent(terms: Terms, worker: Worker) -> None:
    """Accept the terms."""
    with worker.write() as work:
        workers.give_consent(work, worker.worker, terms.version)


@router.post("/next")
def next_batch(worker: Worker) -> Next:
    """The open batch, or a new one."""
    with worker.write() as work:
        batch = queue.next_batch(work, worker.worker)
    return Next(batch=batch) if isinstance(batch, Offer) else Next(nothing=batch)


@router.post("/answers")
def save_answer(answer: Answer, worker: Worker) -> Saved:
    """Save a grade, a rating, a ranking, "cannot tell", "broken" or "clear", once committed.

    The same key and body again gives the same reply; the same key with another body is a 409.
    """
    with worker.write() as work:
        return events.save(work, worker.worker, answer.said())


@router.post("/questions")
def answer_questions(answers: Answers, worker: Worker) -> Passed:
    """Answer the questions on a topic."""
    with worker.write() as work:
        passed = topic_questions.answer_questions(work, worker.worker, answers.answers)
    return Passed(passed=passed)


@router.get("/sets/{key}/documents/{position}", response_class=Response)
def document(key: Key, position: Annotated[int, Path(ge=1, le=1000)], worker: Worker) -> Response:
    """The bytes of a document in one's own batch; the batch says their media type.

    Browsers are told of pictures and plain text only: no policy keeps a link in a page (nor in a
    vector picture or a PDF document) from being followed.
    """
    with in_whole_steps(), worker.read() as work:
        body = offer.body_of(work, worker.worker, key, position)
    return as_bytes(body)


def as_bytes(body: Body) -> Response:
    """A document's bytes, with which a browser does nothing."""
    shown = body.media if body.media in PICTURES else "text/plain"
    headers = {**HARMLESS, "Cache-Control": "private, max-age=3600"}
    return Response(body.content, media_type=shown, headers=headers)


@router.post("/batches/{key}/end")
def end(key: Key, wish: Wish, worker: Worker) -> Ending:
    """Finish a batch, hand it in where nothing is to be read, and go on if that is wanted."""
    with worker.write() as work:
        return queue.end_batch(work, worker.worker, key, go_on=wish.go_on)


@router.post("/batches/{key}/finish")
def finish(key: Key, worker: Worker) -> Finished:
    """Close the answers; the checks run, and missed check questions are shown."""
    with worker.write() as work:
        return submission.finish(work, worker.worker, key)


@router.get("/batches/{key}/review")
def review(key: Key, worker: Worker) -> Finished:
    """The checks' result and missed check questions of a finished batch."""
    with worker.read() as work:
        return submission.review(work, worker.worker, key)


@router.post("/batches/{key}/submit")
def submit(key: Key, worker: Worker) -> Ended:
    """Hand in a finished batch."""
    with worker.write() as work:
        return submission.submit(work, worker.worker, key)


@router.post("/batches/{key}/return")
def give_back(key: Key, worker: Worker) -> Ended:
    """Return a batch: nothing is paid, its answers do not count."""
    with worker.write() as work:
        return submission.give_back(work, worker.worker, key)
