"""Batches that were handed in: accept, refuse, exclude."""

from __future__ import annotations

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import Assignment, place
from qrowd.collection.database.states import MOVES
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import by_id, move, undo_details
from qrowd.collection.people.workers import worker_of
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Identifier, detail
from qrowd.errors import RuleError
from qrowd.texts import Text


class BatchAct(Act):
    """Moves a batch by the move of its name."""

    on = ("batch",)
    subject = "batch {assignment}"
    assignment: int = detail(Identifier())

    def do(self, work: Work) -> Details:
        assigned = by_id(work, self.assignment)
        move(work, assigned, self.name)
        return undo_details(assigned)

    def _follows(self, work: Work, *follows: Text, cost: int = 0) -> Consequence:
        row = by_id(work, self.assignment)
        return self.ask(work, *follows, cost=cost, worker=_owner(work, row))


def take_back(work: Work, before: Stored, move_name: str) -> None:
    """A batch as it was: state, places (where they are open), promise and debt."""
    row = by_id(work, int(before["assignment"]))
    if row.paid != before["paid"]:
        raise RuleError("not-allowed", "this batch was paid since; that cannot be taken back")
    moved = move(work, row, move_name, ended_at=before["ended_at"])
    ledger.take_back(work, moved, promised=before["promised"], earned=before["earned"])


class Accept(BatchAct):
    """Let the answers of a batch count, and owe its pay."""

    name = "accept"
    states = MOVES["accept"].sources

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        take_back(work, stored, "take back accept")

    def foretell(self, work: Work) -> Consequence:
        row = by_id(work, self.assignment)
        pay, owner = work.plan.pay.shown(row.promised), _owner(work, row)
        return self._follows(work, self.says("follows", pay=pay, worker=owner))


class Refuse(BatchAct):
    """Void a batch without pay; its worker can appeal."""

    name = "refuse"
    states = MOVES["refuse"].sources

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        move(work, by_id(work, int(stored["assignment"])), "restore")

    def foretell(self, work: Work) -> Consequence:
        row, pay = by_id(work, self.assignment), work.plan.pay
        days = f"{pay.appeal_days:g}"
        kept = self.says("unpaid", days=days, pay=pay.shown(row.promised))
        again, cost = _judged_again(work, row)
        return self._follows(work, again, kept, self.says("follows"), cost=cost)


class Exclude(BatchAct):
    """Void a batch; its worker is paid all the same."""

    name = "exclude"
    states = MOVES["exclude"].sources

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        accepted = stored["before"] == "accepted"
        take_back(work, stored, "restore" if accepted else "take back exclude")

    def foretell(self, work: Work) -> Consequence:
        row = by_id(work, self.assignment)
        again, cost = _judged_again(work, row)
        pay = work.plan.pay.shown(row.promised)
        paid = self.says("pay", pay=pay) if row.promised else self.says("paid")
        return self._follows(work, again, paid, cost=cost)


def _owner(work: Work, row: Assignment) -> str:
    return f"w{worker_of(work, row.worker_id).number}"


def _judged_again(work: Work, row: Assignment) -> tuple[Text, int]:
    """What is judged again where a batch is void, and what that costs."""
    sets = work.count(place, place.c.assignment_id == row.id, place.c.held == 1)
    cost = round(sets / work.plan.counted_per_hit * work.plan.pay_of("judge"))
    return Text("office.act.judged-again", n=sets), cost
