"""What needs an organiser's decision now, each with the act that answers it; from counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select

from qrowd.collection.database.schema import appeal, assignment, notice, worker
from qrowd.collection.database.store import Found, Work
from qrowd.collection.judging import gold
from qrowd.collection.office.pace import Outlook
from qrowd.collection.plan.sections import DAY

TRIED = 10  # answers to a gold set before its rate says something
MISSED = 0.5
LONG_AGO = 2 * DAY


@dataclass(frozen=True)
class Need:
    """Something to decide: what it is, the act that answers it, or the page to look at."""

    text: str
    act: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    button: str = "Look"
    notice: int | None = None  # can be taken off the list


def needs(work: Work, ahead: Outlook) -> list[Need]:
    """The list, the most urgent first."""
    found = (
        _state(ahead),
        _budget(work, ahead),
        _appeals(work),
        _by_hand(work),
        _gold(work),
        _forgetting(work),
        _notices(work),
    )
    return [need for each in found for need in each]


def _state(ahead: Outlook) -> Iterator[Need]:
    if ahead.state == "draft":
        yield Need("The campaign is made, and waits.", "launch", button="Launch")
    if ahead.state == "paused":
        yield Need("The campaign is paused: nobody gets work.", "resume", button="Resume")
    if ahead.verdict == "done":
        yield Need("Every judgement that was wanted is there.", "close", button="Close")
    if ahead.verdict == "nobody works":
        yield Need("Nobody has worked for a week: invite more people.", page="/workers")
    if ahead.verdict == "nobody yet":
        yield Need("Nobody has judged yet: invite people.", page="/workers")


def _budget(work: Work, ahead: Outlook) -> Iterator[Need]:
    if ahead.state in ("running", "paused") and ahead.missing:
        lacks = work.plan.pay.shown(ahead.missing)
        share = f"{ahead.affordable * 100:.0f}\u00a0%"
        text = f"The budget ends at {share} of the judgements: {lacks} are missing."
        yield Need(text, "fund", {"amount": ahead.missing}, button=f"Add {lacks}")


def _appeals(work: Work) -> Iterator[Need]:
    joined = appeal.join(worker, worker.c.id == appeal.c.worker_id)
    query = select(func.count(), func.min(appeal.c.at)).select_from(joined)
    own = (worker.c.campaign_id == work.campaign) & appeal.c.answered_at.is_(None)
    n, oldest = work.db.execute(query.where(own)).one()
    if n:
        days = (work.now - oldest) // DAY
        since = f", the oldest for {days} days" if work.now - oldest > LONG_AGO else ""
        who = "A worker waits" if n == 1 else f"{n:,} workers wait"
        yield Need(f"{who} for an answer{since}.", page="/appeals", button="Answer")


def _by_hand(work: Work) -> Iterator[Need]:
    if work.plan.campaign.accept != "by hand":
        return
    own = (assignment.c.campaign_id == work.campaign) & (assignment.c.state == "submitted")
    n = int(work.db.scalar(select(func.count()).select_from(assignment).where(own)) or 0)
    if n:
        text = "A batch waits" if n == 1 else f"{n:,} batches wait"
        yield Need(f"{text} to be accepted.", page="/batches", button="Look")


def weak_gold(rows: list[Found]) -> Iterator[Found]:
    """Of the pass rates of gold sets: those in use that most workers miss."""
    for row in rows:
        if row.open and row.tried >= TRIED and row.passed < MISSED * row.tried:
            yield row


def _gold(work: Work) -> Iterator[Need]:
    for number, row in {row.id: row for row in weak_gold(gold.pass_rates(work))}.items():
        missed = row.tried - row.passed
        text = f"Gold set {number} was missed by {missed:,} of {row.tried:,} workers ({row.check})."
        yield Need(text, "retire gold", {"set": number}, "/gold", "Retire it")


def _forgetting(work: Work) -> Iterator[Need]:
    w = worker.c
    own = (w.campaign_id == work.campaign) & w.forget_asked.is_not(None)
    rows = work.db.scalars(select(w.number).where(own, w.forgotten_at.is_(None)).limit(21)).all()
    if rows:
        named = ", ".join(f"w{number}" for number in rows[:20])
        more = " and others" if len(rows) > 20 else ""
        first = f"/workers/{rows[0]}"
        yield Need(f"To be forgotten, as they asked: {named}{more}.", page=first)


_GROUPED = {
    "gold-used-up": ("workers have met every gold set and get no more batches", "/extend"),
    "stopped": ("workers were stopped by a check", "/workers?state=stopped"),
    "reviewed": ("workers agree too little with their reviewers", "/workers"),
}


def _notices(work: Work) -> Iterator[Need]:
    """Other notices; those about single workers together, once there are several."""
    n = notice.c
    own = (n.campaign_id == work.campaign) & n.settled_at.is_(None) & (n.kind != "appeal")
    counted = select(n.kind, func.count().label("n"), func.max(n.id).label("last"))
    for row in work.db.execute(counted.where(own).group_by(n.kind).order_by(n.kind)):
        last = work.db.execute(select(notice).where(n.id == row.last)).one()
        words, page = _GROUPED.get(row.kind, ("", ""))
        if row.n > 1 and words:
            yield Need(f"{row.n:,} {words}.", page=page)
        else:
            text = last.text[:1].upper() + last.text[1:]
            yield Need(f"{text}.", page=page, notice=last.id)
