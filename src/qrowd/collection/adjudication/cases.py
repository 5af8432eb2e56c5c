"""Adjudication: an expert judges a pair blind, then sees what judges said, then decides.

What judges said is given out to an expert only for pairs that this expert has judged: the first
decision is blind because nothing could be seen before it, whatever a page shows. The last decision
of a pair stands and is given to merging methods as gold. Nothing here knows the systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select, true

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.adjudication.appeals import DISPUTED, LONGEST
from qrowd.collection.books import notices
from qrowd.collection.database.schema import (
    DECIDED,
    NAMED_PAIRS,
    PAIR_NAMES,
    PLACED_ANSWERS,
    STANDING,
    TAKEN_BACK,
    Appeal,
    Decision,
    TypedRow,
    appeal,
    assignment,
    decision,
    document,
    event,
    gold,
    has_grade,
    judging_set,
    member,
    pair,
    place,
    topic,
    with_pairs,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging import hierarchy
from qrowd.collection.judging.gold import right_answer
from qrowd.collection.judging.offer import notes_of
from qrowd.collection.people.workers import expert, known_expert
from qrowd.collection.record.audit import perform
from qrowd.errors import RuleError
from qrowd.rendering import thousands


@dataclass(frozen=True)
class Vote:
    """What one judge said: without a grade, `kind` is cannot-tell or broken."""

    kind: str
    grade: int | None
    reasons: tuple[str, ...]
    passages: tuple[str, ...]


class Decided(Decision):
    """A decision on a pair, with its names, and whose it is."""

    pair: int
    topic: str
    doc: str
    title: str
    expert: str
    own: bool


@dataclass(frozen=True)
class Waiting:
    """What waits: how many pairs of the sample, how many disputed ones, how many check questions
    that good people miss, and all of them mixed.
    """

    sampled: int
    disputed: int
    missed: int
    pairs: tuple[expert_sample.NamedPair, ...]


# --- what waits -----------------------------------------------------------------------------------


def waiting(work: Work) -> Waiting:
    """Sampled, disputed and missed pairs, by their names: which of them one is cannot be told.

    In mode hierarchy what training waits for comes first, then kept answers that the text
    contradicts.
    """
    sampled = expert_sample.to_judge(work)
    disputed: list[expert_sample.NamedPair] = [*expert_sample.disputed(work)]
    first: dict[int, int] = {}
    if work.plan.in_phases:
        training = hierarchy.disputed_pairs(work)
        kept = hierarchy.kept_pairs(work)
        first = dict.fromkeys(kept, 1) | dict.fromkeys(training, 0)
        disputed += expert_sample.named(work, set(first) - {row.id for row in disputed})
    missed = expert_sample.missed_by_good(work)
    pairs = {row.id: row for row in [*sampled, *disputed, *missed]}
    mixed = sorted(pairs.values(), key=lambda row: (first.get(row.id, 2), row.topic, row.doc))
    return Waiting(len(sampled), len(disputed), len(missed), tuple(mixed))


def queue(work: Work) -> list[expert_sample.NamedPair]:
    """The pairs that wait."""
    return list(waiting(work).pairs)


def of_topic(work: Work, topic_name: str) -> list[expert_sample.NamedPair]:
    """All pairs of a topic's pool."""
    query = (
        select(*expert_sample.NAMED_PAIR)
        .select_from(NAMED_PAIRS)
        .where(work.pool_pairs(), topic.c.name == topic_name)
    )
    return work.rows(query.order_by(document.c.name), expert_sample.NamedPair)


class TopicLine(TypedRow):
    """A topic, how many pairs it has, and how many of them an expert has decided."""

    name: str
    query: str
    pairs: int
    own: int


def topics(work: Work, expert_number: int) -> list[TopicLine]:
    """Topics, and how far this expert is with each."""
    mine = judged_by(expert_number)
    own = func.count().filter(pair.c.id.in_(mine)).label("own")
    query = (
        select(topic.c.name, topic.c.query, func.count().label("pairs"), own)
        .join_from(pair, topic, topic.c.id == pair.c.topic_id)
        .where(work.pool_pairs())
        .group_by(topic.c.name, topic.c.query)
    )
    return work.rows(query.order_by(topic.c.name), TopicLine)


# --- blind first ----------------------------------------------------------------------------------


def still_open(
    work: Work, expert_number: int | None, topic_name: str, doc: str
) -> expert_sample.NamedPair | None:
    """A pair by its names, if nobody has decided it; for an expert: if this one has not."""
    closed = DECIDED if expert_number is None else judged_by(expert_number)
    named = (topic.c.name == topic_name) & (document.c.name == doc)
    query = select(*expert_sample.NAMED_PAIR).select_from(NAMED_PAIRS)
    wanted = query.where(work.own(pair), named, pair.c.id.not_in(closed))
    return work.row(wanted, expert_sample.NamedPair)


