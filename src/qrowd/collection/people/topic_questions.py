"""Questions on a topic before it is judged (Piazzon 2019, 2.3: expertise check)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select

from qrowd.collection.database.schema import Question as StoredQuestion
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


@dataclass(frozen=True)
class Question:
    """A question on a topic, asked before it is judged."""

    number: int
    text: str
    choices: tuple[str, ...]


def open_questions(work: Work, worker_id: int, topic_id: int) -> list[Question]:
    """Questions that a worker must answer before this topic."""
    if not work.plan.techniques.expertise_share:
        return []
    answered = (expertise.c.worker_id == worker_id) & (expertise.c.topic_id == topic_id)
    if work.count(expertise, answered):
        return []
    query = select(question).where(question.c.topic_id == topic_id).order_by(question.c.id)
    rows = work.rows(query, StoredQuestion)
    return [Question(row.id, row.text, tuple(json.loads(row.choices))) for row in rows]


def answer_questions(work: Work, worker_id: int, choices: Mapping[int, int]) -> bool:
    """Answers (question number -> choice, from 0) to all questions of one topic; whether passed."""
    query = select(question).join_from(question, topic, topic.c.id == question.c.topic_id)
    rows = work.rows(query.where(question.c.id.in_(choices), work.own(topic)), StoredQuestion)
    topics = {row.topic_id for row in rows}
    if len(topics) != 1 or len(rows) != len(choices):
        raise RuleError("not-found", "answer the questions of one topic at a time")
    topic_id = topics.pop()
    asked = len(open_questions(work, worker_id, topic_id))
    if asked != len(choices):
        raise RuleError("conflict", "answer all questions of the topic, once")
    right = sum(choices[row.id] == row.right_choice for row in rows)
    passed = right >= work.plan.techniques.expertise_share * asked - 1e-9
    work.insert(
        expertise,
        worker_id=worker_id,
        topic_id=topic_id,
        right=right,
        asked=asked,
        passed=int(passed),
        at=work.now,
    )
    if not passed:
        # the topic's sets are not judged by this worker: others get them
        sets = select(judging_set.c.id).where(judging_set.c.topic_id == topic_id)
        active = select(assignment.c.id).where(assignment.c.state == "active")
        mine = (place.c.worker_id == worker_id) & (place.c.held == 1)
        given_back = place.c.set_id.in_(sets) & place.c.assignment_id.in_(active)
        work.update(place, mine, given_back, held=0)
    return passed


def failed_topics(work: Work, worker_id: int) -> set[int]:
    """Topics whose questions a worker failed."""
    if not work.plan.techniques.expertise_share:
        return set()
    failed = (expertise.c.worker_id == worker_id) & (expertise.c.passed == 0)
    return set(work.db.scalars(select(expertise.c.topic_id).where(failed)))
