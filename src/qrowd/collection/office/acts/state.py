"""The campaign as a whole: launch, pause, resume, close, release."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import select

from qrowd.collection.books import ledger
from qrowd.collection.database.schema import assignment, campaign
from qrowd.collection.database.states import OPEN
from qrowd.collection.database.store import Work
from qrowd.collection.office.pace import pace_of
from qrowd.collection.publishing.release import ReleaseFiles
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import Inside, Line, Number, detail
from qrowd.errors import RuleError


class StateAct(Act):
    """Lets a campaign in one of `states` have another."""

    on = ("campaign",)
    subject = "state"
    becomes: ClassVar[str]

    def do(self, work: Work) -> Details:
        own = campaign.c.id == work.campaign
        before = work.db.scalar(select(campaign.c.state).where(own))
        if before not in self.states:
            raise RuleError("wrong-state", f"this campaign is {before}")
        work.update(campaign, own, state=self.becomes)
        return {"before": before}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        before = stored["before"]
        if before == "draft" and work.count(assignment, work.own(assignment)):
            raise RuleError("not-allowed", "work was given out already; pause the campaign instead")
        work.update(campaign, campaign.c.id == work.campaign, state=before)


class Launch(StateAct):
    """Let workers begin."""

    name = "launch"
    states = ("draft",)
    becomes = "running"

    def foretell(self, work: Work) -> Consequence:
        shown, pace = work.plan.pay.shown, pace_of(work)
        money = {"expected": shown(pace.expected), "budget": shown(pace.budget)}
        parts = ("wanted", "expected", "follows")
        return self.ask(work, *parts, cost=pace.expected, n=pace.wanted, **money)


class Pause(StateAct):
    """Give nobody a new batch; open ones can be finished."""

    name = "pause"
    states = ("running",)
    becomes = "paused"

    def foretell(self, work: Work) -> Consequence:
        n = work.count(assignment, work.own(assignment), assignment.c.state.in_(OPEN))
        return self.ask(work, "follows", "open", n=n)


class Resume(StateAct):
    """Give workers batches again."""

    name = "resume"
    states = ("paused",)
    becomes = "running"

    def foretell(self, work: Work) -> Consequence:
        free = work.plan.pay.shown(ledger.balance(work).free)
        return self.ask(work, "follows", "free", free=free)


class Close(StateAct):
    """End a campaign; open batches can be finished, appeals and payments go on."""

    name = "close"
    states = ("running", "paused")
    becomes = "closed"

    def foretell(self, work: Work) -> Consequence:
        return self.ask(work, "follows", "open")


class Release(Act):
    """Publish the judgements; whoever gets them can keep them."""

    name = "release"
    final = True
    command = "qrowd campaign release"
    results = (
        ("judgements", Number()),
        ("method", Line()),
        ("choice", Line()),
        ("file", Line()),
        ("sha256", Line()),
    )
    files: ReleaseFiles = detail(Inside(of=ReleaseFiles), recorded=False)

    def do(self, work: Work) -> Details:
        return {name: value for name, value in vars(self.files).items() if value != ""}
