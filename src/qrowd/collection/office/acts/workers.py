"""Single workers: no more work for one, or again some, a message to one."""

from __future__ import annotations

from sqlalchemy import select

from qrowd.collection.adjudication import appeals
from qrowd.collection.database.schema import Assignment, Worker, assignment, worker
from qrowd.collection.database.states import OPEN, VALID, WORKER_STATES
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import move, undo_details
from qrowd.collection.office.acts.batches import judged_again, take_back
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

    def its_worker(self, work: Work) -> Worker:
        """The worker; an error in a state in which there is nothing to do."""
        row = workers.worker_by_number(work, self.worker)
        if self.states and row.state not in self.states:
            message = f"worker w{row.number} is {row.state} already; nothing was changed"
            raise RuleError("conflict", f"{message}: look again, then decide")
        return row

    def foretell(self, work: Work) -> Consequence:
        self.its_worker(work)  # or an error
        return super().foretell(work)


class Stop(WorkerAct):
    """Give a worker no more batches; an open one can be finished."""

    name = "stop"
    states = tuple(state for state in WORKER_STATES if state not in ("screened-out", "stopped"))

    def do(self, work: Work) -> Details:
        row = self.its_worker(work)
        work.update(worker, worker.c.id == row.id, state="stopped")
        return {"before": row.state}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        _bring_back(work, stored, "stopped")


class ScreenOut(WorkerAct):
    """Give a worker no more batches; an open one ends, with screen-out pay."""

    name = "screen out"
    states = tuple(state for state in WORKER_STATES if state != "screened-out")

    def do(self, work: Work) -> Details:
        row = self.its_worker(work)
        work.update(worker, worker.c.id == row.id, state="screened-out")
        rows = _ongoing(work, self.worker)
        for each in rows:
            move(work, each, "screen out")
        return {"before": row.state, "batches": [undo_details(each) for each in rows]}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        _bring_back(work, stored, "screened-out")
        for batch in stored.get("batches", ()):
            reopened = batch["before"] == "active"
            take_back(work, batch, "reopen" if reopened else "reopen finished")

    def foretell(self, work: Work) -> Consequence:
        self.its_worker(work)
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
        if not rows:
            return self.ask(work, "nothing")
        again, cost = judged_again(work, rows)
        return self.ask(work, "batches", again, "paid", "goes-on", cost=cost, n=len(rows))


def _counting(work: Work, number: int) -> list[Assignment]:
    """The batches of a worker whose answers count."""
    worker_id = workers.worker_by_number(work, number).id
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_(VALID)
    judged = mine & assignment.c.kind.in_(("judge", "second"))
    return work.rows(select(assignment).where(judged).order_by(assignment.c.id), Assignment)


class Readmit(WorkerAct):
    """Let a worker in again; what the checks said until now is not held against the worker.

    A batch with which the checks ended the work is accepted, and paid in full.
    """

    name = "readmit"
    states = ("screened-out", "stopped")

    def do(self, work: Work) -> Details:
        return readmitted(work, self.its_worker(work))

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        undo_readmission(work, stored)

    def foretell(self, work: Work) -> Consequence:
        batch = batch_to_restore(work, self.its_worker(work))
        if batch is None:
            return self.ask(work, "follows")
        lacking = batch.pay - batch.earned - batch.paid
        return self.ask(work, "follows", "accepted", cost=lacking, batch=batch.id)


def batch_to_restore(work: Work, row: Worker) -> Assignment | None:
    """The batch with which the checks screened a worker out."""
    batch = appeals.last_screened_out(work, row.id) if row.state == "screened-out" else None
    return batch if batch is not None and batch.finished_at is not None else None


def readmitted(work: Work, row: Worker) -> Details:
    """Let a worker in again; what undoing that needs."""
    batch = batch_to_restore(work, row)
    if batch is not None:
        move(work, batch, "restore")
    judged = work.count(assignment, assignment.c.worker_id == row.id, assignment.c.kind == "judge")
    state = "qualified" if judged or not work.plan.qualification.sets else "new"
    columns = {"state": state, "readmitted_at": work.now}
    work.update(worker, worker.c.id == row.id, **columns)
    before = {name: getattr(row, name) for name in columns}
    return {"readmitted": row.id, "before": before, "batch": batch and undo_details(batch)}


def undo_readmission(work: Work, stored: Stored) -> None:
    """A worker, and the batch, as they were before."""
    row = workers.worker_of(work, int(stored["readmitted"]))
    if row.state not in ("new", "qualified"):
        message = f"worker w{row.number} is {row.state} since; there is nothing to take back"
        raise RuleError("conflict", message)
    since = (assignment.c.worker_id == row.id) & (assignment.c.leased_at >= row.readmitted_at)
    if work.count(assignment, since):  # by rules that held then
        message = f"worker w{row.number} has worked since; screen the worker out instead"
        raise RuleError("conflict", message)
    work.update(worker, worker.c.id == row.id, **stored["before"])
    if stored.get("batch"):
        take_back(work, stored["batch"], "screen out again")


def _bring_back(work: Work, stored: Stored, ended: str) -> None:
    """A worker in the state before an act, unless that has ended otherwise."""
    row = workers.worker_by_number(work, int(stored["worker"]))
    if row.state != ended:
        raise RuleError(
            "conflict",
            f"worker w{row.number} is {row.state} since, not {ended}: nothing is left to take back",
        )
    work.update(worker, worker.c.id == row.id, state=stored["before"])


def _ongoing(work: Work, number: int) -> list[Assignment]:
    worker_id = workers.worker_by_number(work, number).id
    mine = (assignment.c.worker_id == worker_id) & assignment.c.state.in_(OPEN)
    return work.rows(select(assignment).where(mine).order_by(assignment.c.id), Assignment)


class Message(WorkerAct):
    """Write to a worker, who reads it on their own page."""

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
