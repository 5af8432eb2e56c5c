"""What a page needs of an assignment: sets, topics, documents and answers so far.

Documents have no names here: a set's random name and a position from 1 on stand for them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import bindparam, func, select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    CURRENT_ANSWERS,
    PAIR_DOCUMENTS,
    PLACED_SETS,
    answer,
    bucket,
    content,
    document,
    event,
    judging_set,
    member,
    note,
    pair,
    place,
    topic,
    with_contents,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import own_revisions
from qrowd.collection.people.topic_questions import Question, open_questions
from qrowd.collection.plan.sections import MINUTE
from qrowd.collection.plan.way import Opinion
from qrowd.errors import RuleError


@dataclass(frozen=True)
class TopicText:
    """What a topic asks for."""

    query: str
    description: str
    narrative: str
    category: str
    language: str


@dataclass(frozen=True, kw_only=True)
class Answered(Opinion):
    """The answer that counts now: `event` is its number, which a change of mind names."""

    event: int


@dataclass(frozen=True)
class ShownDocument:
    """A document at its position in a shown set."""

    position: int
    title: str
    media_type: str
    answer: Answered | None
    reviewed: Answered | None = None


@dataclass(frozen=True)
class ShownSet:
    """A set as one worker sees it; `questions` must be answered before it is judged."""

    key: str
    topic: TopicText
    documents: tuple[ShownDocument, ...]
    ranking: Answered | None
    questions: tuple[Question, ...]
    #: topics of which one can be chosen for each document, where that is asked
    buckets: tuple[TopicText, ...] = ()


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


@dataclass(frozen=True)
class Body:
    """The bytes of a document, and what they are."""

    title: str
    url: str
    media_type: str
    content: bytes
    hash: str

    @property
    def media(self) -> str:
        """The media type alone, without what may follow it (charset=...)."""
        return self.media_type.partition(";")[0].strip().lower()


def show(work: Work, assigned: schema.Assignment) -> Offer:
    """An assignment as its worker sees it."""
    kind = "judge" if assigned.kind == "second" else assigned.kind
    if kind == "review":
        own = own_revisions(func.count(), place.c.assignment_id == assigned.id)
        kind = "revision" if work.number(own) else "review"
    sets = [_shown(work, row) for row in places_of(work, assigned)]
    if work.plan.way.buckets:
        sets = _with_buckets(work, sets, random.Random(assigned.key))
    return Offer(
        key=assigned.key,
        kind=kind,
        state=assigned.state,
        pay=assigned.pay,
        leased_at=assigned.leased_at,
        expires_at=assigned.expires_at,
        warn_at=assigned.expires_at - round(work.plan.hit.warn_minutes * MINUTE),
        latest_end=assigned.latest_end,
        sets=tuple(sets),
    )


class PlacedSet(schema.Place):
    """A place, with the topic and the size of its set."""

    topic_id: int
    size: int


_T = topic.c
_TOPICS = select(_T.query, _T.description, _T.narrative, _T.category, _T.language).order_by(_T.id)
_TOPIC = _TOPICS.where(_T.id == bindparam("topic"))
PLACES = select(*place.c, judging_set.c.topic_id, judging_set.c.size).select_from(PLACED_SETS)
_PLACES_OF = PLACES.where(place.c.assignment_id == bindparam("number")).order_by(place.c.ordinal)


def places_of(work: Work, assigned: schema.Assignment) -> list[PlacedSet]:
    """The places of an assignment in their order."""
    return work.rows(_PLACES_OF, PlacedSet, {"number": assigned.id})


def _shown(work: Work, row: PlacedSet) -> ShownSet:
    order = order_of(row.shown)
    documents = _documents(work, row.set_id)
    answers = answers_of(work, row.id)
    reviewed = answers_of(work, row.reviews_id) if row.reviews_id else {}
    ranking = answers.get(0)
    if ranking:
        ranking = replace(ranking, ranks=tuple(ranking.ranks[at - 1] for at in order))
    return ShownSet(
        key=row.key,
        topic=TopicText(*work.db.execute(_TOPIC, {"topic": row.topic_id}).one()),
        documents=tuple(
            ShownDocument(at, *documents[position], answers.get(position), reviewed.get(position))
            for at, position in enumerate(order, 1)
        ),
        ranking=ranking,
        questions=tuple(open_questions(work, row.worker_id, row.topic_id)),
    )


def _with_buckets(work: Work, sets: Sequence[ShownSet], chance: random.Random) -> list[ShownSet]:
    """Sets with the topics to choose from: theirs, as many sets in a row as there are buckets.

    What is missing is filled up from the batch's other topics, then the campaign's, by chance.
    """
    wanted, shown = work.plan.way.buckets, list[ShownSet]()
    others = list(dict.fromkeys(row.topic for row in sets))
    chance.shuffle(others)
    if len(others) < wanted:
        more = [TopicText(*row) for row in work.db.execute(_TOPICS.where(work.own(topic)))]
        others += chance.sample(more, len(more))
    for first in range(0, len(sets), wanted):
        part = sets[first : first + wanted]
        topics = list(dict.fromkeys([*(row.topic for row in part), *others]))[:wanted]
        buckets = tuple(sorted(topics, key=lambda each: each.query))
        shown += [replace(row, buckets=buckets) for row in part]
    return shown


def order_of(shown: str) -> list[int]:
    """The positions in the set, in the order in which a worker sees them."""
    return [int(position) for position in shown.split()]


_TITLES = (
    select(member.c.position, document.c.title, document.c.media_type)
    .select_from(PAIR_DOCUMENTS.join(member, member.c.pair_id == pair.c.id))
    .where(member.c.set_id == bindparam("set"))
)


def _documents(work: Work, set_id: int) -> dict[int, tuple[str, str]]:
    rows = work.db.execute(_TITLES, {"set": set_id})
    return {at: (title, media_type) for at, title, media_type in rows}


_STANDING = (answer.c.place_id == bindparam("place")) & (event.c.kind != "clear")
_ANSWERS = select(event).select_from(CURRENT_ANSWERS).where(_STANDING)


def answers_of(work: Work, place_id: int) -> dict[int, Answered]:
    """The answers that count now, by position in the set; 0 is the set's ranking."""
    buckets, mine = {}, {"place": place_id}
    if work.plan.way.buckets:
        chosen = CURRENT_ANSWERS.join(bucket, bucket.c.event_id == event.c.id)
        named = chosen.outerjoin(topic, topic.c.id == bucket.c.topic_id)
        query = select(event.c.id, func.coalesce(topic.c.query, "")).select_from(named)
        buckets = dict(work.db.execute(query.where(_STANDING), mine).all())
    return {
        row.position: Answered(
            event=row.id,
            kind=row.kind,
            grade=row.grade,
            ranks=tuple(order_of(row.ranking or "")),
            value=row.value,
            bucket=buckets.get(row.id),
        )
        for row in work.rows(_ANSWERS, schema.Event, mine)
    }


