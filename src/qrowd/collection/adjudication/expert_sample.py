"""Experts: a random sample of judgements judged again, disputed documents, decisions.

A decision is an expert's grade of a pair, with a reason and a code; the last one stands. It never
changes what workers said: exports give it as gold.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Join, Table, and_, delete, func, insert, select

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
from qrowd.collection.database.store import Row, Work
from qrowd.collection.people.workers import expert
from qrowd.comparison.significance import wilson
from qrowd.errors import RuleError

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


# Answers that stand, with the pairs that they are about.
ANSWERED_PAIRS = (
    answer.join(event, event.c.id == answer.c.event_id)
    .join(place, place.c.id == answer.c.place_id)
    .join(assignment, assignment.c.id == place.c.assignment_id)
    .join(
        member,
        and_(member.c.set_id == place.c.set_id, member.c.position == answer.c.position),
    )
)


def draw_sample(work: Work, size: int | None = None) -> int:
    """Add random judgements to the sample, up to `size` (default: the planned share); how many."""
    return len(_drawn(work, size))


def draw(work: Work, details: dict[str, Any]) -> dict[str, Any]:
    """The act of drawing: `size`, or the planned share."""
    size = details.get("size")
    drawn = _drawn(work, None if size is None else int(size))
    if not drawn:
        raise RuleError("conflict", "there are no further judgements to draw")
    return {"drawn": [list(judgement) for judgement in drawn]}


def put_back(work: Work, details: dict[str, Any]) -> None:
    """What was drawn is no longer in the sample; decisions on it stay."""
    for place_id, position in details["drawn"]:
        judgement = and_(sampled.c.place_id == place_id, sampled.c.position == position)
        work.db.execute(delete(sampled).where(judgement))


def _drawn(work: Work, size: int | None) -> list[tuple[int, int]]:
    """The judgements that are added, each a place and a position in it."""
    a = answer.c
    query = select(a.place_id, a.position).select_from(ANSWERED_PAIRS).where(_counted(work))
    judgements = [
        (row.place_id, row.position) for row in work.db.execute(query.order_by(a.event_id))
    ]
    already = {(row.place_id, row.position) for row in work.db.execute(select(sampled))}
    left = [judgement for judgement in judgements if judgement not in already]
    if size is None:
        size = round(work.plan.techniques.expert_share * len(judgements))
    wanted = max(0, size - (len(judgements) - len(left)))
    drawn = sorted(work.random.sample(left, min(wanted, len(left))))
    if drawn:
        work.db.execute(
            insert(sampled),
            [
                {"place_id": place_id, "position": position, "at": work.now}
                for place_id, position in drawn
            ],
        )
    return drawn


def _counted(work: Work) -> ColumnElement[bool]:
    """The condition that an answer of ANSWERED_PAIRS is a grade that counts."""
    return and_(
        assignment.c.campaign_id == work.campaign,
        assignment.c.state.in_(VALID),
        place.c.kind == "count",
        place.c.surplus == 0,
        event.c.kind == "grade",
    )


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


def to_judge(work: Work) -> list[Row]:
    """Sampled pairs without a decision: topic, doc, shown without anybody's grade (blind)."""
    decided = select(decision.c.pair_id)
    query = select(pair.c.id, topic.c.name.label("topic"), document.c.name.label("doc")).distinct()
    own = query.select_from(with_pairs(sampled)).where(pair.c.campaign_id == work.campaign)
    return list(work.db.execute(own.where(pair.c.id.not_in(decided)).order_by(pair.c.id)))


def disputed(work: Work, limit: int = 100) -> list[Row]:
    """Pairs whose judges disagree most: rows of topic, doc, votes, relevant votes."""
    votes = func.count()
    yes = func.count().filter(event.c.grade >= work.plan.scale.relevant_from)
    margin = func.abs(2 * yes - votes)
    number = member.c.pair_id
    # names are joined afterwards, to these few
    split = (
        select(number, votes.label("votes"), yes.label("relevant"), margin.label("margin"))
        .select_from(ANSWERED_PAIRS)
        .where(_counted(work), number.not_in(select(decision.c.pair_id)))
        .group_by(number)
        .having(and_(yes > 0, yes < votes))
        .order_by(margin, votes.desc(), number)
        .limit(limit)
        .subquery()
    )
    joined = (
        split.join(pair, pair.c.id == split.c.pair_id)
        .join(topic, topic.c.id == pair.c.topic_id)
        .join(document, document.c.id == pair.c.document_id)
    )
    names = (pair.c.id, topic.c.name.label("topic"), document.c.name.label("doc"))
    query = select(*names, split.c.votes, split.c.relevant).select_from(joined)
    order = (split.c.margin, split.c.votes.desc(), pair.c.id)
    return list(work.db.execute(query.order_by(*order)))


def pair_named(work: Work, topic_name: str, doc: str) -> int:
    """The number of a pair by its names."""
    joined = pair.join(topic, topic.c.id == pair.c.topic_id)
    joined = joined.join(document, document.c.id == pair.c.document_id)
    named = and_(topic.c.name == topic_name, document.c.name == doc)
    query = select(pair.c.id).select_from(joined).where(pair.c.campaign_id == work.campaign, named)
    number = work.db.scalar(query)
    if number is None:
        raise RuleError("not-found", f"there is no pair {topic_name} {doc} in this campaign")
    return int(number)


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
    work.db.execute(
        insert(decision).values(
            pair_id=pair_id, expert_id=number, grade=grade, at=work.now, reason=reason, code=code
        )
    )


def error_rate(work: Work, level: float = 0.95) -> ErrorRate:
    """How often the sampled judgements differ (relevant or not) from the experts' decisions."""
    drawn = sampled.join(place, place.c.id == sampled.c.place_id)
    drawn = drawn.join(assignment, assignment.c.id == place.c.assignment_id)
    own = assignment.c.campaign_id == work.campaign
    size = int(work.db.scalar(select(func.count()).select_from(drawn).where(own)) or 0)
    same = and_(sampled.c.place_id == answer.c.place_id, sampled.c.position == answer.c.position)
    judged_again = ANSWERED_PAIRS.join(sampled, same).join(
        decision, decision.c.pair_id == member.c.pair_id
    )
    standing = select(func.max(decision.c.id)).group_by(decision.c.pair_id)
    query = select(event.c.grade, decision.c.grade.label("expert")).select_from(judged_again)
    rows = work.db.execute(query.where(_counted(work), decision.c.id.in_(standing))).all()
    relevant = work.plan.scale.relevant_from
    wrong = sum((row.grade >= relevant) != (row.expert >= relevant) for row in rows)
    z = NormalDist().inv_cdf((1 + level) / 2)
    low, high = wilson(np.array([wrong]), np.array([len(rows)]), z)
    rate = wrong / len(rows) if rows else float("nan")
    return ErrorRate(size, len(rows), wrong, rate, float(low[0]), float(high[0]))
