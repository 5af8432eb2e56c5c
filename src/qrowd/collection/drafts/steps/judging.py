"""How documents are judged: by whom, in which way, on which grades, how often."""

from __future__ import annotations

from qrowd.collection.drafts import own_gold
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.steps import Step, StepForm
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.sections import Plan

LABELS = ("Not relevant", "Relevant", "Highly relevant")


class Mode(Step):
    """Who judges what."""

    name = "mode"
    after = "pool"
    keys = (
        "campaign.mode",
        "hit.owner_days",
        "hit.second_share",
        "hierarchy.training",
        "hierarchy.votes",
        "hierarchy.hours",
        "hierarchy.revisions",
    )
    uploads = ("priorities",)
    percents = ("hit.second_share",)


class Way(Step):
    """What is done with a document."""

    name = "way"
    after = "mode"
    keys = ("campaign.way", "sets.couples")


class Grades(Step):
    """The scale."""

    name = "grades"
    after = "way"
    keys = ("scale.grades", "scale.labels", "scale.relevant_from", "scale.cuts")

    def suggest(self, draft: Draft) -> Plan:
        """Names of three grades."""
        scale = draft.plan.scale
        if scale.labels or len(scale.grades) != len(LABELS):
            return draft.plan
        return set_key(draft.plan, "scale", "labels", LABELS)


class Sets(Step):
    """How the work is cut up."""

    name = "sets"
    after = "grades"
    keys = ("sets.size", "hit.sets", "hit.lease_minutes", "hit.longest_minutes")

    def follow(self, draft: Draft, plan: Plan, form: StepForm) -> Plan:
        """Gold that was put in sets here is put in sets of the new size."""
        if own_gold.is_arranged(draft) and plan.sets.size != draft.plan.sets.size:
            return own_gold.in_sets(draft, plan, own_gold.graded(draft))
        return plan


class Target(Step):
    """How many people judge each document."""

    name = "target"
    after = "sets"
    keys = ("sets.target", "next.pick", "next.risk", "next.least")
    percents = ("next.risk",)
