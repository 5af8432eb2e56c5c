"""Single workers: no more work for one, a message to one."""

from __future__ import annotations

from sqlalchemy import select

from qrowd.collection.database.schema import Assignment, assignment, place, worker
from qrowd.collection.database.states import OPEN, VALID, WORKER_STATES
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import move, undo_details
from qrowd.collection.office.acts.batches import take_back
from qrowd.collection.people import workers
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Words, WorkerNumber, detail
from qrowd.errors import RuleError
from qrowd.texts import Text

QUOTED = 300  # characters of a message in the question before it is sent


class WorkerAct(Act):
    """Something about one worker."""

    on = ("worker",)
    subject = "worker {worker}"
    worker: int = detail(WorkerNumber())

    def foretell(self, work: Work) -> Consequence:
        workers.worker_by_number(work, self.worker)  # or an error: there is nobody of that number
        return super().foretell(work)


class Stop(WorkerAct):
    """Give a worker no more batches; an open one can be finished."""

    name = "stop"
    states = tuple(state for state in WORKER_STATES if state not in ("screened-out", "stopped"))

    def do(self, work: Work) -> Details:
        return {"before": _set_worker(work, self.worker, "stopped")}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        _set_worker(work, int(stored["worker"]), stored["before"])


class ScreenOut(WorkerAct):
    """Give a worker no more batches; an open one ends, with screen-out pay."""

    name = "screen out"
    states = tuple(state for state in WORKER_STATES if state != "screened-out")

    def do(self, work: Work) -> Details:
        before = _set_worker(work, self.worker, "screened-out")
        rows = _ongoing(work, self.worker)
        for row in rows:
            move(work, row, "screen out")
        return {"before": before, "batches": [undo_details(row) for row in rows]}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        _set_worker(work, int(stored["worker"]), stored["before"])
        for batch in stored.get("batches", ()):
            reopened = batch["before"] == "active"
            take_back(work, batch, "reopen" if reopened else "reopen finished")

    def foretell(self, work: Work) -> Consequence:
        pay = work.plan.pay
        promised = [batch.promised for batch in _ongoing(work, self.worker)]
        freed = sum(amount - min(pay.minor(pay.screen_out), amount) for amount in promised)
        follows = ("follows", "open", "accepted") if promised else ("follows", "accepted")
        return self.ask(work, *follows, cost=-freed)


class VoidAnswers(WorkerAct):
    """Void all answers of a worker that count; what was earned is paid all the same."""

    name = "void answers"

    def do(self, work: Work) -> Details:
        rows = _counting(work, self.worker)
        if not rows:
            raise RuleError("not-found", f"no answers of worker w{self.worker} count")
        for row in rows:
            move(work, row, "exclude")
        return {"batches": [undo_details(row) for row in rows]}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        for batch in stored["batches"]:
            accepted = batch["before"] == "accepted"
            take_back(work, batch, "restore" if accepted else "take back exclude")

    def foretell(self, work: Work) -> Consequence:
        rows = _counting(work, self.worker)
        held = (place.c.assignment_id.in_([row.id for row in rows])) & (place.c.held == 1)
        sets = work.count(place, held)
        cost = round(sets / work.plan.counted_per_hit * work.plan.pay_of("judge"))
        if not rows:
            return self.ask(work, "nothing")
        again = Text("office.act.judged-again", n=sets)
        return self.ask(work, "batches", again, "paid", "goes-on", cost=cost, n=len(rows))


def _counting(work: Work, number: int) -> list[Assignment]:
    """The batches of a worker whose answers count."""
    worker_id = workers.worker_by_number(work, number).id
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_(VALID)
    judged = mine & assignment.c.kind.in_(("judge", "second"))
    return work.rows(select(assignment).where(judged).order_by(assignment.c.id), Assignment)


def _set_worker(work: Work, number: int, state: str) -> str:
    """Another state of a worker; the one before."""
    row = workers.worker_by_number(work, number)
    if row.state == state:
        raise RuleError("conflict", f"worker w{row.number} is {state} already")
    work.update(worker, worker.c.id == row.id, state=state)
    return str(row.state)


def _ongoing(work: Work, number: int) -> list[Assignment]:
    worker_id = workers.worker_by_number(work, number).id
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_(OPEN)
    return work.rows(select(assignment).where(mine).order_by(assignment.c.id), Assignment)


class Message(WorkerAct):
    """Write to a worker, who reads it on the own page."""

    name = "message"
    scope = "people"
    subject = "message {worker}"
    final = True
    # not in the record, which keeps what is erased with a person
    text: str = detail(Words(), recorded=False)

    def do(self, work: Work) -> None:
        worker_id = workers.worker_by_number(work, self.worker).id
        workers.write_message(work, worker_id, self.text, from_worker=False)

    def foretell(self, work: Work) -> Consequence:
        workers.worker_by_number(work, self.worker)
        quoted = self.text[:QUOTED] + ("…" if len(self.text) > QUOTED else "")
        return self.ask(work, Text("office.quoted", words=quoted), "follows")
