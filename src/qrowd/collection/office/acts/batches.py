"""Batches that were handed in: accept, refuse, exclude."""

from __future__ import annotations

from collections.abc import Sequence

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import Assignment, place
from qrowd.collection.database.states import MOVES
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import by_id, move, undo_details
from qrowd.collection.people.workers import name_of
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Identifier, detail
from qrowd.errors import RuleError
from qrowd.texts import Text


def judged_again(work: Work, rows: Sequence[Assignment]) -> tuple[Text, int]:
    """That the sets of batches are judged again, and about what that costs."""
    mine = place.c.assignment_id.in_([row.id for row in rows])
    sets = work.count(place, mine, place.c.held == 1)
    cost = round(sets / work.plan.counted_per_hit * work.plan.pay_of("judge"))
    return Text("office.act.judged-again", n=sets), cost


class BatchAct(Act):
    """Moves a batch by the move of its name."""

    on = ("batch",)
    subject = "batch {assignment}"
    assignment: int = detail(Identifier())

    def do(self, work: Work) -> Details:
        assigned = by_id(work, self.assignment)
        move(work, assigned, self.name)
        return undo_details(assigned)

    def foretell(self, work: Work) -> Consequence:
        row, pay = by_id(work, self.assignment), work.plan.pay
        is_free = MOVES[self.name].places == "free"
        again, cost = judged_again(work, [row]) if is_free else (None, 0)
        return self.ask(
            work,
            *([again] if again else []),
            *self._follows(row),
            cost=cost,
            worker=name_of(work, row.worker_id),
            pay=pay.shown(row.promised),
            days=f"{pay.appeal_days:g}",
        )

    def _follows(self, row: Assignment) -> tuple[str, ...]:
        """The texts that say what follows for its worker."""
        return ("follows",)


def take_back(work: Work, before: Stored, move_name: str) -> None:
    """A batch as it was: state, places (where they are open), promise and debt."""
    row = by_id(work, int(before["assignment"]))
    if "paid" not in before:  # schema 0001
        raise RuleError(
            "not-allowed",
            f"how batch {row.id} was before is not in the record, which an early qrowd wrote; "
            "accept, exclude or refuse it instead",
        )
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


class Refuse(BatchAct):
    """Void a batch without pay; its worker can appeal."""

    name = "refuse"
    states = MOVES["refuse"].sources

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        move(work, by_id(work, int(stored["assignment"])), "restore")

    def _follows(self, row: Assignment) -> tuple[str, ...]:
        return ("unpaid", "follows")


class Exclude(BatchAct):
    """Void a batch; its worker is paid all the same."""

    name = "exclude"
    states = MOVES["exclude"].sources

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        accepted = stored["before"] == "accepted"
        take_back(work, stored, "restore" if accepted else "take back exclude")

    def _follows(self, row: Assignment) -> tuple[str, ...]:
        return ("pay",) if row.promised else ("paid",)
