"""The wizard: one step a page, from an empty draft to a plan; the plan file both ways."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, BinaryIO

from fastapi import Depends, Response
from fastapi.responses import StreamingResponse

from qrowd.collection.database.schema import Job
from qrowd.collection.drafts import contents, forms
from qrowd.collection.drafts.draft import (
    Draft,
    DryRun,
    discard,
    find_draft,
    new_draft,
    open_draft,
)
from qrowd.collection.drafts.launch import problems
from qrowd.collection.drafts.plan_file import draft_of_files, plan_of, write_bundle
from qrowd.collection.drafts.steps import Step, StepForm, all_steps, step_named, suggested
from qrowd.collection.plan.forecast import spend_of
from qrowd.errors import InputError, QrowdError, RuleError
from qrowd.texts import Text
from qrowd.web import jobs
from qrowd.web.files import drafts_in
from qrowd.web.pages.frame import AdministratorVisit, Confirmation, Visit, attached, page_router
from qrowd.web.problems import sentence_of

router = page_router()
LAST = ("passing", "rehearsal", "launch")  # pages after the last step, in `launch`


def wizard_pages() -> dict[str, str]:
    """The pages of the wizard in their order: of each the beginning of its words' ids."""
    return {name: f"office.step.{name}" for name in all_steps()} | {
        name: f"office.{name}" for name in LAST
    }


def _open_draft(key: str, visit: AdministratorVisit) -> Draft:
    draft = open_draft(drafts_in(visit.settings.folder), key)
    with visit.store.snapshot() as db:
        row = jobs.of_draft(db, key, done=True)
    return replace(draft, dry_run=_dry_run(draft, row)) if row else draft


def _dry_run(draft: Draft, row: Job) -> DryRun | None:
    """What a job found; None where an earlier version ran it, or what it tried cannot be read."""
    result = json.loads(row.result or "{}")
    spend = spend_of(result)
    try:
        tried = open_draft(draft.folder.parent, draft.key, json.loads(row.parameters)["version"])
    except (InputError, RuleError):
        return None
    return DryRun(tried.plan, spend, result["accuracy"]["middle"]) if spend else None


OpenDraft = Annotated[Draft, Depends(_open_draft)]


def address(draft: Draft, page: str = "") -> str:
    """The address of a page of a draft; of the draft itself, where one goes on."""
    return f"/drafts/{draft.key}/{page}" if page else f"/drafts/{draft.key}"


def shared(draft: Draft, page: str) -> dict[str, Any]:
    """What every page of the wizard shows: the list of pages, the one before, the next."""
    pages = wizard_pages()
    order = list(pages)
    at = order.index(page)
    return {
        "draft": draft,
        "plan": draft.plan,
        "step": page,
        "pages": pages,
        "at": at + 1,
        "of": len(order),
        "before": order[at - 1] if at else "",
        "onward": order[at + 1] if page != order[-1] else "",
        "lacks": {problem.step for problem in problems(draft)} & set(draft.answered),
        "unknown_steps": [name for name in draft.answered if name not in pages],
        **comes_to(draft, page),
    }


def comes_to(draft: Draft, page: str) -> dict[str, Any]:
    """What stands beside a page: what the draft comes to, and what should be looked at."""
    expected, step = contents.forecast_of(draft), all_steps().get(page)
    # a budget that ends too soon is told only where money is asked for, which is at the end
    money = step is not None and any(key.startswith("pay.") for key in step.keys)
    return {
        "expected": expected,
        "remarks": [
            warning.message
            for warning in (expected.warnings if expected else ())
            if money or warning.section != "pay"
        ],
        "saved": None,
        "side_problem": "",
    }


# --- a draft --------------------------------------------------------------------------------------


@router.post("/drafts")
def begin(visit: AdministratorVisit) -> Response:
    """A new draft: empty, or from a plan file and the files that it names."""
    name, now, folder = visit.signed.name, visit.store.clock(), drafts_in(visit.settings.folder)
    if files := visit.files("plan"):
        draft, missing = draft_of_files(folder, name, now, files)
        text = "office.draft.read-without" if missing else "office.draft.read"
        message = Text(text, files=", ".join(missing))
    else:
        draft, message = new_draft(folder, name, now), None
    return visit.go(address(draft, _first_open(draft)), message=message)