def expert_id(work: Work, worker_id: int | None, name: str) -> int:
    """The number that an expert's decisions stand under; made if this is the first."""
    return expert(work, name) if worker_id is None else worker_id


def seen_as(work: Work, worker_id: int | None, name: str) -> int:
    """The same for reading only: 0 for somebody who has decided nothing yet."""
    return known_expert(work, name) if worker_id is None else worker_id


def own_decision(work: Work, expert_number: int, pair_id: int) -> Decision | None:
    """The last decision of this expert on a pair, unless it was taken back."""
    mine = (decision.c.pair_id == pair_id) & (decision.c.expert_id == expert_number)
    query = select(decision).where(mine).order_by(decision.c.id.desc()).limit(1)
    last = work.row(query, Decision)
    return None if last is None or last.code == TAKEN_BACK else last


def judged_by(expert_number: int) -> Select[int]:
    """The pairs that this expert has judged, without those whose decision was taken back."""
    d = decision.c
    last = select(func.max(d.id)).where(d.expert_id == expert_number).group_by(d.pair_id)
    return select(d.pair_id).where(d.id.in_(last), d.code != TAKEN_BACK)


def refuse_before_own(work: Work, expert_number: int, pair_id: int) -> None:
    """An error unless this expert has judged the pair."""
    if own_decision(work, expert_number, pair_id) is None:
        raise RuleError(
            "blind-first", "judge this document first; what others said is shown after that"
        )


def votes(work: Work, expert_number: int, pair_id: int) -> list[Vote]:
    """What judges said of a pair, the lowest grade first; only after one's own judgement."""
    refuse_before_own(work, expert_number, pair_id)
    rows = work.db.execute(_answers(work, pair_id)).all()
    notes = notes_of(work, [event_id for event_id, _, _ in rows])

    def texts(event_id: int, kind: str) -> tuple[str, ...]:
        return tuple(text for noted, text in notes.get(event_id, ()) if noted == kind)

    votes = [
        Vote(kind, grade, texts(event_id, "reason"), texts(event_id, "passage"))
        for event_id, kind, grade in rows
    ]
    return sorted(votes, key=lambda vote: (vote.grade is None, vote.grade or 0, vote.reasons))


def _answers(work: Work, pair_id: int) -> Select[int, str, int | None]:
    """The answers that count, with what was said instead of a grade; to a check question, all."""
    check = (place.c.kind == "gold") & assignment.c.finished_at.is_not(None)
    counted = (
        work.own(assignment),
        member.c.pair_id == pair_id,
        (work.valid_batches() & (place.c.kind == "count")) | check,
        has_grade() | event.c.kind.in_(("cannot-tell", "broken")),
    )
    query = select(event.c.id, event.c.kind, event.c.grade)
    return query.select_from(PLACED_ANSWERS).where(*counted).order_by(event.c.id)


# --- decisions ------------------------------------------------------------------------------------


def decide(
    work: Work, expert_number: int, pair_id: int, grade: int, reason: str = "", code: str = ""
) -> bool:
    """A decision of this expert, unless it says what the last one said; whether it was new."""
    if len(reason) > LONGEST or "\0" in reason:
        raise RuleError("malformed", f"a reason has at most {thousands(LONGEST)} characters")
    last = own_decision(work, expert_number, pair_id)
    if last is not None and (last.grade, last.reason, last.code) == (grade, reason, code):
        return False
    expert_sample.decide(work, expert_number, pair_id, grade, reason, code)
    return True


def decisions(
    work: Work, expert_number: int | None = None, topic_name: str | None = None
) -> list[Decided]:
    """The decision that stands of each pair (of a topic, where it is named), the newest first.

    For an expert: of the pairs that this expert has judged, as others' must be judged blind.
    """
    of_topic = true() if topic_name is None else topic.c.name == topic_name
    judged: ColumnElement[bool] = true()
    if expert_number is not None:
        judged = decision.c.pair_id.in_(judged_by(expert_number))
    return work.rows(_standing(work, expert_number).where(of_topic, judged), Decided)


def last_own(work: Work, expert_number: int) -> Decided | None:
    """The newest decision of this expert that stands: the next one to take back."""
    mine = decision.c.expert_id == expert_number
    return work.row(_standing(work, expert_number).where(mine).limit(1), Decided)