def notes_of(work: Work, events: list[int]) -> dict[int, list[tuple[str, str]]]:
    """The free text that came with events: (kind, text) by event."""
    notes: dict[int, list[tuple[str, str]]] = defaultdict(list)
    query = select(note).where(note.c.event_id.in_(events))
    for row in work.rows(query.order_by(note.c.id), schema.Note):
        notes[row.event_id].append((row.kind, row.text))
    return notes


_PAIR = select(member.c.pair_id).where(
    member.c.set_id == bindparam("set"), member.c.position == bindparam("position")
)
_OWN_PLACE = select(place).where(
    place.c.key == bindparam("key"), place.c.worker_id == bindparam("worker")
)


def body_of(work: Work, worker_id: int, place_key: str, position: int) -> Body:
    """The document at a position of a set that was given to this worker."""
    missing = "there is no such document in your batch"
    placed, in_set = place_and_position(work, worker_id, place_key, position, missing)
    return document_of(work, work.number(_PAIR, {"set": placed.set_id, "position": in_set}))


def place_and_position(
    work: Work, worker_id: int, key: str, position: int, missing: str
) -> tuple[schema.Place, int]:
    """A worker's own place, and the position in its set of what is shown at `position`."""
    placed = work.existing(_OWN_PLACE, missing, schema.Place, {"key": key, "worker": worker_id})
    order = order_of(placed.shown)
    if not 1 <= position <= len(order):
        raise RuleError("not-found", missing)
    return placed, order[position - 1]


class _FullDocument(schema.Document):
    body: bytes | None


_DOCUMENT = (
    select(*document.c, content.c.body)
    .select_from(with_contents(PAIR_DOCUMENTS))
    .where(pair.c.id == bindparam("pair"), pair.c.campaign_id == bindparam("campaign"))
)


def document_of(work: Work, pair_id: int) -> Body:
    """The document of a pair of this campaign."""
    values = {"pair": pair_id, "campaign": work.campaign}
    missing = "there is no such document in this campaign"
    row = work.existing(_DOCUMENT, missing, _FullDocument, values)
    return Body(row.title, row.url, row.media_type, row.body or b"", row.content or "")
