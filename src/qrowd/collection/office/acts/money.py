"""Money: the budget, a bonus, what is owed and paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from qrowd.collection.books import ledger
from qrowd.collection.database.store import Work
from qrowd.collection.office.payout import Payment, Settlement, settlement
from qrowd.collection.people.workers import worker_by_number
from qrowd.collection.prolific.calls import mark_paid
from qrowd.collection.prolific.submissions import under_way
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Inside, Money, WorkerNumber, WorkerNumbers, detail
from qrowd.errors import RuleError


class Fund(Act):
    """Add to the budget, or take out what is free of it (a negative amount)."""

    name = "fund"
    on = ("campaign", "money")
    scope = "pay"
    adds = True
    amount: int = detail(Money(), hint=True)

    def do(self, work: Work) -> None:
        ledger.fund(work, self.amount)

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        ledger.fund(work, -int(stored["amount"]))

    def foretell(self, work: Work) -> Consequence:
        shown = work.plan.pay.shown
        total = shown(ledger.balance(work).budget + self.amount)
        part = "add" if self.amount > 0 else "take-out"
        change = self.says(part, amount=shown(abs(self.amount)))
        consequence = self.ask(work, "follows", change=change, total=total)
        return replace(consequence, price=self.says("price", total=total))


class Bonus(Act):
    """Owe a worker more than the batches earn."""

    name = "bonus"
    on = ("worker",)
    scope = "pay"
    subject = "bonus {worker}"
    adds = True
    worker: int = detail(WorkerNumber())
    amount: int = detail(Money())

    def do(self, work: Work) -> None:
        ledger.bonus(work, worker_by_number(work, self.worker).id, self.amount)

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        worker_id = worker_by_number(work, int(stored["worker"])).id
        take_back_bonus(work, worker_id, int(stored["amount"]))

    def foretell(self, work: Work) -> Consequence:
        worker_by_number(work, self.worker)
        return self.ask(work, "follows", cost=self.amount)


def take_back_bonus(work: Work, worker_id: int, amount: int) -> None:
    """A worker is not owed a bonus any more; an error where it was paid."""
    due = {row.id: row.amount for row in ledger.owed(work)}
    if due.get(worker_id, 0) - under_way(work, worker_id) < amount:
        raise RuleError("not-allowed", "this bonus was paid already")
    ledger.post(work, "bonus undone", amount, "owed", "free", worker_id=worker_id)


@dataclass(frozen=True)
class Payout:
    """The rows of a payout file."""

    payments: Sequence[Payment]


class Settle(Act):
    """Mark as paid what all workers are owed now, or those of `workers`.

    Whoever pays by a payout file marks what that file says, and nothing that was earned since.
    """

    name = "settle"
    scope = "pay"
    final = True
    results = (("amount", Money()),)
    workers: list[int] = detail(WorkerNumbers(), default=())
    payout: Payout | None = detail(Inside(of=Payout), default=None, recorded=False, asked=False)

    def do(self, work: Work) -> Details:
        if self.payout is None:
            numbers = self._numbers(work)
            ids = [worker_by_number(work, number).id for number in numbers]
            mark_paid(work, ids)
            return {"workers": numbers, "amount": ledger.settle(work, ids)}
        stands = settlement(work, self.payout.payments)
        if not stands.due:
            raise RuleError("conflict", f"{self._nothing(stands)}; nothing was changed")
        ids = [worker_by_number(work, payment.worker).id for payment in stands.due]
        mark_paid(work, ids)
        for worker_id, payment in zip(ids, stands.due, strict=True):
            ledger.pay_out(work, worker_id, payment.amount)
        return {"workers": [each.worker for each in stands.due], "amount": stands.total}

    @staticmethod
    def _nothing(stands: Settlement) -> str:
        """Why none of a file's payments stands."""
        if not stands.changed:
            return "all of this file was marked as paid before"
        return "these workers are owed something else now than the file says; write it again"

    def foretell(self, work: Work) -> Consequence:
        if self.payout is None:
            numbers = set(self._numbers(work))
            amounts = [row.amount for row in ledger.owed(work) if row.number in numbers]
            total = work.plan.pay.shown(sum(amounts))
            return self.ask(work, "marked", "follows", n=len(amounts), total=total)
        stands = settlement(work, self.payout.payments)
        if not stands.due:
            raise RuleError("conflict", f"{self._nothing(stands)}; nothing was changed")
        total = work.plan.pay.shown(stands.total)
        says = [self.says("marked", n=len(stands.due), total=total), self.says("follows")]
        says += [
            self.says(part, n=len(numbers), workers=WorkerNumbers().shown(numbers, work.plan.pay))
            for part, numbers in (("paid", stands.paid), ("changed", stands.changed))
            if numbers
        ]
        return self.ask(work, *says, total=total)

    def _numbers(self, work: Work) -> list[int]:
        return list(self.workers) or [row.number for row in ledger.owed(work)]
