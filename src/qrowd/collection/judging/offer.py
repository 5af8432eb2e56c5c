"""What a page needs of an assignment: sets, topics, documents and answers so far.

Documents have no names here: a set's random name and a place from 1 on stand for them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import select

from qrowd.collection.database.schema import (
    answer,
    content,
    document,
    event,
    judging_set,
    member,
    note,
    pair,
    place,
    topic,
)
from qrowd.collection.database.store import Found, Work
from qrowd.collection.people.topic_questions import open_questions
from qrowd.collection.plan.sections import MINUTE
from qrowd.errors import RuleError


@dataclass(frozen=True)
class TopicText:
    """What a topic asks for."""

    query: str
    description: str
    narrative: str
    category: str
    language: str


@dataclass(frozen=True)
class Answered:
    """The answer that counts now: `event` is its number, which a change of mind names."""

    event: int
    kind: str
    grade: int | None = None
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShownDocument:
    """A document at its place in a shown set."""

    position: int
    title: str
    media_type: str
    answer: Answered | None
    reviewed: Answered | None = None


@dataclass(frozen=True)
class Question:
    """A question on a topic, asked before it is judged."""

    number: int
    text: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class ShownSet:
    """A set as one worker sees it; `questions` must be answered before it is judged."""

    key: str
    topic: TopicText
    documents: tuple[ShownDocument, ...]
    ranking: Answered | None
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Offer:
    """A batch for a worker. Times are milliseconds since 1970."""

    key: str
    kind: str
    state: str
    pay: int
    leased_at: int
    expires_at: int
    warn_at: int
    latest_end: int
    sets: tuple[ShownSet, ...]


def show(work: Work, row: Found) -> Offer:
    """An assignment as its worker sees it."""
    p = place.c
    columns = (p.id, p.key, p.shown, p.set_id, p.worker_id, p.reviews_id, judging_set.c.topic_id)
    joined = place.join(judging_set, judging_set.c.id == p.set_id)
    query = select(*columns).select_from(joined).where(p.assignment_id == row.id)
    places = work.db.execute(query.order_by(p.ordinal)).all()
    kind = "judge" if row.kind in ("judge", "second") else str(row.kind)
    warn = row.expires_at - round(work.plan.hit.warn_minutes * MINUTE)
    times = (row.leased_at, row.expires_at, warn, row.latest_end)
    sets = tuple(_shown(work, one) for one in places)
    return Offer(row.key, kind, row.state, row.pay, *times, sets)


def order_of(shown: str) -> list[int]:
    """The positions in the set, in the order in which a worker sees them."""
    return [int(one) for one in shown.split()]


def _shown(work: Work, one: Found) -> ShownSet:
    order = order_of(one.shown)
    documents = _documents(work, one.set_id)
    given = answers_of(work, one.id)
    judged = answers_of(work, one.reviews_id) if one.reviews_id else {}
    found = tuple(
        ShownDocument(at, *documents[position], given.get(position), judged.get(position))
        for at, position in enumerate(order, 1)
    )
    ranking = given.get(0)
    if ranking:
        ranks = tuple(ranking.ranks[position - 1] for position in order)
        ranking = Answered(ranking.event, ranking.kind, None, ranks)
    text = TopicText(*_topic(work, one.topic_id))
    questions = tuple(Question(*each) for each in open_questions(work, one.worker_id, one.topic_id))
    return ShownSet(one.key, text, found, ranking, questions)


def _topic(work: Work, topic_id: int) -> Found:
    t = topic.c
    query = select(t.query, t.description, t.narrative, t.category, t.language)
    return work.db.execute(query.where(t.id == topic_id)).one()


def _documents(work: Work, set_id: int) -> dict[int, tuple[str, str]]:
    joined = member.join(pair, pair.c.id == member.c.pair_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    query = select(member.c.position, document.c.title, document.c.media_type)
    rows = work.db.execute(query.select_from(joined).where(member.c.set_id == set_id))
    return {row.position: (row.title, row.media_type) for row in rows}


def answers_of(work: Work, place_id: int) -> dict[int, Answered]:
    """The answers that count now, by position in the set; 0 is the set's ranking."""
    e = event.c
    query = select(answer.c.position, e.id, e.kind, e.grade, e.ranking)
    joined = answer.join(event, e.id == answer.c.event_id)
    rows = work.db.execute(query.select_from(joined).where(answer.c.place_id == place_id))
    return {
        row.position: Answered(row.id, row.kind, row.grade, tuple(order_of(row.ranking or "")))
        for row in rows
        if row.kind != "clear"
    }


@dataclass(frozen=True)
class Body:
    """The bytes of a document, and what they are."""

    title: str
    url: str
    media_type: str
    content: bytes
    hash: str


_BODIES = select(
    document.c.title, document.c.url, document.c.media_type, content.c.body, content.c.hash
).select_from(
    pair.join(document, document.c.id == pair.c.document_id).outerjoin(
        content, content.c.hash == document.c.content
    )
)


def body_of(work: Work, worker_id: int, place_key: str, position: int) -> Body:
    """The document at a place of a set that was given to this worker."""
    mine = (place.c.key == place_key) & (place.c.worker_id == worker_id)
    row = work.db.execute(select(place.c.set_id, place.c.shown).where(mine)).one_or_none()
    order = order_of(row.shown) if row else []
    if row is None or not 1 <= position <= len(order):
        raise RuleError("not-found", "there is no such document in your batch")
    at = (member.c.set_id == row.set_id) & (member.c.position == order[position - 1])
    return document_of(work, int(work.db.scalar(select(member.c.pair_id).where(at)) or 0))


def document_of(work: Work, pair_id: int) -> Body:
    """The document of a pair of this campaign."""
    own = (pair.c.id == pair_id) & (pair.c.campaign_id == work.campaign)
    found = work.db.execute(_BODIES.where(own)).one()
    return Body(found.title, found.url, found.media_type, found.body or b"", found.hash or "")


def notes_of(work: Work, events: list[int]) -> dict[int, list[tuple[str, str]]]:
    """The free text that came with events: (kind, text) by event."""
    found: dict[int, list[tuple[str, str]]] = defaultdict(list)
    query = select(note.c.event_id, note.c.kind, note.c.text).where(note.c.event_id.in_(events))
    for row in work.db.execute(query.order_by(note.c.id)):
        found[row.event_id].append((row.kind, row.text))
    return found
