"""Adjudication: an expert judges a pair blind, then sees what judges said, then decides.

What judges said is given out to an expert only for pairs that this expert has judged: the first
decision is blind because nothing could be seen before it, whatever a page shows. The last decision
of a pair stands and is given to merging methods as gold. Nothing here knows the systems.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Select, and_, func, select

from qrowd.collection.adjudication import expert_sample
from qrowd.collection.adjudication.appeals import LONGEST, answer_appeal
from qrowd.collection.books import notices
from qrowd.collection.database.schema import (
    answer,
    appeal,
    assignment,
    decision,
    document,
    event,
    gold,
    judging_set,
    member,
    pair,
    place,
    topic,
    worker,
)
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Row, Work
from qrowd.collection.judging.offer import notes_of
from qrowd.collection.people.workers import expert
from qrowd.collection.record.audit import perform
from qrowd.errors import RuleError


@dataclass(frozen=True)
class Vote:
    """What one judge said of a pair: a grade, or that it cannot be told; reasons and passages."""

    kind: str
    grade: int | None
    reasons: tuple[str, ...]
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Decided:
    """A decision on a pair, with its day."""

    pair: int
    topic: str
    doc: str
    title: str
    grade: int
    reason: str
    code: str
    at: int
    expert: str
    own: bool


@dataclass(frozen=True)
class Disagreement:
    """An "I disagree": what the worker and gold said of a pair, once the expert has judged it."""

    number: int
    pair: int
    topic: str
    doc: str
    title: str
    words: str
    at: int
    gold: int
    reason: str
    said: int | None


@dataclass(frozen=True)
class Waiting:
    """What waits: how many pairs of the sample, how many disputed ones, and all of them mixed."""

    sampled: int
    disputed: int
    pairs: tuple[Row, ...]


# --- what waits -----------------------------------------------------------------------------------


def waiting(work: Work) -> Waiting:
    """Sampled and disputed pairs, by their names: which of both one is cannot be told."""
    sampled, disputed = expert_sample.to_judge(work), expert_sample.disputed(work)
    pairs = {row.id: row for row in (*sampled, *disputed)}
    mixed = sorted(pairs.values(), key=lambda row: (row.topic, row.doc))
    return Waiting(len(sampled), len(disputed), tuple(mixed))


def queue(work: Work) -> list[Row]:
    """The pairs that wait."""
    return list(waiting(work).pairs)


def of_topic(work: Work, topic_name: str) -> list[Row]:
    """All pairs of a topic's pool: id, doc, title."""
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    query = select(pair.c.id, document.c.name.label("doc"), document.c.title).select_from(joined)
    mine = query.where(pair.c.campaign_id == work.campaign, topic.c.name == topic_name)
    return list(work.db.execute(mine.where(pair.c.in_pool == 1).order_by(document.c.name)))


def topics(work: Work, expert_number: int) -> list[Row]:
    """Topics with how many pairs they have, and how many of them this expert has decided."""
    mine = select(decision.c.pair_id).where(decision.c.expert_id == expert_number)
    own = func.count().filter(pair.c.id.in_(mine)).label("own")
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    query = select(topic.c.name, topic.c.query, func.count().label("pairs"), own)
    here = query.select_from(joined).where(pair.c.campaign_id == work.campaign, pair.c.in_pool == 1)
    return list(work.db.execute(here.group_by(topic.c.name, topic.c.query).order_by(topic.c.name)))


# --- blind first ----------------------------------------------------------------------------------


def expert_id(work: Work, worker_id: int | None, name: str) -> int:
    """The number that an expert's decisions stand under; made if this is the first."""
    return expert(work, name) if worker_id is None else worker_id


def seen_as(work: Work, worker_id: int | None, name: str) -> int:
    """The same for reading only: 0 for somebody who has decided nothing yet."""
    if worker_id is not None:
        return worker_id
    named = and_(worker.c.campaign_id == work.campaign, worker.c.name == name)
    query = select(worker.c.id).where(named, worker.c.kind == "expert")
    return int(work.db.scalar(query) or 0)


def own_decision(work: Work, expert_number: int, pair_id: int) -> Row | None:
    """The last decision of this expert on a pair."""
    mine = and_(decision.c.pair_id == pair_id, decision.c.expert_id == expert_number)
    query = select(decision).where(mine).order_by(decision.c.id.desc()).limit(1)
    return work.db.execute(query).one_or_none()


def refuse_before_own(work: Work, expert_number: int, pair_id: int) -> None:
    """An error unless this expert has judged the pair."""
    if own_decision(work, expert_number, pair_id) is None:
        raise RuleError(
            "blind-first", "judge this document first; what others said is shown after that"
        )


def votes(work: Work, expert_number: int, pair_id: int) -> list[Vote]:
    """What judges said of a pair, the lowest grade first; only after one's own judgement."""
    refuse_before_own(work, expert_number, pair_id)
    rows = work.db.execute(_answers(work).where(member.c.pair_id == pair_id)).all()
    notes = notes_of(work, [row.id for row in rows])

    def texts(event_id: int, kind: str) -> tuple[str, ...]:
        return tuple(text for noted, text in notes.get(event_id, ()) if noted == kind)

    votes = [
        Vote(row.kind, row.grade, texts(row.id, "reason"), texts(row.id, "passage")) for row in rows
    ]
    return sorted(votes, key=lambda vote: (vote.grade is None, vote.grade or 0, vote.reasons))


