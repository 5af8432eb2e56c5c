"""An extension taken back: what nobody has met is gone, what somebody has is offered no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, case, delete, exists, func, select, update

from qrowd.collection.database.schema import (
    decision,
    document,
    gold,
    judging_set,
    member,
    pair,
    place,
    question,
    topic,
)
from qrowd.collection.database.store import Work

GROWING = {"set": judging_set, "pair": pair, "document": document, "topic": topic}


def highest(work: Work) -> dict[str, int]:
    """The highest number of each table that an extension adds to."""
    last = {name: func.coalesce(func.max(table.c.id), 0) for name, table in GROWING.items()}
    return {name: int(work.db.scalar(select(one)) or 0) for name, one in last.items()}


def withdraw(work: Work, details: Mapping[str, Any]) -> None:
    """Take back what an extension made: rows between `after_...` and `last_...` of its act."""
    made = {name: _between(work, table, name, details) for name, table in GROWING.items()}
    met = exists().where(place.c.set_id == judging_set.c.id)
    left = case((judging_set.c.role == "pool", judging_set.c.held), else_=0)
    work.db.execute(update(judging_set).where(made["set"], met).values(open=0, target=left))
    unmet = select(judging_set.c.id).where(made["set"], ~met)
    work.db.execute(delete(member).where(member.c.set_id.in_(unmet)))
    work.db.execute(delete(judging_set).where(made["set"], ~met))
    _remove_pairs(work, made["pair"])
    paired = exists().where(pair.c.document_id == document.c.id)
    work.db.execute(delete(document).where(made["document"], ~paired))
    used = exists().where(pair.c.topic_id == topic.c.id)
    asked = exists().where(question.c.topic_id == topic.c.id)
    work.db.execute(delete(topic).where(made["topic"], ~used, ~asked))


def _remove_pairs(work: Work, made: ColumnElement[bool]) -> None:
    """Pairs in no set that no expert has decided."""
    used = exists().where(member.c.pair_id == pair.c.id)
    decided = exists().where(decision.c.pair_id == pair.c.id)
    unused = select(pair.c.id).where(made, ~used, ~decided)
    work.db.execute(delete(gold).where(gold.c.pair_id.in_(unused)))
    work.db.execute(delete(pair).where(made, ~used, ~decided))


def _between(
    work: Work, table: Table, name: str, details: Mapping[str, Any]
) -> ColumnElement[bool]:
    first, last = int(details.get(f"after_{name}", 0)), int(details.get(f"last_{name}", 0))
    own = table.c.campaign_id == work.campaign
    return and_(own, table.c.id > first, table.c.id <= last)