@router.get("/drafts/{key}")
def resume(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """Go on where one left."""
    return visit.go(address(draft, _first_open(draft)))


def _first_open(draft: Draft) -> str:
    """The first step that is not filled in, or what comes after them."""
    return next((step for step in all_steps() if step not in draft.answered), LAST[0])


@router.post("/drafts/{key}/delete")
def delete(key: str, visit: AdministratorVisit) -> Response:
    """Delete a draft, after a question; also one that this version cannot read."""
    draft = find_draft(drafts_in(visit.settings.folder), key)
    if not visit.sure:
        question = Confirmation(
            title=Text("office.draft.delete.question"),
            follows=[Text("office.draft.delete.follows")],
            button=Text("office.draft.delete.button"),
            final=True,
        )
        return visit.confirm(question)
    discard(draft)
    return visit.go("/campaigns", message=Text("office.draft.deleted"))


@router.get("/drafts/{key}/plan")
def plan(draft: OpenDraft, visit: AdministratorVisit) -> Response:
    """The plan file so far."""
    return visit.show("organiser/plan.html.j2", draft=draft, text=plan_of(draft))


@router.get("/drafts/{key}/plan.toml")
def plan_file(draft: OpenDraft) -> Response:
    """The plan file, to keep."""
    text = plan_of(draft)
    return Response(text, media_type="application/toml", headers=attached("plan.toml"))


@router.get("/drafts/{key}/plan.zip")
def bundle(draft: OpenDraft) -> Response:
    """The plan file and the files that it names."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (closed when sent)
    write_bundle(draft, file)
    file.seek(0)
    name = f"{draft.plan.campaign.name or 'campaign'}.zip"
    return StreamingResponse(_sent(file), media_type="application/zip", headers=attached(name))


def _sent(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while part := file.read(2**16):
            yield part


# --- steps ----------------------------------------------------------------------------------------


@router.get("/drafts/{key}/{name}")
def show_step(draft: OpenDraft, name: str, visit: AdministratorVisit) -> Response:
    """A step, with what is suggested where nothing was filled in."""
    if name not in all_steps():
        return _no_such_step(visit, draft, name)
    return _step(visit, replace(draft, plan=suggested(draft, name)), name)


@router.post("/drafts/{key}/{name}")
def take(draft: OpenDraft, name: str, visit: AdministratorVisit) -> Response:
    """A filled-in form: saved, then the next step; or the same again, and what is wrong."""
    step = all_steps().get(name)
    if step is None:
        return _no_such_step(visit, draft, name)
    version = min(visit.number("version") or draft.version, draft.version)
    seen = open_draft(draft.folder.parent, draft.key, version)
    form = replace(_form(visit, step), campaigns=visit.store.campaigns())
    try:
        saved = forms.fill_in(seen, form, visit.signed.name, visit.store.clock())
    except (InputError, RuleError) as error:
        if isinstance(error, RuleError) and error.code != "conflict":
            raise
        return _again(visit.with_problem(error, 422), draft, form)
    message = _read_lines(saved, form)
    if step.comes_again(saved, form):
        return visit.go(address(saved, name))
    if visit.text("rest"):
        ready, wanting = forms.take_suggestions(saved, visit.signed.name, visit.store.clock())
        if wanting:
            message = Text("office.wizard.rest.wanting")
        return visit.go(address(ready, wanting or LAST[0]), message=message)
    order = list(wizard_pages())
    return visit.go(address(saved, order[order.index(name) + 1]), message=message)


def _read_lines(draft: Draft, form: StepForm) -> Text | None:
    """What was read of the files that a form brought."""
    lines = [line for kind in form.files if (line := contents.read_line(draft, kind))]
    return lines[0] if lines else None


@router.post("/drafts/{key}/{name}/preview")
def preview(draft: OpenDraft, name: str, visit: AdministratorVisit) -> Response:
    """What the form on the page would come to; nothing is saved."""
    try:
        form = replace(_form(visit, step_named(name)), files={}, choices={})
        plan = forms.planned(draft, form)
        beside = comes_to(replace(draft, plan=plan), name) | {"plan": plan}
    except QrowdError as error:
        beside = comes_to(draft, name) | {"plan": draft.plan, "side_problem": sentence_of(error)}
    beside["saved"] = contents.forecast_of(draft)
    return visit.show("organiser/side.html.j2", **beside)


def _no_such_step(visit: Visit, draft: Draft, name: str) -> Response:
    """Of another version, or none at all: a sentence, and the way on."""
    visit = replace(visit, status=404)
    return visit.show("organiser/no_step.html.j2", draft=draft, name=name)


def _form(visit: Visit, step: Step) -> StepForm:
    """What the form of a step says: texts by key of the plan, files by kind, further choices."""
    texts: dict[str, str] = {}
    for key in step.keys:
        if key in step.off and f"has-{key}" in visit.form:
            on = visit.text(f"on-{key}") == "yes"
            texts[key] = (visit.text(key) or "yes") if on else step.off[key]
        elif key in visit.form:
            texts[key] = visit.text(key)
        if key in texts and key in step.percents:
            texts[key] = _share(texts[key])
    files = {kind: sent for kind in step.uploads if (sent := visit.files(kind))}
    choices = {field: text for field in step.choices if (text := visit.text(field))}
    return StepForm(step.name, texts, files, choices)


def _share(percent: str) -> str:
    try:
        return repr(float(percent.replace(",", ".")) / 100)
    except ValueError:
        return percent  # whoever reads the plan says what is wrong with it


def _again(visit: Visit, draft: Draft, form: StepForm) -> Response:
    """The same step, with what was filled in where it can be kept."""
    texts = {key: text for key, text in form.texts.items() if text}
    try:
        plan = forms.planned(draft, StepForm(form.step, texts))
    except QrowdError:
        plan = draft.plan
    return _step(visit, replace(draft, plan=plan), form.step)


def _step(visit: Visit, draft: Draft, name: str) -> Response:
    return visit.show(
        f"organiser/steps/{name}.html.j2",
        material=contents.campaign_rows(draft),
        lines=[
            line for kind in step_named(name).uploads if (line := contents.read_line(draft, kind))
        ],
        rest=len(all_steps().keys() - {*draft.answered, name}),
        **shared(draft, name),
        **step_named(name).shown(draft),
    )
