"""Experts: a random sample of judgements judged again, disputed documents, decisions.

A decision is an expert's grade of a pair, with a reason and a code; the last one stands. It never
changes what workers said: exports give it as gold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Join, Table, and_, delete, func, insert, select

from qrowd.collection.database.schema import (
    answer,
    assignment,
    decision,
    document,
    event,
    member,
    pair,
    place,
    sampled,
    topic,
)
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Found, Work
from qrowd.collection.people.workers import expert
from qrowd.errors import RuleError
from qrowd.quality.against_gold import wilson

CODES = (
    "",
    "missed passage",
    "misread topic",
    "borderline",
    "broken page",
    "careless",
    "gold wrong",
)


@dataclass(frozen=True)
class ErrorRate:
    """How often workers' grades differ from the experts' on the random sample, with an interval."""

    sampled: int
    judged: int
    wrong: int
    rate: float
    low: float
    high: float


def _counted() -> Any:
    e, p, a = event.c, place.c, assignment.c
    return (
        answer.join(event, e.id == answer.c.event_id)
        .join(place, p.id == answer.c.place_id)
        .join(assignment, a.id == p.assignment_id)
        .join(member, and_(member.c.set_id == p.set_id, member.c.position == answer.c.position))
    )


def _valid(work: Work) -> Any:
    counted = and_(place.c.kind == "count", place.c.surplus == 0, event.c.kind == "grade")
    mine = assignment.c.campaign_id == work.campaign
    return and_(mine, counted, assignment.c.state.in_(VALID))


def draw_sample(work: Work, size: int | None = None) -> int:
    """Add random judgements to the sample, up to `size` (default: the planned share); how many."""
    return len(_drawn(work, size))


def _drawn(work: Work, size: int | None) -> list[tuple[int, int]]:
    p = answer.c
    query = select(p.place_id, p.position).select_from(_counted()).where(_valid(work))
    rows = [(row.place_id, row.position) for row in work.db.execute(query.order_by(p.event_id))]
    known = {(row.place_id, row.position) for row in work.db.execute(select(sampled))}
    there = sum(row in known for row in rows)
    share = round(work.plan.techniques.expert_share * len(rows))
    wanted = max(0, (share if size is None else size) - there)
    left = [row for row in rows if row not in known]
    chosen = work.random.sample(left, min(wanted, len(left)))
    values = [{"place_id": one, "position": at, "at": work.now} for one, at in sorted(chosen)]
    if values:
        work.db.execute(insert(sampled), values)
    return sorted(chosen)


def draw(work: Work, details: dict[str, Any]) -> dict[str, Any]:
    """The act of drawing: `size`, or the planned share."""
    size = details.get("size")
    found = _drawn(work, None if size is None else int(size))
    if not found:
        raise RuleError("conflict", "there are no further judgements to draw")
    return {"drawn": [list(one) for one in found]}


def put_back(work: Work, details: dict[str, Any]) -> None:
    """What was drawn is no longer in the sample; decisions on it stay."""
    for place_id, position in details["drawn"]:
        one = and_(sampled.c.place_id == place_id, sampled.c.position == position)
        work.db.execute(delete(sampled).where(one))


def with_pairs(rows: Table) -> Join:
    """Rows that name a place and a position in it, joined to the pair that stands there."""
    here = and_(member.c.set_id == place.c.set_id, member.c.position == rows.c.position)
    return (
        rows.join(place, place.c.id == rows.c.place_id)
        .join(member, here)
        .join(pair, pair.c.id == member.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )


def to_judge(work: Work) -> list[Found]:
    """Sampled pairs without a decision: topic, doc, shown without anybody's grade (blind)."""
    decided = select(decision.c.pair_id)
    query = select(pair.c.id, topic.c.name.label("topic"), document.c.name.label("doc")).distinct()
    own = query.select_from(with_pairs(sampled)).where(pair.c.campaign_id == work.campaign)
    return list(work.db.execute(own.where(pair.c.id.not_in(decided)).order_by(pair.c.id)))


