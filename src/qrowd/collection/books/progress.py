"""How a campaign goes, from counters: quick at a million events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlalchemy import ColumnElement, Table, func, select

from qrowd.collection.books.ledger import Balance, balance
from qrowd.collection.database.schema import (
    PLACED_SETS,
    TypedRow,
    assignment,
    event,
    judging_set,
    place,
    topic,
    total,
    worker,
)
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Work


@dataclass(frozen=True)
class TopicStatus:
    """Coverage of one topic: judgements wanted, and held, of which `pending` are only reserved.

    `by_votes` says how many documents have 0, 1, 2, ... answers that are good.
    """

    topic: str
    wanted: int
    held: int
    pending: int = 0
    by_votes: dict[int, int] = field(default_factory=dict)

    @property
    def valid(self) -> int:
        """Judgements that are done, and good."""
        return self.held - self.pending


@dataclass(frozen=True)
class Status:
    """How a campaign goes. Of what is held, `valid` is done and good; `pending` is reserved for
    batches that people have open.
    """

    name: str
    state: str
    wanted: int
    held: int
    valid: int
    pending: int
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
        """The share of wanted judgements that are done."""
        return self.valid / self.wanted if self.wanted else 1.0


def status(work: Work) -> Status:
    """The state of coverage, money, batches and workers."""
    topics = by_topic_and_votes(work)
    leased = assignment.c.leased_at
    span = select(func.min(leased), func.max(leased)).where(work.own(assignment))
    first_at, last_at = work.db.execute(span).one()
    return Status(
        name=work.name,
        state=work.state,
        wanted=sum(each.wanted for each in topics),
        held=sum(each.held for each in topics),
        valid=sum(each.valid for each in topics),
        pending=sum(each.pending for each in topics),
        events=events(work),
        money=balance(work),
        assignments=counts(work, assignment),
        workers=counts(work, worker),
        topics=tuple(replace(each, by_votes={}) for each in topics),
        by_votes=documents_by_votes(topics),
        first_at=first_at,
        last_at=last_at,
    )


S = judging_set.c
_WANTED = total(S.target * S.size)


def coverage(work: Work) -> tuple[int, int, int]:
    """How many judgements of the pool are wanted, held, and of these only reserved."""
    query = select(_WANTED, total(S.held * S.size)).where(work.pool_sets())
    wanted, held = work.db.execute(query).one()
    pending = sum(reserved.size * reserved.places for reserved in _reserved(work))
    return wanted, held, pending


class _Reserved(TypedRow):
    """A set of which so many places belong to batches that people have open."""

    topic: str
    size: int
    held: int
    places: int


def _reserved(work: Work) -> list[_Reserved]:
    """Few rows: of all batches, those that are open."""
    a, places = assignment.c, func.count().label("places")
    columns = (topic.c.name.label("topic"), S.size, S.held)
    query = (
        select(*columns, places)
        .select_from(PLACED_SETS.join(assignment, a.id == place.c.assignment_id))
        .join(topic, topic.c.id == S.topic_id)
        .where(work.own(assignment), a.state.in_(OPEN), place.c.held == 1)
        .group_by(S.id, *columns)
    )
    return work.rows(query, _Reserved)


def by_topic_and_votes(work: Work) -> list[TopicStatus]:
    """Each topic's coverage, and how many of its documents have 0, 1, 2, ... good judgements."""
    query = (
        select(topic.c.name, S.held, total(S.size), _WANTED)
        .join_from(judging_set, topic, topic.c.id == S.topic_id)
        .where(work.pool_sets())
        .group_by(topic.c.id, topic.c.name, S.held)
        .order_by(topic.c.id, S.held)
    )
    by_topic: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for name, votes, documents, wanted in work.db.execute(query):
        by_topic[name].append((votes, documents, wanted))
    by_votes = {
        name: Counter({votes: documents for votes, documents, _ in rows})
        for name, rows in by_topic.items()
    }
    pending: Counter[str] = Counter()
    for row in _reserved(work):
        pending[row.topic] += row.places * row.size
        by_votes[row.topic][row.held] -= row.size
        by_votes[row.topic][row.held - row.places] += row.size
    return [
        TopicStatus(
            topic=name,
            wanted=sum(wanted for _, _, wanted in rows),
            held=sum(votes * documents for votes, documents, _ in rows),
            pending=pending[name],
            by_votes=dict(sorted((+by_votes[name]).items())),
        )
        for name, rows in by_topic.items()
    ]


def documents_by_votes(topics: Iterable[TopicStatus]) -> dict[int, int]:
    """How many documents of these topics have 0, 1, 2, ... judgements."""
    documents = sum((Counter(each.by_votes) for each in topics), Counter[int]())
    return dict(sorted(documents.items()))


def counts(work: Work, table: Table) -> dict[str, int]:
    """How many batches, or how many people who judge, are in each state."""
    state, own = table.c.state, work.own(table)
    if table is worker:  # experts and machines have numbers, too
        own &= worker.c.kind == "human"
    query = select(state, func.count()).where(own).group_by(state).order_by(state)
    return dict(work.db.execute(query).all())


def events(work: Work) -> int:
    """How much was said, changes of mind included."""
    return work.count(event, _by_workers(work))


def last_answer(work: Work) -> int | None:
    """When somebody answered last."""
    last: int | None = work.db.scalar(select(func.max(event.c.at)).where(_by_workers(work)))
    return last


def _by_workers(work: Work) -> ColumnElement[bool]:
    return event.c.worker_id.in_(select(worker.c.id).where(work.own(worker)))
