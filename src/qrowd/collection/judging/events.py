"""What workers say: append-only, each with a key that its client made.

The same key and body again gives the same reply; the same key with another body is refused
(`key-reused`). A change of mind is a new event; the last one counts, unless it names (`follows`)
an event that is no longer the last: then it is kept as stale and replaces nothing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import bindparam, func, insert, select, update

from qrowd.collection.database.schema import (
    EVENT_KINDS,
    answer,
    assignment,
    event,
    judging_set,
    note,
    place,
    receipt,
)
from qrowd.collection.database.store import Found, Work, new_id
from qrowd.collection.judging.assignments import by_id, late_until, lease_of, move
from qrowd.collection.judging.offer import answers_of, order_of
from qrowd.collection.people.topic_questions import failed_topics, open_questions
from qrowd.collection.plan.sections import MINUTE
from qrowd.errors import RuleError

KEY_LENGTH = 64
LONGEST_NOTE = 10_000


@dataclass(frozen=True, kw_only=True)
class Said:
    """Something a worker says of the document at `position` (as shown, from 1), or of the set.

    `ranks` has one rank per shown document, 1 is best; equal ranks only for preferences. `follows`
    is the number of the event that this one replaces, 0 for none, None if the client cannot tell.
    """

    key: str
    place: str
    kind: str
    position: int = 0
    grade: int | None = None
    ranks: tuple[int, ...] = ()
    seconds: float = 0.0
    follows: int | None = None
    reason: str = ""
    passage: str = ""

    def digest(self) -> str:
        """A hash of all of it, to recognise a repeated request."""
        body = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()


@dataclass(frozen=True)
class Saved:
    """An event that is committed. `repeated`: it was there already. `stale`: it replaced nothing.
    `surplus`: others have filled this place meanwhile; the answer is kept and paid, not counted.
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
    there = _place(work, worker_id, said.place)
    before = _repeated(work, worker_id, said)
    if before is not None:
        return _reply(work, there, before, there.expires_at, repeated=True, late=False)
    late = _reopen(work, there)
    there = _place(work, worker_id, said.place) if late else there
    _refuse_what_the_plan_forbids(work, there, said)
    stored = _store(work, there, said)
    return _reply(work, there, stored, _renew(work, there), repeated=False, late=late)


