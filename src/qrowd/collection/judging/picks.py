"""Which sets a worker gets, in the order of `composition`.

A set is *allowed* to a worker who never had it and did not fail its topic's questions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    exists,
    func,
    literal_column,
    not_,
    select,
    true,
)

from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    PAIR_DOCUMENTS,
    PLACED_SETS,
    JudgingSet,
    document,
    expertise,
    judging_set,
    member,
    pair,
    place,
    topic,
)
from qrowd.collection.database.store import Work
from qrowd.collection.judging import hierarchy
from qrowd.collection.judging.hierarchy import Standing
from qrowd.collection.plan import composition

J = TypeVar("J", bound=JudgingSet)
S = judging_set.c
# written out, so that the index made for it is used
_ROOM: ColumnElement[bool] = literal_column(schema.OPEN_SETS)
_SETS = select(judging_set)
SHUFFLED = 53  # bits of a set's place among its equals


def open_to(work: Work, worker_id: int, now: Standing | None = None) -> ColumnElement[bool]:
    """The condition that a set of the pool is open and allowed; `now` is of mode hierarchy."""
    had = exists().where(place.c.worker_id == worker_id, place.c.set_id == S.id)
    failed = exists().where(
        expertise.c.worker_id == worker_id,
        expertise.c.topic_id == S.topic_id,
        expertise.c.passed == 0,
    )
    in_time: ColumnElement[bool] = true()
    if work.plan.in_phases:
        in_time = hierarchy.open_now(work, worker_id, now or Standing.of(work))
    unread: ColumnElement[bool] = true()
    if work.plan.way.anew:
        read = _TEXTS.with_only_columns(member.c.set_id).where(
            work.own(pair), document.c.content.in_(_read_by(worker_id))
        )
        unread = S.id.not_in(read)
    return and_(work.own(judging_set), _ROOM, not_(had), not_(failed), in_time, unread)


# the texts of sets, by their hashes
_TEXTS = select(member.c.set_id, document.c.content).select_from(
    PAIR_DOCUMENTS.join(member, member.c.pair_id == pair.c.id)
)


def _read_by(worker_id: int) -> Select[Any]:
    """The texts that a worker was ever given."""
    mine = (place.c.set_id == member.c.set_id) & (place.c.worker_id == worker_id)
    return _TEXTS.with_only_columns(document.c.content).where(exists().where(mine))


def unread(work: Work, worker_id: int, sets: Sequence[J]) -> list[J]:
    """Those of these sets whose texts a worker has not read, nor would in one before it here."""
    query = _TEXTS.where(member.c.set_id.in_([row.id for row in sets]))
    texts: dict[int, set[str]] = defaultdict(set)
    for set_id, content in work.db.execute(query):
        texts[set_id].add(content)
    read, kept = set(work.db.scalars(_read_by(worker_id))), []
    for row in sets:
        if not texts[row.id] & read:
            read |= texts[row.id]
            kept.append(row)
    return kept


@dataclass(frozen=True)
class OpenSets:
    """The sets of the pool that are open and allowed to a worker, as a source of picks."""

    work: Work
    allowed: ColumnElement[bool]

    def _free(self, taken: Collection[int]) -> Select[Any]:
        return _SETS.where(self.allowed, S.id.not_in(taken) if taken else true())

    def first(self, taken: Collection[int]) -> JudgingSet | None:
        """One of the highest priority and then the fewest held."""
        order = self._free(taken).order_by(S.priority.desc(), S.held, S.shuffle)
        return self.work.row(order.limit(1), JudgingSet)

    def equals(
        self, row: JudgingSet, taken: Collection[int], but: Collection[int], most: int
    ) -> list[JudgingSet]:
        """Its equals, mixed: those from a random place of their order on, around its end."""
        query = self._free(taken).order_by(S.shuffle)
        if but:
            own = select(topic.c.id).where(self.work.own(topic), topic.c.id.not_in(but))
            others = self.work.db.scalars(own).all()
            if not others:
                return []
            # not by the index of picks: it has all topics, and there may be few of these, or none
            alike = (S.priority + 0 == row.priority) & (S.held + 0 == row.held)
            query = query.where(alike, S.topic_id.in_(others))
        else:
            query = query.where(S.priority == row.priority, S.held == row.held)
        start = self.work.random.getrandbits(SHUFFLED)
        rows: list[JudgingSet] = []
        for half in (S.shuffle >= start, S.shuffle < start):
            if len(rows) < most:
                rows += self.work.rows(query.where(half).limit(most - len(rows)), JudgingSet)
        return self.work.random.sample(rows, len(rows))

    def together(self, wanted: int) -> list[JudgingSet]:
        """The next sets, at most `wanted`: among equals those of one topic, then of the next."""
        chosen: list[JudgingSet] = []
        while len(chosen) < wanted:
            taken = [row.id for row in chosen]
            if (first := self.first(taken)) is None:
                break
            (one, *_) = self.equals(first, taken, (), 1)
            alike = (S.topic_id == one.topic_id, S.priority == one.priority, S.held == one.held)
            query = self._free(taken).where(*alike).order_by(S.shuffle)
            chosen += self.work.rows(query.limit(wanted - len(chosen)), JudgingSet)
        return chosen


def pick(
    work: Work,
    worker_id: int,
    wanted: int,
    repeated: Sequence[JudgingSet] = (),
    now: Standing | None = None,
) -> list[JudgingSet]:
    """The next sets of the pool for a worker, at most `wanted`, beside those that are repeated."""
    uses = Counter(row.topic_id for row in repeated)
    source = OpenSets(work, open_to(work, worker_id, now))
    if work.plan.way.together:
        return source.together(wanted)
    return composition.pick(source, wanted, uses)


def pick_topic(work: Work, worker_id: int) -> list[JudgingSet]:
    """All sets of the next topic that nobody owns, for mode owner; else what came to an own one."""
    allowed = open_to(work, worker_id)
    owned = select(S.topic_id).where(work.pool_sets(), S.held > 0)
    unowned = select(S.topic_id).where(allowed, S.topic_id.not_in(owned.scalar_subquery()))
    best = (func.max(S.priority).desc(), func.min(S.shuffle))
    topic_id = work.db.scalar(unowned.group_by(S.topic_id).order_by(*best).limit(1))
    if topic_id is None:
        mine = (
            select(S.topic_id)
            .select_from(PLACED_SETS)
            .where(place.c.worker_id == worker_id, place.c.held == 1)
        )
        grown = select(S.topic_id).where(allowed, S.topic_id.in_(mine))
        topic_id = work.db.scalar(grown.order_by(S.topic_id).limit(1))
    if topic_id is None:
        return []
    return work.rows(_SETS.where(allowed, S.topic_id == topic_id).order_by(S.shuffle), JudgingSet)
