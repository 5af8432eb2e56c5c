"""The steps of the wizard in their order: the keys of the plan that each is about, what is
suggested before anybody has filled in its form, and what follows from a form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from qrowd.collection.drafts import own_gold
from qrowd.collection.drafts.contents import forecast_of, rows_of
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.uploads import WANTED, Upload
from qrowd.collection.plan.changes import name_of, refuse_name, set_key
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError

FILES = ("topics", "documents", "pool", "runs", "gold", "qualification", "questions", "priorities")

HOURLY = 12.0  # pay for an hour of work
SCREENED_OUT = 0.2  # share of the pay for a batch that ends by being screened out
RESERVE = 1.1  # the budget has some more than what is likely
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


@dataclass(frozen=True)
class StepForm:
    """What was filled in for a step: texts by key of the plan, files by kind, further choices."""

    step: str
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Sequence[Upload]] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A step of the wizard."""

    #: the keys of the plan that its form fills in
    keys: tuple[str, ...]
    #: the plan with what most people want
    suggest: Callable[[Draft], Plan] | None = None
    #: the plan, which has the form's texts and files by now, with what else follows from the form
    follow: Callable[[Draft, Plan, StepForm], Plan] | None = None

    @property
    def uploads(self) -> tuple[str, ...]:
        """The kinds of files that its form may bring."""
        return tuple(kind for kind in FILES if f"files.{kind}" in self.keys)


def suggested(draft: Draft, step: str) -> Plan:
    """The draft's plan, with a suggestion where nobody has filled in this step yet."""
    suggest = STEPS[step].suggest
    return draft.plan if suggest is None or step in draft.answered else suggest(draft)


def step_of(section: str, key: str) -> str:
    """The step that a key of the plan belongs to."""
    name = f"{section}.{key}"
    return next((step for step, about in STEPS.items() if name in about.keys), "name")


# --- suggestions ----------------------------------------------------------------------------------


def _suggest_labels(draft: Draft) -> Plan:
    scale = draft.plan.scale
    if scale.labels or len(scale.grades) != len(LABELS):
        return draft.plan
    return set_key(draft.plan, "scale", "labels", LABELS)


def _suggest_words(draft: Draft) -> Plan:
    plan = draft.plan
    instructions = plan.campaign.instructions or INSTRUCTIONS
    plan = set_key(plan, "campaign", "instructions", instructions)
    return set_key(plan, "people", "consent", plan.people.consent or CONSENT)


def _suggest_pay(draft: Draft) -> Plan:
    """Pay that comes to a fair amount an hour, rounded up to a round amount."""
    expected, plan = forecast_of(draft), draft.plan
    minutes = expected.minutes_per_batch if expected else plan.seconds_of(30) / 60
    pay = _rounded_up(HOURLY * minutes / 60, 0.05)
    plan = set_key(plan, "pay", "hit", pay)
    plan = set_key(plan, "pay", "screen_out", _rounded_up(pay * SCREENED_OUT, 0.01))
    hours = plan.qualification.sets * plan.seconds_of(plan.sets.size) / 3600
    return set_key(plan, "pay", "qualification", _rounded_up(HOURLY * hours, 0.05))


def _suggest_budget(draft: Draft) -> Plan:
    """A budget that is likely to suffice."""
    plan = draft.plan
    expected = forecast_of(draft) if plan.pay.hit else None
    if expected is None:
        return plan
    likely = expected.likely_cost / 10**plan.pay.digits
    return set_key(plan, "pay", "budget", max(_rounded_up(likely * RESERVE, 1.0), plan.pay.hit))


def _rounded_up(amount: float, unit: float) -> float:
    return round(math.ceil(amount / unit - 1e-9) * unit, 2)


# --- what follows from a form ---------------------------------------------------------------------


def _follow_name(_: Draft, plan: Plan, form: StepForm) -> Plan:
    name = form.texts.get("campaign.name", "") or name_of(plan.campaign.title)
    refuse_name(name)
    return set_key(plan, "campaign", "name", name)


def _follow_pool(_: Draft, plan: Plan, form: StepForm) -> Plan:
    """Pairs come from a file or from runs, not from both."""
    if "runs" in form.files:
        return set_key(plan, "files", "pool", "")
    return set_key(plan, "files", "runs", ()) if "pool" in form.files else plan


def _follow_sets(draft: Draft, plan: Plan, _: StepForm) -> Plan:
    if own_gold.is_arranged(draft) and plan.sets.size != draft.plan.sets.size:
        return own_gold.in_sets(draft, plan, own_gold.graded(draft))
    return plan


def _follow_gold(draft: Draft, plan: Plan, form: StepForm) -> Plan:
    source = form.choices.get("source", "")
    if source == "none":
        return set_key(set_key(plan, "files", "gold", ""), "hit", "gold", 0)
    plan = set_key(plan, "hit", "gold", max(1, plan.hit.gold))
    if not plan.files.gold:
        raise InputError(f"choose a file, or do without gold. Wanted: {WANTED['gold']}")
    if source == "arranged" and ("gold" in form.files or not own_gold.is_arranged(draft)):
        uploaded = rows_of(replace(draft, plan=plan), "gold")
        return own_gold.in_sets(draft, plan, uploaded)
    return plan


# Names of steps are stored in drafts: permanent.
STEPS: dict[str, Step] = {
    "name": Step(("campaign.title", "campaign.name"), follow=_follow_name),
    "topics": Step(("files.topics",)),
    "documents": Step(("files.documents",)),
    "pool": Step(("files.pool", "files.runs", "files.depth"), follow=_follow_pool),
    "mode": Step(("campaign.mode", "hit.owner_days", "hit.second_share", "files.priorities")),
    "way": Step(("campaign.way", "sets.couples")),
    "grades": Step(
        ("scale.grades", "scale.labels", "scale.relevant_from", "scale.cuts"),
        suggest=_suggest_labels,
    ),
    "sets": Step(
        ("sets.size", "hit.sets", "hit.lease_minutes", "hit.longest_minutes"), follow=_follow_sets
    ),
    "target": Step(("sets.target",)),
    "gold": Step(("files.gold", "hit.gold", "hit.first_gold"), follow=_follow_gold),
    "checks": Step(
        (
            "checks.binary.at_least",
            "checks.binary.action",
            "checks.ndcg.at_least",
            "checks.ndcg.action",
            "checks.seconds.at_least",
            "checks.seconds.action",
            "checks.screen_out_after",
        )
    ),
    "qualification": Step(
        (
            "qualification.sets",
            "qualification.pass_share",
            "qualification.tries",
            "qualification.gold",
            "files.qualification",
        )
    ),
    "techniques": Step(
        (
            "techniques.justification",
            "techniques.expertise_share",
            "techniques.review_share",
            "techniques.expert_share",
            "files.questions",
        )
    ),
    "words": Step(
        ("campaign.instructions", "campaign.examples", "campaign.language", "people.consent"),
        suggest=_suggest_words,
    ),
    "people": Step(("platform.preset", "people.workers", "people.recognise", "campaign.accept")),
    "pay": Step(
        (
            "pay.hit",
            "pay.screen_out",
            "pay.qualification",
            "pay.review",
            "pay.currency",
            "pay.seconds_per_document",
        ),
        suggest=_suggest_pay,
    ),
    "budget": Step(("pay.budget",), suggest=_suggest_budget),
}
