"""Multilevel review: workers review workers (Piazzon 2019, 2.3).

A reviewer sees another's grades of a set and confirms or changes each; several may review it, each
without seeing what the others said. Nobody reviews a set that
they judged, nor judges one that they reviewed. Both are paid as planned; whose answers agree with
reviewers less than planned is shown to the organiser.
"""

from __future__ import annotations

from sqlalchemy import case, exists, func, select

from qrowd.collection.books import ledger, notices
from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    PLACED_SETS,
    answer,
    assignment,
    event,
    has_grade,
    judging_set,
    place,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import lease


class ReviewedSet(schema.JudgingSet):
    """A set that somebody has judged, and the place in which that was."""

    place_id: int


class Agreement(schema.TypedRow):
    """How many grades of a worker were compared with a reviewer's, and how many are the same."""

    id: int
    number: int
    compared: int
    agreed: int


def lease_review(work: Work, worker_id: int) -> schema.Assignment | None:
    """A batch of others' sets to review; None where there is nothing or no money."""
    sets = _to_review(work, worker_id)
    if not sets or not ledger.affordable(work, work.plan.pay_of("review")):
        return None
    reviewed = [row.place_id for row in sets]
    return lease(work, worker_id, "review", [(row, "review") for row in sets], reviewed)


def _to_review(work: Work, worker_id: int) -> list[ReviewedSet]:
    """Submitted sets of others, never met by this worker, that may be reviewed once more: those
    with the fewest reviews, and of them the oldest, first.
    """
    mine, review = place.alias(), place.alias()
    met = exists().where(mine.c.worker_id == worker_id, mine.c.set_id == place.c.set_id)
    by_others = (review.c.reviews_id == place.c.id) & (review.c.worker_id != place.c.worker_id)
    done = select(func.count()).select_from(review).where(by_others).scalar_subquery()
    wanted = done < work.plan.techniques.reviews
    first, fewest = func.min(place.c.id).label("place_id"), func.min(done)
    query = (
        select(judging_set, first)
        .select_from(PLACED_SETS.join(assignment, assignment.c.id == place.c.assignment_id))
        .where(work.valid_batches(), place.c.kind == "count", place.c.held == 1, ~met, wanted)
        .group_by(judging_set.c.id)
        .order_by(fewest, first)
        .limit(work.plan.hit.sets)
    )
    return work.rows(query, ReviewedSet)


def agreement(work: Work, worker_id: int | None = None) -> list[Agreement]:
    """How many reviewed grades of each worker, or of one, the reviewer left as they were."""
    judged, review = place.alias(), place.alias()
    first, second = answer.alias(), answer.alias()
    grade, opinion = event.alias(), event.alias()
    joined = (
        review.join(judged, judged.c.id == review.c.reviews_id)
        .join(assignment, assignment.c.id == review.c.assignment_id)
        .join(first, first.c.place_id == judged.c.id)
        .join(second, (second.c.place_id == review.c.id) & (second.c.position == first.c.position))
        .join(grade, grade.c.id == first.c.event_id)
        .join(opinion, opinion.c.id == second.c.event_id)
        .join(worker, worker.c.id == judged.c.worker_id)
    )
    compared = func.count().label("compared")
    agreed = func.sum(case((grade.c.grade == opinion.c.grade, 1), else_=0)).label("agreed")
    query = (
        select(worker.c.id, worker.c.number, compared, agreed)
        .select_from(joined)
        .where(work.valid_batches(), has_grade(grade), has_grade(opinion))
        .where(review.c.worker_id != judged.c.worker_id)
        .group_by(worker.c.id, worker.c.number)
        .order_by(worker.c.number)
    )
    if worker_id is not None:
        query = query.where(worker.c.id == worker_id)
    return work.rows(query, Agreement)


def settle_review(work: Work, assigned: schema.Assignment) -> None:
    """After a review: tell the organiser of those who agree too little with their reviewers."""
    judged = place.alias()
    query = select(judged.c.worker_id).join_from(judged, place, place.c.reviews_id == judged.c.id)
    by_others = query.where(
        place.c.assignment_id == assigned.id, judged.c.worker_id != place.c.worker_id
    )
    for worker_id in set(work.db.scalars(by_others)):
        for row in agreement(work, worker_id):
            if row.agreed < work.plan.techniques.review_agreement * row.compared:
                name = f"w{row.number}"
                counts = {"agreed": row.agreed, "compared": row.compared}
                notices.tell(work, "reviewed", name, worker=name, **counts)
