"""What is judged: the campaign's name, topics, documents, and the pairs of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qrowd.collection.drafts.contents import depth_costs, documents_of, pool_of, without_text
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.steps import Step, StepForm
from qrowd.collection.plan.changes import name_of, refuse_name, set_key
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError

LONGEST_TITLE = 200


class Name(Step):
    """What the campaign is called, by people and in addresses."""

    name = "name"
    keys = ("campaign.title", "campaign.name")

    def follow(self, draft: Draft, plan: Plan, form: StepForm) -> Plan:
        """A name from the title; one that is taken is told at once, not at launch."""
        if len(plan.campaign.title) > LONGEST_TITLE:
            raise InputError(
                f"the title has {len(plan.campaign.title):,} characters; {LONGEST_TITLE} at most. "
                "Shorten it: what people should read goes into the instructions"
            )
        name = form.texts.get("campaign.name", "") or name_of(plan.campaign.title)
        refuse_name(name)
        if name in form.campaigns:
            raise InputError(f"there is a campaign {name!r} already; choose another name")
        return set_key(plan, "campaign", "name", name)


class Topics(Step):
    """What is looked for."""

    name = "topics"
    after = "name"
    uploads = ("topics",)

    def problems(self, draft: Draft) -> Iterator[Complaint]:
        """There must be some."""
        if not draft.plan.files.topics:
            yield Complaint.of("files.topics", "office.step.topics.none")


class Documents(Step):
    """The texts that people read."""

    name = "documents"
    after = "topics"
    keys = ("files.blank",)
    uploads = ("documents",)

    def comes_again(self, draft: Draft, form: StepForm) -> bool:
        """After documents without a text: what is done with them?"""
        return bool(form.files) and bool(documents_of(draft)[1])

    def shown(self, draft: Draft) -> Mapping[str, Any]:
        """How many have a title and no text, or neither."""
        _, titled, empty = documents_of(draft)
        return {"titled": len(titled), "empty": len(empty)}

    def problems(self, draft: Draft) -> Iterator[Complaint]:
        """There must be some."""
        if not draft.plan.files.documents:
            yield Complaint.of("files.documents", "office.step.documents.none")


class Pool(Step):
    """Which documents are judged for which topic: pairs of a file, or the top of runs."""

    name = "pool"
    after = "documents"
    keys = ("files.depth",)
    uploads = ("pool", "runs")

    def follow(self, draft: Draft, plan: Plan, form: StepForm) -> Plan:
        """Pairs come from a file or from runs, not from both."""
        if "runs" in form.files:
            return set_key(plan, "files", "pool", "")
        return set_key(plan, "files", "runs", ()) if "pool" in form.files else plan

    def comes_again(self, draft: Draft, form: StepForm) -> bool:
        """After runs: now the depths are known."""
        return bool(form.files.get("runs"))

    def problems(self, draft: Draft) -> Iterator[Complaint]:
        """There must be pairs, and each needs a topic and a text."""
        if not draft.plan.files.pool and not draft.plan.files.runs:
            yield Complaint.of("files.pool", "office.step.pool.none")
        yield from without_text(draft, "pool", pool_of(draft))

    def shown(self, draft: Draft) -> Mapping[str, Any]:
        """What each depth of the runs costs."""
        return {"depths": depth_costs(draft)}
