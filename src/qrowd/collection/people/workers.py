"""Workers, who are numbers, and the persons behind them, who come and go and can be erased.

A worker's answers stand under a number that means nothing. Names, addresses, platforms' ids and
visits live in tables of their own; `office.erasure` empties them. `entry` says who may come in;
whom a platform sent leaves with a completion code.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, bindparam, func, select

from qrowd.collection.database import schema
from qrowd.collection.database.schema import (
    assignment,
    campaign,
    completion_code,
    consent,
    message,
    person,
    study,
    total,
    visit,
    worker,
)
from qrowd.collection.database.store import Work
from qrowd.collection.plan.platforms import LONGEST, Arrival, Departure, is_plain, provider_of
from qrowd.errors import RuleError

OUTCOME_OF_STATE = {"failed": "failed", "screened-out": "screened-out", "stopped": "completed"}
TO_BE_FORGOTTEN = worker.c.forget_asked.is_not(None) & worker.c.forgotten_at.is_(None)


def enter(
    work: Work,
    platform: str,
    platform_id: str,
    *,
    name: str = "",
    address: str = "",
    parameters: Mapping[str, str] | None = None,
) -> schema.Worker:
    """The worker that a person is, made at the first visit; `parameters` of the visit are kept."""
    if "\0" in platform_id + name + address:
        raise RuleError("malformed", "nothing about a person can hold the character 0")
    worker_id = worker_called(work, platform, platform_id)
    if worker_id is None:
        refuse_odd_id(platform_id)  # whoever is known by an odd one goes on
        worker_id = _recognised(work, platform, platform_id) or new_worker(work)
        work.insert(
            person,
            worker_id=worker_id,
            platform=platform,
            platform_id=platform_id,
            name=name,
            address=address,
        )
    if parameters is not None:
        keep_visit(work, worker_id, parameters)
    return worker_of(work, worker_id)


def worker_called(work: Work, platform: str, platform_id: str) -> int | None:
    """The worker whom a platform knows by this id."""
    same = (person.c.platform == platform) & (person.c.platform_id == platform_id)
    worker_id: int | None = work.db.scalar(select(person.c.worker_id).where(work.own(person), same))
    return worker_id


def keep_visit(work: Work, worker_id: int, parameters: Mapping[str, str]) -> None:
    """Keep that a worker came, and what the address said."""
    text = json.dumps(dict(parameters), sort_keys=True)
    work.insert(visit, worker_id=worker_id, at=work.now, parameters=text)


def refuse_odd_id(text: str) -> None:
    """An error unless this can be a person's id: it goes into lists and files, a line each."""
    if not text.strip() or not is_plain(text):
        message = f"an id has 1 to {LONGEST} characters, and no tab, line end or other control"
        raise RuleError("malformed", message)


def _recognised(work: Work, platform: str, platform_id: str) -> int | None:
    """The worker who was this person before being forgotten, where the plan wants that."""
    if not work.plan.people.recognise:
        return None
    # before there were lists, people with a link were of a platform of its own
    marks = [fingerprint(work, name, platform_id) for name in (platform, "link")]
    same = work.own(worker) & worker.c.recognised.in_(marks)
    worker_id: int | None = work.db.scalar(select(worker.c.id).where(same).limit(1))
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


# --- numbers --------------------------------------------------------------------------------------


def new_worker(work: Work, kind: str = "human", name: str | None = None) -> int:
    """A new number; experts and machines have names, people do not."""
    last = work.number(select(func.max(worker.c.number)).where(work.own(worker)))
    tested = kind == "human" and work.plan.qualification.sets
    return work.insert(
        worker,
        key=work.key(),
        number=last + 1,
        kind=kind,
        name=name,
        state="new" if tested else "qualified",
        made_at=work.now,
    )


def skip_test(work: Work, worker_ids: Sequence[int]) -> list[int]:
    """Let those who have passed a qualification elsewhere begin; whose state that has changed.

    Whoever failed here, or is out, stays so.
    """
    mine = work.own(worker) & worker.c.id.in_(worker_ids) & (worker.c.state == "new")
    changed = list(work.db.scalars(select(worker.c.id).where(mine).order_by(worker.c.id)))
    work.update(worker, worker.c.id.in_(changed), state="qualified")
    return changed


def expert(work: Work, name: str) -> int:
    """The expert (or organiser who judges) of this name; made at first use."""
    refuse_odd_id(name)  # exports have it in a column
    return known_expert(work, name) or new_worker(work, "expert", name)


def known_expert(work: Work, name: str) -> int:
    """The expert of this name; 0 for somebody who has decided nothing yet."""
    same = (worker.c.name == name) & (worker.c.kind == "expert")
    return work.number(select(worker.c.id).where(work.own(worker), same))


