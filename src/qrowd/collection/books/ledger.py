"""Money: an append-only list of amounts that went from one account to another.

Accounts: `outside` (the organiser's purse), `free`, `promised`, `owed`, `settled`. The database's
trigger keeps the campaign's five sums (budget = free + promised + owed + settled) and those of
each assignment; nothing below zero is stored. Amounts are in minor units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import BigInteger, cast, func, insert, select

from qrowd.collection.database.schema import assignment, campaign, entry, worker
from qrowd.collection.database.store import Found, Work
from qrowd.errors import RuleError


@dataclass(frozen=True)
class Balance:
    """The accounts of a campaign."""

    budget: int
    free: int
    promised: int
    owed: int
    settled: int


def balance(work: Work) -> Balance:
    """The accounts as they are now."""
    c = campaign.c
    query = select(c.budget, c.free, c.promised, c.owed, c.settled).where(c.id == work.campaign)
    return Balance(*work.db.execute(query).one())


def post(
    work: Work,
    why: str,
    amount: int,
    source: str,
    target: str,
    *,
    worker_id: int | None = None,
    assignment_id: int | None = None,
) -> None:
    """Move an amount; nothing happens for 0."""
    if amount:
        row = {"worker_id": worker_id, "assignment_id": assignment_id, "at": work.now}
        accounts = {"source": source, "target": target, "amount": amount}
        work.db.execute(insert(entry).values(campaign_id=work.campaign, why=why, **row, **accounts))


def fund(work: Work, amount: int) -> None:
    """Add to the budget, or take free money out of it (a negative amount)."""
    if amount < 0 and balance(work).free < -amount:
        raise RuleError("no-budget", "this money is promised or spent already")
    source, target = ("outside", "free") if amount > 0 else ("free", "outside")
    post(work, "budget", abs(amount), source, target)


def affordable(work: Work, amount: int) -> bool:
    """Whether so much is free; pay 0 needs no budget."""
    return amount == 0 or balance(work).free >= amount


def promise(work: Work, row: Found, amount: int) -> None:
    """Promise the pay of an assignment."""
    ids = {"worker_id": row.worker_id, "assignment_id": row.id}
    post(work, "promise", amount, "free", "promised", **ids)


def release(work: Work, row: Found, why: str = "released") -> None:
    """Give back what is still promised for an assignment."""
    ids = {"worker_id": row.worker_id, "assignment_id": row.id}
    post(work, why, row.promised, "promised", "free", **ids)


def earn(work: Work, row: Found, amount: int | None = None) -> None:
    """Owe what was promised, or only `amount` of it and give back the rest."""
    ids = {"worker_id": row.worker_id, "assignment_id": row.id}
    due = row.promised if amount is None else min(amount, row.promised)
    post(work, "earned", due, "promised", "owed", **ids)
    post(work, "released", row.promised - due, "promised", "free", **ids)


def take_back(work: Work, row: Found, *, promised: int, earned: int) -> None:
    """Let an assignment's promise and debt be what they were before an act that is undone."""
    ids = {"worker_id": row.worker_id, "assignment_id": row.id}
    post(work, "taken back", max(0, row.earned - earned), "owed", "free", **ids)
    wanted = max(0, promised - row.promised)
    if not affordable(work, wanted):
        raise RuleError("no-budget", "the pay is not free any more; add to the budget first")
    post(work, "promised again", wanted, "free", "promised", **ids)


def bonus(work: Work, worker_id: int, amount: int) -> None:
    """Owe a worker more."""
    if amount <= 0:
        raise RuleError("not-allowed", "a bonus must be above 0")
    if not affordable(work, amount):
        raise RuleError("no-budget", "so much is not free; add to the budget first")
    post(work, "bonus", amount, "free", "owed", worker_id=worker_id)


def owed(work: Work) -> Sequence[Found]:
    """Rows (worker id, number, amount): what each worker is owed."""
    plus = func.sum(entry.c.amount).filter(entry.c.target == "owed")
    minus = func.sum(entry.c.amount).filter(entry.c.source == "owed")
    due = cast(func.coalesce(plus, 0) - func.coalesce(minus, 0), BigInteger).label("amount")
    joined = entry.join(worker, worker.c.id == entry.c.worker_id)
    query = (
        select(worker.c.id, worker.c.number, due)
        .select_from(joined)
        .where(entry.c.campaign_id == work.campaign)
        .group_by(worker.c.id, worker.c.number)
        .having(due > 0)
        .order_by(worker.c.number)
    )
    return work.db.execute(query).all()


def unsettled(work: Work, worker_id: int, kinds: Sequence[str] = ("promised", "owed")) -> int:
    """What is promised or owed (or only one of both) to one worker."""
    into = func.sum(entry.c.amount).filter(entry.c.target.in_(kinds))
    out = func.sum(entry.c.amount).filter(entry.c.source.in_(kinds))
    query = select(func.coalesce(into, 0) - func.coalesce(out, 0))
    return int(work.db.scalar(query.where(entry.c.worker_id == worker_id)) or 0)


def settle(work: Work, worker_ids: Sequence[int]) -> int:
    """Mark what these workers are owed as paid; how much that was."""
    total = 0
    for row in owed(work):
        if row.id in set(worker_ids):
            _settle_one(work, row.id, row.amount)
            total += row.amount
    return total


def _settle_one(work: Work, worker_id: int, amount: int) -> None:
    query = select(assignment.c.id, assignment.c.earned)
    mine = query.where(assignment.c.worker_id == worker_id, assignment.c.earned > 0)
    for row in work.db.execute(mine.order_by(assignment.c.id)).all():
        ids = {"worker_id": worker_id, "assignment_id": row.id}
        post(work, "settled", row.earned, "owed", "settled", **ids)
        amount -= row.earned
    post(work, "settled", amount, "owed", "settled", worker_id=worker_id)
