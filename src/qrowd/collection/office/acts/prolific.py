"""Prolific: a study is made, its places grow, and it is told what became of submissions.

Each act writes down what the platform will be told; it goes out when somebody sends it (`campaign
prolific`, or a server that has the token). What is undone is what did not go out yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlalchemy import select

from qrowd.collection.database.schema import Submission, platform_call, study, submission
from qrowd.collection.database.store import Work
from qrowd.collection.people import entry
from qrowd.collection.people.workers import worker_by_number
from qrowd.collection.plan.platforms import provider_of
from qrowd.collection.plan.toml import rewritten, stored_plan
from qrowd.collection.prolific import calls, contract, submissions
from qrowd.collection.prolific.contract import (
    APPROVE,
    AWAITING,
    BONUS,
    CATEGORIES,
    DRAFT,
    PLACES,
    PUBLISH,
    REJECT,
    RETURN,
    SCREEN_OUT,
    STUDY,
)
from qrowd.collection.prolific.submissions import made_study, study_of
from qrowd.collection.record.act import Act, Consequence, Details, Stored
from qrowd.collection.record.details import (
    Choice,
    Inside,
    Kind,
    Line,
    Money,
    Number,
    Rows,
    Words,
    WorkerNumber,
    WorkerNumbers,
    detail,
)
from qrowd.errors import RuleError
from qrowd.texts import Text

MOST_PLACES = 10**6
COMMAND = "qrowd campaign prolific"
_PLAN_KEYS = ("codes", "shapes", "places")


class StudyAct(Act):
    """Something about the campaign's study."""

    on: ClassVar[tuple[str, ...]] = ("study",)
    adds = True
    results: ClassVar[tuple[tuple[str, Kind], ...]] = (("calls", Rows()),)

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        if not calls.take_back(work, stored["calls"]):
            raise RuleError("conflict", "Prolific was told all of it already")


def _with_fee(work: Work, asked: Consequence, amount: int) -> Consequence:
    """A question with the platform's fee on what it would be told to pay."""
    rules, pay = work.plan.prolific, work.plan.pay
    fee = pay.shown(round(amount * rules.fee * (1 + rules.tax)))
    return replace(asked, price=Text("office.prolific.price.fee", fee=fee))


def _plan_before(work: Work) -> Details:
    return {key: getattr(work.plan.platform, key) or None for key in _PLAN_KEYS}


class MakeStudy(StudyAct):
    """Make the study at Prolific, as a draft: its texts, pay, minutes, places, codes."""

    name = "make study"
    states = ("",)
    subject = "study"
    adds = False
    address: str = detail(Line(), hint=True)
    places: int = detail(
        Number(low=1, high=MOST_PLACES), default=0, suggest=lambda plan: plan.platform.places
    )

    def do(self, work: Work) -> Details:
        contract.refuse_odd_plan(work)
        if study_of(work) is not None:
            raise RuleError(
                "conflict", "this campaign has a study already; raise its places instead"
            )
        if not self.address.startswith("https://"):
            raise RuleError(
                "bad-value",
                f"participants come from outside, and by https: got address {self.address!r:.80}; "
                "say where the server can be reached",
            )
        places = self.places or work.plan.platform.places or submissions.people_wanted(work)
        _refuse_few(work, places)
        before, codes = _plan_before(work), contract.codes_of(work)
        listed = tuple(f"{outcome}={code}" for outcome, code in codes.items())
        text = rewritten(work.plan.text, "platform", {"codes": listed, "places": places})
        work.store_plan(text)
        with_codes = replace(work, plan=stored_plan(text))
        address = contract.address_of(work, self.address)
        body = contract.study_body(with_codes, address, places)
        pay = work.plan.pay
        work.insert(
            study,
            address=address,
            reward=body["reward"],
            screen_out=pay.minor(pay.screen_out),
            places=places,
            made_at=work.now,
        )
        return {"calls": [calls.write(work, STUDY, body=body)], "plan": before}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        StudyAct.undo(work, stored)
        _forget_study(work, stored)

    def foretell(self, work: Work) -> Consequence:
        contract.refuse_odd_plan(work)
        pay = work.plan.pay
        asked = self.ask(
            work,
            "follows",
            "cost",
            reward=pay.shown(contract.reward_of(work)),
            minutes=contract.minutes_of(work),
            n=self.places or work.plan.platform.places,
            fee=fee_words(work),
        )
        return replace(asked, price=Text("office.prolific.price.draft"))


def _forget_study(work: Work, stored: Stored) -> None:
    if work.count(submission, work.own(submission)):
        raise RuleError("conflict", "people have come by this study; it stays")
    work.delete(platform_call, work.own(platform_call))
    work.delete(study, work.own(study))
    work.store_plan(rewritten(work.plan.text, "platform", stored["plan"]))