_BY_ID = select(worker).where(
    worker.c.campaign_id == bindparam("campaign"), worker.c.id == bindparam("number")
)


def worker_of(work: Work, worker_id: int) -> schema.Worker:
    """A worker of this campaign by id."""
    values = {"number": worker_id, "campaign": work.campaign}
    return work.existing(_BY_ID, "there is no such worker in this campaign", schema.Worker, values)


def name_of(work: Work, worker_id: int) -> str:
    """What organisers call a worker of this campaign: w7."""
    return f"w{worker_of(work, worker_id).number}"


def worker_by_number(work: Work, number: int) -> schema.Worker:
    """A worker by the number that exports show."""
    query = select(worker).where(work.own(worker), worker.c.number == number)
    return work.existing(query, f"there is no worker {number} in this campaign", schema.Worker)


def people(work: Work) -> ColumnElement[bool]:
    """The condition that a worker is one of the people: experts and machines have numbers, too."""
    return work.own(worker) & (worker.c.kind == "human")


class WorkerLine(schema.TypedRow):
    """A worker in a list, with all batches and what they earned."""

    number: int
    kind: str
    state: str
    failed_hits: int
    batches: int
    earned: int


def listed(
    work: Work,
    after: int = 0,
    limit: int | None = None,
    kind: str = "",
    numbers: Sequence[int] | None = None,
) -> list[WorkerLine]:
    """Those with a higher number (of a kind, or of these), their batches, what they earned."""
    w, a = worker.c, assignment.c
    columns = (w.number, w.kind, w.state, w.failed_hits)
    batches = func.count(a.id).label("batches")
    earned = total(a.earned + a.paid).label("earned")
    joined = worker.outerjoin(assignment, a.worker_id == w.id)
    query = select(*columns, batches, earned).select_from(joined).group_by(w.id, *columns)
    query = query.where(work.own(worker), w.number > after)
    if kind:
        query = query.where(w.kind == kind)
    if numbers is not None:
        query = query.where(w.number.in_(list(numbers)))
    return work.rows(query.order_by(w.number).limit(limit), WorkerLine)


def visit_since(work: Work, worker_id: int) -> int | None:
    """When the worker's last visit began; an address that is opened again is the same visit, and so
    is any other that leads to a study, which takes each person once.
    """
    mine = visit.c.worker_id == worker_id
    last = work.row(select(visit).where(mine).order_by(visit.c.id.desc()).limit(1), schema.Visit)
    if last is None or last.parameters == "{}":
        return None if last is None else last.at
    same = visit.c.parameters == last.parameters
    if work.count(study, work.own(study)):
        same = visit.c.parameters != "{}"
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


def agree_to_be_asked(work: Work, worker_id: int, agreed: bool) -> None:
    """Keep whether a worker may be asked again, for other work; agreeing twice changes nothing."""
    if agreed != (worker_of(work, worker_id).ask_again_at is not None):
        at = work.now if agreed else None
        work.update(worker, worker.c.id == worker_id, ask_again_at=at)


def write_message(work: Work, worker_id: int, text: str, *, from_worker: bool) -> None:
    """A message between organiser and worker."""
    if not text.strip() or len(text) > 10_000:
        raise RuleError("malformed", "a message has 1 to 10,000 characters")
    work.insert(message, worker_id=worker_id, at=work.now, from_worker=int(from_worker), text=text)


def messages(work: Work, worker_id: int) -> list[schema.Message]:
    """A worker's messages, the oldest first."""
    query = select(message).where(message.c.worker_id == worker_id)
    return work.rows(query.order_by(message.c.id), schema.Message)


# --- the way out ----------------------------------------------------------------------------------


def leave(work: Work, worker_id: int, *, worked: bool) -> Departure:
    """Where a worker goes now; the same code again until it is used."""
    state = worker_of(work, worker_id).state
    outcome = OUTCOME_OF_STATE.get(state, "completed" if worked else "no-work")
    provider = provider_of(work.plan.platform)
    return provider.leave(outcome, _code(work, worker_id, outcome), _arrival(work, worker_id))


def _arrival(work: Work, worker_id: int) -> Arrival:
    mine = select(person).where(person.c.worker_id == worker_id)
    row = work.existing(mine, "nobody is known under this number any more", schema.Person)
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
    query = select(completion_code).where(same)
    row = work.existing(query, "there is no such code", schema.CompletionCode)
    number = worker_of(work, row.worker_id).number
    if row.used_at is not None:
        raise RuleError("conflict", f"this code of worker w{number} was used already")
    work.update(completion_code, same, used_at=work.now)
    return number, row.outcome
