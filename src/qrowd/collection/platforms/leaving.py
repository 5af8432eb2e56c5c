"""The end of a visit: a completion code that is good once, and the way back to the platform."""

from __future__ import annotations

import json

from sqlalchemy import insert, select, update

from qrowd.collection.people import worker_of
from qrowd.collection.platforms import Arrival, Departure, provider_of
from qrowd.collection.schema import completion_code, person, visit
from qrowd.collection.store import Work
from qrowd.errors import RuleError

_OUTCOME = {"failed": "failed", "screened-out": "screened-out", "stopped": "completed"}


def leave(work: Work, worker_id: int, *, worked: bool) -> Departure:
    """Where a worker goes now; the same code again until it is used."""
    state = worker_of(work, worker_id).state
    outcome = _OUTCOME.get(state, "completed" if worked else "no-work")
    provider = provider_of(work.plan.platform)
    return provider.leave(outcome, _code(work, worker_id, outcome), _arrival(work, worker_id))


def _arrival(work: Work, worker_id: int) -> Arrival:
    who = work.db.execute(select(person).where(person.c.worker_id == worker_id)).one_or_none()
    if who is None:
        raise RuleError("not-found", "nobody is known under this number any more")
    last = select(visit.c.parameters).where(visit.c.worker_id == worker_id)
    kept = work.db.scalar(last.order_by(visit.c.id.desc()).limit(1))
    return Arrival(who.platform, who.platform_id, json.loads(kept or "{}"))


def _code(work: Work, worker_id: int, outcome: str) -> str:
    c = completion_code.c
    mine = (c.worker_id == worker_id) & (c.outcome == outcome) & c.used_at.is_(None)
    found = work.db.scalar(select(c.code).where(mine))
    if found is not None:
        return str(found)
    code = work.key()[:12].upper()
    values = {"worker_id": worker_id, "code": code, "outcome": outcome, "made_at": work.now}
    work.db.execute(insert(completion_code).values(**values))
    return code


def use_code(work: Work, code: str) -> tuple[int, str]:
    """A code that a worker brought: the worker's number and the outcome; it is good once."""
    c = completion_code.c
    row = work.db.execute(select(completion_code).where(c.code == code)).one_or_none()
    if row is None:
        raise RuleError("not-found", "there is no such code")
    number = worker_of(work, row.worker_id).number
    if row.used_at is not None:
        raise RuleError("conflict", f"this code of worker w{number} was used already")
    work.db.execute(update(completion_code).where(c.code == code).values(used_at=work.now))
    return int(number), str(row.outcome)