def _refuse_few(work: Work, places: int) -> None:
    taken = entry.places_taken(work)
    if places < taken:
        raise RuleError(
            "bad-value", f"{taken} places are taken already, so that {places} are too few"
        )


def fee_words(work: Work) -> str:
    """The platform's fee with its tax, in words."""
    rules = work.plan.prolific
    return f"{rules.fee * (1 + rules.tax):.1%}".replace("%", " %")


@dataclass(frozen=True)
class Made:
    """A study that the platform has, as it says."""

    body: Mapping[str, Any]


class TakeStudy(StudyAct):
    """Take over a study that was made by hand at Prolific, and leads to this campaign."""

    name = "take study"
    on = ()
    command = f"{COMMAND} DATABASE study --take ID"
    subject = "study"
    adds = False
    made: Made = detail(Inside(of=Made), recorded=False, asked=False)

    def do(self, work: Work) -> Details:
        contract.refuse_odd_plan(work)
        if study_of(work) is not None:
            raise RuleError("conflict", "this campaign has a study already")
        body, before = self.made.body, _plan_before(work)
        contract.refuse_other_study(work, body)
        contract.refuse_odd_study(body)
        places = int(body.get("total_available_places", 0))
        _refuse_few(work, places)
        codes = _codes_of(work, body)
        work.store_plan(rewritten(work.plan.text, "platform", {"codes": codes, "places": places}))
        pay = work.plan.pay
        work.insert(
            study,
            platform_id=str(body["id"]),
            state=str(body.get("status", "")),
            address=str(body["external_study_url"]),
            reward=int(body["reward"]),
            screen_out=pay.minor(pay.screen_out),
            places=places,
            made_at=work.now,
        )
        return {"calls": [], "plan": before, "study": str(body["id"])}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        _forget_study(work, stored)


def _codes_of(work: Work, body: Mapping[str, Any]) -> tuple[str, ...]:
    """The codes of a study, by what their types mean here; beside them those of the plan."""
    names = contract.names_of(work)
    outcomes = {"COMPLETED": "completed"} | {
        names[f"code.{outcome}"]: outcome for outcome in ("failed", "screened-out", "no-work")
    }
    codes = dict(provider_of(work.plan.platform).codes)
    for each in body.get("completion_codes", ()):
        outcome = outcomes.get(str(each.get("code_type", "")))
        if outcome:
            codes[outcome] = str(each["code"])
    if "completed" not in codes:
        raise RuleError("bad-value", f"study {body.get('id')} has no code of the type COMPLETED")
    return tuple(f"{outcome}={code}" for outcome, code in codes.items())


class PublishStudy(StudyAct):
    """Publish the study: people come, and are paid."""

    name = "publish study"
    states = (DRAFT,)
    final = True

    def do(self, work: Work) -> Details:
        if made_study(work).state not in ("", DRAFT):
            raise RuleError("conflict", "this study is published already")
        if work.state != "running":
            raise RuleError(
                "wrong-state", f"this campaign is {work.state}; launch or resume it first"
            )
        return {"calls": [calls.write(work, PUBLISH)]}

    def foretell(self, work: Work) -> Consequence:
        of, pay = made_study(work), work.plan.pay
        most = of.reward * of.places
        asked = self.ask(work, "follows", "cost", n=of.places, most=pay.shown(most))
        return _with_fee(work, asked, most)


class RaisePlaces(StudyAct):
    """Give the study more places; they only grow."""

    name = "raise places"
    places: int = detail(Number(low=1, high=MOST_PLACES), hint=True)

    def do(self, work: Work) -> Details:
        of = made_study(work)
        taken = submissions.places_taken(work)
        if self.places <= of.places:
            raise RuleError(
                "bad-value",
                f"the study has {of.places} places, {taken} of them taken; places only grow, so "
                f"that {self.places} cannot be",
            )
        before = work.plan.platform.places
        work.store_plan(rewritten(work.plan.text, "platform", {"places": self.places}))
        call = calls.write(work, PLACES, body={"total_available_places": self.places})
        return {"calls": [call], "before": before}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        StudyAct.undo(work, stored)
        work.store_plan(rewritten(work.plan.text, "platform", {"places": stored["before"] or None}))

    def foretell(self, work: Work) -> Consequence:
        of, pay = made_study(work), work.plan.pay
        more = max(0, self.places - of.places)
        most = of.reward * more
        return _with_fee(work, self.ask(work, "follows", n=more, most=pay.shown(most)), most)


