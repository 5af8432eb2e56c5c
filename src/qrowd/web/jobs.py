"""The list of background jobs: asked for by pages and the interface, done by `tasks`.

Merging, quality, scores and exports never run in a request. A job is leased like a batch, again
and again while it is done: a process that dies leaves it to the next one.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, or_, select, update

from qrowd.collection.database.schema import Job, job
from qrowd.collection.database.store import Store, Work, new_id
from qrowd.errors import RuleError

KINDS = ("decisions", "export", "merge", "next", "quality", "release", "systems")
LEASE = 10 * 60_000
MOST_ATTEMPTS = 3
_log = logging.getLogger(__name__)


class FinishedJob(Job):
    """A job that ended with a result."""

    finished_at: int
    result: str


@dataclass(frozen=True)
class Finding:
    """The last finished result of a kind, and how old it is in milliseconds."""

    number: int
    kind: str
    parameters: Mapping[str, Any]
    finished_at: int
    age: int
    result: Mapping[str, Any]


def ask(work: Work, kind: str, parameters: Mapping[str, Any]) -> int:
    """Put a job on the list, unless the same one waits there already; its number."""
    if kind not in KINDS:
        raise RuleError("bad-value", f"no job {kind!r}; there are {', '.join(KINDS)}")
    text = json.dumps(parameters, sort_keys=True)
    waits = _own(work, kind) & (job.c.parameters == text) & (job.c.state == "waiting")
    waiting = work.number(select(job.c.id).where(waits).limit(1))
    return waiting or work.insert(job, kind=kind, parameters=text, made_at=work.now)


def state_of(work: Work, number: int) -> Job:
    """A job of this campaign."""
    query = select(job).where(work.own(job), job.c.id == number)
    return work.existing(query, "there is no such job", Job)


def latest(work: Work, kind: str) -> Finding | None:
    """The newest finished result of a kind."""
    query = select(job).where(_own(work, kind), job.c.state == "done")
    newest_first = query.order_by(job.c.finished_at.desc(), job.c.id.desc())
    row = work.row(newest_first.limit(1), FinishedJob)
    if row is None:
        return None
    return Finding(
        number=row.id,
        kind=kind,
        parameters=json.loads(row.parameters),
        finished_at=row.finished_at,
        age=work.now - row.finished_at,
        result=json.loads(row.result),
    )


def newest(work: Work, kind: str) -> Job | None:
    """The newest job of a kind, whatever its state."""
    query = select(job).where(_own(work, kind)).order_by(job.c.id.desc()).limit(1)
    return work.row(query, Job)


def _own(work: Work, kind: str) -> ColumnElement[bool]:
    return work.own(job) & (job.c.kind == kind)


# --- dry runs of a draft, which has no campaign yet -----------------------------------------------


def ask_for_draft(db: Connection, now: int, draft: str, parameters: Mapping[str, Any]) -> int:
    """Put a dry run of a draft on the list, unless one waits or runs already; its number."""
    busy = _rehearsals(draft) & job.c.state.in_(("waiting", "running"))
    number = db.scalar(select(job.c.id).where(busy).limit(1))
    if number is not None:
        return int(number)
    row = insert(job).values(
        kind=f"rehearsal {draft}",
        parameters=json.dumps({**parameters, "draft": draft}, sort_keys=True),
        made_at=now,
    )
    return new_id(db.execute(row))


def of_draft(db: Connection, draft: str, *, done: bool = False) -> Job | None:
    """The newest dry run of a draft; or the newest one that ended well."""
    query = select(job).where(_rehearsals(draft)).order_by(job.c.id.desc()).limit(1)
    return Job.row(db, query.where(job.c.state == "done") if done else query)


def hand_over(work: Work, number: int) -> None:
    """A draft's dry run becomes that of the campaign which was made of it."""
    work.update(job, job.c.id == number, campaign_id=work.campaign, kind="rehearsal")


def _rehearsals(draft: str) -> ColumnElement[bool]:
    return (job.c.kind == f"rehearsal {draft}") & job.c.campaign_id.is_(None)


# --- for the process that does them ---------------------------------------------------------------


def take(store: Store) -> Job | None:
    """Lease the oldest job that waits, or whose process died."""
    now = store.clock()
    dead = (job.c.state == "running") & (job.c.leased_until < now)
    with store.transaction() as db:
        # jobs whose process died again and again are not tried for ever
        problem = f"the process that ran it died {MOST_ATTEMPTS} times"
        given_up = update(job).where(dead, job.c.attempts >= MOST_ATTEMPTS)
        lost = db.execute(
            given_up.values(state="failed", finished_at=now, problem=problem)
        ).rowcount
        free = select(job).where(or_(job.c.state == "waiting", dead))
        oldest = free.order_by(job.c.made_at, job.c.id).limit(1)
        row = Job.row(db, oldest.with_for_update(skip_locked=True))
        if row is not None:
            leased = {"leased_until": now + LEASE, "attempts": row.attempts + 1}
            db.execute(update(job).where(job.c.id == row.id).values(state="running", **leased))
    if lost:
        _log.warning("jobs given up", extra={"jobs": lost})
    return row


@contextmanager
def kept(store: Store, number: int) -> Iterator[int]:
    """Renew a job's lease while it is done, or the process of another server would begin it, too;
    when it began.
    """
    over = threading.Event()

    def renew() -> None:
        while not over.wait(LEASE / 4000):
            with suppress(Exception):  # the database is away: it may be back the next time
                _write(store, number, leased_until=store.clock() + LEASE)

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        yield store.clock()
    finally:
        over.set()
        renewing.join()


def tell_progress(store: Store, number: int, share: float) -> None:
    """Write down how far a job is, and that its process is alive."""
    result = json.dumps({"progress": share})
    _write(store, number, result=result, leased_until=store.clock() + LEASE)


def give_back(store: Store, number: int) -> None:
    """Let another process do a job from its start; that it was begun does not count."""
    _write(store, number, state="waiting", leased_until=None, attempts=job.c.attempts - 1)


def finish(store: Store, number: int, result: str, began: int) -> None:
    """Write down what a job found, as JSON, and when it `began`: that lease stays with it."""
    now, first = store.clock(), began + LEASE
    done = {"state": "done", "result": result, "problem": None, "finished_at": now}
    _write(store, number, **done, leased_until=first)


def fail(store: Store, number: int, problem: str, began: int) -> None:
    """Write down why a job ended without a result."""
    now, first = store.clock(), began + LEASE
    _write(store, number, state="failed", problem=problem, finished_at=now, leased_until=first)


def _write(store: Store, number: int, **values: Any) -> None:
    with store.transaction() as db:
        db.execute(update(job).where(job.c.id == number).values(**values))