def _standing(work: Work, expert_number: int | None) -> Select[Any]:
    """Decisions that stand, the newest first."""
    d = decision.c
    joined = NAMED_PAIRS.join(decision, d.pair_id == pair.c.id)
    joined = joined.join(worker, worker.c.id == d.expert_id)
    names = (d.pair_id.label("pair"), *PAIR_NAMES, document.c.title)
    expert = func.coalesce(worker.c.name, "").label("expert")
    own = (d.expert_id == (expert_number or 0)).label("own")
    query = select(decision, *names, expert, own).select_from(joined)
    return query.where(work.own(pair), d.id.in_(STANDING)).order_by(d.id.desc())


def take_back(work: Work, who: str, expert_number: int, pair_id: int) -> int:
    """Take back one's own decision on a pair, which waits again then; the number of the act."""
    mine = _standing(work, expert_number).where(decision.c.pair_id == pair_id)
    row = work.row(mine, Decided)
    if row is None or not row.own:
        raise RuleError("not-found", "no decision of yours stands on this document")
    return perform(work, who, "take back decision", {"topic": row.topic, "doc": row.doc})


def is_agreed(work: Work, expert_number: int, pair_id: int) -> bool:
    """Whether all who judged a pair, and gold where there is any, say what this expert said."""
    own = own_decision(work, expert_number, pair_id)
    known = gold_says(work, expert_number, pair_id)
    said = {vote.grade for vote in votes(work, expert_number, pair_id)}
    return own is not None and said | ({known.grade} if known else set()) <= {own.grade}


class GoldSays(TypedRow):
    """What gold says of a pair, and why."""

    grade: int
    reason: str
    passage: str


def gold_says(work: Work, expert_number: int, pair_id: int) -> GoldSays | None:
    """What gold says of a check question; only after one's own judgement. None: it is none."""
    refuse_before_own(work, expert_number, pair_id)
    query = select(right_answer(work.plan).label("grade"), gold.c.reason, gold.c.passage)
    return work.row(query.where(gold.c.pair_id == pair_id), GoldSays)


# --- "I disagree" ---------------------------------------------------------------------------------


class Objection(Appeal):
    """An appeal against gold, with the pair that it is about."""

    pair: int
    set_id: int
    topic: str
    doc: str
    title: str


_OBJECTION = (*appeal.c, pair.c.id.label("pair"), place.c.set_id, *PAIR_NAMES, document.c.title)


def disagreements(work: Work) -> list[Objection]:
    """Objections to gold without a reply."""
    return work.rows(_objections(work).order_by(appeal.c.id), Objection)


def objected_to(work: Work, number: int) -> int:
    """The pair that an objection is about."""
    return _objection(work, number).pair


class Disagreement(Objection):
    """An objection with both sides: what gold says, and what the worker said."""

    gold: int
    reason: str
    said: int | None


def disagreement(work: Work, expert_number: int, number: int) -> Disagreement:
    """An objection with both sides; only after one's own judgement."""
    row = _objection(work, number)
    refuse_before_own(work, expert_number, row.pair)
    right = right_answer(work.plan).label("gold")
    sides = (right, gold.c.reason, event.c.grade.label("said"))
    query = select(*_OBJECTION, *sides).select_from(DISPUTED).where(appeal.c.id == number)
    return work.existing(query, f"appeal {number} is about no check question", Disagreement)


def answer_disagreement(
    work: Work, who: str, expert_number: int, number: int, *, right: bool, reply: str
) -> None:
    """Reply to an objection. Where the worker is right the gold set is retired, with a notice."""
    row = _objection(work, number)
    refuse_before_own(work, expert_number, row.pair)
    if not reply.strip() or len(reply) > LONGEST or "\0" in reply:
        raise RuleError("malformed", f"an answer has 1 to {thousands(LONGEST)} characters")
    perform(work, who, "answer appeal", {"appeal": number, "won": right, "reply": reply})
    open_set = select(judging_set.c.open).where(judging_set.c.id == row.set_id)
    if right and work.db.scalar(open_set):
        perform(work, who, "retire gold", {"set": row.set_id})
        notices.tell(work, "gold-wrong", str(row.set_id), topic=row.topic, doc=row.doc)


def _objections(work: Work) -> Select[Any]:
    waiting = (appeal.c.kind == "gold") & appeal.c.answered_at.is_(None)
    query = select(*_OBJECTION).select_from(with_pairs(appeal))
    return query.where(work.own(pair), waiting)


def _objection(work: Work, number: int) -> Objection:
    query = _objections(work).where(appeal.c.id == number)
    return work.existing(query, f"there is no open objection {number}", Objection)