class TellDecisions(StudyAct):
    """Tell Prolific of each submission that waits what was decided here, and of places wanted."""

    name = "tell decisions"
    scope = "pay"
    results = (
        ("calls", Rows()),
        ("approved", WorkerNumbers()),
        ("screened_out", WorkerNumbers()),
        ("returned", WorkerNumbers()),
    )

    def do(self, work: Work) -> Details:
        decided = submissions.decisions(work)
        numbers = [calls.write(work, each.kind, each.submission, each.amount) for each in decided]
        told: Details = {
            name: [
                each.submission.number
                for each in decided
                if each.kind == kind and each.submission.number  # some never came in
            ]
            for name, kind in (
                ("approved", APPROVE),
                ("screened_out", SCREEN_OUT),
                ("returned", RETURN),
            )
        }
        before, wanted = work.plan.platform.places, submissions.places_wanted(work)
        if wanted > made_study(work).places and not _places_open(work):
            work.store_plan(rewritten(work.plan.text, "platform", {"places": max(wanted, before)}))
            numbers.append(calls.write(work, PLACES, body={"total_available_places": wanted}))
            told["before"] = before
        if not numbers:
            raise RuleError("conflict", "there is nothing to tell Prolific")
        return {"calls": numbers, **told}

    @staticmethod
    def undo(work: Work, stored: Stored) -> None:
        StudyAct.undo(work, stored)
        is_told = work.count(
            platform_call, platform_call.c.id.in_(stored["calls"]), platform_call.c.kind == PLACES
        )
        if "before" in stored and not is_told:
            keys = {"places": stored["before"] or None}
            work.store_plan(rewritten(work.plan.text, "platform", keys))

    def foretell(self, work: Work) -> Consequence:
        decided = submissions.decisions(work)
        amount = sum(each.amount for each in decided)
        more = max(0, submissions.places_wanted(work) - made_study(work).places)
        counts = {
            kind.replace("-", "_"): sum(each.kind == kind for each in decided)
            for kind in (APPROVE, SCREEN_OUT, RETURN)
        }
        shown = work.plan.pay.shown(amount)
        asked = self.ask(work, "follows", "cost", **counts, amount=shown, more=more)
        return _with_fee(work, asked, amount)


def _places_open(work: Work) -> bool:
    is_open = platform_call.c.state.in_((calls.WAITING, calls.SENDING))
    return (
        work.count(platform_call, work.own(platform_call), is_open, platform_call.c.kind == PLACES)
        > 0
    )


class SendBonuses(StudyAct):
    """Tell Prolific to pay as bonuses what people have earned beyond their submissions."""

    name = "send bonuses"
    scope = "pay"
    results = (("calls", Rows()), ("workers", WorkerNumbers()), ("amount", Money()))

    def do(self, work: Work) -> Details:
        due = submissions.bonuses_due(work)
        if not due:
            raise RuleError("conflict", "nothing is owed beyond what submissions pay")
        return {
            "calls": [calls.write(work, BONUS, each.submission, each.amount) for each in due],
            "workers": [each.submission.number for each in due],
            "amount": sum(each.amount for each in due),
        }

    def foretell(self, work: Work) -> Consequence:
        due = submissions.bonuses_due(work)
        amount = sum(each.amount for each in due)
        total = work.plan.pay.shown(amount)
        return _with_fee(work, self.ask(work, "follows", "cost", n=len(due), total=total), amount)


class RejectSubmission(StudyAct):
    """Reject a worker's submission at Prolific, which pays nothing; never done by rules."""

    name = "reject submission"
    on = ("submission",)
    states = (AWAITING,)
    scope = "pay"
    subject = "worker {worker}"
    final = True
    worker: int = detail(WorkerNumber(), hint=True)
    category: str = detail(Choice(of=CATEGORIES, text="office.prolific.category."))
    # may be about a person: not in the record, which stays
    message: str = detail(Words(), recorded=False, hint=True)

    def do(self, work: Work) -> Details:
        calls.refuse_odd_reason(self.category, self.message)
        row = self._submission(work)
        said = {"message": self.message.strip(), "rejection_category": self.category}
        return {"calls": [calls.write(work, REJECT, row, body=said)]}

    def _submission(self, work: Work) -> Submission:
        made_study(work)
        who = worker_by_number(work, self.worker)
        mine = work.own(submission) & (submission.c.worker_id == who.id)
        query = select(submission).where(mine).order_by(submission.c.id.desc()).limit(1)
        missing = f"worker w{who.number} has no submission at Prolific"
        row = work.existing(query, missing, Submission)
        if row.state != AWAITING:
            raise RuleError("wrong-state", f"the submission of w{who.number} is {row.state}")
        if who.state == "failed":
            raise RuleError(
                "not-allowed",
                f"w{who.number} failed the test, never a reason to reject: ask for a return",
            )
        is_open = platform_call.c.state.in_((calls.WAITING, calls.SENDING))
        if work.count(platform_call, platform_call.c.submission_id == row.id, is_open):
            raise RuleError("conflict", f"Prolific is being told of w{who.number} already")
        return row

    def foretell(self, work: Work) -> Consequence:
        self._submission(work)
        return self.ask(work, "follows")
