"""How a person comes in by a signed link, and leaves with a completion code."""

from __future__ import annotations

import json

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import insert, select, update

from qrowd.collection.database.schema import campaign, completion_code, person, visit
from qrowd.collection.database.store import Work
from qrowd.collection.people.workers import worker_of
from qrowd.collection.plan.platforms import Arrival, Departure, provider_of
from qrowd.collection.plan.sections import DAY
from qrowd.errors import RuleError

PLATFORM = "link"
_ENDED = "this link has ended; please ask for a new one"
_BROKEN = "this link is not complete; please copy all of it"


def make_link(work: Work, person: str, days: float = 30) -> str:
    """The signed text that lets `person` in for so many days."""
    until = work.now + round(days * DAY)
    return str(_signer(work).dumps({"person": person, "until": until}))


def open_link(work: Work, link: str) -> str:
    """Who a link is for; an error where it was changed, or its time is over."""
    try:
        held = _signer(work).loads(link)
    except BadSignature:
        raise RuleError("expired-link", _BROKEN) from None
    if held["until"] <= work.now:
        raise RuleError("expired-link", _ENDED)
    return str(held["person"])


def _signer(work: Work) -> URLSafeSerializer:
    secret = work.db.scalar(select(campaign.c.secret).where(campaign.c.id == work.campaign))
    return URLSafeSerializer(str(secret), salt="worker-link")


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
