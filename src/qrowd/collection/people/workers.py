"""Workers, who are numbers, and the persons behind them, who can be erased.

A worker's answers stand under a number that means nothing. Names, addresses, platforms' ids and
visits live in tables of their own; `forgetting` empties them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping

from sqlalchemy import func, insert, select, update

from qrowd.collection.books import notices
from qrowd.collection.database.schema import (
    assignment,
    campaign,
    consent,
    message,
    person,
    visit,
    worker,
)
from qrowd.collection.database.store import Found, Work, new_id
from qrowd.errors import RuleError


def enter(
    work: Work,
    platform: str,
    platform_id: str,
    *,
    name: str = "",
    address: str = "",
    parameters: Mapping[str, str] | None = None,
) -> Found:
    """The worker that a person is, made at the first visit; `parameters` of the visit are kept."""
    if not platform_id or "\0" in platform_id + name + address:
        raise RuleError("malformed", "a person needs an id, without the character 0")
    p = person.c
    same = (p.campaign_id == work.campaign) & (p.platform == platform)
    query = select(p.worker_id).where(same, p.platform_id == platform_id)
    found = work.db.scalar(query)
    if found is None:
        found = _recognised(work, platform, platform_id) or new_worker(work)
        who = {"worker_id": found, "campaign_id": work.campaign, "platform": platform}
        more = {"platform_id": platform_id, "name": name, "address": address}
        work.db.execute(insert(person).values(**who, **more))
    if parameters is not None:
        kept = json.dumps(dict(parameters), sort_keys=True)
        work.db.execute(insert(visit).values(worker_id=found, at=work.now, parameters=kept))
    return worker_of(work, int(found))


def visit_since(work: Work, worker_id: int) -> int | None:
    """When the worker's last visit began; an address that is opened again is the same visit."""
    v = visit.c
    mine = select(v.at, v.parameters).where(v.worker_id == worker_id)
    last = work.db.execute(mine.order_by(v.id.desc()).limit(1)).one_or_none()
    if last is None or last.parameters == "{}":
        return None if last is None else int(last.at)
    same = select(func.min(v.at)).where(v.worker_id == worker_id, v.parameters == last.parameters)
    return int(work.db.scalar(same) or 0)


def new_worker(work: Work, kind: str = "human", name: str | None = None) -> int:
    """A new number; experts and machines have names, people do not."""
    last = select(func.coalesce(func.max(worker.c.number), 0))
    number = int(work.db.scalar(last.where(worker.c.campaign_id == work.campaign)) or 0) + 1
    state = "new" if kind == "human" and work.plan.qualification.sets else "qualified"
    values = {
        "campaign_id": work.campaign,
        "key": work.key(),
        "number": number,
        "made_at": work.now,
    }
    made = work.db.execute(insert(worker).values(**values, kind=kind, name=name, state=state))
    return new_id(made)


def expert(work: Work, name: str) -> int:
    """The expert (or organiser who judges) of this name; made at first use."""
    known = (worker.c.campaign_id == work.campaign) & (worker.c.name == name)
    found = work.db.scalar(select(worker.c.id).where(known, worker.c.kind == "expert"))
    return int(found) if found is not None else new_worker(work, "expert", name)


def worker_of(work: Work, worker_id: int) -> Found:
    """A worker of this campaign by id."""
    own = (worker.c.id == worker_id) & (worker.c.campaign_id == work.campaign)
    return _one(work.db.execute(select(worker).where(own)).one_or_none())


def worker_by_key(work: Work, key: str) -> Found:
    """A worker of this campaign by its random name."""
    own = (worker.c.key == key) & (worker.c.campaign_id == work.campaign)
    return _one(work.db.execute(select(worker).where(own)).one_or_none())


def worker_by_number(work: Work, number: int) -> Found:
    """A worker by the number that exports show."""
    own = (worker.c.number == number) & (worker.c.campaign_id == work.campaign)
    return _one(work.db.execute(select(worker).where(own)).one_or_none())


def _one(row: Found | None) -> Found:
    if row is None:
        raise RuleError("not-found", "there is no such worker in this campaign")
    return row


def listed(work: Work, after: int, limit: int) -> list[Found]:
    """Workers with a higher number: their row, how many batches, what they earned."""
    a = assignment.c
    done = select(
        a.worker_id, func.count().label("batches"), func.sum(a.earned + a.paid).label("earned")
    )
    each = done.where(a.campaign_id == work.campaign).group_by(a.worker_id).subquery()
    columns = (worker.c.number, worker.c.kind, worker.c.state, worker.c.failed_hits)
    sums = (func.coalesce(each.c[name], 0).label(name) for name in ("batches", "earned"))
    joined = worker.outerjoin(each, each.c.worker_id == worker.c.id)
    query = select(*columns, *sums).select_from(joined)
    mine = query.where(worker.c.campaign_id == work.campaign, worker.c.number > after)
    return list(work.db.execute(mine.order_by(worker.c.number).limit(limit)))


def fingerprint(work: Work, platform: str, platform_id: str) -> str:
    """A keyed hash of a person's id, to recognise who comes back after being forgotten."""
    secret = work.db.scalar(select(campaign.c.secret).where(campaign.c.id == work.campaign))
    body = f"{platform}\0{platform_id}".encode()
    return hmac.new(str(secret).encode(), body, hashlib.sha256).hexdigest()


def _recognised(work: Work, platform: str, platform_id: str) -> int | None:
    if not work.plan.people.recognise:
        return None
    mark = fingerprint(work, platform, platform_id)
    known = (worker.c.campaign_id == work.campaign) & (worker.c.recognised == mark)
    found = work.db.scalar(select(worker.c.id).where(known))
    if found is not None:
        back = {"forgotten_at": None, "forget_asked": None}
        work.db.execute(update(worker).where(worker.c.id == found).values(**back))
    return found


# --- consent and messages -------------------------------------------------------------------------


def consent_needed(work: Work, worker_id: int) -> bool:
    """Whether the current version of the terms must still be accepted."""
    asked = work.plan.people
    if not asked.consent:
        return False
    mine = (consent.c.worker_id == worker_id) & (consent.c.version == asked.consent_version)
    return work.db.scalar(select(consent.c.id).where(mine).limit(1)) is None


def give_consent(work: Work, worker_id: int, version: str) -> None:
    """Keep that a worker accepted the terms: text, version and time."""
    asked = work.plan.people
    if version != asked.consent_version:
        raise RuleError("conflict", "the terms have changed; please read them again")
    if consent_needed(work, worker_id):
        values = {"worker_id": worker_id, "version": version, "text": asked.consent, "at": work.now}
        work.db.execute(insert(consent).values(**values))


def write_message(work: Work, worker_id: int, text: str, *, from_worker: bool) -> None:
    """A message between organiser and worker."""
    if not text.strip() or len(text) > 10_000:
        raise RuleError("malformed", "a message has 1 to 10,000 characters")
    values = {"worker_id": worker_id, "at": work.now, "from_worker": int(from_worker), "text": text}
    work.db.execute(insert(message).values(**values))


def messages(work: Work, worker_id: int) -> list[Found]:
    """A worker's messages, the oldest first."""
    mine = select(message).where(message.c.worker_id == worker_id)
    return list(work.db.execute(mine.order_by(message.c.id)))


def tell_gold_used_up(work: Work, worker_id: int) -> None:
    """Tell the organiser that a worker has seen all gold."""
    number = worker_of(work, worker_id).number
    text = f"worker w{number} has met every gold set and gets no more batches; add gold sets"
    notices.tell(work, "gold-used-up", text, f"w{number}")
