"""What workers say: append-only, each with a key that its client made.

The same key and body again gives the same reply; the same key with another body is refused
(`key-reused`). A change of mind is a new event; the last one counts, unless it names (`follows`)
an event that is no longer the last: then it is kept as stale and replaces nothing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from sqlalchemy import bindparam, exists, func, insert, select, update

from qrowd.collection.database.schema import (
    EVENT_KINDS,
    PLACED_SETS,
    answer,
    assignment,
    bucket,
    event,
    note,
    place,
    receipt,
    topic,
)
from qrowd.collection.database.store import Work, new_id
from qrowd.collection.judging.assignments import by_id, late_until, lease_of, move
from qrowd.collection.judging.offer import PLACES, PlacedSet, answers_of, order_of
from qrowd.collection.people.topic_questions import failed_topics, open_questions
from qrowd.collection.people.workers import worker_of
from qrowd.collection.plan.sections import MINUTE
from qrowd.collection.plan.way import GRADED, Opinion, Opinions
from qrowd.errors import RuleError
from qrowd.rendering import thousands

KEY_LENGTH = 64
LONGEST_NOTE = 10_000


@dataclass(frozen=True, kw_only=True)
class Said(Opinion):
    """Something a worker says of the document at `position` (as shown, from 1), or of the set.

    `ranks` are of the documents as they are shown. `follows` is the number of the event that this
    one replaces, 0 for none, None if the client cannot tell.
    """

    key: str
    place: str
    position: int = 0
    seconds: float = 0.0
    follows: int | None = None
    reason: str = ""
    passage: str = ""

    def digest(self) -> str:
        """A hash of all of it, to recognise a repeated request."""
        body = asdict(self)
        for name in ("value", "bucket"):  # receipts of earlier versions do not know of these
            if body[name] is None:
                del body[name]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Saved:
    """An event that is committed. `repeated`: it was there already. `stale`: it replaced nothing.
    `surplus`: others have filled a place of this batch meanwhile; its answers are kept and paid,
    not counted. It is said of all its sets alike: gold has no places that others could fill.
    """

    event: int
    at: int
    repeated: bool
    stale: bool
    late: bool
    surplus: bool
    expires_at: int
    warn_at: int


def save(work: Work, worker_id: int, said: Said) -> Saved:
    """Store what a worker said, and renew the lease."""
    _refuse_malformed(said)
    placed = _place(work, worker_id, said.place)
    stored = work.db.execute(_STORED, {"worker": worker_id, "key": said.key}).one_or_none()
    late, until = False, placed.expires_at
    if stored is None:
        late = _reopen(work, placed)
        if late:
            placed = _place(work, worker_id, said.place)
        _refuse_what_the_plan_forbids(work, placed, said)
        number, at, stale = _store(work, placed, said)
        until = _renew(work, placed)
    else:
        number, at, stale, digest = stored
        if digest != said.digest():
            raise RuleError("key-reused", "this key was used for another answer; make a new key")
    return Saved(
        event=number,
        at=at,
        repeated=stored is not None,
        stale=bool(stale),
        late=late,
        surplus=placed.in_surplus,
        expires_at=until,
        warn_at=until - round(work.plan.hit.warn_minutes * MINUTE),
    )


class JudgedPlace(PlacedSet):
    """A place with its assignment's state and times."""

    state: str
    leased_at: int
    expires_at: int
    latest_end: int
    assignment_kind: str
    #: whether its assignment has a place that others have filled
    in_surplus: bool