def _answers(work: Work) -> Select[Row]:
    """The answers that count, with what was said instead of a grade."""
    counted = and_(
        assignment.c.campaign_id == work.campaign,
        assignment.c.state.in_(VALID),
        place.c.kind == "count",
        event.c.kind.in_(("grade", "cannot-tell", "broken")),
    )
    query = select(event.c.id, event.c.kind, event.c.grade, member.c.pair_id)
    return query.select_from(expert_sample.ANSWERED_PAIRS).where(counted).order_by(event.c.id)


# --- decisions ------------------------------------------------------------------------------------


def decide(
    work: Work, expert_number: int, pair_id: int, grade: int, reason: str = "", code: str = ""
) -> bool:
    """A decision of this expert, unless it says what the last one said; whether it was new."""
    if len(reason) > LONGEST or "\0" in reason:
        raise RuleError("malformed", f"a reason has at most {LONGEST:,} characters")
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
    standing = select(func.max(decision.c.id)).group_by(decision.c.pair_id)
    joined = (
        decision.join(pair, pair.c.id == decision.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
        .join(worker, worker.c.id == decision.c.expert_id)
    )
    names = (topic.c.name.label("topic"), document.c.name.label("doc"), document.c.title)
    query = select(decision, *names, worker.c.name.label("expert")).select_from(joined)
    query = query.where(pair.c.campaign_id == work.campaign, decision.c.id.in_(standing))
    if topic_name is not None:
        query = query.where(topic.c.name == topic_name)
    if expert_number is not None:
        judged = select(decision.c.pair_id).where(decision.c.expert_id == expert_number)
        query = query.where(decision.c.pair_id.in_(judged))
    return [
        Decided(
            pair=row.pair_id,
            topic=row.topic,
            doc=row.doc,
            title=row.title,
            grade=row.grade,
            reason=row.reason,
            code=row.code,
            at=row.at,
            expert=row.expert or "",
            own=row.expert_id == expert_number,
        )
        for row in work.db.execute(query.order_by(decision.c.id.desc()))
    ]


# --- "I disagree" ---------------------------------------------------------------------------------


def disagreements(work: Work) -> list[Row]:
    """Objections to gold without a reply: id, at, pair, set, topic, doc, title."""
    return list(work.db.execute(_objections(work).order_by(appeal.c.id)))


def objected_to(work: Work, number: int) -> int:
    """The pair that an objection is about."""
    return int(_objection(work, number).pair)


def disagreement(work: Work, expert_number: int, number: int) -> Disagreement:
    """An objection with both sides; only after one's own judgement."""
    row = _objection(work, number)
    refuse_before_own(work, expert_number, row.pair)
    checked = work.db.execute(select(gold).where(gold.c.pair_id == row.pair)).one()
    disputed = and_(answer.c.place_id == row.place_id, answer.c.position == row.position)
    said = select(event.c.grade).join_from(answer, event, event.c.id == answer.c.event_id)
    return Disagreement(
        number=number,
        pair=row.pair,
        topic=row.topic,
        doc=row.doc,
        title=row.title,
        words=row.text,
        at=row.at,
        gold=checked.grade,
        reason=checked.reason,
        said=work.db.scalar(said.where(disputed)),
    )


def answer_disagreement(
    work: Work, who: str, expert_number: int, number: int, *, right: bool, reply: str
) -> None:
    """Reply to an objection. Where the worker is right the gold set is retired, with a notice."""
    row = _objection(work, number)
    refuse_before_own(work, expert_number, row.pair)
    if not reply.strip() or len(reply) > LONGEST or "\0" in reply:
        raise RuleError("malformed", f"an answer has 1 to {LONGEST:,} characters")
    answer_appeal(work, who, number, won=right, reply=reply)
    open_set = select(judging_set.c.open).where(judging_set.c.id == row.set_id)
    if right and work.db.scalar(open_set):
        perform(work, who, "retire gold", {"set": row.set_id})
        text = f"an expert found the check question {row.topic} {row.doc} wrong; its set is retired"
        notices.tell(work, "gold-wrong", f"{text}; look at who failed by it", str(row.set_id))


def _objections(work: Work) -> Select[Row]:
    names = (topic.c.name.label("topic"), document.c.name.label("doc"), document.c.title)
    about = (appeal.c.id, appeal.c.at, pair.c.id.label("pair"), place.c.set_id, *names)
    query = select(*about, appeal.c.text, appeal.c.place_id, appeal.c.position)
    return query.select_from(expert_sample.with_pairs(appeal)).where(
        appeal.c.kind == "gold",
        appeal.c.answered_at.is_(None),
        pair.c.campaign_id == work.campaign,
    )


def _objection(work: Work, number: int) -> Row:
    row = work.db.execute(_objections(work).where(appeal.c.id == number)).one_or_none()
    if row is None:
        raise RuleError("not-found", f"there is no open objection {number}")
    return row
