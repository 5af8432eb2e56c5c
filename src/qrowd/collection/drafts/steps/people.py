"""People: what they read, where they come from, what they get, what may be spent."""

from __future__ import annotations

import math
from typing import ClassVar

from qrowd.collection.drafts.contents import forecast_of
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.steps import Step
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.sections import Plan

HOURLY = 12.0  # pay for an hour of work
SCREENED_OUT = 0.2  # share of the pay for a batch that ends by being screened out
INSTRUCTIONS = (
    "Somebody typed a request into a search engine and found some pages. Read the request first, "
    "then each page, and say how well the page answers the request. Judge the page as it is, not "
    "whether you like it."
)
CONSENT = (
    "I am an adult and take part of my own will; I can stop at any time. My answers are kept under "
    "a number and may be published without my name. What is known of me beside them is kept "
    "apart, and deleted when I ask for it."
)


class Words(Step):
    """What people read before they start."""

    name = "words"
    after = "techniques"
    keys = ("campaign.instructions", "campaign.examples", "campaign.language", "people.consent")

    def suggest(self, draft: Draft) -> Plan:
        """Instructions and a consent text that fit most campaigns."""
        plan = draft.plan
        instructions = plan.campaign.instructions or INSTRUCTIONS
        plan = set_key(plan, "campaign", "instructions", instructions)
        return set_key(plan, "people", "consent", plan.people.consent or CONSENT)


class People(Step):
    """Where they come from, and who of them may come in."""

    name = "people"
    after = "words"
    keys = (
        "platform.preset",
        "people.entry",
        "platform.places",
        "people.workers",
        "people.recognise",
        "campaign.accept",
    )
    off: ClassVar = {"people.recognise": "no"}


class Pay(Step):
    """What they get."""

    name = "pay"
    after = "people"
    keys = (
        "pay.hit",
        "pay.screen_out",
        "pay.qualification",
        "pay.review",
        "pay.currency",
        "pay.seconds_per_document",
    )

    def suggest(self, draft: Draft) -> Plan:
        """Pay that comes to a fair amount an hour, rounded up to a round amount."""
        expected, plan = forecast_of(draft), draft.plan
        minutes = expected.minutes_per_batch if expected else plan.seconds_of(30) / 60
        pay = _rounded_up(HOURLY * minutes / 60, 0.05)
        plan = set_key(plan, "pay", "hit", pay)
        plan = set_key(plan, "pay", "screen_out", _rounded_up(pay * SCREENED_OUT, 0.01))
        hours = plan.qualification.sets * plan.seconds_of(plan.sets.size) / 3600
        return set_key(plan, "pay", "qualification", _rounded_up(HOURLY * hours, 0.05))


class Budget(Step):
    """How much may be spent."""

    name = "budget"
    after = "pay"
    keys = ("pay.budget",)

    def suggest(self, draft: Draft) -> Plan:
        """The upper end of what it may cost: a budget that suffices 19 times of 20."""
        plan = draft.plan
        expected = forecast_of(draft) if plan.pay.hit else None
        if expected is None:
            return plan
        enough = expected.spend.high / 10**plan.pay.digits
        return set_key(plan, "pay", "budget", max(_rounded_up(enough, 1.0), plan.pay.hit))


def _rounded_up(amount: float, unit: float) -> float:
    return round(math.ceil(amount / unit - 1e-9) * unit, 2)