_BESIDE = place.alias()
# The statements of every save, built once: building them anew takes longer than running them.
_PLACE = (
    PLACES.add_columns(
        assignment.c.state,
        assignment.c.leased_at,
        assignment.c.expires_at,
        assignment.c.latest_end,
        assignment.c.kind.label("assignment_kind"),
        exists()
        .where(_BESIDE.c.assignment_id == place.c.assignment_id, _BESIDE.c.surplus == 1)
        .label("in_surplus"),
    )
    .join_from(PLACED_SETS, assignment, assignment.c.id == place.c.assignment_id)
    .where(
        place.c.key == bindparam("key"),
        place.c.worker_id == bindparam("worker"),
        assignment.c.campaign_id == bindparam("campaign"),
    )
)
_STORED = (
    select(event.c.id, event.c.at, event.c.stale, receipt.c.digest)
    .select_from(event.outerjoin(receipt, receipt.c.event_id == event.c.id))
    .where(event.c.worker_id == bindparam("worker"), event.c.key == bindparam("key"))
)
_LAST = select(answer.c.event_id).where(
    answer.c.place_id == bindparam("place"), answer.c.position == bindparam("position")
)
_SPENT = select(func.coalesce(func.sum(event.c.milliseconds), 0)).where(
    event.c.place_id.in_(select(place.c.id).where(place.c.assignment_id == bindparam("assignment")))
)
_ADD_EVENT, _ADD_RECEIPT, _ADD_NOTE = insert(event), insert(receipt), insert(note)
_LEASE = (
    update(assignment)
    .where(assignment.c.id == bindparam("number"))
    .values(expires_at=bindparam("until"))
)


def _refuse_malformed(said: Said) -> None:
    rules = (
        (not said.key or len(said.key) > KEY_LENGTH, f"key must have 1 to {KEY_LENGTH} characters"),
        (said.kind not in EVENT_KINDS, f"kind must be one of {', '.join(EVENT_KINDS)}"),
        ((said.kind == "grade") != (said.grade is not None), "a grade, and only it, has a grade"),
        ((said.kind == "ranking") != bool(said.ranks), "a ranking, and only it, has ranks"),
        ((said.kind == "rating") != (said.value is not None), "a rating, and only it, has a value"),
        (said.kind != "grade" and said.bucket is not None, "only a grade has a bucket"),
        (not 0 <= said.seconds < 1e7, "seconds must be at least 0"),
        (
            max(len(said.reason), len(said.passage)) > LONGEST_NOTE,
            f"a reason or passage has at most {thousands(LONGEST_NOTE)} characters",
        ),
        (
            "\0" in said.reason + said.passage + said.key + (said.bucket or ""),
            "text must not hold the character 0",
        ),
    )
    for is_broken, message in rules:
        if is_broken:
            raise RuleError("malformed", message)


def _place(work: Work, worker_id: int, key: str) -> JudgedPlace:
    """The place of this name, with its assignment's state and times."""
    values = {"key": key, "worker": worker_id, "campaign": work.campaign}
    return work.existing(_PLACE, "there is no such set in your batches", JudgedPlace, values)


def _reopen(work: Work, placed: JudgedPlace) -> bool:
    """Whether the answer is late, and its batch was opened again for it."""
    if placed.state == "active" and placed.expires_at > work.now:
        return False
    assigned = by_id(work, placed.assignment_id)
    if assigned.state == "active":
        assigned = move(work, assigned, "expire")
    if assigned.state != "expired":
        state = assigned.state
        raise RuleError("closed", f"the answers of this batch are closed: it is {state}")
    forgotten = worker_of(work, placed.worker_id).forgotten_at is not None
    if forgotten or work.now > late_until(work, assigned):  # a clock may be set back
        raise RuleError("too-late", "this batch ended too long ago; its answers are not taken")
    move(work, assigned, "late")
    return True