def disputed(work: Work, limit: int = 100) -> list[Found]:
    """Pairs whose judges disagree most: rows of topic, doc, votes, relevant votes."""
    rel = work.plan.scale.relevant_from
    yes = func.count().filter(event.c.grade >= rel)
    votes, margin = func.count(), func.abs(2 * yes - func.count())
    number = member.c.pair_id
    found = (
        select(number, votes.label("votes"), yes.label("relevant"), margin.label("margin"))
        .select_from(_counted())
        .where(_valid(work), number.not_in(select(decision.c.pair_id)))
        .group_by(number)
        .having(and_(yes > 0, yes < votes))
        .order_by(margin, votes.desc(), number)
        .limit(limit)
        .subquery()
    )  # names come after, for these few
    joined = (
        found.join(pair, pair.c.id == found.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )
    names = (pair.c.id, topic.c.name.label("topic"), document.c.name.label("doc"))
    query = select(*names, found.c.votes, found.c.relevant).select_from(joined)
    order = (found.c.margin, found.c.votes.desc(), pair.c.id)
    return list(work.db.execute(query.order_by(*order)))


def pair_named(work: Work, topic_name: str, doc: str) -> int:
    """The number of a pair by its names."""
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    named = and_(topic.c.name == topic_name, document.c.name == doc)
    query = select(pair.c.id).select_from(joined).where(pair.c.campaign_id == work.campaign, named)
    found = work.db.scalar(query)
    if found is None:
        raise RuleError("not-found", f"there is no pair {topic_name} {doc} in this campaign")
    return int(found)


def decide(
    work: Work, who: str | int, pair_id: int, grade: int, reason: str = "", code: str = ""
) -> None:
    """An expert's decision on a pair; the expert by name, or by number."""
    number = who if isinstance(who, int) else expert(work, who)
    if grade not in work.plan.scale.grades:
        raise RuleError("malformed", f"grade must be one of {work.plan.scale.grades}")
    if code not in CODES:
        raise RuleError("malformed", f"code must be one of {', '.join(filter(None, CODES))}")
    own = and_(pair.c.id == pair_id, pair.c.campaign_id == work.campaign)
    if work.db.scalar(select(pair.c.id).where(own)) is None:
        raise RuleError("not-found", "there is no such pair in this campaign")
    values = {"pair_id": pair_id, "expert_id": number, "grade": grade, "at": work.now}
    work.db.execute(insert(decision).values(**values, reason=reason, code=code))


def error_rate(work: Work, level: float = 0.95) -> ErrorRate:
    """How often the sampled judgements differ (relevant or not) from the experts' decisions."""
    rel = work.plan.scale.relevant_from
    total = sampled.join(place, place.c.id == sampled.c.place_id)
    total = total.join(assignment, assignment.c.id == place.c.assignment_id)
    mine = assignment.c.campaign_id == work.campaign
    size = int(work.db.scalar(select(func.count()).select_from(total).where(mine)) or 0)
    last = select(func.max(decision.c.id)).group_by(decision.c.pair_id)
    joined = (
        _counted()
        .join(
            sampled,
            and_(sampled.c.place_id == answer.c.place_id, sampled.c.position == answer.c.position),
        )
        .join(decision, decision.c.pair_id == member.c.pair_id)
    )
    query = select(event.c.grade, decision.c.grade.label("expert")).select_from(joined)
    rows = work.db.execute(query.where(_valid(work), decision.c.id.in_(last))).all()
    wrong = sum((row.grade >= rel) != (row.expert >= rel) for row in rows)
    low, high = wilson(np.array([wrong]), np.array([len(rows)]), level)
    rate = wrong / len(rows) if rows else float("nan")
    return ErrorRate(size, len(rows), wrong, rate, float(low[0]), float(high[0]))
