"""Workers, who are numbers, and the persons behind them, who can be erased.

A worker's answers stand under a number that means nothing. Names, addresses, platforms' ids and
visits live in tables of their own; `office.erasure` empties them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, func, select

from qrowd.collection.database.schema import (
    assignment,
    campaign,
    consent,
    message,
    person,
    visit,
    worker,
)
from qrowd.collection.database.store import Row, Work
from qrowd.errors import RuleError

TO_BE_FORGOTTEN = worker.c.forget_asked.is_not(None) & worker.c.forgotten_at.is_(None)


def enter(
    work: Work,
    platform: str,
    platform_id: str,
    *,
    name: str = "",
    address: str = "",
    parameters: Mapping[str, str] | None = None,
) -> Row:
    """The worker that a person is, made at the first visit; `parameters` of the visit are kept."""
    if not platform_id or "\0" in platform_id + name + address:
        raise RuleError("malformed", "a person needs an id, without the character 0")
    same = (person.c.platform == platform) & (person.c.platform_id == platform_id)
    worker_id = work.db.scalar(select(person.c.worker_id).where(work.own(person), same))
    if worker_id is None:
        worker_id = _recognised(work, platform, platform_id) or new_worker(work)
        work.insert(
            person,
            worker_id=worker_id,
            campaign_id=work.campaign,
            platform=platform,
            platform_id=platform_id,
            name=name,
            address=address,
        )
    if parameters is not None:
        text = json.dumps(dict(parameters), sort_keys=True)
        work.insert(visit, worker_id=worker_id, at=work.now, parameters=text)
    return worker_of(work, worker_id)


def _recognised(work: Work, platform: str, platform_id: str) -> int | None:
    """The worker who was this person before being forgotten, where the plan wants that."""
    if not work.plan.people.recognise:
        return None
    mark = fingerprint(work, platform, platform_id)
    same = work.own(worker) & (worker.c.recognised == mark)
    worker_id: int | None = work.db.scalar(select(worker.c.id).where(same))
    if worker_id is not None:
        work.update(worker, worker.c.id == worker_id, forgotten_at=None, forget_asked=None)
    return worker_id


def fingerprint(work: Work, platform: str, platform_id: str) -> str:
    """A keyed hash of a person's id, to recognise who comes back after being forgotten."""
    body = f"{platform}\0{platform_id}".encode()
    return hmac.new(secret_of(work).encode(), body, hashlib.sha256).hexdigest()


def secret_of(work: Work) -> str:
    """The campaign's own key, for hashes and signed links."""
    return str(work.db.scalar(select(campaign.c.secret).where(campaign.c.id == work.campaign)))


def new_worker(work: Work, kind: str = "human", name: str | None = None) -> int:
    """A new number; experts and machines have names, people do not."""
    last = work.number(select(func.max(worker.c.number)).where(work.own(worker)))
    tested = kind == "human" and work.plan.qualification.sets
    return work.insert(
        worker,
        campaign_id=work.campaign,
        key=work.key(),
        number=last + 1,
        kind=kind,
        name=name,
        state="new" if tested else "qualified",
        made_at=work.now,
    )


def expert(work: Work, name: str) -> int:
    """The expert (or organiser who judges) of this name; made at first use."""
    same = (worker.c.name == name) & (worker.c.kind == "expert")
    worker_id = work.db.scalar(select(worker.c.id).where(work.own(worker), same))
    return new_worker(work, "expert", name) if worker_id is None else int(worker_id)


def worker_of(work: Work, worker_id: int) -> Row:
    """A worker of this campaign by id."""
    return _worker_where(work, worker.c.id == worker_id)


def worker_by_number(work: Work, number: int) -> Row:
    """A worker by the number that exports show."""
    return _worker_where(work, worker.c.number == number)


def _worker_where(work: Work, condition: ColumnElement[bool]) -> Row:
    row = work.row(select(worker).where(condition, work.own(worker)))
    if row is None:
        raise RuleError("not-found", "there is no such worker in this campaign")
    return row


def listed(
    work: Work, after: int = 0, limit: int | None = None, numbers: Sequence[int] | None = None
) -> list[Row]:
    """Workers with a higher number (or of these), with their batches and what they earned."""
    w, a = worker.c, assignment.c
    columns = (w.number, w.kind, w.state, w.failed_hits)
    batches = func.count(a.id).label("batches")
    earned = func.coalesce(func.sum(a.earned + a.paid), 0).label("earned")
    joined = worker.outerjoin(assignment, a.worker_id == w.id)
    query = select(*columns, batches, earned).select_from(joined).group_by(w.id, *columns)
    query = query.where(work.own(worker), w.number > after)
    if numbers is not None:
        query = query.where(w.number.in_(list(numbers)))
    return work.rows(query.order_by(w.number).limit(limit))


def visit_since(work: Work, worker_id: int) -> int | None:
    """When the worker's last visit began; an address that is opened again is the same visit."""
    mine = visit.c.worker_id == worker_id
    visits = select(visit.c.at, visit.c.parameters).where(mine)
    last = work.row(visits.order_by(visit.c.id.desc()).limit(1))
    if last is None or last.parameters == "{}":
        return None if last is None else int(last.at)
    same = visit.c.parameters == last.parameters
    return work.number(select(func.min(visit.c.at)).where(mine, same))


# --- consent and messages -------------------------------------------------------------------------


def consent_needed(work: Work, worker_id: int) -> bool:
    """Whether the current version of the terms must still be accepted."""
    terms = work.plan.people
    if not terms.consent:
        return False
    accepted = (consent.c.worker_id == worker_id) & (consent.c.version == terms.consent_version)
    return not work.count(consent, accepted)


def give_consent(work: Work, worker_id: int, version: str) -> None:
    """Keep that a worker accepted the terms: text, version and time."""
    terms = work.plan.people
    if version != terms.consent_version:
        raise RuleError("conflict", "the terms have changed; please read them again")
    if consent_needed(work, worker_id):
        work.insert(consent, worker_id=worker_id, version=version, text=terms.consent, at=work.now)


def write_message(work: Work, worker_id: int, text: str, *, from_worker: bool) -> None:
    """A message between organiser and worker."""
    if not text.strip() or len(text) > 10_000:
        raise RuleError("malformed", "a message has 1 to 10,000 characters")
    work.insert(message, worker_id=worker_id, at=work.now, from_worker=int(from_worker), text=text)


def messages(work: Work, worker_id: int) -> list[Row]:
    """A worker's messages, the oldest first."""
    query = select(message).where(message.c.worker_id == worker_id)
    return work.rows(query.order_by(message.c.id))
