"""The questions of the wizard in their order, and the keys of the plan that each is about."""

from __future__ import annotations

STEPS: dict[str, tuple[str, ...]] = {
    "name": ("campaign.title", "campaign.name"),
    "topics": ("files.topics",),
    "documents": ("files.documents",),
    "pool": ("files.pool", "files.runs", "files.depth"),
    "mode": ("campaign.mode", "hit.owner_days", "hit.second_share", "files.priorities"),
    "way": ("campaign.way", "sets.couples"),
    "grades": ("scale.grades", "scale.labels", "scale.relevant_from"),
    "sets": ("sets.size", "hit.sets", "hit.lease_minutes", "hit.longest_minutes"),
    "target": ("sets.target",),
    "gold": ("files.gold", "hit.gold", "hit.first_gold"),
    "checks": (
        "checks.binary.at_least",
        "checks.binary.action",
        "checks.ndcg.at_least",
        "checks.ndcg.action",
        "checks.seconds.at_least",
        "checks.seconds.action",
        "checks.screen_out_after",
    ),
    "qualification": (
        "qualification.sets",
        "qualification.pass_share",
        "qualification.tries",
        "qualification.gold",
        "files.qualification",
    ),
    "techniques": (
        "techniques.justification",
        "techniques.expertise_share",
        "techniques.review_share",
        "techniques.expert_share",
        "files.questions",
    ),
    "words": ("campaign.instructions", "campaign.examples", "campaign.language", "people.consent"),
    "people": ("platform.preset", "people.workers", "people.recognise", "campaign.accept"),
    "pay": (
        "pay.hit",
        "pay.screen_out",
        "pay.qualification",
        "pay.review",
        "pay.currency",
        "pay.seconds_per_document",
    ),
    "budget": ("pay.budget",),
}


FILES = ("topics", "documents", "pool", "runs", "gold", "qualification", "questions", "priorities")


def step_of(section: str, key: str) -> str:
    """The question that a key of the plan belongs to."""
    name = f"{section}.{key}"
    return next((step for step, names in STEPS.items() if name in names), "name")
