"""A filled-in form of the wizard becomes the plan's next version.

Files come first, since what they hold decides what else may be said. Two people may fill in forms
at once: those of different steps are both kept, and of two of the same step the second is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter

from qrowd.collection.drafts import uploads
from qrowd.collection.drafts.draft import Draft, open_draft, save_newest
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.steps import StepForm, all_steps, step_named, suggested
from qrowd.collection.plan.changes import change, param_of, set_key
from qrowd.collection.plan.sections import Plan
from qrowd.errors import InputError, RuleError


def fill_in(draft: Draft, form: StepForm, who: str, now: int) -> Draft:
    """Save a form to the version that its writer saw; an error where it does not fit."""
    stored = {kind: uploads.take(draft, kind, files) for kind, files in form.files.items()}

    def filled_in(newest: Draft) -> Plan:
        if newest.version != draft.version:
            _refuse_changed(draft, newest, form.step)
        plan = planned(newest, form, stored)
        for problem in problems(replace(newest, plan=plan)):
            if problem.step == form.step:
                raise InputError(str(problem.message))
        return plan

    return save_newest(draft, filled_in, who, now, form.step)


def planned(
    draft: Draft, form: StepForm, stored: Mapping[str, str | tuple[str, ...]] | None = None
) -> Plan:
    """The plan that a form leads to, with the files that were stored for it; nothing is saved."""
    plan = draft.plan
    for kind, names in (stored or {}).items():
        plan = set_key(plan, "files", kind, names)
    step = step_named(form.step)
    plan = change(plan, {name: text for name, text in form.texts.items() if name in step.keys})
    return step.follow(draft, plan, form)


def take_suggestions(draft: Draft, who: str, now: int) -> tuple[Draft, str]:
    """Take what is suggested for every step that is not filled in yet.

    Also the step that this came to an end at, for it wants what nobody can guess, such as a file.
    """
    for name in all_steps():
        if name in draft.answered:
            continue
        plan = suggested(draft, name)
        if any(problem.step == name for problem in problems(replace(draft, plan=plan))):
            return draft, name
        dry_run = draft.dry_run
        draft = save_newest(draft, partial(suggested, step=name), who, now, name)
        draft = replace(draft, dry_run=dry_run)
    return draft, ""


# --- two people at once ---------------------------------------------------------------------------


def _refuse_changed(seen: Draft, newest: Draft, step: str) -> None:
    """An error where somebody else has filled in the same step meanwhile."""
    changed = {
        name: _shown(newest.plan, name)
        for name in step_named(step).fills_in
        if _shown(seen.plan, name) != _shown(newest.plan, name)
    }
    if changed:
        values = ", ".join(
            f"{param_of(name).name} = {value or 'nothing'}" for name, value in changed.items()
        )
        raise RuleError(
            "conflict",
            f"{_changed_by(seen, newest, next(iter(changed)))} has answered this question "
            f"meanwhile ({values}). Your own answer is below and not saved yet: save it again to "
            "replace theirs.",
        )


def _changed_by(seen: Draft, newest: Draft, name: str) -> str:
    """Who changed a key of the plan last."""
    who, before = newest.who, _shown(seen.plan, name)
    for number in range(seen.version + 1, newest.version + 1):
        version = open_draft(seen.folder.parent, seen.key, number)
        if _shown(version.plan, name) != before:
            who, before = version.who, _shown(version.plan, name)
    return who


def _shown(plan: Plan, name: str) -> str:
    value = attrgetter(name)(plan)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
