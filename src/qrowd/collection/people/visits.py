"""How a person comes in by a signed link, and leaves with a completion code."""

from __future__ import annotations

import json

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import select

from qrowd.collection.database.schema import completion_code, person, visit
from qrowd.collection.database.store import Work
from qrowd.collection.people.workers import secret_of, worker_of
from qrowd.collection.plan.platforms import Arrival, Departure, provider_of
from qrowd.collection.plan.sections import DAY
from qrowd.errors import RuleError

PLATFORM = "link"
OUTCOME_OF_STATE = {"failed": "failed", "screened-out": "screened-out", "stopped": "completed"}


def make_link(work: Work, person: str, days: float = 30) -> str:
    """The signed text that lets `person` in for so many days."""
    until = work.now + round(days * DAY)
    return str(_signer(work).dumps({"person": person, "until": until}))


def open_link(work: Work, link: str) -> str:
    """Who a link is for; an error where it was changed, or its time is over."""
    try:
        signed = _signer(work).loads(link)
    except BadSignature:
        message = "this link is not complete; please copy all of it"
        raise RuleError("expired-link", message) from None
    if signed["until"] <= work.now:
        raise RuleError("expired-link", "this link has ended; please ask for a new one")
    return str(signed["person"])


def _signer(work: Work) -> URLSafeSerializer:
    return URLSafeSerializer(secret_of(work), salt="worker-link")


def leave(work: Work, worker_id: int, *, worked: bool) -> Departure:
    """Where a worker goes now; the same code again until it is used."""
    state = worker_of(work, worker_id).state
    outcome = OUTCOME_OF_STATE.get(state, "completed" if worked else "no-work")
    provider = provider_of(work.plan.platform)
    return provider.leave(outcome, _code(work, worker_id, outcome), _arrival(work, worker_id))


def _arrival(work: Work, worker_id: int) -> Arrival:
    row = work.row(select(person).where(person.c.worker_id == worker_id))
    if row is None:
        raise RuleError("not-found", "nobody is known under this number any more")
    visits = select(visit.c.parameters).where(visit.c.worker_id == worker_id)
    parameters = work.db.scalar(visits.order_by(visit.c.id.desc()).limit(1))
    return Arrival(row.platform, row.platform_id, json.loads(parameters or "{}"))


def _code(work: Work, worker_id: int, outcome: str) -> str:
    c = completion_code.c
    unused = (c.worker_id == worker_id) & (c.outcome == outcome) & c.used_at.is_(None)
    code = work.db.scalar(select(c.code).where(unused))
    if code is None:
        code = work.key()[:12].upper()
        work.insert(
            completion_code, worker_id=worker_id, code=code, outcome=outcome, made_at=work.now
        )
    return str(code)


def use_code(work: Work, code: str) -> tuple[int, str]:
    """A code that a worker brought: the worker's number and the outcome; it is good once."""
    same = completion_code.c.code == code
    row = work.row(select(completion_code).where(same))
    if row is None:
        raise RuleError("not-found", "there is no such code")
    number = worker_of(work, row.worker_id).number
    if row.used_at is not None:
        raise RuleError("conflict", f"this code of worker w{number} was used already")
    work.update(completion_code, same, used_at=work.now)
    return int(number), str(row.outcome)
