"""Questions on a topic before it is judged (Piazzon 2019, 2.3: expertise check)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sqlalchemy import insert, select, update

from qrowd.collection.database.schema import (
    assignment,
    expertise,
    judging_set,
    place,
    question,
    topic,
)
from qrowd.collection.database.store import Work
from qrowd.errors import RuleError


def open_questions(
    work: Work, worker_id: int, topic_id: int
) -> list[tuple[int, str, tuple[str, ...]]]:
    """Questions that a worker must answer before this topic: (number, text, choices)."""
    if not work.plan.techniques.expertise_share or _answered(work, worker_id, topic_id):
        return []
    query = select(question).where(question.c.topic_id == topic_id).order_by(question.c.id)
    return [(row.id, row.text, tuple(json.loads(row.choices))) for row in work.db.execute(query)]


def _answered(work: Work, worker_id: int, topic_id: int) -> bool:
    mine = (expertise.c.worker_id == worker_id) & (expertise.c.topic_id == topic_id)
    return work.db.scalar(select(expertise.c.passed).where(mine)) is not None


def answer_questions(work: Work, worker_id: int, given: Mapping[int, int]) -> bool:
    """Answers (question number -> choice, from 0) to all questions of one topic; whether passed."""
    query = select(question).join_from(question, topic, topic.c.id == question.c.topic_id)
    own = topic.c.campaign_id == work.campaign
    rows = work.db.execute(query.where(question.c.id.in_(given), own)).all()
    topics = {row.topic_id for row in rows}
    if len(topics) != 1 or len(rows) != len(given):
        raise RuleError("not-found", "answer the questions of one topic at a time")
    topic_id = topics.pop()
    asked = open_questions(work, worker_id, topic_id)
    if len(asked) != len(given):
        raise RuleError("conflict", "answer all questions of the topic, once")
    right = sum(given[row.id] == row.right_choice for row in rows)
    passed = right >= work.plan.techniques.expertise_share * len(asked) - 1e-9
    who = {"worker_id": worker_id, "topic_id": topic_id, "at": work.now}
    what = {"right": right, "asked": len(asked), "passed": int(passed)}
    work.db.execute(insert(expertise).values(**who, **what))
    if not passed:
        _free_places(work, worker_id, topic_id)
    return bool(passed)


def _free_places(work: Work, worker_id: int, topic_id: int) -> None:
    """Sets of a topic whose questions were failed are not judged: others get them."""
    sets = select(judging_set.c.id).where(judging_set.c.topic_id == topic_id)
    mine = (place.c.worker_id == worker_id) & (place.c.held == 1) & place.c.set_id.in_(sets)
    running = select(assignment.c.id).where(assignment.c.state == "active")
    freed = mine & place.c.assignment_id.in_(running)
    work.db.execute(update(place).where(freed).values(held=0))


def failed_topics(work: Work, worker_id: int) -> set[int]:
    """Topics whose questions a worker failed."""
    if not work.plan.techniques.expertise_share:
        return set()
    failed = (expertise.c.worker_id == worker_id) & (expertise.c.passed == 0)
    return set(work.db.scalars(select(expertise.c.topic_id).where(failed)))
