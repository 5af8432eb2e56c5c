"""How a campaign goes, from counters: quick at a million events."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Table, func, select

from qrowd.collection.books.ledger import Balance, balance
from qrowd.collection.database.schema import assignment, event, judging_set, topic, worker
from qrowd.collection.database.store import Work


@dataclass(frozen=True)
class TopicStatus:
    """Coverage of one topic: judgements wanted and held."""

    topic: str
    wanted: int
    held: int
    by_votes: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """How a campaign goes."""

    name: str
    state: str
    wanted: int
    held: int
    events: int
    money: Balance
    assignments: dict[str, int]
    workers: dict[str, int]
    topics: tuple[TopicStatus, ...]
    by_votes: dict[int, int]
    first_at: int | None
    last_at: int | None

    @property
    def share(self) -> float:
        """The share of wanted judgements that are held."""
        return self.held / self.wanted if self.wanted else 1.0


def status(work: Work) -> Status:
    """The state of coverage, money, batches and workers."""
    topics = tuple(_topics(work))
    first, last = _span(work)
    return Status(
        name=work.name,
        state=work.state,
        wanted=sum(one.wanted for one in topics),
        held=sum(one.held for one in topics),
        events=events(work),
        money=balance(work),
        assignments=_counts(work, assignment.c.state, assignment),
        workers=_counts(work, worker.c.state, worker),
        topics=topics,
        by_votes=_by_votes(work),
        first_at=first,
        last_at=last,
    )


def coverage(work: Work) -> tuple[int, int]:
    """How many judgements of the pool are wanted, and how many are held."""
    s = judging_set.c
    sums = select(func.sum(s.target * s.size), func.sum(s.held * s.size))
    row = work.db.execute(sums.where(s.campaign_id == work.campaign, s.role == "pool")).one()
    return int(row[0] or 0), int(row[1] or 0)


def _topics(work: Work) -> list[TopicStatus]:
    s = judging_set.c
    wanted, held = func.sum(s.target * s.size), func.sum(s.held * s.size)
    query = (
        select(topic.c.name, wanted.label("wanted"), held.label("held"))
        .join_from(judging_set, topic, topic.c.id == s.topic_id)
        .where(s.campaign_id == work.campaign, s.role == "pool")
        .group_by(topic.c.id, topic.c.name)
        .order_by(topic.c.id)
    )
    return [TopicStatus(row.name, int(row.wanted), int(row.held)) for row in work.db.execute(query)]


def by_topic_and_votes(work: Work) -> list[TopicStatus]:
    """Each topic's coverage, and how many of its documents have 0, 1, 2, ... judgements."""
    s = judging_set.c
    documents, wanted = func.sum(s.size).label("documents"), func.sum(s.target * s.size)
    query = (
        select(topic.c.id, topic.c.name, s.held, documents, wanted.label("wanted"))
        .join_from(judging_set, topic, topic.c.id == s.topic_id)
        .where(s.campaign_id == work.campaign, s.role == "pool")
        .group_by(topic.c.id, topic.c.name, s.held)
        .order_by(topic.c.id, s.held)
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for row in work.db.execute(query):
        found[row.name].append((row.held, int(row.documents), int(row.wanted)))
    return [
        TopicStatus(
            name,
            sum(want for _, _, want in rows),
            sum(held * n for held, n, _ in rows),
            {held: n for held, n, _ in rows},
        )
        for name, rows in found.items()
    ]


def counts(work: Work, table: Table) -> dict[str, int]:
    """How many rows of a table (workers, assignments) are in each state."""
    return _counts(work, table.c.state, table)


def _by_votes(work: Work) -> dict[int, int]:
    """How many documents of the pool have 0, 1, 2, ... judgements held."""
    s = judging_set.c
    query = select(s.held, func.sum(s.size).label("documents"))
    own = query.where(s.campaign_id == work.campaign, s.role == "pool").group_by(s.held)
    return {row.held: int(row.documents) for row in work.db.execute(own.order_by(s.held))}


def _counts(work: Work, column: object, table: object) -> dict[str, int]:
    query = select(column, func.count().label("n")).select_from(table)  # type: ignore[call-overload]
    own = query.where(table.c.campaign_id == work.campaign)  # type: ignore[attr-defined]
    return {row[0]: row.n for row in work.db.execute(own.group_by(column).order_by(column))}


def events(work: Work) -> int:
    """How much was said, changes of mind included."""
    mine = select(worker.c.id).where(worker.c.campaign_id == work.campaign)
    counted = select(func.count()).select_from(event).where(event.c.worker_id.in_(mine))
    return int(work.db.scalar(counted) or 0)


def last_answer(work: Work) -> int | None:
    """When somebody answered last."""
    mine = select(worker.c.id).where(worker.c.campaign_id == work.campaign)
    found = work.db.scalar(select(func.max(event.c.at)).where(event.c.worker_id.in_(mine)))
    return None if found is None else int(found)


def _span(work: Work) -> tuple[int | None, int | None]:
    a = assignment.c
    row = work.db.execute(
        select(func.min(a.leased_at), func.max(a.leased_at)).where(a.campaign_id == work.campaign)
    ).one()
    return row[0], row[1]
