"""How it is found out who judges badly: gold, checks, a test, further controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from qrowd.collection.drafts import own_gold
from qrowd.collection.drafts.contents import rows_of, without_text
from qrowd.collection.drafts.draft import Draft
from qrowd.collection.drafts.steps import Step, StepForm
from qrowd.collection.drafts.uploads import WANTED
from qrowd.collection.plan.changes import set_key
from qrowd.collection.plan.limits import Complaint
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError


class Gold(Step):
    """Documents with known grades, hidden among the others."""

    name = "gold"
    after = "target"
    keys = ("hit.gold", "hit.first_gold", "scale.gold_grades", "scale.gold_cuts")
    uploads = ("gold",)
    choices = ("source",)  # arranged: put in sets here; chosen: in the file's own sets; none

    def follow(self, draft: Draft, plan: Plan, form: StepForm) -> Plan:
        """Gold sets that spammers fail, those of the file, or none."""
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

    def problems(self, draft: Draft) -> Iterator[Complaint]:
        """Where batches have gold there must be some, and each pair needs a topic and a text."""
        if draft.plan.gold_per_hit and not draft.plan.files.gold:
            yield Complaint.of("files.gold", "office.step.gold.missing")
        yield from without_text(draft, "gold", [row.pair for row in rows_of(draft, "gold")])

    def shown(self, draft: Draft) -> Mapping[str, Any]:
        """Whether sets are made here, not given."""
        return {"arranged": own_gold.is_arranged(draft) or not draft.plan.files.gold}


class Checks(Step):
    """What a batch must reach."""

    name = "checks"
    after = "gold"
    keys = (
        "checks.binary.at_least",
        "checks.binary.action",
        "checks.ndcg.at_least",
        "checks.ndcg.action",
        "checks.seconds.at_least",
        "checks.seconds.action",
        "checks.screen_out_after",
        "checks.seconds_for",
    )


class Qualification(Step):
    """The test before the first batch."""

    name = "qualification"
    after = "checks"
    keys = (
        "qualification.sets",
        "qualification.pass_share",
        "qualification.tries",
        "qualification.gold",
        "qualification.ranks",
    )
    uploads = ("qualification",)
    off: ClassVar = {"qualification.sets": "0"}
    percents = ("qualification.pass_share",)
    choices = ("source",)  # gold: a test is split off it

    def suggest(self, draft: Draft) -> Plan:
        """Ranks count where sets are ranked."""
        ranked = "ndcg" in draft.plan.way.checks
        return set_key(draft.plan, "qualification", "ranks", "always") if ranked else draft.plan

    def follow(self, draft: Draft, plan: Plan, form: StepForm) -> Plan:
        """A test out of the gold, if that is wanted."""
        split = form.choices.get("source") == "gold"
        return own_gold.split_test(draft, plan) if split else plan

    def shown(self, draft: Draft) -> Mapping[str, Any]:
        """How many gold sets there are to split a test off."""
        return {"gold_sets": own_gold.sets_made(draft) if draft.plan.gold_per_hit else 0}

    def problems(self, draft: Draft) -> Iterator[Complaint]:
        """Each pair needs a topic and a text."""
        pairs = [row.pair for row in rows_of(draft, "qualification")]
        yield from without_text(draft, "qualification", pairs)


class Techniques(Step):
    """Further controls."""

    name = "techniques"
    after = "qualification"
    uploads = ("questions",)
    percents = ("techniques.expertise_share", "techniques.review_share", "techniques.expert_share")
    keys = ("techniques.justification", "techniques.reviews", *percents)
    off: ClassVar = {"techniques.justification": "none", **dict.fromkeys(percents, "0")}
