"""Background jobs: a table of what is to be done, and one process that does it.

Merging, quality, scores and exports never run in a request. A job is leased like a batch: a process
that dies leaves it to the next one. The process also does what is due (expired leases).
"""

from __future__ import annotations

import json
import multiprocessing
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError
from sqlalchemy import Connection, func, insert, or_, select, update

from qrowd.collection.database.opening import open_store
from qrowd.collection.database.schema import assignment, campaign, job
from qrowd.collection.database.states import VALID
from qrowd.collection.database.store import Found, Store, Work, new_id
from qrowd.collection.judging.submission import sweep
from qrowd.errors import QrowdError, RuleError
from qrowd.web.drawing import draw_one, undrawn_documents
from qrowd.web.folders import Place
from qrowd.web.settings import Settings
from qrowd.web.tasks import DRAFT_TASKS, METHOD, TASKS

LEASE = 10 * 60_000
SWEEP_EVERY = 20.0  # seconds
PAUSE = 0.5
REFRESH = 15 * 60_000
MOST_ATTEMPTS = 3
# What a job may raise on files and figures that nobody foresaw: it fails, the process goes on.
ERRORS = (
    *(QrowdError, PolarsError, OSError, EOFError, RuntimeError, MemoryError),
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
)


@dataclass(frozen=True)
class Result:
    """The last finished job of a kind; `age` in milliseconds."""

    number: int
    kind: str
    parameters: Mapping[str, Any]
    finished_at: int
    age: int
    result: Mapping[str, Any]


def ask(work: Work, kind: str, parameters: Mapping[str, Any]) -> int:
    """Put a job on the list, unless the same one waits there already; its number."""
    if kind not in TASKS:
        raise RuleError("bad-value", f"no job {kind!r}; there are {', '.join(sorted(TASKS))}")
    text = json.dumps(parameters, sort_keys=True)
    same = (job.c.campaign_id == work.campaign) & (job.c.kind == kind)
    waits = same & (job.c.parameters == text) & (job.c.state == "waiting")
    found = work.db.scalar(select(job.c.id).where(waits).limit(1))
    if found is not None:
        return int(found)
    values = {"campaign_id": work.campaign, "kind": kind, "parameters": text}
    return new_id(work.db.execute(insert(job).values(**values, made_at=work.now)))


def state_of(work: Work, number: int) -> Found:
    """A job of this campaign."""
    own = (job.c.id == number) & (job.c.campaign_id == work.campaign)
    row = work.db.execute(select(job).where(own)).one_or_none()
    if row is None:
        raise RuleError("not-found", "there is no such job")
    return row


def latest(work: Work, kind: str) -> Result | None:
    """The newest finished result of a kind."""
    own = (job.c.campaign_id == work.campaign) & (job.c.kind == kind) & (job.c.state == "done")
    query = select(job).where(own).order_by(job.c.finished_at.desc(), job.c.id.desc()).limit(1)
    row = work.db.execute(query).one_or_none()
    if row is None:
        return None
    made, body = json.loads(row.parameters), json.loads(row.result)
    return Result(row.id, kind, made, row.finished_at, work.now - row.finished_at, body)


def unfinished(work: Work, kind: str) -> Found | None:
    """The newest job of a kind, unless it is done."""
    own = (job.c.campaign_id == work.campaign) & (job.c.kind == kind)
    row = work.db.execute(select(job).where(own).order_by(job.c.id.desc()).limit(1)).one_or_none()
    return None if row is None or row.state == "done" else row


# --- jobs of a draft, which has no campaign yet ---------------------------------------------------


def ask_for_draft(db: Connection, now: int, draft: str, parameters: Mapping[str, Any]) -> int:
    """Put a dry run of a draft on the list, unless one waits or runs already; its number."""
    mine = (job.c.kind == f"rehearsal {draft}") & job.c.campaign_id.is_(None)
    busy = mine & job.c.state.in_(("waiting", "running"))
    found = db.scalar(select(job.c.id).where(busy).limit(1))
    if found is not None:
        return int(found)
    text = json.dumps({**parameters, "draft": draft}, sort_keys=True)
    values = {"kind": f"rehearsal {draft}", "parameters": text, "made_at": now}
    return new_id(db.execute(insert(job).values(**values)))


def of_draft(db: Connection, draft: str) -> Found | None:
    """The newest dry run of a draft."""
    mine = (job.c.kind == f"rehearsal {draft}") & job.c.campaign_id.is_(None)
    return db.execute(select(job).where(mine).order_by(job.c.id.desc()).limit(1)).one_or_none()


# --- doing them -----------------------------------------------------------------------------------


