"""Answers that most people want, for questions of a draft that nobody has answered yet."""

from __future__ import annotations

import math
from dataclasses import replace

from qrowd.collection.drafts.contents import outlook
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.sections import Plan

HOURLY = 12.0  # pay for an hour of work
SCREENED_OUT = 0.2  # share of the pay for a batch that ends by being screened out
MORE = 1.1  # the budget has some more than what is likely
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
LABELS = ("Not relevant", "Relevant", "Highly relevant")


def suggested(draft: Draft, step: str) -> Plan:
    """The draft's plan, with a suggestion where this question was not answered yet."""
    plan = draft.plan
    if step in draft.answered:
        return plan
    if step == "grades" and not plan.scale.labels and len(plan.scale.grades) == len(LABELS):
        return set_key(plan, "scale", "labels", LABELS)
    if step == "words":
        words = plan.campaign.instructions or INSTRUCTIONS
        plan = set_key(plan, "campaign", "instructions", words)
        return set_key(plan, "people", "consent", plan.people.consent or CONSENT)
    if step == "pay":
        return with_pay(draft, HOURLY)
    return with_budget(draft) if step == "budget" and plan.pay.hit else plan


def with_pay(draft: Draft, hourly: float) -> Plan:
    """A plan whose pay for a batch comes to this much an hour, rounded up to a round amount."""
    found, plan = outlook(draft), draft.plan
    minutes = found.minutes_per_batch if found else plan.seconds_of(30) / 60
    pay = _rounded(hourly * minutes / 60, 0.05)
    plan = set_key(plan, "pay", "hit", pay)
    plan = set_key(plan, "pay", "screen_out", _rounded(pay * SCREENED_OUT, 0.01))
    test = plan.qualification.sets * plan.seconds_of(plan.sets.size) / 3600
    return set_key(plan, "pay", "qualification", _rounded(hourly * test, 0.05))


def with_budget(draft: Draft) -> Plan:
    """A plan whose budget is likely to suffice."""
    found, plan = outlook(draft), draft.plan
    if found is None:
        return plan
    wanted = found.likely_cost / 10**plan.pay.digits * MORE
    return set_key(plan, "pay", "budget", max(_rounded(wanted, 1.0), plan.pay.hit))


def _rounded(amount: float, step: float) -> float:
    return round(math.ceil(amount / step - 1e-9) * step, 2)


def with_all_suggested(draft: Draft) -> Plan:
    """The plan as it would be if all that is open were answered as suggested."""
    for step in ("grades", "words", "pay", "budget"):
        draft = replace(draft, plan=suggested(draft, step))
    return draft.plan