# The statements of every save, built once: building them anew takes longer than running them.
_PLACE = (
    select(
        place.c.id,
        place.c.shown,
        place.c.kind,
        place.c.surplus,
        place.c.worker_id,
        place.c.assignment_id,
        judging_set.c.topic_id,
        assignment.c.state,
        assignment.c.leased_at,
        assignment.c.expires_at,
        assignment.c.latest_end,
        assignment.c.kind.label("batch"),
    )
    .select_from(
        place.join(assignment, assignment.c.id == place.c.assignment_id).join(
            judging_set, judging_set.c.id == place.c.set_id
        )
    )
    .where(
        place.c.key == bindparam("key"),
        place.c.worker_id == bindparam("worker"),
        assignment.c.campaign_id == bindparam("campaign"),
    )
)
_REPEATED = (
    select(event.c.id, event.c.at, event.c.stale, receipt.c.digest)
    .select_from(event.outerjoin(receipt, receipt.c.event_id == event.c.id))
    .where(event.c.worker_id == bindparam("worker"), event.c.key == bindparam("key"))
)
_LAST = select(answer.c.event_id).where(
    answer.c.place_id == bindparam("place"), answer.c.position == bindparam("at")
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
    wrong = (
        (not said.key or len(said.key) > KEY_LENGTH, f"key must have 1 to {KEY_LENGTH} characters"),
        (said.kind not in EVENT_KINDS, f"kind must be one of {', '.join(EVENT_KINDS)}"),
        ((said.kind == "grade") != (said.grade is not None), "a grade, and only it, has a grade"),
        ((said.kind == "ranking") != bool(said.ranks), "a ranking, and only it, has ranks"),
        (not 0 <= said.seconds < 1e7, "seconds must be at least 0"),
        (
            max(len(said.reason), len(said.passage)) > LONGEST_NOTE,
            f"a reason or passage has at most {LONGEST_NOTE:,} characters",
        ),
        ("\0" in said.reason + said.passage + said.key, "text must not hold the character 0"),
    )
    for found, message in wrong:
        if found:
            raise RuleError("malformed", message)


def _place(work: Work, worker_id: int, key: str) -> Found:
    wanted = {"key": key, "worker": worker_id, "campaign": work.campaign}
    found = work.db.execute(_PLACE, wanted).one_or_none()
    if found is None:
        raise RuleError("not-found", "there is no such set in your batches")
    return found


@dataclass(frozen=True)
class _Stored:
    """An event in the database."""

    id: int
    at: int
    stale: bool


def _repeated(work: Work, worker_id: int, said: Said) -> _Stored | None:
    """The event that this request stored before, if it did."""
    wanted = {"worker": worker_id, "key": said.key}
    found = work.db.execute(_REPEATED, wanted).one_or_none()
    if found is None:
        return None
    if found.digest != said.digest():
        raise RuleError("key-reused", "this key was used for another answer; make a new key")
    return _Stored(found.id, found.at, bool(found.stale))


def _reopen(work: Work, there: Found) -> bool:
    """Whether the answer is late, and its batch was opened again for it."""
    if there.state == "active" and there.expires_at > work.now:
        return False
    row = by_id(work, there.assignment_id)
    if row.state == "active" and row.expires_at <= work.now:
        row = move(work, row, "expire")
    if row.state == "expired":
        if work.now > late_until(work, row):
            raise RuleError("too-late", "this batch ended too long ago; its answers are not taken")
        move(work, row, "late")
        return True
    if row.state != "active":
        raise RuleError("closed", f"the answers of this batch are closed: it is {row.state}")
    return False


def _refuse_what_the_plan_forbids(work: Work, there: Found, said: Said) -> None:
    n = len(order_of(there.shown))
    if said.kind == "ranking":
        _refuse_bad_ranking(work, there, said, n)
    elif not 1 <= said.position <= n and not (said.kind == "clear" and said.position == 0):
        raise RuleError("malformed", f"position must be 1 to {n}")
    if said.kind == "grade":
        _refuse_bad_grade(work, said)
    if open_questions(work, there.worker_id, there.topic_id):
        raise RuleError("questions-first", "please answer the questions on this topic first")
    if there.topic_id in failed_topics(work, there.worker_id):
        raise RuleError("not-allowed", "this topic is left to others")


def _refuse_bad_grade(work: Work, said: Said) -> None:
    if work.plan.preferences:
        raise RuleError("not-allowed", "this campaign compares documents; send a ranking of two")
    if said.grade not in work.plan.scale.grades:
        listed = ", ".join(map(str, work.plan.scale.grades))
        raise RuleError("malformed", f"grade must be one of {listed}")
    missing = {
        "reason": not said.reason.strip(),
        "passage": not said.passage.strip(),
        "either": not (said.reason.strip() or said.passage.strip()),
    }
    asked = work.plan.techniques.justification
    if missing.get(asked, False):
        what = "a reason or a passage" if asked == "either" else f"a {asked}"
        raise RuleError("justify", f"please give {what} with your grade")


def _refuse_bad_ranking(work: Work, there: Found, said: Said, n: int) -> None:
    if not (work.plan.ranked or work.plan.preferences):
        raise RuleError("not-allowed", "this campaign asks for no ranking")
    if work.plan.preferences and said.ranks in ((1, 2), (2, 1), (1, 1)):
        return
    if sorted(said.ranks) != list(range(1, n + 1)):
        raise RuleError("malformed", f"ranks must be 1 to {n}, each once")
    given = answers_of(work, there.id)
    problem = rank_problem(work, given, in_set_order(there.shown, said.ranks))
    if problem:
        raise RuleError("incompatible", problem)


def in_set_order(shown: str, ranks: tuple[int, ...]) -> list[int]:
    """Ranks of documents as shown, reordered to the set's own order."""
    by_position = dict(zip(order_of(shown), ranks, strict=True))
    return [by_position[position] for position in sorted(by_position)]


def rank_problem(work: Work, given: dict[int, Any], ranks: list[int]) -> str:
    """Why ranks and grades do not go together; "" if they do. Ungraded documents are left out."""
    graded = [
        (given[at].grade, rank)
        for at, rank in enumerate(ranks, 1)
        if at in given and given[at].kind == "grade"
    ]
    least = work.plan.scale.relevant_from
    steps = [
        (one >= least, two >= least) if work.plan.campaign.way == "free-ranks" else (one, two)
        for one, first in graded
        for two, second in graded
        if first > second
    ]
    if any(worse > better for worse, better in steps):
        return "a document with a lower grade is ranked above one with a higher grade"
    return ""


def _store(work: Work, there: Found, said: Said) -> _Stored:
    order = order_of(there.shown)
    position = order[said.position - 1] if said.position and said.kind != "ranking" else 0
    ranking = " ".join(map(str, in_set_order(there.shown, said.ranks))) if said.ranks else None
    last = work.db.scalar(_LAST, {"place": there.id, "at": position}) or 0
    stale = said.follows is not None and said.follows != last
    who = {"worker_id": there.worker_id, "place_id": there.id, "position": position}
    what = {"kind": said.kind, "grade": said.grade, "ranking": ranking, "key": said.key}
    when = {"milliseconds": _milliseconds(work, there, said), "at": work.now}
    links = {"follows": said.follows, "stale": int(stale)}
    number = new_id(work.db.execute(_ADD_EVENT, {**who, **what, **when, **links}))
    work.db.execute(_ADD_RECEIPT, {"event_id": number, "digest": said.digest()})
    texts = {"reason": said.reason, "passage": said.passage}
    notes = [
        {"event_id": number, "kind": kind, "text": words}
        for kind, words in texts.items()
        if words.strip()
    ]
    if notes:
        work.db.execute(_ADD_NOTE, notes)
    return _Stored(number, work.now, stale)


def _milliseconds(work: Work, there: Found, said: Said) -> int:
    """The client's active time, as far as the server's own clock leaves room for it."""
    spent = int(work.db.scalar(_SPENT, {"assignment": there.assignment_id}) or 0)
    room = max(0, work.now - there.leased_at - spent)
    return int(min(round(said.seconds * 1000), room))


def _renew(work: Work, there: Found) -> int:
    """When the lease ends now."""
    term, _ = lease_of(work, there.batch)
    until = max(int(there.expires_at), min(work.now + term, int(there.latest_end)))
    if until > there.expires_at:
        work.db.execute(_LEASE, {"number": there.assignment_id, "until": until})
    return until


def _reply(
    work: Work, there: Found, row: _Stored, until: int, *, repeated: bool, late: bool
) -> Saved:
    warn = until - round(work.plan.hit.warn_minutes * MINUTE)
    return Saved(row.id, row.at, repeated, row.stale, late, bool(there.surplus), until, warn)
