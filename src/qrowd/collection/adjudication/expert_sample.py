"""Experts: a random sample of judgements judged again, disputed documents, decisions.

A decision is an expert's grade of a pair, with a reason and a code; the last one stands. It never
changes what workers said: exports give it as gold.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import NormalDist

import numpy as np
from sqlalchemy import ColumnElement, and_, func, select

from qrowd.collection.database.schema import (
    NAMED_PAIRS,
    PAIR_NAMES,
    PLACED_ANSWERS,
    TypedRow,
    answer,
    decision,
    document,
    event,
    has_grade,
    member,
    pair,
    place,
    sampled,
    topic,
    with_pairs,
)
from qrowd.collection.database.store import Work
from qrowd.collection.people.workers import expert
from qrowd.comparison.significance import wilson
from qrowd.data.collected import ErrorRate
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


# The decision that stands of each pair: the last one.
STANDING = select(func.max(decision.c.id)).group_by(decision.c.pair_id)


def draw_sample(work: Work, size: int | None = None) -> list[tuple[int, int]]:
    """Add random judgements to the sample, up to `size` (default: the planned share).

    Those that are added, each a place and a position in it.
    """
    a = answer.c
    query = select(a.place_id, a.position).select_from(PLACED_ANSWERS).where(_counted(work))
    judgements = [(number, at) for number, at in work.db.execute(query.order_by(a.event_id))]
    before = work.db.execute(select(sampled.c.place_id, sampled.c.position))
    already = {(number, at) for number, at in before}
    left = [judgement for judgement in judgements if judgement not in already]
    if size is None:
        size = round(work.plan.techniques.expert_share * len(judgements))
    wanted = max(0, size - (len(judgements) - len(left)))
    drawn = sorted(work.random.sample(left, min(wanted, len(left))))
    rows = [{"place_id": number, "position": at, "at": work.now} for number, at in drawn]
    work.insert_all(sampled, rows)
    return drawn


def put_back(work: Work, drawn: Iterable[tuple[int, int]]) -> None:
    """What was drawn is no longer in the sample; decisions on it stay."""
    for place_id, position in drawn:
        work.delete(sampled, sampled.c.place_id == place_id, sampled.c.position == position)


def _counted(work: Work) -> ColumnElement[bool]:
    """The condition that an answer of PLACED_ANSWERS is a grade that counts."""
    return and_(work.valid_batches(), place.c.kind == "count", place.c.surplus == 0, has_grade())


class NamedPair(TypedRow):
    """A pair and its names, without anybody's grade."""

    id: int
    topic: str
    doc: str
    title: str


NAMED_PAIR = (pair.c.id, *PAIR_NAMES, document.c.title)


class DisputedPair(NamedPair):
    """A pair whose judges disagree."""

    votes: int
    relevant: int


def to_judge(work: Work) -> list[NamedPair]:
    """Sampled pairs without a decision."""
    decided = select(decision.c.pair_id)
    query = select(*NAMED_PAIR).distinct().select_from(with_pairs(sampled))
    undecided = query.where(work.own(pair), pair.c.id.not_in(decided))
    return work.rows(undecided.order_by(pair.c.id), NamedPair)


def disputed(work: Work, limit: int = 100) -> list[DisputedPair]:
    """Pairs whose judges disagree most."""
    votes = func.count()
    yes = func.count().filter(event.c.grade >= work.plan.scale.relevant_from)
    margin = func.abs(2 * yes - votes)
    number = member.c.pair_id
    # names are joined afterwards, to these few
    split = (
        select(number, votes.label("votes"), yes.label("relevant"), margin.label("margin"))
        .select_from(PLACED_ANSWERS)
        .where(_counted(work), number.not_in(select(decision.c.pair_id)))
        .group_by(number)
        .having(and_(yes > 0, yes < votes))
        .order_by(margin, votes.desc(), number)
        .limit(limit)
        .subquery()
    )
    joined = NAMED_PAIRS.join(split, split.c.pair_id == pair.c.id)
    query = select(*NAMED_PAIR, split.c.votes, split.c.relevant).select_from(joined)
    in_order = query.order_by(split.c.margin, split.c.votes.desc(), pair.c.id)
    return work.rows(in_order, DisputedPair)


def named(work: Work, numbers: Iterable[int]) -> list[NamedPair]:
    """These pairs with their names."""
    query = select(*NAMED_PAIR).select_from(NAMED_PAIRS)
    return work.rows(query.where(work.own(pair), pair.c.id.in_(numbers)), NamedPair)


def pair_named(work: Work, topic_name: str, doc: str) -> int:
    """The number of a pair by its names."""
    named = and_(topic.c.name == topic_name, document.c.name == doc)
    number = work.number(select(pair.c.id).select_from(NAMED_PAIRS).where(work.own(pair), named))
    if not number:
        message = f"there is no document {doc!r} under topic {topic_name!r} in this campaign"
        raise RuleError("not-found", f"{message}; ids are as in its files, capital letters too")
    return number


def decide(
    work: Work, who: str | int, pair_id: int, grade: int, reason: str = "", code: str = ""
) -> None:
    """An expert's decision on a pair; the expert by name, or by number."""
    expert_id = who if isinstance(who, int) else expert(work, who)
    if grade not in work.plan.scale.grades:
        raise RuleError("malformed", f"grade must be one of {work.plan.scale.grades}")
    if code not in CODES:
        raise RuleError("malformed", f"code must be one of {', '.join(filter(None, CODES))}")
    if not work.count(pair, work.own(pair), pair.c.id == pair_id):
        raise RuleError("not-found", "there is no such pair in this campaign")
    work.insert(
        decision,
        pair_id=pair_id,
        expert_id=expert_id,
        grade=grade,
        reason=reason,
        code=code,
        at=work.now,
    )


def error_rate(work: Work, level: float = 0.9) -> ErrorRate:
    """How often the sampled judgements differ (relevant or not) from the experts' decisions."""
    size = work.count(with_pairs(sampled), work.own(pair))
    same = and_(sampled.c.place_id == answer.c.place_id, sampled.c.position == answer.c.position)
    judged_again = PLACED_ANSWERS.join(sampled, same)
    judged_again = judged_again.join(decision, decision.c.pair_id == member.c.pair_id)
    query = select(event.c.grade, decision.c.grade).select_from(judged_again)
    rows = work.db.execute(query.where(_counted(work), decision.c.id.in_(STANDING))).all()
    relevant = work.plan.scale.relevant_from
    wrong = sum((grade >= relevant) != (expert >= relevant) for grade, expert in rows)
    z = NormalDist().inv_cdf((1 + level) / 2)
    low, high = wilson(np.array([wrong]), np.array([len(rows)]), z)
    rate = wrong / len(rows) if rows else float("nan")
    return ErrorRate(size, len(rows), wrong, rate, float(low[0]), float(high[0]))
