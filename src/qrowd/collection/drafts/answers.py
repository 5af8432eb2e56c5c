"""One answered question of a draft: what the form said becomes the plan's next version.

Files come first, since what they hold decides what else may be said. Two people may answer at once:
answers to different questions are both kept, and of two to the same question the second is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from qrowd.collection.drafts import contents, uploads
from qrowd.collection.drafts.contents import is_arranged
from qrowd.collection.drafts.draft import Draft, open_draft, save
from qrowd.collection.drafts.problems import problems
from qrowd.collection.drafts.steps import STEPS
from qrowd.collection.plan.changes import change, name_of, param_of, refuse_name, set_key
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError, RuleError

Upload = tuple[str, BinaryIO]
ATTEMPTS = 5


@dataclass(frozen=True)
class Answer:
    """What was said to one question: texts by key of the plan, files by kind, further choices."""

    step: str
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Sequence[Upload]] = field(default_factory=dict)
    choices: Mapping[str, str] = field(default_factory=dict)


def answer(draft: Draft, given: Answer, who: str, now: int) -> Draft:
    """Save an answer to the version that its writer saw; an error where it does not fit."""
    stored = {kind: uploads.take(draft, kind, files) for kind, files in given.files.items()}
    for _ in range(ATTEMPTS):
        newest = open_draft(draft.folder.parent, draft.key)
        if newest.version != draft.version:
            _refuse_changed(draft, newest, given.step)
        plan = planned(newest, given, stored)
        _refuse_contradiction(replace(newest, plan=plan), given.step)
        try:
            return save(newest, plan, who, now, given.step)
        except RuleError as error:
            if error.code != "conflict":
                raise
    raise RuleError("conflict", "others change this draft all the time; try again")


def planned(draft: Draft, given: Answer, stored: Mapping[str, Plan] | None = None) -> Plan:
    """The plan that an answer leads to; nothing is saved."""
    plan = draft.plan
    for kind, made in (stored or {}).items():
        plan = set_key(plan, "files", kind, getattr(made.files, kind))
        plan = _instead(plan, kind)
    known = {name: text for name, text in given.texts.items() if name in STEPS[given.step]}
    plan = change(plan, known)
    return _follow(draft, plan, given, stored or {})


def _instead(plan: Plan, kind: str) -> Plan:
    """A pool is given as pairs or by runs, not both."""
    if kind == "pool":
        return set_key(plan, "files", "runs", ())
    return set_key(plan, "files", "pool", "") if kind == "runs" else plan


def _follow(draft: Draft, plan: Plan, given: Answer, stored: Mapping[str, Plan]) -> Plan:
    """What follows from an answer: a name from the title, gold in sets, no gold."""
    if given.step == "name":
        name = given.texts.get("campaign.name", "") or name_of(plan.campaign.title)
        refuse_name(name)
        return set_key(plan, "campaign", "name", name)
    if given.step == "gold":
        return _gold(draft, plan, given, stored)
    if given.step == "sets" and is_arranged(draft) and plan.sets.size != draft.plan.sets.size:
        return contents.rearranged(draft, plan)
    return plan


def _gold(draft: Draft, plan: Plan, given: Answer, stored: Mapping[str, Plan]) -> Plan:
    source = given.choices.get("source", "")
    if source == "none":
        return set_key(set_key(plan, "files", "gold", ""), "hit", "gold", 0)
    plan = set_key(plan, "hit", "gold", max(1, plan.hit.gold))
    fresh = "gold" in stored
    if not plan.files.gold:
        raise InputError(f"choose a file, or do without gold. Wanted: {uploads.WANTED['gold']}")
    if source == "arranged" and (fresh or not is_arranged(draft)):
        return contents.arrange(draft, plan)
    return plan


# --- two people at once ---------------------------------------------------------------------------


def _refuse_changed(seen: Draft, newest: Draft, step: str) -> None:
    """An error where somebody else has answered the same question meanwhile."""
    found = [
        (name, _shown(newest.plan, name))
        for name in STEPS[step]
        if _shown(seen.plan, name) != _shown(newest.plan, name)
    ]
    if found:
        said = ", ".join(f"{param_of(name).name} = {value or 'nothing'}" for name, value in found)
        who = _changed_by(seen, newest, found[0][0])
        raise RuleError(
            "conflict",
            f"{who} has answered this question meanwhile ({said}). "
            "Your own answer is below and not saved yet: save it again to replace "
            "theirs.",
        )


def _changed_by(seen: Draft, newest: Draft, name: str) -> str:
    """Who changed a key of the plan last."""
    found, before = newest.who, _shown(seen.plan, name)
    for version in range(seen.version + 1, newest.version + 1):
        one = open_draft(seen.folder.parent, seen.key, version)
        if _shown(one.plan, name) != before:
            found, before = one.who, _shown(one.plan, name)
    return found


def _shown(plan: Plan, name: str) -> str:
    held: Any = plan
    for part in name.split("."):
        held = getattr(held, part)
    return ", ".join(map(str, held)) if isinstance(held, tuple) else str(held)


def _refuse_contradiction(draft: Draft, step: str) -> None:
    """An error where something is wrong with the answer to this question."""
    for one in problems(draft):
        if one.step == step:
            raise InputError(one.message)