def _refuse_what_the_plan_forbids(work: Work, placed: JudgedPlace, said: Said) -> None:
    order = order_of(placed.shown)
    of_set = said.kind == "ranking" or (said.kind == "clear" and said.position == 0)
    if not of_set and not 1 <= said.position <= len(order):
        raise RuleError("malformed", f"position must be 1 to {len(order)}")

    def earlier() -> Opinions:
        answers = answers_of(work, placed.id)
        return {
            at: answers[position] for at, position in enumerate(order, 1) if position in answers
        }

    work.plan.way.refuse(work.plan, said, len(order), earlier)
    if said.kind in GRADED:
        _refuse_unjustified(work, said)
        _refuse_other_bucket(work, placed, said)
    if open_questions(work, placed.worker_id, placed.topic_id):
        raise RuleError("questions-first", "please answer the questions on this topic first")
    if placed.topic_id in failed_topics(work, placed.worker_id):
        raise RuleError("not-allowed", "this topic is left to others")


def _refuse_unjustified(work: Work, said: Said) -> None:
    reason, passage = said.reason.strip(), said.passage.strip()
    justified = {"reason": reason, "passage": passage, "either": reason or passage}
    asked = work.plan.techniques.justification
    if not justified.get(asked, True):
        noun = "a reason or a passage" if asked == "either" else f"a {asked}"
        raise RuleError("justify", f"please give {noun} with your grade")


def _refuse_other_bucket(work: Work, placed: JudgedPlace, said: Said) -> None:
    """A bucket that there is not, or whose grade another one would be."""
    if bool(work.plan.way.buckets) != (said.bucket is not None):
        raise RuleError("malformed", "a bucket comes with a grade where there are buckets, only")
    if said.bucket is None:
        return
    chosen = _topic_of(work, said.bucket)
    if chosen is None and said.bucket:
        raise RuleError("malformed", "bucket must be the query of a topic, or empty for none")
    if (chosen == placed.topic_id) != ((said.grade or 0) >= work.plan.scale.relevant_from):
        raise RuleError("malformed", "the grade is the relevant one in the topic's bucket only")


def _topic_of(work: Work, query: str) -> int | None:
    same = work.own(topic) & (topic.c.query == query)
    return work.db.scalar(select(topic.c.id).where(same)) if query else None


def _store(work: Work, placed: JudgedPlace, said: Said) -> tuple[int, int, bool]:
    """A new event: its number, its time, and whether it is stale."""
    order = order_of(placed.shown)
    position = order[said.position - 1] if said.position and said.kind != "ranking" else 0
    ranking = None
    if said.ranks:  # stored in the set's own order
        by_position = sorted(zip(order, said.ranks, strict=True))
        ranking = " ".join(str(rank) for _, rank in by_position)
    last = work.number(_LAST, {"place": placed.id, "position": position})
    stale = said.follows is not None and said.follows != last
    # the client's active time, as far as the server's own clock leaves room for it
    spent = work.number(_SPENT, {"assignment": placed.assignment_id})
    room = max(0, work.now - placed.leased_at - spent)
    columns = {
        "worker_id": placed.worker_id,
        "place_id": placed.id,
        "position": position,
        "kind": said.kind,
        "grade": work.plan.way.grade(work.plan, said),
        "ranking": ranking,
        "value": said.value,
        "milliseconds": int(min(round(said.seconds * 1000), room)),
        "at": work.now,
        "key": said.key,
        "follows": said.follows,
        "stale": int(stale),
    }
    number = new_id(work.db.execute(_ADD_EVENT, columns))
    work.db.execute(_ADD_RECEIPT, {"event_id": number, "digest": said.digest()})
    if said.bucket is not None:
        work.insert(bucket, event_id=number, topic_id=_topic_of(work, said.bucket))
    notes = [
        {"event_id": number, "kind": kind, "text": words}
        for kind, words in (("reason", said.reason), ("passage", said.passage))
        if words.strip()
    ]
    if notes:
        work.db.execute(_ADD_NOTE, notes)
    return number, work.now, stale


def _renew(work: Work, placed: JudgedPlace) -> int:
    """When the lease ends now."""
    term, _ = lease_of(work, placed.assignment_kind)
    until = max(placed.expires_at, min(work.now + term, placed.latest_end))
    if until > placed.expires_at:
        work.db.execute(_LEASE, {"number": placed.assignment_id, "until": until})
    return until
