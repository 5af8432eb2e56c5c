"""Multilevel review: workers review workers (Piazzon 2019, 2.3).

A reviewer sees another's grades of a set and confirms or changes each. Nobody reviews a set that
they judged, nor judges one that they reviewed. Both are paid as planned; whose answers agree with
reviewers less than planned is shown to the organiser.
"""

from __future__ import annotations

from sqlalchemy import and_, case, exists, func, select

from qrowd.collection.books import ledger, notices
from qrowd.collection.database.schema import answer, assignment, event, judging_set, place, worker
from qrowd.collection.database.store import Found, Work
from qrowd.collection.judging.assignments import lease


def wanted(work: Work) -> bool:
    """Whether the next batch should be a review, by the planned share."""
    share = work.plan.techniques.review_share
    return share > 0 and work.random.random() < share


def lease_review(work: Work, worker_id: int) -> Found | None:
    """A batch of others' sets to review; None where there is nothing or no money."""
    sets = _to_review(work, worker_id)
    if not sets or not ledger.affordable(work, work.plan.pay_of("review")):
        return None
    chosen = [(row, "review") for row in sets]
    return lease(work, worker_id, "review", chosen, [row.place_id for row in sets])


def _to_review(work: Work, worker_id: int) -> list[Found]:
    """Submitted sets of others, never met by this worker and not reviewed yet, the oldest first."""
    mine, review = place.alias(), place.alias()
    met = exists().where(mine.c.worker_id == worker_id, mine.c.set_id == place.c.set_id)
    done = exists().where(review.c.reviews_id == place.c.id)
    s = judging_set.c
    joined = place.join(assignment, assignment.c.id == place.c.assignment_id).join(
        judging_set, s.id == place.c.set_id
    )
    ready = and_(
        assignment.c.campaign_id == work.campaign,
        assignment.c.state.in_(("submitted", "accepted")),
        place.c.kind == "count",
        place.c.held == 1,
    )
    query = (
        select(s.id, s.topic_id, s.size, place.c.id.label("place_id"))
        .select_from(joined)
        .where(ready, ~met, ~done)
        .order_by(place.c.id)
    )
    seen: dict[int, Found] = {}
    for row in work.db.execute(query):
        seen.setdefault(row.id, row)
        if len(seen) == work.plan.hit.sets:
            break
    return list(seen.values())


def agreement(work: Work, worker_id: int | None = None) -> list[Found]:
    """Rows (worker id, number, compared, agreed): reviewed grades that the reviewer left as is."""
    reviewed, by = place.alias(), place.alias()
    one, two, said, thought = answer.alias(), answer.alias(), event.alias(), event.alias()
    ended = assignment.c.state.in_(("submitted", "accepted"))
    joined = (
        by.join(reviewed, reviewed.c.id == by.c.reviews_id)
        .join(assignment, assignment.c.id == by.c.assignment_id)
        .join(one, one.c.place_id == reviewed.c.id)
        .join(two, and_(two.c.place_id == by.c.id, two.c.position == one.c.position))
        .join(said, said.c.id == one.c.event_id)
        .join(thought, thought.c.id == two.c.event_id)
        .join(worker, worker.c.id == reviewed.c.worker_id)
    )
    grades = and_(said.c.kind == "grade", thought.c.kind == "grade")
    agreed = func.sum(case((said.c.grade == thought.c.grade, 1), else_=0)).label("agreed")
    query = (
        select(worker.c.id, worker.c.number, func.count().label("compared"), agreed)
        .select_from(joined)
        .where(assignment.c.campaign_id == work.campaign, ended, grades)
        .group_by(worker.c.id, worker.c.number)
        .order_by(worker.c.number)
    )
    if worker_id is not None:
        query = query.where(worker.c.id == worker_id)
    return list(work.db.execute(query))


def settle_review(work: Work, row: Found) -> None:
    """After a review: tell the organiser of those who agree too little with their reviewers."""
    judged = place.alias()
    query = select(judged.c.worker_id).join_from(judged, place, place.c.reviews_id == judged.c.id)
    for worker_id in set(work.db.scalars(query.where(place.c.assignment_id == row.id))):
        for found in agreement(work, worker_id):
            if found.agreed < work.plan.techniques.review_agreement * found.compared:
                text = f"reviewers left {found.agreed} of {found.compared} grades of worker "
                notices.tell(
                    work, "reviewed", f"{text}w{found.number} as they were", f"w{found.number}"
                )
