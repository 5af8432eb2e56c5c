"""Appeals of workers, samples for experts, and decisions of experts."""

from __future__ import annotations

from qrowd.collection.adjudication import appeals, expert_sample
from qrowd.collection.database.store import Work
from qrowd.collection.judging.assignments import by_id, move, undo_details
from qrowd.collection.office.acts.batches import take_back
from qrowd.collection.office.acts.workers import batch_to_restore, readmitted, undo_readmission
from qrowd.collection.people.workers import name_of, worker_of
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Identifier, Line, Number, Rows, Words, YesNo, detail
from qrowd.errors import RuleError


class AnswerAppeal(Act):
    """Answer a worker's appeal; a refusal whose appeal is won is accepted, and paid.

    Who was screened out and wins is let in again.
    """

    name = "answer appeal"
    on = ("appeal",)
    scope = "people"
    subject = "appeal {appeal}"
    appeal: int = detail(Identifier())
    won: bool = detail(YesNo())
    # not in the record, which keeps what is erased with a person
    reply: str = detail(Words(), default="", recorded=False)

    def do(self, work: Work) -> Details:
        row = appeals.answer(work, self.appeal, won=self.won, reply=self.reply)
        if self.won and row.kind == "screen-out":
            out = worker_of(work, row.worker_id)
            # somebody else may have let the worker in meanwhile: then the reply is all
            return readmitted(work, out) if out.state == "screened-out" else {}
        if not self.won or row.assignment_id is None or row.kind != "refusal":
            return {}
        refused = by_id(work, row.assignment_id)
        move(work, refused, "restore")
        return {"batch": undo_details(refused)}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        appeals.reopen(work, int(stored["appeal"]))
        if stored.get("readmitted"):
            undo_readmission(work, stored)
        elif stored.get("batch"):
            take_back(work, stored["batch"], "refuse again")
        elif stored.get("assignment"):  # schema 0001
            take_back(work, stored, "refuse again")

    def foretell(self, work: Work) -> Consequence:
        row = appeals.appeal_numbered(work, self.appeal)
        author = name_of(work, row.worker_id)
        follows, cost = [self.says("follows", worker=author)], 0
        if self.won and row.assignment_id is not None and row.kind == "refusal":
            batch = by_id(work, row.assignment_id)
            follows.append(self.says("accepted", pay=work.plan.pay.shown(batch.pay)))
            cost = 0 if batch.promised else batch.pay
        elif self.won and row.kind == "screen-out":
            ending = batch_to_restore(work, worker_of(work, row.worker_id))
            follows.append(self.says("readmitted", worker=author))
            if ending is not None:
                follows.append(self.says("accepted", pay=work.plan.pay.shown(ending.pay)))
                cost = ending.pay - ending.earned - ending.paid
        elif self.won:
            follows.append(self.says("gold"))
        verdict = self.says("right" if self.won else "stays")
        return self.ask(work, *follows, cost=cost, worker=author, verdict=verdict)


class DrawSample(Act):
    """Draw judgements at random for experts to judge again, up to `size` or the planned share."""

    name = "draw sample"
    adds = True
    results = (("drawn", Rows()),)
    size: int | None = detail(Number(low=1), default=None)

    def do(self, work: Work) -> Details:
        drawn = expert_sample.draw_sample(work, self.size)
        if not drawn:
            raise RuleError("conflict", "there are no further judgements to draw")
        return {"drawn": drawn}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        expert_sample.put_back(work, stored["drawn"])


class TakeBackDecision(Act):
    """Take back the decision that stands on a document: it waits for an expert again."""

    name = "take back decision"
    subject = "decision {topic} {doc}"
    unread = ("decision",)
    topic: str = detail(Line())
    doc: str = detail(Line())

    def do(self, work: Work) -> Details:
        pair_id = expert_sample.pair_named(work, self.topic, self.doc)
        return {"decision": expert_sample.take_back(work, pair_id).id}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        expert_sample.decide_again(work, int(stored["decision"]))
