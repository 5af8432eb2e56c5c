"""Money: an append-only list of amounts that went from one account to another.

Accounts: `outside` (the organiser's purse), `free`, `promised`, `owed`, `settled`. The database's
trigger keeps the campaign's five sums (budget = free + promised + owed + settled) and those of
each assignment; nothing below zero is stored. Amounts are in minor units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select

from qrowd.collection.database.schema import (
    Assignment,
    TypedRow,
    assignment,
    campaign,
    entry,
    person,
    total,
    worker,
)
from qrowd.collection.database.store import Work
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
        work.insert(
            entry,
            worker_id=worker_id,
            assignment_id=assignment_id,
            at=work.now,
            why=why,
            source=source,
            target=target,
            amount=amount,
        )


def fund(work: Work, amount: int) -> None:
    """Add to the budget, or take free money out of it (a negative amount)."""
    if amount < 0 and balance(work).free < -amount:
        raise RuleError("no-budget", "this money is promised or spent already")
    source, target = ("outside", "free") if amount > 0 else ("free", "outside")
    post(work, "budget", abs(amount), source, target)


def affordable(work: Work, amount: int) -> bool:
    """Whether so much is free; pay 0 needs no budget."""
    return amount == 0 or balance(work).free >= amount


def promise(work: Work, batch: Assignment, amount: int) -> None:
    """Promise the pay of an assignment."""
    _post_for(work, batch, "promise", amount, "free", "promised")


def release(work: Work, batch: Assignment, why: str = "released") -> None:
    """Give back what is still promised for an assignment."""
    _post_for(work, batch, why, batch.promised, "promised", "free")


def earn(work: Work, batch: Assignment, amount: int | None = None) -> None:
    """Owe what was promised, or only `amount` of it and give back the rest."""
    due = batch.promised if amount is None else min(amount, batch.promised)
    _post_for(work, batch, "earned", due, "promised", "owed")
    _post_for(work, batch, "released", batch.promised - due, "promised", "free")


def earn_released(work: Work, batch: Assignment) -> None:
    """Owe what an assignment lacks to its pay, from what is free: its promise was given back."""
    lacking = max(0, batch.pay - batch.earned - batch.paid)
    if not affordable(work, lacking):
        raise RuleError("no-budget", "add to the budget first: this pay was released")
    _post_for(work, batch, "earned", lacking, "free", "owed")


def take_back(work: Work, batch: Assignment, *, promised: int, earned: int) -> None:
    """Let an assignment's promise and debt be what they were before an act that is undone."""
    _post_for(work, batch, "taken back", max(0, batch.earned - earned), "owed", "free")
    wanted = max(0, promised - batch.promised)
    if not affordable(work, wanted):
        raise RuleError("no-budget", "the pay is not free any more; add to the budget first")
    _post_for(work, batch, "promised again", wanted, "free", "promised")


def _post_for(
    work: Work, batch: Assignment, why: str, amount: int, source: str, target: str
) -> None:
    ids = {"worker_id": batch.worker_id, "assignment_id": batch.id}
    post(work, why, amount, source, target, **ids)


def bonus(work: Work, worker_id: int, amount: int) -> None:
    """Owe a worker more."""
    if amount <= 0:
        raise RuleError("not-allowed", "a bonus must be above 0")
    if not affordable(work, amount):
        raise RuleError("no-budget", "so much is not free; add to the budget first")
    post(work, "bonus", amount, "free", "owed", worker_id=worker_id)


class Debt(TypedRow):
    """What a worker is owed."""

    id: int
    number: int
    platform: str | None
    platform_id: str | None
    amount: int


def owed(work: Work) -> list[Debt]:
    """What each worker is owed, by number; without a platform for whoever is forgotten."""
    due = _balance_of(("owed",)).label("amount")
    columns = (worker.c.id, worker.c.number, person.c.platform, person.c.platform_id)
    query = (
        select(*columns, due)
        .join_from(entry, worker, worker.c.id == entry.c.worker_id)
        .outerjoin(person, person.c.worker_id == worker.c.id)
        .where(work.own(entry))
        .group_by(*columns)
        .having(due > 0)
        .order_by(worker.c.number)
    )
    return work.rows(query, Debt)


def unsettled(work: Work, worker_id: int, accounts: Sequence[str] = ("promised", "owed")) -> int:
    """What is promised or owed (or only one of both) to one worker."""
    return work.number(select(_balance_of(accounts)).where(entry.c.worker_id == worker_id))


def paid_out(work: Work, worker_id: int) -> int:
    """What one worker was paid so far."""
    return work.number(select(_balance_of(("settled",))).where(entry.c.worker_id == worker_id))


def _balance_of(accounts: Sequence[str]) -> ColumnElement[int]:
    """What came into these accounts and did not go out again."""
    came = total(entry.c.amount, entry.c.target.in_(accounts))
    return came - total(entry.c.amount, entry.c.source.in_(accounts))


def settled(work: Work) -> dict[int, int]:
    """What each worker was paid so far, by id."""
    paid = _balance_of(("settled",))
    query = select(entry.c.worker_id, paid).where(work.own(entry), entry.c.worker_id.is_not(None))
    return dict(work.db.execute(query.group_by(entry.c.worker_id).having(paid > 0)).all())


def settle(work: Work, worker_ids: Sequence[int]) -> int:
    """Mark what these workers are owed as paid; how much that was."""
    due = [row for row in owed(work) if row.id in set(worker_ids)]
    for row in due:
        pay_out(work, row.id, row.amount)
    return sum(row.amount for row in due)


def pay_out(work: Work, worker_id: int, amount: int) -> None:
    """Mark so much of what a worker is owed as paid: batches first, then bonuses."""
    a, left = assignment.c, amount
    earned = select(assignment).where(a.worker_id == worker_id, a.earned > 0)
    for batch in work.rows(earned.order_by(a.id), Assignment):
        part = min(batch.earned, left)
        _post_for(work, batch, "settled", part, "owed", "settled")
        left -= part
    post(work, "settled", left, "owed", "settled", worker_id=worker_id)
