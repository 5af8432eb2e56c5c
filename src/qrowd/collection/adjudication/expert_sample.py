"""Experts: a random sample of judgements judged again, disputed documents, decisions.

A decision is an expert's grade of a pair, with a reason and a code; the last one stands. It never
changes what workers said: exports give it as gold.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import NormalDist

import numpy as np
from sqlalchemy import ColumnElement, and_, case, func, select, true

from qrowd.collection.database.schema import (
    DECIDED,
    NAMED_PAIRS,
    PAIR_NAMES,
    PLACED_ANSWERS,
    STANDING,
    TAKEN_BACK,
    Decision,
    TypedRow,
    answer,
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


# Of a good person's other check questions: how many at least, and the share that is right.
LEAST_OTHERS, GOOD_SHARE = 4, 0.75
LEAST_GOOD = 3  # good people who answered a check question, before it is doubted


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
    query = select(*NAMED_PAIR).distinct().select_from(with_pairs(sampled))
    undecided = query.where(work.own(pair), pair.c.id.not_in(DECIDED))
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
        .where(_counted(work), number.not_in(DECIDED))
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


def missed_by_good(work: Work) -> list[NamedPair]:
    """Check questions in use, without a decision, that most good people miss.

    Good are those who are right on at least `GOOD_SHARE` of their other check questions.
    """
    scale = work.plan.scale
    wrong = event.c.grade.is_(None) | (
        (event.c.grade >= scale.relevant_from) != (gold.c.grade >= scale.gold_relevant_from)
    )
    answered = (
        select(place.c.worker_id, member.c.pair_id, case((wrong, 1), else_=0).label("wrong"))
        .select_from(
            PLACED_ANSWERS.join(gold, gold.c.pair_id == member.c.pair_id).join(
                judging_set, judging_set.c.id == place.c.set_id
            )
        )
        .where(
            work.own(judging_set),
            judging_set.c.open == 1,
            place.c.kind == "gold",
            assignment.c.finished_at.is_not(None),
            event.c.kind.not_in(("broken", "clear")),
        )
        .cte("answered")
    )
    each = answered.c
    people = (
        select(each.worker_id, func.count().label("asked"), func.sum(each.wrong).label("wrong"))
        .group_by(each.worker_id)
        .subquery()
    )
    others, missed = people.c.asked - 1, func.sum(each.wrong)
    is_good = people.c.wrong - each.wrong <= (1 - GOOD_SHARE) * others
    doubtful = (
        select(each.pair_id)
        .join_from(answered, people, people.c.worker_id == each.worker_id)
        .where(others >= LEAST_OTHERS, is_good)
        .where(each.pair_id.not_in(DECIDED))
        .group_by(each.pair_id)
        .having(and_(func.count() >= LEAST_GOOD, 2 * missed > func.count()))
    )
    return named(work, work.db.scalars(doubtful).all())


class ContestedGold(TypedRow):
    """A check question whose gold says otherwise than an expert's decision."""

    set_id: int
    pair_id: int
    position: int
    open: int
    gold: int
    grade: int
    topic: str
    doc: str


def contested_gold(work: Work, set_id: int | None = None) -> list[ContestedGold]:
    """Check questions (of a set) on which the decision that stands differs in relevance."""
    scale = work.plan.scale
    joined = (
        NAMED_PAIRS.join(gold, gold.c.pair_id == pair.c.id)
        .join(decision, decision.c.pair_id == pair.c.id)
        .join(member, member.c.pair_id == pair.c.id)
        .join(judging_set, judging_set.c.id == member.c.set_id)
    )
    differs = (decision.c.grade >= scale.relevant_from) != (
        gold.c.grade >= scale.gold_relevant_from
    )
    grades = (gold.c.grade.label("gold"), decision.c.grade)
    s = judging_set.c
    query = (
        select(s.id.label("set_id"), pair.c.id.label("pair_id"), member.c.position, s.open)
        .add_columns(*grades, *PAIR_NAMES)
        .select_from(joined)
        .where(work.own(pair), s.role == "gold", decision.c.id.in_(STANDING), differs)
        .where(true() if set_id is None else s.id == set_id)
    )
    return work.rows(query.order_by(s.id, member.c.position), ContestedGold)


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


def take_back(work: Work, pair_id: int) -> Decision:
    """Take back the decision that stands on a pair: what another expert decided before it stands
    again. The decision that was taken back.
    """
    mine = (decision.c.pair_id == pair_id) & decision.c.id.in_(STANDING)
    message = "no decision of an expert stands on this document"
    standing = work.existing(select(decision).where(mine), message, Decision)
    _say(work, standing, code=TAKEN_BACK)
    rows = select(decision).where(decision.c.pair_id == pair_id).order_by(decision.c.id)
    last = {row.expert_id: row for row in work.rows(rows, Decision)}  # of each expert
    earlier = [row for row in last.values() if row.code != TAKEN_BACK]
    if earlier:
        last_of_others = max(earlier, key=lambda row: row.id)
        _say(work, last_of_others, code=last_of_others.code, reason=last_of_others.reason)
    return standing


def decide_again(work: Work, number: int) -> None:
    """What was taken back stands again."""
    row = work.existing(select(decision).where(decision.c.id == number), "no decision", Decision)
    _say(work, row, code=row.code, reason=row.reason)


def _say(work: Work, row: Decision, *, code: str, reason: str = "") -> None:
    work.insert(
        decision,
        pair_id=row.pair_id,
        expert_id=row.expert_id,
        grade=row.grade,
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