def take(store: Store) -> Found | None:
    """Lease the oldest job that waits, or whose process died."""
    now = store.clock()
    with store.transaction() as db:
        _give_up(db, now)
        free = or_(
            job.c.state == "waiting", (job.c.state == "running") & (job.c.leased_until < now)
        )
        query = select(job).where(free).order_by(job.c.made_at, job.c.id).limit(1)
        row = db.execute(query.with_for_update(skip_locked=True)).one_or_none()
        if row is not None:
            values = {"state": "running", "leased_until": now + LEASE, "attempts": row.attempts + 1}
            db.execute(update(job).where(job.c.id == row.id).values(**values))
    return row


def _give_up(db: Connection, now: int) -> None:
    """Jobs whose process died again and again are not tried for ever."""
    dead = (job.c.state == "running") & (job.c.leased_until < now)
    problem = f"the process that ran it died {MOST_ATTEMPTS} times"
    values = {"state": "failed", "finished_at": now, "problem": problem}
    db.execute(update(job).where(dead, job.c.attempts >= MOST_ATTEMPTS).values(**values))


def run_one(store: Store, folder: Path) -> bool:
    """Do one job, if there is one; whether there was."""
    row = take(store)
    if row is None:
        return False
    try:
        place = Place(store, folder, row.campaign_id or 0, _progress(store, row.id))
        result = (TASKS | DRAFT_TASKS)[row.kind.split()[0]](place, json.loads(row.parameters))
        values = {"state": "done", "result": json.dumps(result), "problem": None}
    except ERRORS as error:
        values = {"state": "failed", "problem": f"{type(error).__name__}: {error}"}
    with store.transaction() as db:
        done = {**values, "finished_at": store.clock()}
        db.execute(update(job).where(job.c.id == row.id).values(**done))
    return True


def _progress(store: Store, number: int) -> Callable[[float], None]:
    """Write down how far a job is, and that its process is alive."""

    def tell(share: float) -> None:
        now = store.clock()
        values = {"result": json.dumps({"progress": share}), "leased_until": now + LEASE}
        with store.transaction() as db:
            db.execute(update(job).where(job.c.id == number).values(**values))

    return tell


def sweep_all(store: Store) -> int:
    """Do what is due in every campaign that is not over; how much that was."""
    with store.snapshot() as db:
        query = select(campaign.c.id).where(campaign.c.state.in_(("running", "paused")))
        found = list(db.scalars(query))
    total = 0
    for number in found:
        with store.write(int(number)) as work:
            total += sweep(work)
    return total


def refresh_all(store: Store, folder: Path) -> int:
    """Ask again for what pages show, where batches came in since; how many jobs that were.

    Not oftener than every quarter of an hour, nor than twenty times what it took.
    """
    with store.snapshot() as db:
        found = list(db.scalars(select(campaign.c.id).where(campaign.c.state == "running")))
    asked = 0
    for number in found:
        with store.write(int(number)) as work:
            kinds = [
                "quality",
                *(["systems"] if any(Place(store, folder, number).runs.iterdir()) else []),
            ]
            asked += sum(_refresh(work, kind) for kind in kinds)
    return asked


def _refresh(work: Work, kind: str) -> bool:
    last = newest(work, kind)
    if last is not None and last.state in ("waiting", "running"):
        return False
    since = last.finished_at if last is not None else 0
    took = last.finished_at - (last.leased_until - LEASE) if last is not None else 0
    rows = [assignment.c.campaign_id == work.campaign, assignment.c.state.in_(VALID)]
    first = work.db.scalar(select(func.min(assignment.c.leased_at)).where(*rows))
    fresh = select(assignment.c.id).where(*rows, assignment.c.ended_at > since).limit(1)
    old = work.now - max(since, int(first or work.now)) > max(REFRESH, 20 * took)
    if not old or work.db.scalar(fresh) is None:
        return False
    before = json.loads(last.parameters) if last is not None else {"method": METHOD}
    ask(work, kind, before)
    return True


def newest(work: Work, kind: str) -> Found | None:
    """The newest job of a kind, whatever its state."""
    own = (job.c.campaign_id == work.campaign) & (job.c.kind == kind)
    query = select(job).where(own).order_by(job.c.id.desc()).limit(1)
    return work.db.execute(query).one_or_none()


def work_forever(settings: Settings, stop: Any = None) -> None:
    """The life of the process for jobs: until the event `stop`, or until its server is gone."""
    store = open_store(settings.database)
    ended = stop or threading.Event()
    swept, undrawn = 0.0, list[str]()
    server = multiprocessing.parent_process()
    while not ended.is_set() and (server is None or server.is_alive()):
        try:
            if time.monotonic() - swept > SWEEP_EVERY:
                sweep_all(store)
                refresh_all(store, settings.folder)
                undrawn = undrawn_documents(store, settings.folder)
                swept = time.monotonic()
            busy = run_one(store, settings.folder) or draw_one(store, settings.folder, undrawn)
        except ERRORS:  # the database is busy or away, or a file has just been removed: try again
            busy = False
        if not busy:
            ended.wait(PAUSE)
